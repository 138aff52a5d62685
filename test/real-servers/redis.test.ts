/**
 * Exactly once, on Redis: what memcached never does is that an earlier state comes back, from a
 * snapshot or by a failover.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis as Client } from 'ioredis'
import { ALL as IN_FULL } from '../scale.js'
import { type Redis, startRedis } from '../servers/redis.js'
import { Relay } from '../servers/relay.js'
import { ROWS_A_WRITER, startSite, WRITERS } from './site.js'

const ALL = WRITERS * ROWS_A_WRITER
const SITES_AT_ONCE = 3
const SNAPSHOT_AGE_MS = 2_000
const EVICTED = 500
const FILLER = 'x'.repeat(10_000)

/** Runs a site, disturbs its Redis when a third is recorded, and expects every row exactly once. */
function exactlyOnce(
  name: string,
  options: readonly string[],
  disturb: (redis: Redis, relay: Relay) => Promise<void>,
): void {
  test(`${WRITERS} writers, 2 collectors, ${ALL} rows, each exactly once: ${name}`, async () => {
    const redis = await startRedis(options)
    const relay = new Relay(Number(new URL(redis.url).port))
    await relay.listen()
    const site = await startSite({ cacheUrl: `redis://127.0.0.1:${relay.port}` })
    try {
      await site.recordedShare(1 / 3)
      await disturb(redis, relay)
      const { rows, distinct, ledger } = await site.finish(ALL)
      assert.deepEqual({ rows, distinct }, { rows: ALL, distinct: ALL })
      const { duplicate: _, ...sums } = ledger
      assert.deepEqual(sums, {
        issued: ALL,
        committed: ALL,
        quarantined: 0,
        dropped: 0,
        outstanding: 0,
        owed: 0,
        lost: 0,
      })
    } finally {
      await site.stop()
      await relay.close()
      await redis.stop()
    }
  })
}

/** Fills it until it has evicted so many keys: of these, and of the site's. */
async function evicts({ url }: Redis): Promise<void> {
  const client = new Client(url)
  const evicted = async (): Promise<number> =>
    Number(/evicted_keys:(\d+)/.exec(await client.info('stats'))?.[1])
  try {
    for (let key = 0; (await evicted()) < EVICTED; key++) await client.set(`filler ${key}`, FILLER)
  } finally {
    client.disconnect()
  }
}

describe('exactly once on Redis', { concurrency: SITES_AT_ONCE }, () => {
  const replicas: Redis[] = []
  exactlyOnce('a failover to a replica that lags', [], async (redis, relay) => {
    const replica = await startRedis()
    replicas.push(replica)
    await replica.tell(`REPLICAOF 127.0.0.1 ${new URL(redis.url).port}`)
    await delay(SNAPSHOT_AGE_MS)
    replica.pause()
    await delay(SNAPSHOT_AGE_MS)
    redis.pause()
    relay.leadTo(Number(new URL(replica.url).port))
    replica.resume()
    await replica.tell('REPLICAOF NO ONE')
  })

  if (IN_FULL) {
    exactlyOnce('killed, and back with an older snapshot', [], async (redis) => {
      await redis.tell('SAVE')
      await delay(SNAPSHOT_AGE_MS)
      await redis.restart()
    })

    const small = ['--maxmemory', '2mb', '--maxmemory-policy', 'allkeys-random']
    exactlyOnce('too small, so that it evicts at random', small, evicts)

    exactlyOnce('nothing goes wrong', [], async () => undefined)

    exactlyOnce('flushed', [], (redis) => redis.flush())

    exactlyOnce('killed, and back empty', [], (redis) => redis.restart())

    const aof = ['--appendonly', 'yes', '--appendfsync', 'everysec']
    exactlyOnce('killed, and back with its append-only file', aof, (redis) => redis.restart())

    exactlyOnce('silent for 20 seconds', [], async (redis) => {
      redis.pause()
      await delay(20_000)
      redis.resume()
    })

    const full = ['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction']
    exactlyOnce('full', full, async () => undefined)
  }

  after(() => Promise.all(replicas.map((replica) => replica.stop())))
})
