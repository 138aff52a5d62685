/**
 * Folding: of the values of an hour, those with the fewest views become one, `(other)`. So forged
 * values neither fill the disk nor push out real ones. What a commit may add meanwhile is bounded
 * in `value-limit.ts`.
 */
import {
  type Database,
  DatabaseError,
  type SqlRow,
  type Transaction,
} from '../database/database.js'
import { execute } from '../database/sql.js'
import { openBooksOf, openHour } from './books.js'
import { countValues, dimensionsOf, HOUR_VALUES, OTHER_VALUE } from './dimension-values.js'
import { MAX_VALUE_BYTES } from './packed-dimensions.js'

/** Values that an hour of a dimension may list beside `(other)`. */
const KEPT_VALUES = 9_999

/** Values of one transaction: they hold the books for some 5 ms, where commits wait for them. */
const VALUES_A_PIECE = 250
/** Most bytes of a value in a statement, in hexadecimal digits; and of the statement around it. */
const VALUE_SQL_BYTES = 2 * MAX_VALUE_BYTES + 10

interface Place {
  readonly name: string
  readonly dimension: string
  readonly hour: number
}

/** The folding of one collector. Any number of them may fold at once. */
export class Folding {
  readonly #name: string
  /**
   * Views that an hour can have before it may list too many values: each view adds one at most to
   * each dimension. So an hour is counted anew only when it has had as many views as it had room.
   */
  readonly #fineUpTo = new Map<number, number>()

  constructor(name: string) {
    this.#name = name
  }

  /** Folds what is too much in hours of open days. What others lock is left for the next call. */
  async run(database: Database): Promise<void> {
    const { rows } = await execute(database)`SELECT hour, views FROM activity_hours
      WHERE name = ${this.#name} AND views > ${KEPT_VALUES} AND hour >= ${openHour(this.#name)}`
    const views = new Map(rows.map((row) => [Number(row['hour']), Number(row['views'])]))
    for (const hour of this.#fineUpTo.keys()) if (!views.has(hour)) this.#fineUpTo.delete(hour)
    for (const [hour, viewed] of views) {
      if (viewed <= (this.#fineUpTo.get(hour) ?? 0)) continue
      try {
        this.#fineUpTo.set(hour, viewed + (await this.#foldHour(database, hour)))
      } catch (error) {
        if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
      }
    }
  }

  /** Returns how many more values each dimension may list; below 0: too many are left. */
  async #foldHour(database: Database, hour: number): Promise<number> {
    const name = this.#name
    const dimensions = await dimensionsOf(database, name)
    let room = KEPT_VALUES
    for (const [dimension, listed] of await countValues(database, name, dimensions, hour)) {
      const folded = await foldValues(database, { name, dimension, hour }, listed - KEPT_VALUES)
      room = Math.min(room, KEPT_VALUES - listed + folded)
    }
    return room
  }
}

/**
 * Folds the values with the fewest views, some in a transaction. They are chosen without a lock;
 * under it those are left out that have been viewed meanwhile. Returns how many were folded.
 *
 * @param tooMany how many, unless others have folded since they were counted
 */
async function foldValues(database: Database, place: Place, tooMany: number): Promise<number> {
  if (tooMany <= 0) return 0
  const { name, dimension, hour } = place
  // Counted by the same statement again: others may have folded the smallest ones meanwhile.
  const { rows } = await execute(database)`SELECT value, views, COUNT(*) OVER () AS listed
    FROM activity_hour_values WHERE name = ${name} AND dimension = ${dimension}
    AND hour = ${hour} AND value > ${OTHER_VALUE} ORDER BY views, value DESC LIMIT ${tooMany}`
  const chosen = rows.filter((row, index) => index < Number(row['listed']) - KEPT_VALUES)
  let folded = 0
  const most = Math.min(
    VALUES_A_PIECE,
    Math.floor(database.maxStatementBytes / VALUE_SQL_BYTES) - 1,
  )
  for (const piece of piecesOf(chosen, Math.max(1, most))) {
    folded += await database.transaction((tx) => fold(tx, place, piece))
  }
  return folded
}

/** Values that have as many views each. */
interface Piece {
  readonly views: number
  readonly values: Buffer[]
}

/** Values ascending by their views, in pieces for one transaction each. */
function piecesOf(rows: readonly SqlRow[], most: number): Piece[] {
  const pieces: Piece[] = []
  for (const row of rows) {
    const [views, value] = [Number(row['views']), row['value'] as Buffer]
    const last = pieces.at(-1)
    if (last?.views === views && last.values.length < most) last.values.push(value)
    else pieces.push({ views, values: [value] })
  }
  return pieces
}

/**
 * Folds those of the values that have as many views as when they were chosen. Of few statements,
 * because a busy process takes milliseconds from one to the next, and commits wait so long.
 */
async function fold(
  tx: Transaction,
  { name, dimension, hour }: Place,
  { views, values }: Piece,
): Promise<number> {
  // No day closes meanwhile, and nothing is added to the values.
  if (!(await openBooksOf(tx, name, hour))) return 0
  const { affectedRows: folded } = await execute(tx)`DELETE FROM activity_hour_values
    WHERE name = ${name} AND dimension = ${dimension} AND hour = ${hour}
    AND value IN (${values}) AND views = ${views}`
  if (folded === 0) return 0
  await HOUR_VALUES.upsert(tx, [[name, dimension, hour, OTHER_VALUE, folded * views]])
  return folded
}
