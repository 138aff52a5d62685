import type { Database, Dialect, QueryResult, SqlValue, Transaction } from './database.js'
import { comesFrom } from './source.js'

/**
 * A database that passes each request on to another one, once. A subclass says what happens around
 * a call.
 */
export abstract class ForwardingDatabase implements Database {
  /** The database behind it. */
  readonly database: Database

  constructor(database: Database) {
    comesFrom(this, database)
    this.database = database
  }

  get dialect(): Dialect {
    return this.database.dialect
  }

  get maxStatementBytes(): number {
    return this.database.maxStatementBytes
  }

  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    return this.around(() => this.database.query(sql, parameters))
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.around(() => this.database.transaction(work))
  }

  now(): Promise<number> {
    return this.around(() => this.database.now())
  }

  migrate(parts?: readonly string[]): Promise<void> {
    return this.around(() => this.database.migrate(parts))
  }

  close(): Promise<void> {
    return this.database.close()
  }

  /** Makes the call, before, after or between what the subclass does. */
  protected abstract around<T>(call: () => Promise<T>): Promise<T>
}
