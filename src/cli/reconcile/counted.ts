/** What SQL has counted: the days that a log can be compared with, and their pages. */
import { readCalendar } from '../../activity/days.js'
import { OTHER_VALUE } from '../../activity/dimension-values.js'
import { PAGE } from '../../activity/sums.js'
import type { Queryable } from '../../database/database.js'
import { execute, numberOrNull, selectOne } from '../../database/sql.js'
import { measureName } from '../../page-views/measures.js'
import type { Calendar, PeriodRange } from '../../support/calendar.js'

const HOURS_A_DAY = 24

/** What was counted on a day. */
export interface CountedDay {
  views: number
  bots: number
  /** Views that came after their own day was closed. */
  late: number
  /** Views by pages; the empty one has those that are not listed. */
  readonly pages: Map<string, number>
  /** The hours of the day that have views; bit 0 is the first. */
  hours: number
}

/** What was counted on the days of a range. */
export interface Counted {
  readonly range: PeriodRange
  readonly calendar: Calendar
  /** The first day that is not closed. */
  readonly openDay: number
  /** The day with the first view; none is before infinity. */
  readonly firstDay: number
  readonly days: ReadonlyMap<number, CountedDay>
  /** All pages that a closed day lists. */
  readonly pages: ReadonlySet<string>
}

/** @param rangeOf returns the days to be compared */
export async function readCounted(
  database: Queryable,
  name: string,
  rangeOf: (calendar: Calendar) => PeriodRange,
): Promise<Counted> {
  const range = rangeOf(await readCalendar(database, name))
  const { from, to } = range
  const numbers = Array.from({ length: to - from }, (_, at) => from + at)
  const calendar = await readCalendar(
    database,
    name,
    numbers.map((day) => day * HOURS_A_DAY),
  )
  const days = new Map<number, CountedDay>(
    numbers.map((day) => [day, { views: 0, bots: 0, late: 0, pages: new Map(), hours: 0 }]),
  )
  const closed = await execute(database)`SELECT day, views, late FROM activity_days
    WHERE name = ${name} AND day >= ${from} AND day < ${to} AND imported IS NULL`
  for (const { day, views, late } of closed.rows) {
    Object.assign(days.get(Number(day))!, { views: Number(views), late: Number(late) })
  }
  const listed = await execute(database)`SELECT day, value, views FROM activity_day_values
    WHERE name = ${name} AND dimension = ${PAGE} AND day >= ${from} AND day < ${to}`
  for (const { day, value, views } of listed.rows) {
    days.get(Number(day))!.pages.set(String(value), Number(views))
  }
  // Bots have days of their own, which may close later.
  const bots = measureName(name, 'bots')
  const hours = await execute(database)`SELECT name, hour, views, late FROM activity_hours
    WHERE name IN (${[name, bots]}) AND hour >= ${calendar.firstHour(from)}
    AND hour < ${calendar.firstHour(to)}`
  for (const { name: of, hour, views, late } of hours.rows) {
    const day = days.get(calendar.dayOfHour(Number(hour)))!
    if (of === bots) day.bots += Number(views)
    else if (Number(views) > Number(late)) day.hours |= 1 << calendar.placeOf(Number(hour))
  }
  const ever = await execute(database)`SELECT DISTINCT value FROM activity_day_values
    WHERE name IN (${[name, bots]}) AND dimension = ${PAGE} AND value <> ${OTHER_VALUE}`
  const columns = { openDay: Number, firstDay: [numberOrNull, 'first_day'] } as const
  const books = await selectOne(database, columns)`FROM activity_books WHERE name = ${name}`
  return {
    range,
    calendar,
    openDay: books?.openDay ?? 0,
    firstDay: books?.firstDay ?? Infinity,
    days,
    pages: new Set(ever.rows.map(({ value }) => String(value))),
  }
}
