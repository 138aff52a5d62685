/**
 * The limit of what commits may list: however many new values come, an hour of a dimension never
 * has more than 20,000, `(other)` among them. Folding then brings them down to 10,000.
 *
 * Few commits have to count. A view adds one value at most to each dimension, so an hour whose
 * fullest dimension has room for 5,000 more needs no count for 5,000 views. `count_after` is the
 * number of views up to which the last count holds. Commits hold the books, so they read and write
 * it one after the other. What they read with the books mostly tells that no hour needs a count.
 */
import { listsOf } from '../database/bulk.js'
import type { Transaction } from '../database/database.js'
import { execute } from '../database/sql.js'
import { countValues, dimensionsOf, OTHER_VALUE } from './dimension-values.js'
import type { Sums, Views } from './sums.js'

/** Values beside `(other)`; the default of `count_after`. */
export const LISTED_VALUES = 19_999

/** An hour, and its views. */
export type HourViews = readonly [hour: number, views: number]

/** Those of `hours` whose values are to be counted. The views of the commit are in SQL already. */
export async function hoursToCount(
  tx: Transaction,
  name: string,
  hours: readonly number[],
): Promise<HourViews[]> {
  const found: HourViews[] = []
  for (const some of listsOf(hours, tx)) {
    const { rows } = await execute(tx)`SELECT hour, views FROM activity_hours
      WHERE name = ${name} AND views > count_after AND hour IN (${some})`
    for (const { hour, views } of rows) found.push([Number(hour), Number(views)])
  }
  return found
}

/**
 * Counts new values of these hours as `(other)` where there would be too many. Those with the most
 * views in this commit are listed as long as there is room. What is listed already stays exact.
 */
export async function limitValues(
  tx: Transaction,
  name: string,
  hours: readonly HourViews[],
  sums: Sums,
): Promise<void> {
  if (hours.length === 0) return
  const dimensions = await dimensionsOf(tx, name)
  for (const [hour, views] of hours) {
    const added = sums.valuesOf(hour)
    const all = [...new Set([...dimensions, ...added.keys()])]
    const listed = await countValues(tx, name, all, hour)
    let room = LISTED_VALUES
    for (const dimension of all) {
      const before = listed.get(dimension) ?? 0
      const values = added.get(dimension) ?? new Map<string, Views>()
      if (before + values.size > LISTED_VALUES) {
        const known = await listedValues(tx, name, dimension, hour)
        foldNew(values, known, LISTED_VALUES - before)
      }
      room = Math.min(room, LISTED_VALUES - before - values.size)
    }
    await execute(tx)`UPDATE activity_hours SET count_after = ${views + Math.max(room, 0)}
      WHERE name = ${name} AND hour = ${hour}`
  }
}

async function listedValues(
  tx: Transaction,
  name: string,
  dimension: string,
  hour: number,
): Promise<Set<string>> {
  const { rows } = await execute(tx)`SELECT value FROM activity_hour_values WHERE name = ${name}
    AND dimension = ${dimension} AND hour = ${hour} AND value > ${OTHER_VALUE}`
  return new Set(rows.map(({ value }) => String(value)))
}

/** Moves the views of new values to the empty one, but of the `room` with the most views. */
function foldNew(values: Map<string, Views>, listed: ReadonlySet<string>, room: number): void {
  const fresh = [...values].filter(([value]) => value !== '' && !listed.has(value))
  fresh.sort(([, a], [, b]) => b.views - a.views)
  const others = values.get('') ?? { views: 0 }
  for (const [value, { views }] of fresh.slice(Math.max(room, 0))) {
    values.delete(value)
    others.views += views
  }
  if (others.views > 0) values.set('', others)
}
