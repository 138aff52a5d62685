/**
 * The values of dimensions by the hour: their table, which there are, and how long they are kept.
 */
import type { Database, Queryable } from '../database/database.js'
import { execute, raw } from '../database/sql.js'
import { table } from '../database/table.js'
import { noteRemoval } from './books.js'

export const HOUR_VALUES = table(
  'activity_hour_values',
  ['name', 'dimension', 'hour', 'value'],
  ['views', 'add'],
)

/** The empty value, under which all views count that are of no listed value. */
export const OTHER_VALUE = Buffer.alloc(0)

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
    const { rows } = await execute(queryable)`SELECT MIN(dimension) AS next
      FROM ${raw(table)} WHERE name = ${name} AND dimension > ${found.at(-1) ?? ''}`
    const next = rows[0]?.['next']
    if (typeof next !== 'string') return found
    found.push(next)
  }
}

/**
 * Counts the values that each of `dimensions` lists in an hour, without the empty one; those with
 * none are left out.
 */
export async function countValues(
  queryable: Queryable,
  name: string,
  dimensions: readonly string[],
  hour: number,
): Promise<Map<string, number>> {
  if (dimensions.length === 0) return new Map()
  const { rows } = await execute(queryable)`SELECT dimension, COUNT(*) AS n
    FROM activity_hour_values WHERE name = ${name} AND dimension IN (${dimensions})
    AND hour = ${hour} AND value > ${OTHER_VALUE} GROUP BY dimension`
  return new Map(rows.map(({ dimension, n }) => [String(dimension), Number(n)]))
}

/**
 * Removes the values of hours before `before`, whose days are closed.
 *
 * @returns whether there are more than one call removes; `undefined`: a commit holds the books
 */
export async function removeValues(
  database: Database,
  name: string,
  before: number,
): Promise<boolean | undefined> {
  let removed = 0
  for (const dimension of await dimensionsOf(database, name)) {
    for (;;) {
      const { rows } = await execute(database)`SELECT MIN(hour) AS hour
        FROM activity_hour_values WHERE name = ${name} AND dimension = ${dimension}`
      const oldest = rows[0]?.['hour']
      if (typeof oldest !== 'number' || oldest >= before) break
      if (++removed > HOURS_A_CALL) return true
      if (!(await noteRemoval(database, name, oldest + 1))) return undefined
      await execute(database)`DELETE FROM activity_hour_values WHERE name = ${name}
        AND dimension = ${dimension} AND hour = ${oldest}`
    }
  }
  return false
}
