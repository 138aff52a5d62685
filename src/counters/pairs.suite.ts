/**
 * The pairs of adapters that the counters' tests run on, and what goes wrong with them on purpose.
 */
import assert from 'node:assert/strict'
import { rm, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cache, CacheError, type CacheErrorCode } from '../cache/cache.js'
import { memcached } from '../cache/memcached/memcached.js'
import { memory } from '../cache/memory.js'
import {
  type Database,
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemClock } from '../support/clock.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { sharedMemcached, sharedMysqlUrl } from '../../test/servers/shared.js'

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
        () => memcached(servers),
        async () => undefined,
      )
    },
  },
]

/**
 * Random numbers from a seed (mulberry32, Tommy Ettinger, 2017), so that a failure can be had
 * again.
 */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Longer timers watch over a silent database. */
const LONGEST_WAIT_MS = 5_000

/**
 * A world in which waiting takes no time, but the clock goes on as if it had; and only then. What
 * watches does so until enough has been waited.
 */
export function hurried(): Environment & { pass(ms: number): void } {
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
 * What becomes of a statement or transaction: as it should; or an error for an answer, and it was
 * not begun, rolled back, or done; or no connection; or nothing, ever.
 */
export type DatabaseFault = 'none' | 'not begun' | 'rolled back' | 'done' | 'refused' | 'silent'

/**
 * A database that fails as `fault` says, which is asked about each statement outside a transaction
 * and each transaction.
 */
export class FaultyDatabase implements Database {
  readonly #inner: Database
  readonly #fault: (sql: string) => DatabaseFault | Promise<DatabaseFault>
  transactions = 0
  /** Statements outside transactions. */
  readonly statements: string[] = []

  constructor(
    inner: Database,
    fault: (sql: string) => DatabaseFault | Promise<DatabaseFault> = () => 'none',
  ) {
    this.#inner = inner
    this.#fault = fault
  }

  get dialect() {
    return this.#inner.dialect
  }
  get maxStatementBytes() {
    return this.#inner.maxStatementBytes
  }
  now() {
    return this.#inner.now()
  }
  migrate() {
    return this.#inner.migrate()
  }
  close() {
    return this.#inner.close()
  }

  async query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    this.statements.push(sql)
    const fault = await this.#fault(sql)
    if (fault === 'not begun' || fault === 'rolled back') throw unanswered()
    await noConnection(fault)
    const result = await this.#inner.query(sql, parameters)
    if (fault === 'done') throw unanswered()
    return result
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.transactions++
    const fault = await this.#fault('transaction')
    if (fault === 'not begun') throw unanswered()
    await noConnection(fault)
    const result = await this.#inner.transaction(async (tx) => {
      const done = await work(tx)
      if (fault === 'rolled back') throw unanswered()
      return done
    })
    if (fault === 'done') throw unanswered()
    return result
  }
}

async function noConnection(fault: DatabaseFault): Promise<void> {
  if (fault === 'refused') {
    throw new DatabaseError('ECONNREFUSED', 'unreachable', 'connect ECONNREFUSED, says the test')
  }
  if (fault === 'silent') await new Promise(() => undefined)
}

function unanswered(): DatabaseError {
  return new DatabaseError('ETIMEDOUT', 'unreachable', 'No answer, says the test')
}

type Operation = Exclude<keyof Cache, 'scope' | 'close'>

/**
 * What becomes of an operation: as it should; or no answer, and it was not carried out, or was, or
 * the cache is being closed; or a value was there and is lost before.
 */
export type CacheFault = 'none' | 'down' | 'silent' | 'done' | 'closed' | 'lost'

/** A cache that fails as `fault` says. It may stand before one that others share. */
export class FaultyCache implements Cache {
  readonly #inner: Cache
  readonly #fault: (operation: Operation, key: string) => CacheFault
  readonly keys = new Set<string>()
  operations = 0

  constructor(
    inner: Cache,
    fault: (operation: Operation, key: string) => CacheFault = () => 'none',
  ) {
    this.#inner = inner
    this.#fault = fault
  }

  get scope() {
    return this.#inner.scope
  }
  close() {
    return this.#inner.close()
  }
  get(key: string) {
    return this.#do('get', key, () => this.#inner.get(key))
  }
  set(key: string, value: Buffer, ttl: number) {
    return this.#do('set', key, () => this.#inner.set(key, value, ttl))
  }
  add(key: string, value: Buffer, ttl: number) {
    return this.#do('add', key, () => this.#inner.add(key, value, ttl))
  }
  append(key: string, value: Buffer) {
    return this.#do('append', key, () => this.#inner.append(key, value))
  }
  delete(key: string) {
    return this.#do('delete', key, () => this.#inner.delete(key))
  }
  increment(key: string, delta?: number, onMiss?: { initial: number; ttlSeconds: number }) {
    return this.#do('increment', key, () => this.#inner.increment(key, delta, onMiss))
  }

  getMany(keys: readonly string[], onUnanswered?: (key: string, error: CacheError) => void) {
    return this.#do('getMany', keys[0] ?? '', () => this.#inner.getMany(keys, onUnanswered))
  }

  /** Forgets all it has been asked about. */
  async flush(): Promise<void> {
    await Promise.all([...this.keys].map((key) => this.#inner.delete(key)))
  }

  async #do<T>(operation: Operation, key: string, work: () => Promise<T>): Promise<T> {
    this.operations++
    this.keys.add(key)
    const fault = this.#fault(operation, key)
    if (fault === 'lost') await this.#inner.delete(key)
    if (fault === 'down') throw noAnswer('CACHE_UNREACHABLE')
    if (fault === 'silent') throw noAnswer('CACHE_TIMEOUT')
    if (fault === 'closed') throw noAnswer('CACHE_CLOSED')
    const result = await work()
    if (fault === 'done') throw noAnswer('CACHE_TIMEOUT')
    return result
  }
}

function noAnswer(code: CacheErrorCode): CacheError {
  return new CacheError(code, 'No answer, says the test')
}

/**
 * A counter whose database never answers: each call rejects after ten seconds, an increment with an
 * unknown outcome.
 */
export async function rejectsAfterTenSeconds(
  counter: { increment(): Promise<unknown>; get(): Promise<unknown> },
  database: FaultyDatabase,
  environment: ReturnType<typeof hurried>,
): Promise<void> {
  for (const [call, name] of [
    [() => counter.increment(), 'OutcomeUnknownError'],
    [() => counter.get(), 'DatabaseError'],
  ] as const) {
    const asked = database.statements.length + database.transactions
    const refused = assert.rejects(call(), { name, message: /did not answer within 10 s/ })
    while (database.statements.length + database.transactions === asked) await delay(1)
    environment.pass(9_900)
    await delay(5)
    environment.pass(200)
    await refused
  }
}
