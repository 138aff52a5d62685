/**
 * Keeps the figures of a day at its closing, and finds later changes: the figures of the day and of
 * each hour, and three sums over the values of each dimension. One is of their page views. Two are
 * of page views times a number that SQL makes of the value: over the values by the day, and over
 * those by the hour. Views moved from one value to another change them, unless both values happen
 * to have the same number.
 *
 * Only two things change it: the removal of a value, whose transaction enters it here too, and the
 * removal of hours that are too old, which the books note first.
 */
import type { Dialect, Queryable, SqlRow, Transaction } from '../database/database.js'
import { weight } from '../database/dialect.js'
import { table } from '../database/table.js'
import { counted } from '../support/printable.js'
import { HOURS_A_DAY, hourName } from './books.js'
import { recordedDimensions } from './dimension-values.js'

/** An hour that has no row, or had none. */
const NO_HOUR = [0, 0, 0] as const

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
)

/** Sums over values at the closing. Only {@link removeValue} changes them. */
export const CLOSED_VALUES = table(
  'activity_closed_values',
  ['name', 'day', 'dimension'],
  ['views', 'add'],
  ['day_weight', 'add'],
  ['hour_weight', 'add'],
)

const THEN = 'when it closed'

/** The figures of an hour or a day: page views, late ones, visitors. */
type Figures = readonly [views: number, late: number, visitors: number]

/** Keeps the figures of days without visits, from one day up to another, without it. */
export function keepEmptyDays(
  tx: Transaction,
  name: string,
  from: number,
  to: number,
): Promise<void> {
  const days = Array.from({ length: to - from }, (_, index) => from + index)
  return FIGURES.upsert(
    tx,
    days.map((day) => [name, day, ...NO_HOUR, '[]']),
  )
}

/** Keeps the figures of a day, within the transaction that closes it. */
export async function keepFigures(
  tx: Transaction,
  name: string,
  day: number,
  dimensions: readonly string[],
): Promise<void> {
  const hours = JSON.stringify([...(await hoursOf(tx, name, day))])
  await FIGURES.upsert(tx, [[name, day, ...(await figuresOf(tx, name, day)), hours]])
  for (const dimension of dimensions) {
    const { views, day_weight, hour_weight } = await valuesOf(tx, name, dimension, day)
    await CLOSED_VALUES.upsert(tx, [
      [name, day, dimension, views ?? 0, day_weight ?? 0, hour_weight ?? 0],
    ])
  }
}

/** Returns the differences from the figures of the closing. */
export async function changesSince(
  queryable: Queryable,
  name: string,
  day: number,
): Promise<string[]> {
  const [findings, figures] = [[] as string[], await figuresOf(queryable, name, day)]
  const { rows } = await queryable.query(
    'SELECT views, late, visitors, hours FROM activity_certificates WHERE name = ? AND day = ?',
    [name, day],
  )
  const [kept = {}] = rows
  for (const [index, noun] of ['page view', 'late page view', 'visitor'].entries()) {
    const then = figuresIn(kept)[index]!
    if (figures[index] === then) continue
    findings.push(
      `activity_days has ${counted(figures[index]!, noun)} of the day, and had ${then} ${THEN}`,
    )
  }
  findings.push(...hourChanges(keptHours(kept['hours']), await hoursOf(queryable, name, day)))
  for (const dimension of await dimensionsOf(queryable, name, day)) {
    findings.push(...valueChanges(dimension, day, await valuesOf(queryable, name, dimension, day)))
  }
  return findings
}

async function figuresOf(queryable: Queryable, name: string, day: number): Promise<Figures> {
  const { rows } = await queryable.query(
    'SELECT views, late, visitors FROM activity_days WHERE name = ? AND day = ?',
    [name, day],
  )
  return figuresIn(rows[0] ?? {})
}

function figuresIn(row: SqlRow): Figures {
  const number = (column: string): number => Number(row[column] ?? 0)
  return [number('views'), number('late'), number('visitors')]
}

type Hours = ReadonlyMap<number, Figures>

/** The figures of each hour of a day that has a row, by its number from 0 to 23. */
async function hoursOf(queryable: Queryable, name: string, day: number): Promise<Hours> {
  const { rows } = await queryable.query(
    'SELECT hour, views, late, visitors FROM activity_hours ' +
      'WHERE name = ? AND hour >= ? AND hour < ? ORDER BY hour',
    [name, day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY],
  )
  return new Map(rows.map((row) => [Number(row['hour']) % HOURS_A_DAY, figuresIn(row)]))
}

/** None where the text is not what {@link keepFigures} has written. */
function keptHours(json: unknown): Hours {
  try {
    return new Map(JSON.parse(String(json)) as [number, Figures][])
  } catch {
    return new Map()
  }
}

function hourChanges(then: Hours, now: Hours): string[] {
  return Array.from({ length: HOURS_A_DAY }, (_, hour) => hour).flatMap((hour) => {
    const [had, has] = [then.get(hour) ?? NO_HOUR, now.get(hour) ?? NO_HOUR]
    if (String(had) === String(has)) return []
    return `its hour ${hourName(hour)} has ${figuresText(has)}, and had ${figuresText(had)} ${THEN}`
  })
}

function figuresText([views, late, visitors]: Figures): string {
  return `${counted(views, 'page view')} (${late} late) and ${counted(visitors, 'visitor')}`
}

/** All dimensions that have values, or had some when the day closed. */
async function dimensionsOf(queryable: Queryable, name: string, day: number): Promise<Set<string>> {
  const { rows } = await queryable.query(
    'SELECT dimension FROM activity_closed_values WHERE name = ? AND day = ?',
    [name, day],
  )
  const then = rows.map(({ dimension }) => String(dimension))
  return new Set([...(await recordedDimensions(queryable, name)), ...then])
}

/** The sums of values, those of the closing, and from which hour on values are kept. */
async function valuesOf(
  queryable: Queryable,
  name: string,
  dimension: string,
  day: number,
): Promise<SqlRow> {
  const ofDay = weightOf(queryable.dialect)
  const ofHour = `${ofDay} + 1299709 * (hour % ${HOURS_A_DAY})`
  const sums = (weighs: string, period: 'hour' | 'day'): string =>
    `(SELECT COALESCE(SUM(views), 0) AS views, COALESCE(SUM(views * (${weighs})), 0) AS weight ` +
    `FROM activity_${period}_values WHERE name = ? AND dimension = ? AND ` +
    `${period} >= ? AND ${period} < ?)`
  const { rows } = await queryable.query(
    'SELECT d.views, d.weight AS day_weight, h.views AS hour_views, h.weight AS hour_weight, ' +
      'c.views AS closed_views, c.day_weight AS closed_day_weight, ' +
      'c.hour_weight AS closed_hour_weight, b.values_from ' +
      `FROM ${sums(ofDay, 'day')} AS d CROSS JOIN ${sums(ofHour, 'hour')} AS h ` +
      'LEFT JOIN activity_closed_values AS c ON c.name = ? AND c.day = ? AND c.dimension = ? ' +
      'LEFT JOIN activity_books AS b ON b.name = ?',
    [
      name,
      dimension,
      day,
      day + 1,
      name,
      dimension,
      day * HOURS_A_DAY,
      (day + 1) * HOURS_A_DAY,
      name,
      day,
      dimension,
      name,
    ],
  )
  return rows[0]!
}

function valueChanges(dimension: string, day: number, row: SqlRow): string[] {
  const number = (column: string): number => Number(row[column] ?? 0)
  const change = (where: string, views: number, weight: 'day_weight' | 'hour_weight'): string[] => {
    const then = number('closed_views')
    if (views !== then) {
      return [
        `its values of ${dimension} ${where} have ${counted(views, 'page view')}, ` +
          `and had ${then} ${THEN}`,
      ]
    }
    if (number(weight) === number(`closed_${weight}`)) return []
    return [`page views have moved between its values of ${dimension} ${where} since it closed`]
  }
  const byDay = change('in activity_day_values', number('views'), 'day_weight')
  if (day * HOURS_A_DAY < number('values_from')) return byDay
  return [...byDay, ...change('in activity_hour_values', number('hour_views'), 'hour_weight')]
}
