/**
 * A cache and a database that fail when a test says so, around real ones; and a clock that runs
 * faster.
 */
import { type Cache, CacheError } from '../cache/cache.js'
import {
  type Database,
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'

/** Any cache, taken as one that processes share. */
export class FaultyCache implements Cache {
  readonly scope = 'shared'
  /** `before`: nothing arrives; `after`: what is asked is done, and its answer is lost. */
  fails: 'before' | 'after' | undefined
  operations = 0
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  get = (...args: Parameters<Cache['get']>) => this.#ask(() => this.#cache.get(...args))
  getMany = (...args: Parameters<Cache['getMany']>) => this.#ask(() => this.#cache.getMany(...args))
  set = (...args: Parameters<Cache['set']>) => this.#ask(() => this.#cache.set(...args))
  add = (...args: Parameters<Cache['add']>) => this.#ask(() => this.#cache.add(...args))
  append = (...args: Parameters<Cache['append']>) => this.#ask(() => this.#cache.append(...args))
  delete = (...args: Parameters<Cache['delete']>) => this.#ask(() => this.#cache.delete(...args))
  increment = (...args: Parameters<Cache['increment']>) =>
    this.#ask(() => this.#cache.increment(...args))
  close = () => this.#cache.close()

  async #ask<T>(operation: () => Promise<T>): Promise<T> {
    this.operations++
    const failure = new CacheError('CACHE_TIMEOUT', 'the cache is silent for the test')
    if (this.fails === 'before') throw failure
    const answer = await operation()
    if (this.fails === 'after') throw failure
    return answer
  }
}

export class FaultyDatabase implements Database {
  down = false
  statements = 0
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  get dialect(): Database['dialect'] {
    return this.#database.dialect
  }

  get maxStatementBytes(): number {
    return this.#database.maxStatementBytes
  }

  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    return this.#ask(() => this.#database.query(sql, parameters))
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#ask(() => this.#database.transaction(work))
  }

  now = () => this.#database.now()
  migrate = () => this.#database.migrate()
  close = () => this.#database.close()

  async #ask<T>(operation: () => Promise<T>): Promise<T> {
    this.statements++
    if (this.down) {
      throw new DatabaseError('ECONNREFUSED', 'unreachable', 'the database is down for the test')
    }
    return operation()
  }
}

/** A clock on which `times` seconds pass in one. */
export function faster(times: number): Environment {
  const { clock } = systemEnvironment
  return {
    ...systemEnvironment,
    clock: {
      now: clock.now,
      elapsed: () => clock.elapsed() * times,
      after: (ms, callback) => clock.after(ms / times, callback),
    },
  }
}
