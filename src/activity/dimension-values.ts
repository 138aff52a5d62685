/**
 * The values of dimensions by the hour: how many there are is bounded, and how long they are kept.
 */
import type { Database, Queryable, SqlValue, Transaction } from '../database/database.js'
import { placeholders } from '../database/dialect.js'
import { table } from '../database/table.js'
import { HOURS_A_DAY, noteRemoval, openBooks, openDayOf } from './books.js'

export const HOUR_VALUES = table(
  'activity_hour_values',
  ['name', 'dimension', 'hour', 'value'],
  ['views', 'add'],
)

/** Values that an hour of a dimension may have before the smallest are folded into one. */
const MAX_VALUES_AN_HOUR = 10_000

/** Values folded in one transaction. */
const VALUES_A_FOLD = 500
const FOLDS_A_CALL = 200

/** Hours of values removed by one call. */
const HOURS_A_CALL = 2

/** All dimensions that a name has values of by the hour, ascending. */
export function dimensionsOf(queryable: Queryable, name: string): Promise<string[]> {
  return dimensionsIn(queryable, name, 'activity_hour_values')
}

/** All dimensions that a name has values of, by the hour or by the day. */
export async function recordedDimensions(queryable: Queryable, name: string): Promise<string[]> {
  const byHour = await dimensionsOf(queryable, name)
  const byDay = await dimensionsIn(queryable, name, 'activity_day_values')
  return [...new Set([...byHour, ...byDay])].sort()
}

/** One step in the index for each. */
async function dimensionsIn(queryable: Queryable, name: string, table: string): Promise<string[]> {
  const found: string[] = []
  for (;;) {
    const { rows } = await queryable.query(
      `SELECT MIN(dimension) AS next FROM ${table} WHERE name = ? AND dimension > ?`,
      [name, found.at(-1) ?? ''],
    )
    const next = rows[0]?.['next']
    if (typeof next !== 'string') return found
    found.push(next)
  }
}

/**
 * Folds the values with the fewest views of each hour that has more than 10,000 into one, so that
 * whoever sends ever new values neither fills the disk nor pushes out real ones.
 *
 * @returns whether there are more than one call folds
 */
export async function foldValues(database: Database, name: string): Promise<boolean> {
  let folds = 0
  for (const dimension of await dimensionsOf(database, name)) {
    const { rows } = await database.query(
      'SELECT hour, COUNT(*) AS n FROM activity_hour_values WHERE name = ? AND dimension = ? AND ' +
        `hour >= ${HOURS_A_DAY} * (SELECT open_day FROM activity_books WHERE name = ?) ` +
        `GROUP BY hour HAVING COUNT(*) > ${MAX_VALUES_AN_HOUR}`,
      [name, dimension, name],
    )
    for (const { hour, n } of rows) {
      for (let left = Number(n) - MAX_VALUES_AN_HOUR; left > 0; left -= VALUES_A_FOLD) {
        if (++folds > FOLDS_A_CALL) return true
        const place = { name, dimension, hour: Number(hour) }
        await database.transaction((tx) => fold(tx, place))
      }
    }
  }
  return false
}

interface Place {
  readonly name: string
  readonly dimension: string
  readonly hour: number
}

async function fold(tx: Transaction, { name, dimension, hour }: Place): Promise<void> {
  // No day closes meanwhile, and nothing is added to the values.
  const { openDay } = await openBooks(tx, name)
  if (hour < openDay * HOURS_A_DAY) return
  const listed =
    'FROM activity_hour_values WHERE name = ? AND dimension = ? AND hour = ? AND value <> ?'
  const place = [name, dimension, hour, Buffer.alloc(0)]
  // Counted again under the lock: another collector may have folded them meanwhile.
  const { rows: counts } = await tx.query(`SELECT COUNT(*) AS n ${listed}`, place)
  // The folded ones are a value themselves.
  const tooMany = Number(counts[0]?.['n']) + 1 - MAX_VALUES_AN_HOUR
  if (tooMany <= 0) return
  const { rows } = await tx.query(
    `SELECT value, views ${listed} ORDER BY views, value DESC LIMIT ?`,
    [...place, Math.min(tooMany, VALUES_A_FOLD)],
  )
  const values = rows.map(({ value }): SqlValue => value ?? null)
  await tx.query(
    'DELETE FROM activity_hour_values WHERE name = ? AND dimension = ? AND hour = ? AND ' +
      `value IN (${placeholders(values.length)})`,
    [name, dimension, hour, ...values],
  )
  const views = rows.reduce((sum, row) => sum + Number(row['views']), 0)
  await HOUR_VALUES.upsert(tx, [[name, dimension, hour, Buffer.alloc(0), views]])
}

/**
 * Removes the values of hours before `hour`; those of open days stay.
 *
 * @returns whether there are more than one call removes
 */
export async function removeValues(
  database: Database,
  name: string,
  hour: number,
): Promise<boolean> {
  const before = Math.min(hour, (await openDayOf(database, name)) * HOURS_A_DAY)
  let removed = 0
  for (const dimension of await dimensionsOf(database, name)) {
    for (;;) {
      const { rows } = await database.query(
        'SELECT MIN(hour) AS hour FROM activity_hour_values WHERE name = ? AND dimension = ?',
        [name, dimension],
      )
      const oldest = rows[0]?.['hour']
      if (typeof oldest !== 'number' || oldest >= before) break
      if (++removed > HOURS_A_CALL) return true
      if (!(await noteRemoval(database, name, 'values', oldest + 1))) return false
      await database.query(
        'DELETE FROM activity_hour_values WHERE name = ? AND dimension = ? AND hour = ?',
        [name, dimension, oldest],
      )
    }
  }
  return false
}
