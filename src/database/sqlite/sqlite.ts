/**
 * The embedded database: SQLite through the optional package libsql, in a thread of its own. One
 * connection, used by one at a time. A statement waits for the transaction before it, so `work`
 * must be short and use only its `tx`. Other processes may share the file. A writer waits for
 * another process's writer, 10 s at most.
 */
import { resolve } from 'node:path'
import { CLOSE_TIMEOUT_MS, Lifetime } from '../../support/lifetime.js'
import { wrongType, wrongValue } from '../../support/options.js'
import { within } from '../../support/within.js'
import { closedError } from '../closed.js'
import {
  DatabaseError,
  type Database,
  type Queryable,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database.js'
import { databaseNow } from '../dialect.js'
import { migrate, migrationsFolder, PARTS, type Migratable } from '../migrations.js'
import { OpenTransaction } from '../open-transaction.js'
import { Mutex } from '../mutex.js'
import { comesFrom } from '../source.js'
import { checkedValues } from '../statement-values.js'
import { SqliteSession } from './session.js'

/**
 * SQLITE_MAX_LENGTH and SQLITE_MAX_SQL_LENGTH, as SQLite is built: https://sqlite.org/limits.html
 */
const MAX_STATEMENT_BYTES = 1_000_000_000
const INTEGER_MIN = -(2n ** 63n)
const INTEGER_MAX = 2n ** 63n - 1n

/**
 * An SQLite database. Opens, or creates, its file at the first use. What is committed outlives the
 * death of the process, though after a power cut the last transactions may be missing.
 *
 * In text, NUL is stored as U+FFFD.
 *
 * @param file a path, or `:memory:` for one that ends with the process
 */
export function sqlite(file: string): Database {
  return new SqliteDatabase(file)
}

export class SqliteDatabase implements Database, Migratable {
  readonly dialect = 'sqlite'
  readonly maxStatementBytes = MAX_STATEMENT_BYTES
  /** The path of the file, or `:memory:`. */
  readonly file: string
  readonly #lifetime = new Lifetime(closedError)
  readonly #mutex = new Mutex()
  #session: SqliteSession | undefined
  /** `close()` waits no longer: what has not begun by now never does. */
  #ended = false

  constructor(file: string) {
    comesFrom(this, this)
    if (typeof file !== 'string') {
      throw wrongType('file', file, 'the path of an SQLite file, or ":memory:"')
    }
    if (file === '') throw wrongValue('file', file, 'the path of an SQLite file, or ":memory:"')
    // A process that changes its directory later does not change its database.
    this.file = file === ':memory:' ? file : resolve(file)
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#exclusively((session) => statement(session, sql, parameters))
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#transaction(work)
  }

  #transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    check?: (sql: string) => void,
  ): Promise<T> {
    return this.#exclusively(async (session) => {
      // IMMEDIATE: a transaction that reads first and writes later would fail when another has
      // written meanwhile.
      await session.query('BEGIN IMMEDIATE', [])
      try {
        const tx = new OpenTransaction({
          dialect: this.dialect,
          maxStatementBytes: this.maxStatementBytes,
          prepare: (sql, values) => () => statement(session, sql, values),
          check,
        })
        const result = await comesFrom(tx, this).finish(work)
        await session.query('COMMIT', [])
        return result
      } catch (error) {
        // If even that fails, the connection goes, and the transaction with it. (SQLite itself has
        // rolled back on some errors, such as a full disk; there is nothing left to roll back
        // then.)
        await session.query('ROLLBACK', []).catch((failure: unknown) => {
          if (
            !(failure instanceof DatabaseError && /no transaction is active/.test(failure.message))
          ) {
            session.destroy()
          }
        })
        throw error
      }
    })
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  migrate(parts: readonly string[] = PARTS, folder = migrationsFolder('sqlite')): Promise<void> {
    return migrate(this, folder, parts)
  }

  /** A transaction: it has the file's only write lock, and DDL is rolled back with it. */
  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T> {
    return this.#transaction(work, () => undefined)
  }

  close(): Promise<void> {
    return this.#lifetime.close(async () => {
      await within(CLOSE_TIMEOUT_MS, this.#lifetime.idle())
      this.#ended = true
      if (!this.#session) return
      await within(CLOSE_TIMEOUT_MS, this.#session.close())
      this.#session.destroy()
    })
  }

  #exclusively<T>(work: (session: SqliteSession) => Promise<T>): Promise<T> {
    return this.#lifetime.run(() =>
      this.#mutex.run(async () => {
        // A new thread would open the file again, and nobody would close it.
        if (this.#ended) throw closedError()
        if (!this.#session || this.#session.dead) this.#session = new SqliteSession(this.file)
        const session = this.#session
        session.hold()
        try {
          return await work(session)
        } finally {
          session.release()
        }
      }),
    )
  }
}

async function statement(
  session: SqliteSession,
  sql: string,
  parameters: readonly SqlValue[],
): Promise<QueryResult> {
  const values = checkedValues(sql, parameters)
  if (
    values.some(
      (value) => typeof value === 'bigint' && (value < INTEGER_MIN || value > INTEGER_MAX),
    )
  ) {
    throw new DatabaseError(
      'SQLITE_MISMATCH',
      'data',
      'A bigint does not fit the 64 bits of an SQLite integer: store it as text',
    )
  }
  return session.query(sql, values)
}
