/**
 * Keeps the figures of a day at its closing, by which later changes are found: the figures of the
 * day and of each hour, and three sums over the values of each dimension. One is of their page
 * views. Two are of page views times a number that SQL makes of the value: over the values by the
 * day, and over those by the hour. Views moved from one value to another change them, unless both
 * values happen to have the same number.
 *
 * Only two things change it: the removal of a value, whose transaction enters it here too, and the
 * removal of hours that are too old, which the books note first.
 */
import type { Dialect, Queryable, SqlRow, Transaction } from '../database/database.js'
import { weight } from '../database/dialect.js'
import { execute, raw, selectOne, type Sql, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Calendar } from '../support/calendar.js'
import { recordedDimensions } from './dimension-values.js'
import { figuresByHour, NO_HOUR } from './findings.js'

/** The number made of a value; 0 for the empty one. */
export function weightOf(dialect: Dialect): string {
  return weight(dialect, 'value')
}

const FIGURES = table(
  'activity_certificates',
  ['name', 'day'],
  ['views', 'replace'],
  ['late', 'replace'],
  ['visitors', 'replace'],
  ['hours', 'replace'],
  ['first_hour', 'replace'],
  ['end_hour', 'replace'],
)

/** Sums over values at the closing. Only {@link removeValue} changes them. */
export const CLOSED_VALUES = table(
  'activity_closed_values',
  ['name', 'day', 'dimension'],
  ['views', 'add'],
  ['day_weight', 'add'],
  ['hour_weight', 'add'],
)

/** Keeps the figures of days without visits, from one day up to another, without it. */
export function keepEmptyDays(
  tx: Transaction,
  name: string,
  from: number,
  to: number,
  calendar: Calendar,
): Promise<void> {
  const days = Array.from({ length: to - from }, (_, index) => from + index)
  return FIGURES.upsert(
    tx,
    days.map((day) => [
      ...([name, day, ...NO_HOUR, '[]'] as const),
      calendar.firstHour(day),
      calendar.firstHour(day + 1),
    ]),
  )
}

/** Keeps the figures of a day, within the transaction that closes it. */
export async function keepFigures(
  tx: Transaction,
  name: string,
  day: number,
  dimensions: readonly string[],
  calendar: Calendar,
): Promise<void> {
  const { from, to } = calendar.hoursOf(day)
  const rows = await readHours(tx, name, day, calendar)
  const hours = JSON.stringify([...figuresByHour(rows, calendar)])
  const columns = { views: Number, late: Number, visitors: Number }
  const ofDay = await selectOne(
    tx,
    columns,
  )`FROM activity_days WHERE name = ${name} AND day = ${day}`
  const figures = [ofDay?.views ?? 0, ofDay?.late ?? 0, ofDay?.visitors ?? 0] as const
  await FIGURES.upsert(tx, [[name, day, ...figures, hours, from, to]])
  for (const dimension of dimensions) {
    const { day_views, day_weight, hour_weight } = await valuesOf(
      tx,
      name,
      dimension,
      day,
      calendar,
    )
    await CLOSED_VALUES.upsert(tx, [
      [name, day, dimension, day_views ?? 0, day_weight ?? 0, hour_weight ?? 0],
    ])
  }
}

/** Reads the rows of `activity_hours` of a day. */
export async function readHours(
  queryable: Queryable,
  name: string,
  day: number,
  calendar: Calendar,
): Promise<readonly SqlRow[]> {
  const { from, to } = calendar.hoursOf(day)
  const { rows } = await execute(queryable)`SELECT hour, views, late, visitors, recounted
    FROM activity_hours WHERE name = ${name} AND hour >= ${from} AND hour < ${to} ORDER BY hour`
  return rows
}

/** Reads the sums of the values of a day, and those of its closing, by their dimensions. */
export async function readValues(
  queryable: Queryable,
  name: string,
  day: number,
  calendar: Calendar,
): Promise<Map<string, SqlRow>> {
  const values = new Map<string, SqlRow>()
  for (const dimension of await dimensionsOf(queryable, name, day)) {
    values.set(dimension, await valuesOf(queryable, name, dimension, day, calendar))
  }
  return values
}

/** All dimensions that have values, or had some when the day closed. */
async function dimensionsOf(queryable: Queryable, name: string, day: number): Promise<Set<string>> {
  const { rows } = await execute(queryable)`SELECT dimension FROM activity_closed_values
    WHERE name = ${name} AND day = ${day}`
  const then = rows.map(({ dimension }) => String(dimension))
  return new Set([...(await recordedDimensions(queryable, name)), ...then])
}

/** The sums of values, those of the closing, and from which hour on values are kept. */
async function valuesOf(
  queryable: Queryable,
  name: string,
  dimension: string,
  day: number,
  calendar: Calendar,
): Promise<SqlRow> {
  const ofDay = weightOf(queryable.dialect)
  const { from, to } = calendar.hoursOf(day)
  const ofHour = `${ofDay} + 1299709 * (hour - ${from})`
  const sums = (weighs: string, period: 'hour' | 'day', first: number, end: number): Sql => {
    const at = raw(period)
    return sql`(SELECT COALESCE(SUM(views), 0) AS views,
      COALESCE(SUM(views * (${raw(weighs)})), 0) AS weight FROM activity_${at}_values
      WHERE name = ${name} AND dimension = ${dimension} AND ${at} >= ${first} AND ${at} < ${end})`
  }
  const { rows } = await execute(queryable)`SELECT d.views AS day_views, d.weight AS day_weight,
    h.views AS hour_views, h.weight AS hour_weight,
    c.views AS closed_views, c.day_weight AS closed_day_weight,
    c.hour_weight AS closed_hour_weight, b.values_from
    FROM ${sums(ofDay, 'day', day, day + 1)} AS d
    CROSS JOIN ${sums(ofHour, 'hour', from, to)} AS h
    LEFT JOIN activity_closed_values AS c
    ON c.name = ${name} AND c.day = ${day} AND c.dimension = ${dimension}
    LEFT JOIN activity_books AS b ON b.name = ${name}`
  return rows[0]!
}
