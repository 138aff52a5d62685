import { type Cache, CacheError } from '../../src/cache/cache.js'
import {
  type Database,
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../../src/database/database.js'
import type { SqlEngine } from './sql-engine.js'

/** What an actor asks for. */
export interface Asked<T> {
  /** Shown in the trace. */
  readonly what: string
  /** Names of what it reads and changes: cache keys and tables. */
  readonly reads?: readonly string[]
  readonly writes?: readonly string[]
  /** Carries it out. */
  readonly work: () => Promise<T> | T
  /** Tells whether no lock of another actor stops it. @default always */
  readonly isReady?: () => boolean
  /** The error of an answer that does not come. @default it always comes */
  readonly error?: () => Error
}

type Ask = <T>(asked: Asked<T>) => Promise<T>

/** A cache whose operations each wait until the explorer lets them come. */
export function exploredCache(cache: Cache, ask: Ask): Cache {
  const error = (): CacheError => new CacheError('CACHE_TIMEOUT', 'No answer, says the explorer')
  const read = <T>(what: string, keys: readonly string[], work: () => Promise<T>): Promise<T> =>
    ask({ what: `cache ${what} ${keys.join(' ')}`, reads: keys, work, error })
  const write = <T>(what: string, key: string, work: () => Promise<T>): Promise<T> =>
    ask({ what: `cache ${what} ${key}`, writes: [key], work, error })
  return {
    scope: 'shared',
    neverGoesBack: cache.neverGoesBack,
    get: (key) => read('get', [key], () => cache.get(key)),
    getMany: async (keys, onUnanswered) => {
      try {
        return await read('getMany', keys, () => cache.getMany(keys))
      } catch (failure) {
        if (!onUnanswered || !(failure instanceof CacheError)) throw failure
        for (const key of keys) onUnanswered(key, failure)
        return new Map()
      }
    },
    set: (key, value, ttl) => write('set', key, () => cache.set(key, value, ttl)),
    add: (key, value, ttl) => write('add', key, () => cache.add(key, value, ttl)),
    append: (key, value) => write('append', key, () => cache.append(key, value)),
    delete: (key) => write('delete', key, () => cache.delete(key)),
    increment: (key, delta, onMiss) =>
      write('increment', key, () => cache.increment(key, delta, onMiss)),
    close: async () => undefined,
  }
}

/** A database that actors share. */
export interface SharedDatabase {
  readonly name: string
  readonly engine: SqlEngine
  /** The transaction that has written, or read for update. All others wait for its end. */
  holder: object | undefined
}

/**
 * A database whose statements and commits each wait until the explorer lets them come. As in MySQL,
 * a transaction locks from its first write or read for update on. It then locks everything.
 */
export function exploredDatabase(shared: SharedDatabase, now: () => number, ask: Ask): Database {
  const { engine } = shared
  const common = {
    dialect: 'sqlite',
    maxStatementBytes: 1024 * 1024,
    now: async () => now(),
  } as const
  const error = (): DatabaseError =>
    new DatabaseError('CONNECTION_LOST', 'unreachable', 'No answer, says the explorer')
  return {
    ...common,
    query: (sql, values = []) =>
      ask({
        ...usesOf(shared, sql),
        what: sql,
        work: () => engine.run(sql, values),
        isReady: () => shared.holder === undefined,
        error,
      }),
    migrate: async () => undefined,
    close: async () => undefined,
    transaction: async (work) => {
      const tx = new ExploredTransaction(shared, ask, error)
      const open: Transaction = {
        ...common,
        query: (sql, values = []) => tx.query(sql, values),
        beforeCommit: (hook) => void tx.hooks.push(hook),
      }
      try {
        const result = await work(open)
        for (const hook of tx.hooks) await hook()
        await tx.commit()
        return result
      } catch (failure) {
        tx.end('ROLLBACK')
        throw failure
      }
    },
  }
}

class ExploredTransaction {
  readonly hooks: (() => Promise<void>)[] = []
  readonly #shared: SharedDatabase
  readonly #ask: Ask
  readonly #error: () => DatabaseError
  readonly #written = new Set<string>()
  /** Set when an answer did not come: nothing more is done in it. */
  #broken: DatabaseError | undefined

  constructor(shared: SharedDatabase, ask: Ask, error: () => DatabaseError) {
    this.#shared = shared
    this.#ask = ask
    this.#error = error
  }

  async query(sql: string, values: readonly SqlValue[]): Promise<QueryResult> {
    if (this.#broken) throw this.#broken
    const uses = usesOf(this.#shared, sql)
    for (const table of uses.writes) this.#written.add(table)
    return this.#ask({
      ...uses,
      what: `tx ${sql}`,
      work: () => this.#run(sql, values),
      isReady: () => this.#mayRun || SKIPS.test(sql),
      error: () => this.#break(),
    })
  }

  async commit(): Promise<void> {
    if (this.#broken) throw this.#broken
    if (this.#shared.holder !== this) return
    await this.#ask({
      what: 'COMMIT',
      writes: [...this.#written],
      work: () => this.end('COMMIT'),
      error: () => this.#break(),
    })
  }

  end(how: 'COMMIT' | 'ROLLBACK'): void {
    if (this.#shared.holder !== this) return
    this.#shared.engine.run(how, [])
    this.#shared.holder = undefined
  }

  get #mayRun(): boolean {
    return this.#shared.holder === undefined || this.#shared.holder === this
  }

  #run(sql: string, values: readonly SqlValue[]): QueryResult {
    if (!this.#mayRun) return { rows: [], affectedRows: 0 }
    if (LOCKS.test(sql) && this.#shared.holder === undefined) {
      this.#shared.engine.run('BEGIN', [])
      this.#shared.holder = this
    }
    return this.#shared.engine.run(sql, values)
  }

  #break(): DatabaseError {
    this.end('ROLLBACK')
    return (this.#broken = this.#error())
  }
}

/** Statements that lock. The dialect of SQLite says in comments what locks in the others. */
const LOCKS = /^(?!SELECT)|FOR UPDATE/
const SKIPS = /SKIP LOCKED/
const TABLE = /\b(?:FROM|JOIN|INTO|UPDATE)\s+`?(\w+)/g

/** Returns the tables that a statement uses. A read for update counts as a write. */
function usesOf({ name }: SharedDatabase, sql: string): { reads: string[]; writes: string[] } {
  const tables = [...sql.matchAll(TABLE)].map(([, table]) => `${name}.${table}`)
  return LOCKS.test(sql) ? { reads: [], writes: tables } : { reads: tables, writes: [] }
}
