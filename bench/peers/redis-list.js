// One RPUSH per visit to a list in Redis, as queued trackers (Matomo's QueuedTracking) do. A worker
// takes batches from its head into SQL: LRANGE, one bulk INSERT, only then LTRIM.
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'redis'
import { contender } from './express.js'
import { openVisits } from './visits.js'

const LIST = 'visits'
const BATCH = 1000
// How long the worker rests when the list is empty, or when a server is away.
const REST_MS = 500

/**
 * Resolves when connected. node-redis pipelines what is pushed in one tick, and connects again by
 * itself.
 */
async function connect(redisUrl) {
  const redis = createClient({ url: redisUrl })
  redis.on('error', () => {})
  return redis.connect()
}

export async function start({ redisUrl, mysqlUrl }) {
  const redis = await connect(redisUrl)
  const visits = await openVisits(mysqlUrl)
  return contender((visit) => redis.rPush(LIST, JSON.stringify(visit)), {
    async finish() {
      while (await drain(redis, visits));
    },
    count: visits.count,
    async close() {
      await visits.close()
      redis.destroy()
    },
  })
}

/** One worker, until closed. */
export async function startWorker({ redisUrl, mysqlUrl }) {
  const redis = await connect(redisUrl)
  const visits = await openVisits(mysqlUrl, 1)
  let closing = false
  const work = (async () => {
    while (!closing) if (!(await drain(redis, visits).catch(() => 0))) await delay(REST_MS)
  })()
  return {
    /** All that is in the list. */
    async drain() {
      closing = true
      await work
      while (await drain(redis, visits));
    },
    async close() {
      closing = true
      await work
      await visits.close()
      redis.destroy()
    },
  }
}

/** Brings a batch to SQL. How many visits it had. */
async function drain(redis, visits) {
  const batch = await redis.lRange(LIST, 0, BATCH - 1)
  if (batch.length === 0) return 0
  await visits.insert(batch.map((visit) => JSON.parse(visit)))
  await redis.lTrim(LIST, batch.length, -1)
  return batch.length
}
