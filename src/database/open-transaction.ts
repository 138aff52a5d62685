/**
 * A transaction under way, the same for every adapter: its statements run one after the other, and the first
 * that fails fails the transaction, even if `work` swallows the error. (In MySQL a lock-wait timeout undoes
 * only its statement and a deadlock undoes all before it: whatever would be committed then is half the work.)
 */
import { DatabaseError, type Dialect, type QueryResult, type SqlValue, type Transaction } from './database.js'
import { databaseNow } from './dialect.js'

/** The most statements of one transaction that may wait for their turn. */
export const MAX_WAITING_STATEMENTS = 1_000

/** Statements made ready before their turn: one while another is under way. More would take memory, and the process's time at once. */
const READY = 2

/** Makes a statement ready, while others may be under way, and returns what runs it. What is wrong with it is said only then. */
type Prepare = (sql: string, values: readonly SqlValue[]) => () => Promise<QueryResult>

export class OpenTransaction implements Transaction {
  readonly dialect: Dialect
  readonly #prepare: Prepare
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #ended = false
  #failure: { readonly error: unknown } | undefined

  constructor(dialect: Dialect, prepare: Prepare) {
    this.dialect = dialect
    this.#prepare = prepare
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    const refusal = this.#refusal()
    if (refusal) return Promise.reject(refusal)
    this.#waiting++
    const ready = this.#waiting <= READY ? this.#prepare(sql, parameters) : undefined
    const result = this.#last.then(async () => {
      this.#waiting--
      if (this.#failure) throw this.#failure.error
      return (ready ?? this.#prepare(sql, parameters))()
    })
    this.#last = result.catch((error: unknown) => {
      this.#failure ??= { error }
    })
    return result
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  /** Runs `work` in this transaction up to its end: when it resolves, all statements have, and may be committed. */
  async finish<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await this.#worked(work)
    if (this.#failure) throw this.#failure.error
    return result
  }

  async #worked<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    try {
      return await work(this)
    } catch (error) {
      // What still waits for its turn must not run behind the rollback.
      this.#failure ??= { error }
      throw error
    } finally {
      this.#ended = true
      await this.#last
    }
  }

  #refusal(): DatabaseError | undefined {
    if (this.#ended) return new DatabaseError('DATABASE_TRANSACTION_ENDED', 'usage', 'The transaction has ended: await its statements within the work function')
    if (this.#waiting < MAX_WAITING_STATEMENTS) return undefined
    return new DatabaseError('DATABASE_QUEUE_FULL', 'capacity', `${MAX_WAITING_STATEMENTS} statements of one transaction are waiting: await them`)
  }
}
