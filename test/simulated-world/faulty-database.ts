import {
  type Database,
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../../src/database/database.js'

/**
 * Outcome of a statement or transaction: as it should be; an error, and it was not begun, rolled
 * back, or done; no connection; or no answer, ever.
 */
export type DatabaseFault = 'none' | 'not begun' | 'rolled back' | 'done' | 'refused' | 'silent'

type Ask = (what: string) => DatabaseFault | Promise<DatabaseFault>

const never = (): DatabaseFault => 'none'

/** A real database that fails when a test says so. */
export class FaultyDatabase implements Database {
  transactions = 0
  /** Statements outside transactions. */
  readonly statements: string[] = []
  /** Number of its failures. */
  faults = 0
  readonly #inner: Database
  readonly #fault: Ask
  readonly #within: Ask

  /**
   * `fault` is asked about each statement outside a transaction, and as `'transaction'` about each
   * transaction. `within` is asked about each statement in a transaction, and about `'now'` and
   * `'migrate'`.
   */
  constructor(inner: Database, fault: Ask = never, within: Ask = never) {
    this.#inner = inner
    this.#fault = fault
    this.#within = within
  }

  get dialect(): Database['dialect'] {
    return this.#inner.dialect
  }

  get maxStatementBytes(): number {
    return this.#inner.maxStatementBytes
  }

  /** Statements and transactions that have come. */
  get asked(): number {
    return this.statements.length + this.transactions
  }

  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    this.statements.push(sql)
    return this.#ask(this.#fault, sql, () => this.#inner.query(sql, parameters))
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.transactions++
    const fault = await this.#fault('transaction')
    if (fault === 'not begun') throw this.#unanswered()
    await this.#noConnection(fault)
    const result = await this.#inner.transaction(async (tx) => {
      const done = await work(this.#faulty(tx))
      if (fault === 'rolled back') throw this.#unanswered()
      return done
    })
    if (fault === 'done') throw this.#unanswered()
    return result
  }

  now(): Promise<number> {
    return this.#ask(this.#within, 'now', () => this.#inner.now())
  }

  migrate(): Promise<void> {
    return this.#ask(this.#within, 'migrate', () => this.#inner.migrate())
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  #faulty(tx: Transaction): Transaction {
    return {
      dialect: tx.dialect,
      maxStatementBytes: tx.maxStatementBytes,
      query: (sql, parameters) => this.#ask(this.#within, sql, () => tx.query(sql, parameters)),
      now: () => this.#ask(this.#within, 'now', () => tx.now()),
      beforeCommit: (hook) => tx.beforeCommit(hook),
    }
  }

  async #ask<T>(ask: Ask, what: string, work: () => Promise<T>): Promise<T> {
    const answer = ask(what)
    const fault = typeof answer === 'string' ? answer : await answer
    if (fault === 'none') return work()
    if (fault === 'not begun' || fault === 'rolled back') throw this.#unanswered()
    await this.#noConnection(fault)
    const result = await work()
    if (fault === 'done') throw this.#unanswered()
    return result
  }

  async #noConnection(fault: DatabaseFault): Promise<void> {
    if (fault !== 'refused' && fault !== 'silent') return
    this.faults++
    if (fault === 'silent') await new Promise(() => undefined)
    throw new DatabaseError('ECONNREFUSED', 'unreachable', 'connect ECONNREFUSED, says the test')
  }

  #unanswered(): DatabaseError {
    this.faults++
    return new DatabaseError('ETIMEDOUT', 'unreachable', 'No answer, says the test')
  }
}

/**
 * A database on which any statement and any commit may fail, before or after it has been carried
 * out. `fails` is asked twice for each.
 */
export function failingAnywhere(inner: Database, fails: () => boolean): FaultyDatabase {
  const fault = (what: string): DatabaseFault =>
    what === 'migrate' ? 'none' : fails() ? 'not begun' : fails() ? 'done' : 'none'
  return new FaultyDatabase(inner, fault, fault)
}
