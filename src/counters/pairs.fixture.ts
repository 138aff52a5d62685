/** The pairs of adapters that the counters' tests run on. */
import assert from 'node:assert/strict'
import { rm, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PATIENT } from '../../test/servers/memcached.js'
import type { Cache } from '../cache/cache.js'
import { memcached } from '../cache/memcached/memcached.js'
import { memory } from '../cache/memory.js'
import { redis } from '../cache/redis/redis.js'
import type { Database } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { postgres } from '../database/postgres/postgres.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemClock } from '../support/clock.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { fewOrMany } from '../../test/scale.js'
import {
  sharedMemcached,
  sharedMysqlUrl,
  sharedPostgresUrl,
  sharedRedis,
} from '../../test/servers/shared.js'
import type { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { Random } from '../../test/simulated-world/random.js'

/**
 * A new database, and a cache, that several counters share as if each were a process of its own.
 */
export interface Site {
  database(): Database
  cache(): Cache
  close(): Promise<void>
}

export interface Pair {
  readonly name: string
  open(): Promise<Site>
}

function site(
  openDatabase: () => Database,
  openCache: () => Cache,
  after: () => Promise<unknown>,
): Site {
  const opened: { close(): Promise<void> }[] = []
  const kept = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one)
    return one
  }
  return {
    database: () => kept(openDatabase()),
    cache: () => kept(openCache()),
    async close() {
      await Promise.all(opened.map((one) => one.close()))
      await after()
    },
  }
}

const REDIS_AND_MARIADB: Pair = {
  name: 'Redis and MariaDB',
  async open() {
    const [url, server] = [await sharedMysqlUrl(), await sharedRedis()]
    return site(
      () => mysql(url),
      () => redis(server, PATIENT),
      async () => undefined,
    )
  },
}

const REDIS_AND_POSTGRESQL: Pair = {
  name: 'Redis and PostgreSQL',
  async open() {
    const [url, server] = [await sharedPostgresUrl(), await sharedRedis()]
    return site(
      () => postgres(url),
      () => redis(server, PATIENT),
      async () => undefined,
    )
  },
}

export const PAIRS: readonly Pair[] = [
  {
    name: 'memory and SQLite',
    async open() {
      const folder = await mkdtemp(join(tmpdir(), 'wide-cache-counters-'))
      const cache = memory()
      return site(
        () => sqlite(join(folder, 'test.db')),
        () => cache,
        () => rm(folder, { recursive: true, force: true }),
      )
    },
  },
  {
    name: 'memcached and MariaDB',
    async open() {
      const [url, servers] = [await sharedMysqlUrl(), await sharedMemcached()]
      return site(
        () => mysql(url),
        () => memcached(servers, PATIENT),
        async () => undefined,
      )
    },
  },
]

/** Those of tests that need a cache whose counters never go back. */
export const PAIRS_OF_COUNTERS = fewOrMany(PAIRS, [
  ...PAIRS,
  {
    name: 'memcached and PostgreSQL',
    async open() {
      const [url, servers] = [await sharedPostgresUrl(), await sharedMemcached()]
      return site(
        () => postgres(url),
        () => memcached(servers, PATIENT),
        async () => undefined,
      )
    },
  },
])

/** Those of tests that need no cache whose counters never go back. */
export const PAIRS_OF_ANY_CACHE = fewOrMany(PAIRS, [
  ...PAIRS,
  REDIS_AND_MARIADB,
  REDIS_AND_POSTGRESQL,
])

/** Random numbers from a seed, so that a failure can be had again. */
export function randomFrom(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}

/** Longer timers watch over a silent database. */
const LONGEST_WAIT_MS = 5_000

/** The real world, in which a database that is busy for minutes is not silent. */
export const PATIENT_WORLD: Environment = {
  ...systemEnvironment,
  clock: {
    now: () => systemClock.now(),
    elapsed: () => systemClock.elapsed(),
    after: (ms, callback) => systemClock.after(ms > LONGEST_WAIT_MS ? 60 * ms : ms, callback),
  },
}

/**
 * A world in which waiting takes no time, but the clock goes on as if it had; and only then. What
 * watches does so until enough has been waited.
 */
export function withoutWaiting(): Environment & { pass(ms: number): void } {
  let passed = 0
  const watching = new Set<{ readonly until: number; readonly callback: () => void }>()
  const pass = (ms: number): void => {
    passed += ms
    for (const watch of watching) {
      if (watch.until > passed) continue
      watching.delete(watch)
      systemClock.after(0, watch.callback)
    }
  }
  return {
    ...systemEnvironment,
    clock: {
      now: () => passed,
      elapsed: () => passed,
      after(ms, callback) {
        if (ms <= LONGEST_WAIT_MS) {
          pass(ms)
          return systemClock.after(0, callback)
        }
        const watch = { until: passed + ms, callback }
        watching.add(watch)
        return { cancel: () => void watching.delete(watch) }
      },
    },
    pass,
  }
}

/**
 * A counter whose database never answers: each call rejects after ten seconds, an increment with an
 * unknown outcome.
 */
export async function rejectsAfterTenSeconds(
  counter: { increment(): Promise<unknown>; get(): Promise<unknown> },
  database: FaultyDatabase,
  environment: ReturnType<typeof withoutWaiting>,
): Promise<void> {
  for (const [call, name] of [
    [() => counter.increment(), 'OutcomeUnknownError'],
    [() => counter.get(), 'DatabaseError'],
  ] as const) {
    const asked = database.asked
    const refused = assert.rejects(call(), { name, message: /did not answer within 10 s/ })
    await eventually('the database is asked', () => database.asked > asked)
    environment.pass(9_900)
    await delay(5)
    environment.pass(200)
    await refused
  }
}
