/**
 * The reading of totals. Each is one statement, so that all figures of an answer are of one moment.
 */
import type { Queryable } from '../database/database.js'
import {
  execute,
  numberOrNull,
  raw,
  select,
  type Selected,
  sql,
  type Sql,
} from '../database/sql.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { openHour } from './books.js'
import { readCalendar } from './days.js'
import { OTHER_VALUE } from './dimension-values.js'
import type { MeasuredPeriod, MeasuredValue } from '../dashboard/site-figures.js'
import { visitorsByHour } from './day-closing.js'
import { OTHER } from './sums.js'

/** Numbers of visitors of each open day, by the hours in which they came. */
function openVisitors(name: string, from: number, to: number): Sql {
  return sql`SELECT 'visitors', day, 0, COUNT(*), hours, 0 FROM activity_visitors
    WHERE name = ${name} AND day >= ${from} AND day < ${to}
    AND day >= (SELECT open_day FROM activity_books WHERE name = ${name}) GROUP BY day, hours`
}

/** The figures of each period of `range`, without gaps. */
export async function readHistory(
  queryable: Queryable,
  name: string,
  by: Period,
  range: PeriodRange,
): Promise<MeasuredPeriod[]> {
  const read = by === 'hour' ? readHours : readDays
  const calendar = await readCalendar(queryable, name)
  const { views, visitors, imported } = await read(queryable, name, range, calendar)
  return Array.from({ length: range.to - range.from }, (_, index) => {
    const at = range.from + index
    const isImported = imported?.has(at)
    return {
      start: calendar.textOf(calendar.startOf(by, at)),
      pageViews: views.get(at) ?? 0,
      visitors: visitors.get(at) ?? (isImported ? null : 0),
      ...(isImported && ({ imported: true } as const)),
    }
  })
}

/** The page views of each hour of `range`, without gaps. They cost little, unlike visitors. */
export async function readHourlyViews(
  queryable: Queryable,
  name: string,
  range: PeriodRange,
): Promise<number[]> {
  const { rows } = await execute(queryable)`SELECT hour, views FROM activity_hours
    WHERE name = ${name} AND hour >= ${range.from} AND hour < ${range.to}`
  const views = new Map(rows.map((row) => [Number(row['hour']), Number(row['views'])]))
  return Array.from({ length: range.to - range.from }, (_, at) => views.get(range.from + at) ?? 0)
}

interface Figures {
  readonly views: Map<number, number>
  readonly visitors: Map<number, number | null>
  /** Days that were imported. */
  readonly imported?: ReadonlySet<number>
}

async function readHours(
  queryable: Queryable,
  name: string,
  range: PeriodRange,
  calendar: Calendar,
): Promise<Figures> {
  const [first, last] = [calendar.dayOfHour(range.from), calendar.dayOfHour(range.to - 1)]
  const rows = await select(queryable, columnsOf('hour'))`FROM activity_hours
    WHERE name = ${name} AND hour >= ${range.from} AND hour < ${range.to}
    UNION ALL ${openVisitors(name, first, last + 1)}`
  const { hour: hours, groups } = sorted(rows)
  const views = new Map(hours.map(({ at, views }) => [at, views]))
  const visitors = new Map(hours.map(({ at, visitors }) => [at, visitors]))
  for (const [day, ofDay] of groups) {
    const { from, to } = calendar.hoursOf(day)
    for (const [place, n] of visitorsByHour(ofDay, to - from).entries()) {
      visitors.set(from + place, n)
    }
  }
  return { views, visitors }
}

async function readDays(
  queryable: Queryable,
  name: string,
  range: PeriodRange,
  calendar: Calendar,
): Promise<Figures> {
  const { from, to } = range
  const rows = await select(queryable, columnsOf('day'))`FROM activity_days
    WHERE name = ${name} AND day >= ${from} AND day < ${to}
    UNION ALL SELECT 'hour', hour, views, 0, 0, 0 FROM activity_hours WHERE name = ${name}
    AND hour >= ${calendar.firstHour(from)} AND hour < ${calendar.firstHour(to)}
    AND hour >= ${openHour(name)} UNION ALL ${openVisitors(name, from, to)}`
  const { day: days, hour: hours, groups } = sorted(rows)
  const views = new Map(days.map(({ at, views }) => [at, views]))
  const visitors = new Map(days.map(({ at, visitors }) => [at, visitors]))
  for (const hour of hours) {
    const day = calendar.dayOfHour(hour.at)
    views.set(day, (views.get(day) ?? 0) + hour.views)
  }
  for (const [day, ofDay] of groups) {
    visitors.set(
      day,
      ofDay.reduce((sum, [, n]) => sum + n, 0),
    )
  }
  const imported = new Set(days.filter((one) => one.imported === 1).map(({ at }) => at))
  return { views, visitors, imported }
}

/** Columns of hours or days. `hours` is that of {@link openVisitors}. */
function columnsOf(unit: 'hour' | 'day') {
  return {
    unit: [String, `'${unit}'`],
    at: [Number, unit],
    views: Number,
    visitors: numberOrNull,
    hours: [Number, '0'],
    imported: [Number, unit === 'day' ? `CASE WHEN imported IS NULL THEN 0 ELSE 1 END` : '0'],
  } as const
}

type Row = Selected<ReturnType<typeof columnsOf>>

/** The rows by their unit; visitors as [hours, visitors] by their day. */
function sorted(rows: readonly Row[]): {
  readonly hour: readonly Row[]
  readonly day: readonly Row[]
  readonly groups: ReadonlyMap<number, [hours: number, visitors: number][]>
} {
  const ofUnit = (of: string): Row[] => rows.filter(({ unit }) => unit === of)
  const groups = new Map<number, [hours: number, visitors: number][]>()
  for (const { at, visitors, hours } of ofUnit('visitors')) {
    groups.set(at, [...(groups.get(at) ?? []), [hours, visitors ?? 0]])
  }
  return { hour: ofUnit('hour'), day: ofUnit('day'), groups }
}

/** How many values are asked for, perhaps of those that begin with a text. */
export interface AskedValues {
  readonly n: number
  readonly under?: string | undefined
}

/**
 * The values of a dimension with the most views, in hours of `range`. Whole days that are closed
 * are read from the totals of their days.
 */
export async function readTop(
  queryable: Queryable,
  name: string,
  dimension: string,
  range: PeriodRange,
  asked: AskedValues,
): Promise<MeasuredValue[]> {
  const values = await readValues(queryable, name, dimension, range, asked)
  return values.sort((a, b) => b.pageViews - a.pageViews).slice(0, asked.n)
}

/**
 * The views of `n` values of a dimension, of those in `first` before others, and of `null` where
 * visits have no value.
 */
export async function readValues(
  queryable: Queryable,
  name: string,
  dimension: string,
  range: PeriodRange,
  { n, first = [], under = '' }: AskedValues & { readonly first?: readonly string[] },
): Promise<MeasuredValue[]> {
  const calendar = await readCalendar(queryable, name, [range.from, range.to])
  const [from, to] = [calendar.known(range.from), calendar.known(range.to)]
  // Whole days of the range are closed up to `closedTo`, at the most.
  const firstDay = calendar.dayFrom(from)
  const lastDay = Math.max(firstDay, calendar.dayOfHour(to))
  const [firstHour, lastHour] = [calendar.firstHour(firstDay), calendar.firstHour(lastDay)]
  const closedTo = sql`(SELECT CASE WHEN open_hour > ${lastHour} THEN ${lastHour}
    WHEN open_hour < ${firstHour} THEN ${firstHour} ELSE open_hour END
    FROM activity_books WHERE name = ${name})`
  const [least, end] = [Buffer.from(under), Buffer.from(`${under}\u{10ffff}`)]
  const among = under ? sql`AND value >= ${least} AND value < ${end}` : raw('')
  const hours = sql`SELECT value, views FROM activity_hour_values WHERE name = ${name}
    AND dimension = ${dimension} ${among} AND`
  const wanted = first.map((value) => (value === OTHER ? OTHER_VALUE : Buffer.from(value)))
  const before =
    wanted.length > 0 ? sql`CASE WHEN value IN (${wanted}) THEN 0 ELSE 1 END,` : raw('')
  // The sum of the sums is that of all values, however many are listed.
  const { rows } = await execute(queryable)`SELECT value, views, listed FROM (
    SELECT value, SUM(views) AS views, SUM(SUM(views)) OVER () AS listed FROM (
    SELECT value, views FROM activity_day_values WHERE name = ${name}
    AND dimension = ${dimension} ${among} AND day >= ${firstDay} AND day < ${lastDay}
    UNION ALL ${hours} hour >= ${from} AND hour < ${Math.min(firstHour, to)}
    UNION ALL ${hours} hour >= ${closedTo} AND hour < ${to}) AS parts GROUP BY value
    ORDER BY ${before} views DESC, value LIMIT ${n}) AS top
    UNION ALL SELECT NULL, COALESCE(SUM(views), 0), 0 FROM activity_hours
    WHERE name = ${name} AND hour >= ${from} AND hour < ${to}`
  let all = 0
  let listed = 0
  const values: MeasuredValue[] = []
  for (const { value, views, listed: sum } of rows) {
    if (Buffer.isBuffer(value)) {
      values.push({ value: value.toString() || OTHER, pageViews: Number(views) })
      listed = Number(sum)
    } else all = Number(views)
  }
  if (all > listed && !under) values.push({ value: null, pageViews: all - listed })
  return values
}
