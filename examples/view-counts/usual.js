// Views as forum programs on Express, Redis and PostgreSQL count them. Each view reads a field of
// the thread, reads and writes the session, in which the threads are that the viewer has seen, and
// raises a number and two sorted sets. Page views gather in the process, and go to SQL every ten
// seconds with the numbers of the threads that have changed.
import pg from 'pg'
import { createClient } from 'redis'

const REPEAT_MS = 1_800_000
const SESSION_SECONDS = 86_400
const WRITE_MS = 10_000
const HOUR_MS = 3_600_000

export async function usual({ redisUrl, databaseUrl, run, threads }) {
  const redis = createClient({ url: redisUrl })
  redis.on('error', (error) => console.error(error.message))
  await redis.connect()
  const pool = new pg.Pool({ connectionString: databaseUrl })
  for (const table of ['hours', 'threads']) {
    await pool.query(
      `CREATE TABLE IF NOT EXISTS view_counts_${table} (run TEXT, of TEXT, views BIGINT, ` +
        'PRIMARY KEY (run, of))',
    )
  }
  const key = (name) => `view-counts:${run}:${name}`
  for (const [index, thread] of threads.entries()) {
    await redis.hSet(key(`thread:${thread}`), { category: index % 5 })
  }

  let pageViews = 0
  const changed = new Set()
  const inFlight = new Set()

  async function view(thread, viewer) {
    pageViews++
    const category = await redis.hGet(key(`thread:${thread}`), 'category')
    const stored = await redis.get(key(`session:${viewer}`))
    const session = stored ? JSON.parse(stored) : { viewed: {} }
    if (!(session.viewed[thread] > Date.now() - REPEAT_MS)) {
      session.viewed[thread] = Date.now()
      const score = await redis.hIncrBy(key(`thread:${thread}`), 'views', 1)
      await Promise.all([
        redis.zAdd(key('threads:views'), { score, value: thread }),
        redis.zAdd(key(`category:${category}:views`), { score, value: thread }),
      ])
      changed.add(thread)
    }
    await redis.set(key(`session:${viewer}`), JSON.stringify(session), { EX: SESSION_SECONDS })
  }

  async function write() {
    const views = pageViews
    pageViews = 0
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()
    if (views > 0) {
      await pool.query(
        'INSERT INTO view_counts_hours VALUES ($1, $2, $3) ON CONFLICT (run, of) ' +
          'DO UPDATE SET views = view_counts_hours.views + excluded.views',
        [run, hour, views],
      )
    }
    for (const thread of changed) {
      changed.delete(thread)
      await pool.query(
        'INSERT INTO view_counts_threads VALUES ($1, $2, $3) ON CONFLICT (run, of) ' +
          'DO UPDATE SET views = excluded.views',
        [run, thread, await redis.hGet(key(`thread:${thread}`), 'views')],
      )
    }
  }

  const timer = setInterval(
    () => void write().catch((error) => console.error(error.message)),
    WRITE_MS,
  )

  return {
    // The response has been sent, and nobody waits for this.
    middleware: (req, res, next) => {
      res.once('finish', () => {
        const counting = view(req.params.id, req.get('x-viewer'))
          .catch((error) => console.error(error.message))
          .finally(() => inFlight.delete(counting))
        inFlight.add(counting)
      })
      next()
    },
    /** Brings to SQL what the process holds. */
    async settle() {
      await Promise.all(inFlight)
      await write()
    },
    async counted() {
      const { rows } = await pool.query(
        'SELECT COALESCE(SUM(views), 0) AS views FROM view_counts_hours WHERE run = $1',
        [run],
      )
      const fields = await Promise.all(
        threads.map((thread) => redis.hGet(key(`thread:${thread}`), 'views')),
      )
      return {
        pageViews: Number(rows[0].views),
        threadViews: fields.reduce((sum, views) => sum + Number(views ?? 0), 0),
      }
    },
    async close() {
      clearInterval(timer)
      await Promise.all([redis.close(), pool.end()])
    },
  }
}
