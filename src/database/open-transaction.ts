/**
 * A transaction under way, the same for every adapter. Its statements run one after the other, and
 * the first that fails fails the transaction, even if `work` swallows the error. (In MySQL a
 * lock-wait timeout undoes only its statement, and a deadlock undoes all before it. A commit would
 * then store half the work.)
 */
import {
  DatabaseError,
  type Dialect,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from './database.js'
import { databaseNow } from './dialect.js'
import { refuseWhatEnds } from './transaction-statements.js'

/** The most statements of one transaction that may wait. */
export const MAX_WAITING_STATEMENTS = 1_000

/**
 * Longest pause of `work` between two statements, because others wait for the locks that it holds.
 * Less than the time after which a server ends an idle session, so that the error has a name.
 */
export const MAX_IDLE_MS = 10_000

/**
 * Makes a statement ready, while others may be under way, and returns the function that runs it.
 * That function rejects if the statement is wrong.
 */
type Prepare = (sql: string, values: readonly SqlValue[]) => () => Promise<QueryResult>

/** Returns the function that sends rows; see {@link Transaction.load}. */
type Load = (...rows: Parameters<NonNullable<Transaction['load']>>) => () => Promise<QueryResult>

/** Connection that a transaction runs on. */
export interface Connection {
  readonly dialect: Dialect
  readonly maxStatementBytes: number
  readonly prepare: Prepare
  readonly load?: Load | undefined
  /**
   * Checks each statement before anything else, and throws if it is refused. @default allows what
   * keeps the transaction open
   */
  readonly check?: ((sql: string) => void) | undefined
}

interface Statement {
  readonly prepare: () => () => Promise<QueryResult>
  /** Runs it; set once it has been made ready. */
  run?: () => Promise<QueryResult>
  readonly resolve: (result: QueryResult) => void
  readonly reject: (error: unknown) => void
}

export class OpenTransaction implements Transaction {
  readonly dialect: Dialect
  readonly maxStatementBytes: number
  readonly load: Transaction['load']
  readonly #prepare: Prepare
  readonly #check: (sql: string) => void
  readonly #waiting: Statement[] = []
  /** Resolves when no statement waits any more. */
  #working: Promise<void> | undefined
  #ended = false
  /** Runs while no statement is under way. */
  #idleTimer: NodeJS.Timeout | undefined
  #expired: DatabaseError | undefined
  /** Ends the wait for `work`. */
  #expire: (error: DatabaseError) => void = () => undefined
  #failure: { readonly error: unknown } | undefined
  readonly #hooks: (() => Promise<void>)[] = []

  constructor({ dialect, maxStatementBytes, prepare, load, check = refuseWhatEnds }: Connection) {
    this.dialect = dialect
    this.maxStatementBytes = maxStatementBytes
    this.#prepare = prepare
    this.#check = check
    this.load = load && ((...rows) => this.#enqueue('LOAD DATA', () => load(...rows)))
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#enqueue(sql, () => this.#prepare(sql, parameters))
  }

  #enqueue(sql: string, prepare: Statement['prepare']): Promise<QueryResult> {
    try {
      this.#admit(sql)
    } catch (error) {
      return Promise.reject(error)
    }
    const result = new Promise<QueryResult>((resolve, reject) => {
      this.#waiting.push({ prepare, resolve, reject })
      if (this.#working) return this.#makeReady()
      clearTimeout(this.#idleTimer)
      this.#working = this.#work()
    })
    // A failure is that of the transaction, whether this one is awaited or, after another's
    // failure, never will be.
    result.catch(() => undefined)
    return result
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  beforeCommit(hook: () => Promise<void>): void {
    if (this.#ended) throw ended()
    this.#hooks.push(hook)
  }

  /**
   * Runs `work` in this transaction up to its end. When it resolves, all statements have resolved
   * and may be committed.
   */
  async finish<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await this.#worked(work)
    if (this.#failure) throw this.#failure.error
    return result
  }

  async #worked<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const tooLong = new Promise<never>((_, reject) => (this.#expire = reject))
    this.#idle()
    try {
      return await Promise.race([this.#withHooks(work), tooLong])
    } catch (error) {
      // What still waits must not run behind the rollback.
      this.#failure ??= { error }
      throw error
    } finally {
      this.#ended = true
      clearTimeout(this.#idleTimer)
      await this.#working
    }
  }

  async #withHooks<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const result = await work(this)
    // One may bring another.
    for (let hook = this.#hooks.shift(); hook && !this.#failure; hook = this.#hooks.shift()) {
      await hook()
    }
    return result
  }

  /**
   * Runs the statements that wait. The next one is made ready while one is under way, and is sent
   * before any caller acts on the answer to that one. So the database does not wait for this
   * process.
   */
  async #work(): Promise<void> {
    for (let statement = this.#waiting.shift(); statement; statement = this.#waiting.shift()) {
      const { prepare, run, resolve, reject } = statement
      try {
        if (this.#failure) throw this.#failure.error
        const answer = (run ?? prepare())()
        this.#makeReady()
        // The caller gets the answer only after the next statement has been sent, because there is
        // no `await` in between.
        resolve(await answer)
      } catch (error) {
        this.#failure ??= { error }
        reject(error)
      }
    }
    this.#working = undefined
    if (!this.#ended) this.#idle()
  }

  #idle(): void {
    this.#idleTimer = setTimeout(() => {
      this.#expired = idleTooLong()
      this.#expire(this.#expired)
    }, MAX_IDLE_MS)
  }

  /** The next one only: all that wait would take memory, and the process's time at once. */
  #makeReady(): void {
    const next = this.#waiting[0]
    if (next && !this.#failure) next.run ??= next.prepare()
  }

  /** A statement that is refused fails the transaction, as one that fails does. */
  #admit(sql: string): void {
    if (this.#expired) throw this.#expired
    if (this.#ended) throw ended()
    try {
      if (this.#waiting.length >= MAX_WAITING_STATEMENTS) {
        throw new DatabaseError(
          'DATABASE_QUEUE_FULL',
          'capacity',
          `${MAX_WAITING_STATEMENTS} statements of one transaction are waiting: await them`,
        )
      }
      this.#check(sql)
    } catch (error) {
      this.#failure ??= { error }
      throw error
    }
  }
}

function ended(): DatabaseError {
  return new DatabaseError(
    'DATABASE_TRANSACTION_ENDED',
    'usage',
    'The transaction has ended: await its statements within the work function',
  )
}

function idleTooLong(): DatabaseError {
  const message =
    `The transaction ran no statement for ${MAX_IDLE_MS / 1000} s, and is rolled back: ` +
    'others wait for its locks. ' +
    'Await nothing but its statements in it; do slow work before the transaction'
  return new DatabaseError('DATABASE_TRANSACTION_IDLE', 'usage', message)
}
