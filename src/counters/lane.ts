import type { PreparedDatabase } from '../connections/prepared-database.js'
import { retried } from '../connections/retry.js'
import type { Queryable, Transaction } from '../database/database.js'
import { type RowUpdate, update, updateBoth } from '../database/dialect.js'
import { execute, type Sql } from '../database/sql.js'
import type { Environment } from '../support/environment.js'
import { entryOf, isEntered, LANE_MS, openLane } from './lane-row.js'
import { outcomeOf } from './outcome.js'

/**
 * Work that a lane commits. The lane tries `quick`, an update of one row. If there is none, or it
 * matches no row, the lane runs `long`.
 */
export interface Work {
  readonly quick: RowUpdate | undefined
  long(tx: Transaction): Promise<void>
}

/** A transaction that is tried until its outcome is known. */
interface Numbered {
  readonly id: Buffer
  readonly sequence: number
  /** Whether the last try that has entered the number took the long way. */
  wentLong: boolean
}

/** The lane in use. */
interface Current {
  readonly id: Buffer
  readonly since: number
  /** The number of the last transaction. */
  sequence: number
}

/**
 * Transactions of one process, one after the other. Each has a number, and enters it in the lane's
 * row as the first thing it does, or by the same statement. One whose commit stayed unanswered is
 * tried again with the same number, and sees by the row whether it was committed.
 *
 * That is safe. While the first try is still open somewhere, it holds the row's lock. If it is one
 * statement that has not even begun, it matches no row once a later try is committed. If no later
 * try is committed, the outcome is called unknown, and the lane is left.
 */
export class Lane {
  readonly #database: PreparedDatabase
  readonly #environment: Environment
  readonly #counter: string
  #current: Current | undefined

  constructor(database: PreparedDatabase, environment: Environment, counter: string) {
    this.#database = database
    this.#environment = environment
    this.#counter = counter
  }

  /**
   * Commits `work` once. Not to be called again before it has ended. Returns whether it was done
   * the long way, by the last call of `long`.
   *
   * @throws OutcomeUnknownError; anything else: `work` has not been committed
   */
  async commit(work: Work): Promise<boolean> {
    const lane = await this.#lane()
    const one = { id: lane.id, sequence: lane.sequence + 1, wentLong: false }
    try {
      await this.#retried(() => this.#attempt(work, one))
      lane.sequence = one.sequence
      return one.wentLong
    } catch (error) {
      // A number that may have been entered is not used again, for anything.
      if (!(error instanceof RangeError)) this.#current = undefined
      throw outcomeOf(this.#counter, error)
    }
  }

  /** One try, which may follow one that was committed and not answered. */
  async #attempt(work: Work, one: Numbered): Promise<void> {
    const { id, sequence } = one
    const entry = entryOf(id, sequence)
    // Number and work by one statement, where there is such: one round trip instead of four. It
    // matches no row if the quick way is closed, and if an earlier try was committed. After the
    // long way it is not known which of the two try was committed, if this one stays unanswered.
    const quick = one.wentLong ? undefined : work.quick
    const both = quick && updateBoth(this.#database.dialect, entry, quick)
    if (both && (await matches(this.#database, both))) return
    await this.#database.retriedTransaction(async (tx) => {
      if (await matches(tx, update(entry))) one.wentLong = await this.#do(work, tx)
      else if (!(await isEntered(tx, id, sequence))) throw this.#changedByOthers()
    })
  }

  /** Returns whether it took the long way. */
  async #do(work: Work, tx: Transaction): Promise<boolean> {
    if (work.quick && (await matches(tx, update(work.quick)))) return false
    await work.long(tx)
    return true
  }

  async #lane(): Promise<Current> {
    const elapsed = this.#environment.clock.elapsed()
    if (this.#current && elapsed - this.#current.since < LANE_MS) return this.#current
    // Another id at each try: an unanswered one may have made its row.
    const id = await this.#retried(async () => {
      const newId = this.#environment.newId()
      await openLane(this.#database, newId)
      return newId
    })
    return (this.#current = { id, since: elapsed, sequence: 0 })
  }

  #retried<T>(work: () => Promise<T>): Promise<T> {
    return retried(this.#environment, () => this.#database.now(), work)
  }

  #changedByOthers(): Error {
    return new Error(
      `wide-cache: counter "${this.#counter}": its row in sharded_counter_lanes has been ` +
        'changed or removed by others',
    )
  }
}

async function matches(on: Pick<Queryable, 'query'>, statement: Sql): Promise<boolean> {
  return (await execute(on)`${statement}`).affectedRows > 0
}
