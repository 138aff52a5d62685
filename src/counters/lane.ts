import type { Transaction } from '../database/database.js'
import { DatabaseError } from '../database/database.js'
import { placeholders } from '../database/dialect.js'
import type { Tables } from '../database/tables.js'
import type { Environment } from '../support/environment.js'
import { OutcomeUnknownError, retried } from './outcome.js'

const DAY_MS = 24 * 3600 * 1000
/** A lane is left for a new one after so long, so that its row is known to be out of use later. */
const LANE_MS = DAY_MS
/** Rows of lanes are kept so long after their creation. */
const KEPT_MS = 30 * DAY_MS
/** Old rows that a new lane removes. */
const REMOVED_AT_ONCE = 100

/**
 * Transactions of one process, one after the other, each with a number that is entered in the lane's row as the
 * first thing it does. One whose commit stayed unanswered is tried again with the same number, and sees by the
 * row whether it was committed. (As long as the first try is still open somewhere it holds the row's lock.)
 */
export class Lane {
  readonly #tables: Tables
  readonly #environment: Environment
  readonly #counter: string
  #current: { readonly id: Buffer; readonly since: number; sequence: number } | undefined

  constructor(tables: Tables, environment: Environment, counter: string) {
    this.#tables = tables
    this.#environment = environment
    this.#counter = counter
  }

  /**
   * Commits `work` once. Not to be called again before it has settled.
   *
   * @throws OutcomeUnknownError; anything else: `work` has not been committed
   */
  async commit(work: (tx: Transaction) => Promise<void>): Promise<void> {
    const lane = await this.#lane()
    const sequence = lane.sequence + 1
    const take = async (tx: Transaction): Promise<boolean> => {
      const { affectedRows } = await tx.query('UPDATE sharded_counter_lanes SET sequence = ? WHERE lane = ? AND sequence = ?', [sequence, lane.id, lane.sequence])
      if (affectedRows === 1) return true
      const { rows } = await tx.query('SELECT sequence FROM sharded_counter_lanes WHERE lane = ?', [lane.id])
      if (rows[0]?.['sequence'] === sequence) return false
      throw new Error(`wide-cache: counter "${this.#counter}": its row in sharded_counter_lanes has been changed or removed by others`)
    }
    try {
      await retried(this.#environment, () => this.#tables.transaction(async (tx) => {
        if (await take(tx)) await work(tx)
      }))
      lane.sequence = sequence
    } catch (error) {
      // A number that may have been entered is not used again, for anything.
      if (!(error instanceof RangeError)) this.#current = undefined
      throw error instanceof DatabaseError && error.kind === 'unreachable' ? new OutcomeUnknownError(this.#counter, error) : error
    }
  }

  async #lane() {
    const elapsed = this.#environment.clock.elapsed()
    if (this.#current && elapsed - this.#current.since < LANE_MS) return this.#current
    const id = await retried(this.#environment, () => this.#enter())
    return (this.#current = { id, since: elapsed, sequence: 0 })
  }

  /** Enters a new lane, with another id at each try, and removes some of those long out of use. */
  async #enter(): Promise<Buffer> {
    await this.#tables.ready()
    const { database } = this.#tables
    const now = await database.now()
    const id = this.#environment.newId()
    await database.query('INSERT INTO sharded_counter_lanes (lane, sequence, created_at) VALUES (?, 0, ?)', [id, now])
    const { rows } = await database.query(`SELECT lane FROM sharded_counter_lanes WHERE created_at < ? ORDER BY created_at LIMIT ${REMOVED_AT_ONCE}`, [now - KEPT_MS])
    const old = rows.flatMap(({ lane }) => lane ?? [])
    if (old.length > 0) await database.query(`DELETE FROM sharded_counter_lanes WHERE lane IN (${placeholders(old.length)})`, old)
    return id
  }
}
