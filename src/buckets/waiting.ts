/**
 * Rows that wait for the end of a transaction. They are inserted just before its commit, when it
 * holds all row locks that its work takes. So of two transactions that change the same row, the one
 * that commits first has the lower ids, in whatever order they called the map or queue.
 */
import type { Queryable, Transaction } from '../database/database.js'

/** Rows of one transaction. They are in memory until it ends. */
const MAX_ROWS = 1_000_000

export class Waiting<Row> {
  readonly #insert: (tx: Transaction, rows: readonly Row[]) => Promise<void>
  readonly #rows = new WeakMap<Pick<Queryable, 'query'>, Row[]>()

  constructor(insert: (tx: Transaction, rows: readonly Row[]) => Promise<void>) {
    this.#insert = insert
  }

  /** @throws RangeError; DatabaseError if the transaction has ended */
  add(tx: Transaction, rows: readonly Row[]): void {
    const waiting = this.#rows.get(tx)
    if ((waiting?.length ?? 0) + rows.length > MAX_ROWS) {
      throw new RangeError(
        `wide-cache: more than ${MAX_ROWS} updates in one transaction; make several transactions`,
      )
    }
    if (waiting) {
      for (const row of rows) waiting.push(row)
      return
    }
    const own = [...rows]
    tx.beforeCommit(async () => {
      this.#rows.delete(tx)
      await this.#insert(tx, own)
    })
    this.#rows.set(tx, own)
  }

  of(on: Pick<Queryable, 'query'>): readonly Row[] {
    return this.#rows.get(on) ?? []
  }
}
