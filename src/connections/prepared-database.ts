import {
  type Database,
  DatabaseError,
  type Dialect,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** Tries of one piece of work; with the waits between them a second and a half. */
const TRIES = 8
const FIRST_WAIT_MS = 10
const LAST_WAIT_MS = 500

/**
 * A database with the tables of some parts of the package. Migrates them before the first use, and
 * again after a table was missing, because the schema has been made anew under this process.
 */
export class PreparedDatabase {
  /** The database itself, for callers that migrate it themselves. */
  readonly database: Database
  readonly #parts: readonly string[]
  readonly #environment: Environment
  readonly #enter: () => Promise<void>
  #ready: Promise<void> | undefined

  /**
   * @param parts the parts of the package whose tables are used
   * @param enter runs each time the tables have been migrated, before they are used; may run again
   * after a conflict with another transaction
   */
  constructor(
    database: Database,
    parts: readonly string[],
    environment: Environment,
    enter: () => Promise<void> = async () => undefined,
  ) {
    this.database = database
    this.#parts = parts
    this.#environment = environment
    this.#enter = enter
  }

  get dialect(): Dialect {
    return this.database.dialect
  }

  get maxStatementBytes(): number {
    return this.database.maxStatementBytes
  }

  /** Migrates, once; again after a failure. */
  migrate(): Promise<void> {
    return this.whenReady(async () => undefined)
  }

  /**
   * Runs `work` once the tables are there. After a failure to migrate, and after an error of kind
   * `usage` such as a missing table, the next call migrates again.
   */
  async whenReady<T>(work: () => Promise<T>): Promise<T> {
    this.#ready ??= this.#prepare()
    const ready = this.#ready
    let isReady = false
    try {
      await ready
      isReady = true
      return await work()
    } catch (error) {
      const isUsage = error instanceof DatabaseError && error.kind === 'usage'
      if ((!isReady || isUsage) && this.#ready === ready) this.#ready = undefined
      throw error
    }
  }

  /** The database's clock. Reaches the database without migrating it. */
  now(): Promise<number> {
    return this.database.now()
  }

  /** One statement, outside any transaction, once the tables are there. */
  query(sql: string, values?: readonly SqlValue[]): Promise<QueryResult> {
    return this.whenReady(() => this.database.query(sql, values))
  }

  /**
   * Runs `work` in a transaction. Retries it if the locks of another one were in the way, because
   * then nothing of it has been done. Passes on any other failure.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.whenReady(() => this.#unlocked(() => this.database.transaction(work)))
  }

  /** Runs `work`, and retries it after a conflict with another transaction. */
  async #unlocked<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1, wait = FIRST_WAIT_MS; ; tries++, wait = Math.min(2 * wait, LAST_WAIT_MS)) {
      try {
        return await work()
      } catch (error) {
        if (tries >= TRIES || !(error instanceof DatabaseError) || error.kind !== 'lock') {
          throw error
        }
      }
      const { clock, random } = this.#environment
      await keptAlive(this.#environment, () => sleep(clock, wait * (0.5 + random())))
    }
  }

  async #prepare(): Promise<void> {
    await this.database.migrate(this.#parts)
    await this.#unlocked(this.#enter)
  }
}
