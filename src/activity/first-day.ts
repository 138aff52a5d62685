/**
 * The first day of a measure. A period without a row has no page views if it comes after the
 * beginning of that day. Nothing is known of one before.
 */
import type { Queryable, SqlRow } from '../database/database.js'
import { execute, numberOrNull, raw, selectOne } from '../database/sql.js'
import type { Calendar } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { readCalendar } from './days.js'

/** Selects what {@link firstDayIn} reads, of the books `b`. */
export const FIRST =
  'b.first_day, (SELECT MIN(hour) FROM activity_hours AS h WHERE h.name = b.name) AS first_hour'

/** Returns the first day: before any day has closed, that of the first hour. `null`: none. */
export function firstDayIn(row: SqlRow, calendar: Calendar): number | null {
  const { first_day: day, first_hour: hour } = row
  if (day !== null && day !== undefined) return Number(day)
  return hour === null || hour === undefined ? null : calendar.dayOfHour(Number(hour))
}

/**
 * Reads the first day of a name that has figures, counted or imported, such as `2026-11-01`;
 * `null`: it has none.
 */
export async function readFirstDay(queryable: Queryable, name: string): Promise<string | null> {
  const first = (await readFirstDays(queryable, [name])).get(name)
  const columns = { day: [numberOrNull, 'MIN(day)'] } as const
  const closed = await selectOne(queryable, columns)`FROM activity_days WHERE name = ${name}`
  const day = Math.min(first ?? Infinity, closed?.day ?? Infinity)
  return day === Infinity ? null : dayText(day)
}

/**
 * Reads what a missing row of some names means in a period of a day: 0, or `null`, which is not
 * known.
 */
export async function readMissing(
  queryable: Queryable,
  names: readonly string[],
): Promise<(name: string, day: number) => 0 | null> {
  const firstDays = await readFirstDays(queryable, names)
  return (name, day) => (day < (firstDays.get(name) ?? Infinity) ? null : 0)
}

/** Returns the first days of those names that have page views. */
async function readFirstDays(
  queryable: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  // The measures of an object have one calendar.
  const calendar = await readCalendar(queryable, names[0]!)
  const { rows } = await execute(queryable)`SELECT b.name, ${raw(FIRST)} FROM activity_books AS b
    WHERE b.name IN (${names})`
  return new Map(
    rows.flatMap((row) => {
      const day = firstDayIn(row, calendar)
      return day === null ? [] : [[String(row['name']), day] as const]
    }),
  )
}
