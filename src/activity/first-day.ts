/**
 * The first day of a measure. A period without a row has no page views if it comes after the
 * beginning of that day. Nothing is known of one before.
 */
import type { Queryable } from '../database/database.js'
import { placeholders } from '../database/dialect.js'
import { DAY_MS } from '../support/clock.js'
import { HOURS_A_DAY } from './books.js'

/** Selects the first day of the books `b`: before any day has closed, that of the first hour. */
export const FIRST_DAY =
  `COALESCE(b.first_day, (SELECT MIN(hour - hour % ${HOURS_A_DAY}) / ${HOURS_A_DAY} ` +
  'FROM activity_hours AS h WHERE h.name = b.name))'

/** Reads the first day of a name, such as `2026-11-01`; `null`: it has no page views. */
export async function readFirstDay(queryable: Queryable, name: string): Promise<string | null> {
  const first = (await readFirstDays(queryable, [name])).get(name)
  return first === undefined ? null : new Date(first).toISOString().slice(0, 10)
}

/**
 * Reads what a missing row of some names means in a period that begins at `time`: 0, or `null`,
 * which is not known.
 */
export async function readMissing(
  queryable: Queryable,
  names: readonly string[],
): Promise<(name: string, time: number) => 0 | null> {
  const firstDays = await readFirstDays(queryable, names)
  return (name, time) => (time < (firstDays.get(name) ?? Infinity) ? null : 0)
}

/** Returns the beginnings of first days, in milliseconds since the Unix epoch. */
async function readFirstDays(
  queryable: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await queryable.query(
    `SELECT b.name, ${FIRST_DAY} AS day FROM activity_books AS b ` +
      `WHERE b.name IN (${placeholders(names.length)})`,
    names,
  )
  return new Map(
    rows.flatMap(({ name, day }) =>
      day === null || day === undefined ? [] : [[String(name), Number(day) * DAY_MS] as const],
    ),
  )
}
