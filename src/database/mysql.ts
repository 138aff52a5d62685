/**
 * MySQL and MariaDB through mysql2's pool. Connections are made when needed, come back to the pool as if new,
 * and are never used again after an error in a transaction: rolling back is the server's work once the
 * connection is cut, which needs no answer and cannot fail.
 */
import { createHash } from 'node:crypto'
import type { Pool, PoolConnection, PoolOptions } from 'mysql2'
import { ASSUMED_STATEMENT_BYTES, DatabaseError, type Database, type Queryable, type QueryResult, type SqlValue, type Transaction } from './database.js'
import { databaseNow } from './dialect.js'
import { Lifetime, closedError, within } from './lifetime.js'
import { MIGRATION_LOCK_SECONDS, migrate, migrationsFolder, migrationsBusy, type MigrationHost } from './migrations.js'
import { mysqlError } from './mysql-errors.js'
import { poolOptions, type MysqlOptions } from './mysql-options.js'
import { MysqlSession } from './mysql-session.js'
import { OpenTransaction } from './open-transaction.js'

export type { MysqlOptions } from './mysql-options.js'

/** How long a caller waits for one of the connections to come free. */
const ACQUIRE_TIMEOUT_MS = 60_000
/** How long idle connections have to say goodbye. */
const QUIT_TIMEOUT_MS = 1_000
/** Changing a big table takes its time; no answer to anything else in a migration means what it always means. */
const CHANGE_TIMEOUT_MS = 3_600_000
const QUICK = /^\s*(?:SELECT\b|INSERT\b(?![^]*\bSELECT\b)|CREATE\s+TABLE\b(?![^]*\bSELECT\b))/i

/**
 * A MySQL (8.0+) or MariaDB (10.6+) database. Connects at the first use.
 *
 * @param given `mysql://user:password@host:port/database` or the same as options
 * @throws TypeError, RangeError for a wrong option; nothing of a URL but its scheme is in the message.
 */
export function mysql(given: string | MysqlOptions): Database {
  return new MysqlDatabase(given)
}

export class MysqlDatabase implements Database, MigrationHost {
  readonly dialect = 'mysql'
  readonly #options: PoolOptions
  readonly #lifetime = new Lifetime()
  readonly #sessions = new Map<PoolConnection, MysqlSession>()
  /** The smallest of all connections so far. */
  #maxStatementBytes = Infinity
  #pool: Promise<Pool> | undefined

  /** @param option what the user knows a URL as, for messages */
  constructor(given: string | MysqlOptions, option?: string) {
    this.#options = poolOptions(given, option)
  }

  get maxStatementBytes(): number {
    return this.#maxStatementBytes === Infinity ? ASSUMED_STATEMENT_BYTES : this.#maxStatementBytes
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#lifetime.run(async () => {
      const session = await this.#acquire()
      try {
        const result = await session.query(sql, parameters)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        // A statement alone rolls back alone, so a server that has answered keeps its connection.
        if (error instanceof DatabaseError && error.kind === 'unreachable') session.destroy(error)
        else this.#lifetime.track(session.recycle())
        throw error
      }
    })
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#onOneConnection((session) => {
      const { maxStatementBytes } = session
      const prepare = (sql: string, values: readonly SqlValue[]) => session.prepare(sql, values)
      return session.transaction(() => new OpenTransaction({ dialect: 'mysql', maxStatementBytes, prepare }).finish(work))
    })
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  migrate(folder = migrationsFolder('mysql')): Promise<void> {
    return migrate(this, folder)
  }

  /** One connection under an advisory lock; not a transaction, since in MySQL DDL commits by itself. */
  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T> {
    return this.#onOneConnection(async (session) => {
      const query = (sql: string, values?: readonly SqlValue[]) => session.query(sql, values, QUICK.test(sql) ? undefined : CHANGE_TIMEOUT_MS)
      // The lock is the server's, not the schema's; a hash, because its name may have 64 characters only.
      const lock = `wide_cache_${createHash('md5').update(this.#options.database ?? '').digest('hex')}`
      const { rows } = await query('SELECT GET_LOCK(?, ?) AS taken', [lock, MIGRATION_LOCK_SECONDS])
      if (rows[0]?.['taken'] !== 1) throw migrationsBusy()
      const result = await work({ dialect: 'mysql', maxStatementBytes: session.maxStatementBytes, query, now: () => databaseNow({ dialect: 'mysql', query }) })
      await query('SELECT RELEASE_LOCK(?)', [lock])
      return result
    })
  }

  close(): Promise<void> {
    return this.#lifetime.close(async () => {
      const pool = await this.#pool
      if (!pool) return
      const all = () => [...this.#sessions.values()]
      for (const session of all()) if (session.busy) session.destroy(closedError())
      await within(QUIT_TIMEOUT_MS, new Promise((resolve) => pool.end(resolve)))
      for (const session of all()) session.destroy(closedError())
    })
  }

  #onOneConnection<T>(work: (session: MysqlSession) => Promise<T>): Promise<T> {
    return this.#lifetime.run(async () => {
      const session = await this.#acquire()
      try {
        const result = await work(session)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        session.destroy(error)
        throw error
      }
    })
  }

  async #acquire(): Promise<MysqlSession> {
    this.#pool ??= import('mysql2').then(({ default: { createPool } }) => createPool(this.#options))
    const connection = await connectionOf(await this.#pool)
    const known = this.#sessions.get(connection)
    if (known) return known
    const session = new MysqlSession(connection, () => this.#sessions.delete(connection))
    this.#sessions.set(connection, session)
    try {
      await session.begin()
      this.#maxStatementBytes = Math.min(this.#maxStatementBytes, session.maxStatementBytes)
      return session
    } catch (error) {
      session.destroy(error)
      throw error
    }
  }
}

/** A connection of the pool, if one comes free in time. */
function connectionOf(pool: Pool): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new DatabaseError('DATABASE_QUEUE_FULL', 'capacity', `No connection came free within ${ACQUIRE_TIMEOUT_MS / 1000} s`))
    }, ACQUIRE_TIMEOUT_MS)
    pool.getConnection((error, connection) => {
      clearTimeout(timer)
      if (late) connection?.release()
      else if (error) reject(mysqlError(error))
      else resolve(connection)
    })
  })
}
