/**
 * Figures beside those of the measure that an activity counts: the views of bots, and those of the
 * other measure. Each is read from its own sums, by a statement of its own.
 */
import type { Queryable } from '../database/database.js'
import { execute, raw, sql, type Sql } from '../database/sql.js'
import { measureName, otherMeasure, unseenOf } from '../page-views/measures.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { readCalendar } from './days.js'
import type { ActivityPeriod } from '../dashboard/site-figures.js'
import { readMissing } from './first-day.js'
import { readHistory } from './history.js'

/** The site whose figures are read, and the measure that they are of. */
export interface Site {
  readonly name: string
  readonly count: 'served' | 'seen'
}

/** The figures of each period of `range`, without gaps, with those of the other measures. */
export async function readActivityHistory(
  queryable: Queryable,
  { name, count }: Site,
  by: Period,
  range: PeriodRange,
): Promise<ActivityPeriod[]> {
  const [ownName, other] = [measureName(name, count), otherMeasure(count)]
  const [otherName, botsName] = [measureName(name, other), measureName(name, 'bots')]
  const periods = await readHistory(queryable, ownName, by, range)
  const calendar = await readCalendar(queryable, ownName)
  const others = await readViews(queryable, [otherName, botsName], by, range, calendar)
  const [ofOther, ofBots] = [others.get(otherName), others.get(botsName)]
  // After the figures, so that none of them is of a day before.
  const missing = await readMissing(queryable, [ownName, otherName])
  return periods.map((period, index) => {
    const at = range.from + index
    const day = by === 'day' ? at : calendar.dayOfHour(at)
    const none = missing(ownName, day)
    const isKnown = none !== null || period.imported
    const views = isKnown ? period : { start: period.start, pageViews: none, visitors: none }
    const otherViews = ofOther && { [other]: ofOther.get(at) ?? missing(otherName, day) }
    const bots = ofBots?.get(at) ?? none
    return { ...views, bots, ...otherViews, ...unseenOf(views.pageViews, otherViews ?? {}) }
  })
}

/** The page views of some names by period, of those that have ever had any. */
async function readViews(
  queryable: Queryable,
  names: readonly string[],
  by: Period,
  { from, to }: PeriodRange,
  calendar: Calendar,
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const views = (unit: Period, first: number, end: number, where = ''): Sql => {
    const [at, table] = [raw(`p.${unit}`), raw(`activity_${unit}s`)]
    return sql`SELECT b.name, '${raw(unit)}' AS unit, ${at} AS at, p.views FROM activity_books AS b
      LEFT JOIN ${table} AS p ON p.name = b.name AND ${at} >= ${first} AND ${at} < ${end}
      ${raw(where)} WHERE b.name IN (${names})`
  }
  const open = [
    calendar.firstHour(from),
    calendar.firstHour(to),
    'AND p.hour >= b.open_hour',
  ] as const
  const { rows } =
    by === 'hour'
      ? await execute(queryable)`${views('hour', from, to)}`
      : await execute(queryable)`${views('day', from, to)} UNION ALL ${views('hour', ...open)}`
  const found = new Map<string, Map<number, number>>()
  for (const { name, unit, at, views } of rows) {
    const ofName = found.get(String(name)) ?? new Map<number, number>()
    found.set(String(name), ofName)
    // A name without views in the range has a row all the same.
    if (at === null || at === undefined) continue
    const period = unit === by ? Number(at) : calendar.dayOfHour(Number(at))
    ofName.set(period, (ofName.get(period) ?? 0) + Number(views))
  }
  return found
}
