import type { MigratedDatabase } from '../connections/migrated-database.js'
import { retried } from '../connections/retry.js'
import type { Database, Transaction } from '../database/database.js'
import {
  placeholders,
  type RowUpdate,
  type Statement,
  update,
  updateBoth,
} from '../database/dialect.js'
import type { Environment } from '../support/environment.js'
import { outcomeOf } from './outcome.js'

const DAY_MS = 24 * 3600 * 1000
/** A lane is left for a new one after so long, so that its row is known to be out of use later. */
const LANE_MS = DAY_MS
/** Rows of lanes are kept so long after their creation. */
const KEPT_MS = 30 * DAY_MS
/** Old rows that a new lane removes. */
const REMOVED_AT_ONCE = 100

/**
 * What a lane commits: `quick`, an update of one row; if there is none, or it matches no row,
 * `long`.
 */
export interface Work {
  readonly quick: RowUpdate | undefined
  long(tx: Transaction): Promise<void>
}

/**
 * Transactions of one process, one after the other, each with a number that is entered in the
 * lane's row as the first thing it does, or by the same statement. One whose commit stayed
 * unanswered is tried again with the same number, and sees by the row whether it was committed. (As
 * long as the first try is still open somewhere it holds the row's lock; where it is one statement
 * that has not even been begun, it matches nothing once a later try is committed; and if none is,
 * the outcome is called unknown and the lane left.)
 */
export class Lane {
  readonly #database: MigratedDatabase
  readonly #environment: Environment
  readonly #counter: string
  #current: { readonly id: Buffer; readonly since: number; sequence: number } | undefined

  constructor(database: MigratedDatabase, environment: Environment, counter: string) {
    this.#database = database
    this.#environment = environment
    this.#counter = counter
  }

  /**
   * Commits `work` once. Not to be called again before it has settled.
   *
   * @throws OutcomeUnknownError; anything else: `work` has not been committed
   */
  async commit(work: Work): Promise<void> {
    const lane = await this.#lane()
    const sequence = lane.sequence + 1
    const entry: RowUpdate = {
      table: 'sharded_counter_lanes',
      set: 'sequence = ?',
      setValues: [sequence],
      where: 'lane = ? AND sequence = ?',
      whereValues: [lane.id, lane.sequence],
    }
    try {
      await retried(
        this.#environment,
        () => this.#database.now(),
        async () => {
          if (await this.#together(entry, work.quick)) return
          await this.#database.transaction(async (tx) => {
            if (!(await this.#enter(tx, entry, lane.id, sequence))) return
            if (!work.quick || !(await matches(tx, update(work.quick)))) await work.long(tx)
          })
        },
      )
      lane.sequence = sequence
    } catch (error) {
      // A number that may have been entered is not used again, for anything.
      if (!(error instanceof RangeError)) this.#current = undefined
      throw outcomeOf(this.#counter, error)
    }
  }

  /**
   * Both by one statement, where there is such: one round trip instead of four. `false`: nothing
   * was done, or all by an earlier try.
   */
  async #together(entry: RowUpdate, quick: RowUpdate | undefined): Promise<boolean> {
    const statement = quick && updateBoth(this.#database.dialect, entry, quick)
    return statement !== undefined && matches(this.#database, statement)
  }

  /** Enters the number; `false`: it has been entered, with its work. */
  async #enter(tx: Transaction, entry: RowUpdate, id: Buffer, sequence: number): Promise<boolean> {
    if (await matches(tx, update(entry))) return true
    const { rows } = await tx.query('SELECT sequence FROM sharded_counter_lanes WHERE lane = ?', [
      id,
    ])
    if (rows[0]?.['sequence'] === sequence) return false
    throw new Error(
      `wide-cache: counter "${this.#counter}": its row in sharded_counter_lanes has been ` +
        'changed or removed by others',
    )
  }

  async #lane() {
    const elapsed = this.#environment.clock.elapsed()
    if (this.#current && elapsed - this.#current.since < LANE_MS) return this.#current
    const id = await retried(
      this.#environment,
      () => this.#database.now(),
      () => this.#open(),
    )
    return (this.#current = { id, since: elapsed, sequence: 0 })
  }

  /** Opens a new lane, with another id at each try, and removes some of those long out of use. */
  async #open(): Promise<Buffer> {
    await this.#database.migrate()
    const now = await this.#database.now()
    const id = this.#environment.newId()
    await this.#database.query(
      'INSERT INTO sharded_counter_lanes (lane, sequence, created_at) VALUES (?, 0, ?)',
      [id, now],
    )
    const { rows } = await this.#database.query(
      'SELECT lane FROM sharded_counter_lanes ' +
        `WHERE created_at < ? ORDER BY created_at LIMIT ${REMOVED_AT_ONCE}`,
      [now - KEPT_MS],
    )
    const old = rows.flatMap(({ lane }) => lane ?? [])
    if (old.length > 0) {
      await this.#database.query(
        `DELETE FROM sharded_counter_lanes WHERE lane IN (${placeholders(old.length)})`,
        old,
      )
    }
    return id
  }
}

async function matches(
  queryable: Pick<Database, 'query'>,
  { sql, values }: Statement,
): Promise<boolean> {
  return (await queryable.query(sql, values)).affectedRows > 0
}
