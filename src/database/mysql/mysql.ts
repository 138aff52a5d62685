/**
 * MySQL and MariaDB through mysql2's pool. Connections are made when needed, come back to the pool
 * as if new, and are never used again after an error in a transaction: rolling back is the server's
 * work once the connection is cut, which needs no answer and cannot fail.
 */
import { createHash } from 'node:crypto'
import { CLOSE_TIMEOUT_MS, Lifetime } from '../../support/lifetime.js'
import { BurstLogger, type Logger } from '../../support/logger.js'
import { within } from '../../support/within.js'
import { warnOnce } from '../../support/warn-once.js'
import { closedError } from '../closed.js'
import {
  DatabaseError,
  type Database,
  type DatabaseErrorCategory,
  type Queryable,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database.js'
import { databaseNow } from '../dialect.js'
import {
  MIGRATION_LOCK_SECONDS,
  migrate,
  migrationsFolder,
  PARTS,
  migrationsBusy,
  type Migratable,
} from '../migrations.js'
import { OpenTransaction } from '../open-transaction.js'
import { comesFrom } from '../source.js'
import { BINLOG_REMEDY, condemnsOthers } from './errors.js'
import type { MysqlOptions } from './options.js'
import { poolOptions } from './pool-options.js'
import type { MysqlSession } from './session.js'
import { MysqlHosts } from './hosts.js'

export type { MysqlHost } from './host-list.js'
export type { MysqlOptions } from './options.js'

/**
 * Time limit of a statement that may change a big table. All others in a migration have the usual
 * one.
 */
const CHANGE_TIMEOUT_MS = 3_600_000
/** Failures that say nothing about the statement. */
const PASSING: readonly DatabaseErrorCategory[] = ['lock', 'capacity']
const QUICK = /^\s*(?:SELECT\b|INSERT\b(?![^]*\bSELECT\b)|CREATE\s+TABLE\b(?![^]*\bSELECT\b))/i

/**
 * A MySQL (8.0+) or MariaDB (10.6+) database. Connects at the first use.
 *
 * @param given `mysql://user:password@host:port/database` or the same as options. Several hosts,
 * `host:port,host:port`, are servers of one database; a process uses one at a time. A URL may have
 * the parameters `connection_limit`, `socket`, `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`, `ssl`.
 * @throws TypeError, RangeError for a wrong option; nothing of a URL but its scheme is in the
 * message.
 */
export function mysql(given: string | MysqlOptions): Database {
  return new MysqlDatabase(given)
}

export class MysqlDatabase implements Database, Migratable {
  readonly dialect = 'mysql'
  readonly #schema: string
  readonly #sessions: MysqlHosts
  readonly #lifetime = new Lifetime(closedError)
  #loads = true

  /**
   * @param option what the user knows a URL as, for messages
   * @param logger told of parts of a URL that are ignored, and of moves to another host
   */
  constructor(given: string | MysqlOptions, option?: string, logger: Logger = console) {
    comesFrom(this, this)
    const options = poolOptions(given, option, (message) => warnOnce(logger, message))
    this.#schema = options[0]?.database ?? ''
    this.#sessions = new MysqlHosts(options, new BurstLogger(logger, () => performance.now()))
  }

  get maxStatementBytes(): number {
    return this.#sessions.maxStatementBytes
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#lifetime.run(async () => {
      const session = await this.#sessions.acquire()
      try {
        const result = await session.query(sql, parameters)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        // A statement alone rolls back alone, so a server that has answered keeps its connection,
        // unless it is the wrong server.
        const useless =
          (error instanceof DatabaseError && error.category === 'unreachable') ||
          condemnsOthers(error)
        if (useless) this.#sessions.end(session, error)
        else this.#lifetime.track(session.recycle())
        throw error
      }
    })
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#onOneConnection((session) => {
      const { maxStatementBytes } = session
      const prepare = (sql: string, values: readonly SqlValue[]) => session.prepare(sql, values)
      const load =
        this.#loads && session.loads
          ? (...rows: Parameters<MysqlSession['load']>) => this.#watched(session.load(...rows))
          : undefined
      return session.transaction(() => {
        const tx = new OpenTransaction({ dialect: 'mysql', maxStatementBytes, prepare, load })
        return comesFrom(tx, this).finish(work)
      })
    })
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  migrate(parts: readonly string[] = PARTS, folder = migrationsFolder('mysql')): Promise<void> {
    return migrate(this, folder, parts)
  }

  /**
   * One connection under an advisory lock; not a transaction, since in MySQL DDL commits by itself.
   */
  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T> {
    return this.#onOneConnection(async (session) => {
      const query = (sql: string, values?: readonly SqlValue[]) =>
        session.query(sql, values, QUICK.test(sql) ? undefined : CHANGE_TIMEOUT_MS)
      // The lock is the server's, not the schema's; a hash, because its name may have 64 characters
      // only.
      const lock = `wide_cache_${createHash('md5').update(this.#schema).digest('hex')}`
      const { rows } = await query('SELECT GET_LOCK(?, ?) AS taken', [lock, MIGRATION_LOCK_SECONDS])
      if (rows[0]?.['taken'] !== 1) throw migrationsBusy()
      await refuseStatementLog(query)
      const result = await work({
        dialect: 'mysql',
        maxStatementBytes: session.maxStatementBytes,
        query,
        now: () => databaseNow({ dialect: 'mysql', query }),
      })
      await query('SELECT RELEASE_LOCK(?)', [lock])
      return result
    })
  }

  close(): Promise<void> {
    return this.#lifetime.close(async () => {
      await within(CLOSE_TIMEOUT_MS, this.#lifetime.idle())
      await this.#sessions.close()
    })
  }

  /**
   * Runs a LOAD DATA. If it fails for other reasons than locks or capacity, all rows are sent as
   * INSERTs from then on.
   */
  #watched(load: () => Promise<QueryResult>): () => Promise<QueryResult> {
    return async () => {
      try {
        return await load()
      } catch (error) {
        const passes = error instanceof DatabaseError && PASSING.includes(error.category)
        if (!passes) this.#loads = false
        throw error
      }
    }
  }

  #onOneConnection<T>(work: (session: MysqlSession) => Promise<T>): Promise<T> {
    return this.#lifetime.run(async () => {
      const session = await this.#sessions.acquire()
      try {
        const result = await work(session)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        this.#sessions.end(session, error)
        throw error
      }
    })
  }
}

/**
 * Refuses a server with a binary log of statements, because InnoDB would refuse every change at
 * READ COMMITTED, after DDL has begun.
 *
 * @throws DatabaseError `DATABASE_BINLOG_FORMAT`
 */
async function refuseStatementLog(query: Queryable['query']): Promise<void> {
  // Not @@binlog_format, which a server that has done away with it would not know.
  const { rows } = await query(`SHOW VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format')`)
  const settings = new Map(rows.map((row) => [row['Variable_name'], row['Value']]))
  if (settings.get('log_bin') !== 'ON' || settings.get('binlog_format') !== 'STATEMENT') return
  throw new DatabaseError(
    'DATABASE_BINLOG_FORMAT',
    'usage',
    `The server's binlog_format is STATEMENT; allowed: ROW, MIXED. ${BINLOG_REMEDY}. Nothing ` +
      'has been migrated',
  )
}
