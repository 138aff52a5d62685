// Sums in a Redis hash, as Discourse counts page views (CachedCounting): each second a process
// adds its views to the hash, and each minute one process takes every field with HGET and HDEL and
// adds it to its row in SQL. What is taken and then not written is lost, as there.
import { createClient } from 'redis'
import { openCounts, Views } from './counts.js'
import { repeated } from './repeated.js'
import { contender } from './express.js'

const HASH = 'views'
const TO_REDIS_MS = 1_000
const TO_SQL_MS = 60_000

export async function start({ redisUrl, mysqlUrl }) {
  const redis = createClient({ url: redisUrl })
  redis.on('error', () => {})
  await redis.connect()
  const counts = await openCounts(mysqlUrl)
  const views = new Views()
  const toRedis = repeated(async () => {
    const taken = [...views.take()]
    await Promise.all(taken.map(([page, n]) => redis.hIncrBy(HASH, page, n))).catch(() => {})
  }, TO_REDIS_MS)
  const toSql = repeated(async () => {
    for (const page of await redis.hKeys(HASH).catch(() => [])) {
      const take = redis.multi().hGet(HASH, page).hDel(HASH, page).exec()
      const [n] = await take.catch(() => [null])
      if (n !== null) await counts.add(page, Number(n)).catch(() => {})
    }
  }, TO_SQL_MS)
  const finish = async () => {
    await toRedis.run()
    await toSql.run()
  }
  return contender(async ({ page }) => views.add(page), {
    flush: toRedis.run,
    finish,
    count: counts.count,
    async close() {
      toRedis.stop()
      toSql.stop()
      await finish()
      await counts.close()
      redis.destroy()
    },
  })
}
