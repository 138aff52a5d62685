/**
 * The history of one value of a dimension. It is read by period and value, so its cost does not
 * grow with the other values.
 */
import type { Queryable } from '../database/database.js'
import { execute, raw, sql, type Sql } from '../database/sql.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { openHour } from './books.js'
import { readCalendar } from './days.js'
import { OTHER_VALUE } from './dimension-values.js'
import { readMissing } from './first-day.js'
import type { ValuePeriod } from '../dashboard/site-figures.js'
import { PAGE, storedValue } from './sums.js'

/** The views of the value in each period of `range`, without gaps. */
export async function readValueHistory(
  queryable: Queryable,
  name: string,
  by: Period,
  range: PeriodRange,
  { dimension, value }: { readonly dimension: string; readonly value: string },
): Promise<ValuePeriod[]> {
  const read = by === 'hour' ? readHours : readDays
  const calendar = await readCalendar(queryable, name)
  const key = [dimension, Buffer.from(storedValue(value))] as const
  const { views, imported } = await read(queryable, name, range, key, calendar)
  // After the views, so that none of them is of a day before.
  const missing = await readMissing(queryable, [name])
  return Array.from({ length: range.to - range.from }, (_, index) => {
    const at = range.from + index
    const pageViews = views.get(at)
    const day = by === 'day' ? at : calendar.dayOfHour(at)
    return {
      start: calendar.textOf(calendar.startOf(by, at)),
      pageViews: pageViews === undefined ? missing(name, day) : pageViews,
      ...(imported?.has(at) && ({ imported: true } as const)),
    }
  })
}

type Key = readonly [dimension: string, value: Buffer]

/**
 * Selects periods with their views of the value, and of those that are not listed. A subquery is
 * one step in the primary key, where a join might read all values of the range.
 */
function selectOf(
  period: Period,
  [dimension, value]: Key,
  name: string,
  from: number,
  to: number,
): Sql {
  const [table, at] = [raw(`activity_${period}`), raw(`t.${period}`)]
  const views = (of: Buffer): Sql =>
    sql`(SELECT v.views FROM ${table}_values AS v WHERE v.name = t.name
      AND v.dimension = ${dimension} AND v.${raw(period)} = ${at} AND v.value = ${of})`
  return sql`SELECT '${raw(period)}' AS unit, ${at} AS at, ${views(value)} AS views,
    ${views(OTHER_VALUE)} AS others,
    ${raw(period === 'day' ? 't.imported' : 'NULL')} AS imported FROM ${table}s AS t
    WHERE t.name = ${name} AND ${at} >= ${from} AND ${at} < ${to}`
}

/** Views by the period, and the periods that were imported. */
interface Found {
  readonly views: ReadonlyMap<number, number | null>
  readonly imported?: ReadonlySet<number>
}

async function readHours(
  queryable: Queryable,
  name: string,
  { from, to }: PeriodRange,
  key: Key,
): Promise<Found> {
  const { rows } = await execute(queryable)`${selectOf('hour', key, name, from, to)}
    UNION ALL SELECT 'kept', values_from, NULL, NULL, NULL FROM activity_books WHERE name = ${name}`
  const kept = rows.find(({ unit }) => unit === 'kept')
  const keptFrom = Number(kept?.['at'] ?? 0)
  const views = new Map<number, number | null>()
  for (const { unit, at, views: listed, others } of rows) {
    if (unit === 'kept') continue
    views.set(Number(at), Number(at) < keptFrom ? null : viewsIn(listed, others))
  }
  return { views }
}

async function readDays(
  queryable: Queryable,
  name: string,
  { from, to }: PeriodRange,
  key: Key,
  calendar: Calendar,
): Promise<Found> {
  const hours = [calendar.firstHour(from), calendar.firstHour(to)] as const
  const { rows } = await execute(queryable)`${selectOf('day', key, name, from, to)}
    UNION ALL ${selectOf('hour', key, name, ...hours)} AND t.hour >= ${openHour(name)}`
  const views = new Map<number, number | null>()
  const imported = new Set<number>()
  for (const { unit, at, views: listed, others, imported: id } of rows) {
    const day = unit === 'day' ? Number(at) : calendar.dayOfHour(Number(at))
    const before = views.get(day)
    const isImported = typeof id === 'string'
    if (isImported) imported.add(day)
    // Imported days have pages only.
    const found = isImported && key[0] !== PAGE ? null : viewsIn(listed, others)
    views.set(day, before === null || found === null ? null : (before ?? 0) + found)
  }
  return { views, imported }
}

function viewsIn(listed: unknown, others: unknown): number | null {
  if (listed !== null) return Number(listed)
  return others === null ? 0 : null
}
