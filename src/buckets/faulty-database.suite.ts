/**
 * A database on which any statement and any commit may fail, before or after it has been carried
 * out.
 */
import {
  type Database,
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database/database.js'

export class FaultyDatabase implements Database {
  readonly dialect
  readonly maxStatementBytes
  readonly #inner: Database
  readonly #fails: () => boolean
  /** How often it has failed so far. */
  faults = 0

  /** `fails` is asked twice for each statement and each commit. */
  constructor(inner: Database, fails: () => boolean) {
    this.#inner = inner
    this.#fails = fails
    this.dialect = inner.dialect
    this.maxStatementBytes = inner.maxStatementBytes
  }

  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    return this.#faulty(() => this.#inner.query(sql, parameters))
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const faulty = (on: Transaction): Transaction => ({
      dialect: on.dialect,
      maxStatementBytes: on.maxStatementBytes,
      query: (sql, parameters) => this.#faulty(() => on.query(sql, parameters)),
      now: () => this.#faulty(() => on.now()),
      beforeCommit: (hook) => on.beforeCommit(hook),
    })
    return this.#faulty(() => this.#inner.transaction((tx) => work(faulty(tx))))
  }

  now(): Promise<number> {
    return this.#faulty(() => this.#inner.now())
  }

  migrate(): Promise<void> {
    return this.#inner.migrate()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  async #faulty<T>(work: () => Promise<T>): Promise<T> {
    this.#perhaps('before')
    const result = await work()
    this.#perhaps('after')
    return result
  }

  #perhaps(when: string): void {
    if (!this.#fails()) return
    this.faults++
    throw new DatabaseError('FAULT', 'unreachable', `planted ${when}`)
  }
}
