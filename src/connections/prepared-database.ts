import {
  type Database,
  DatabaseError,
  type Queryable,
  type Transaction,
} from '../database/database.js'
import { ForwardingDatabase } from '../database/forwarding.js'
import { IDENTITY } from '../database/identity.js'
import type { Environment } from '../support/environment.js'
import { unlocked } from './unlocked.js'

/**
 * A database with the tables of some parts of the package. Prepares them before the first use:
 * migrates them, then enters what its user has to record. Prepares them again after a table was
 * missing, because the schema has been made anew under this process. Runs each statement and each
 * transaction once, but for {@link retriedTransaction}.
 */
export class PreparedDatabase extends ForwardingDatabase {
  readonly #parts: readonly string[]
  readonly #environment: Environment
  readonly #enter: (database: Queryable) => Promise<void>
  #ready: Promise<void> | undefined

  /**
   * @param parts the parts of the package whose tables are used
   * @param enter runs each time the tables have been migrated, before they are used. It gets the
   * database itself, because the prepared one waits for it. It may run again after a conflict with
   * another transaction.
   */
  constructor(
    database: Database,
    parts: readonly string[],
    environment: Environment,
    enter: (database: Queryable) => Promise<void> = async () => undefined,
  ) {
    super(database)
    this.#parts = [IDENTITY, ...parts]
    this.#environment = environment
    this.#enter = enter
  }

  /** Prepares the database, once; again after a failure. Then migrates `parts`, if given. */
  override migrate(parts?: readonly string[]): Promise<void> {
    return this.around(async () => {
      if (parts) await this.database.migrate(parts)
    })
  }

  /** Has the next call prepare the database again: there is more to enter. */
  prepareAgain(): void {
    this.#ready = undefined
  }

  /** The database's clock, which needs no tables: asked without preparing. */
  override now(): Promise<number> {
    return this.database.now()
  }

  /** Runs `work` in a transaction, as {@link unlocked} does. */
  retriedTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const once = () => this.database.transaction(work)
    return this.around(() => unlocked(this.#environment, once))
  }

  /**
   * Makes the call once the tables are there. After a failure to prepare them, and after an error
   * of category `usage` such as a missing table, the next call prepares them again.
   */
  protected override async around<T>(call: () => Promise<T>): Promise<T> {
    this.#ready ??= this.#prepare()
    const ready = this.#ready
    let isReady = false
    try {
      await ready
      isReady = true
      return await call()
    } catch (error) {
      const isUsage = error instanceof DatabaseError && error.category === 'usage'
      if ((!isReady || isUsage) && this.#ready === ready) this.#ready = undefined
      throw error
    }
  }

  async #prepare(): Promise<void> {
    await this.database.migrate(this.#parts)
    await unlocked(this.#environment, () => this.#enter(this.database))
  }
}
