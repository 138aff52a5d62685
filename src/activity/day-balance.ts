/**
 * The law of the books for one day, as parts of a statement. The rows committed in the ledger are
 * three sums: the rows settled before the open days, the page views of the day, and those of the
 * other open days. Days that are closed are not added up again, and the others count as their hours
 * or as their seconds say. So a change to one day is no finding of another.
 */
import type { SqlRow, SqlValue } from '../database/database.js'
import { type Balance, differenceOf } from './balance.js'
import { HOURS_A_DAY } from './books.js'
import { PAGE } from './sums.js'

const SECONDS_AN_HOUR = 3600

/** An expression of SQL, and the values of its parameters. */
export type Expression = readonly [sql: string, values: readonly SqlValue[]]

/** A unit of time that page views are summed up by: a table, its column, and units of an hour. */
type Unit = readonly [table: string, column: string, perHour: number]
const HOURS: Unit = ['activity_hours', 'hour', 1]
const SECONDS: Unit = ['activity_seconds', 'second', SECONDS_AN_HOUR]
const PAGES: Unit = ['activity_hour_values', 'hour', 1]

const OPEN_DAY = 'SELECT open_day FROM activity_books WHERE name = ?'
/** The day after the last one that has figures of its closing, whatever the books say. */
const AFTER_CLOSED =
  'SELECT COALESCE(MAX(day) + 1, 0) FROM activity_certificates WHERE name = ? AND views IS NOT NULL'
const VALUES_FROM = 'SELECT values_from FROM activity_books WHERE name = ?'

/** The sums of a day, and those of the other open days, by their names. */
export function sumsOfDay(name: string, day: number): Record<string, Expression> {
  const sum = (of: string, [table, unit, perHour]: Unit, ...wheres: Where[]): Expression => {
    const conditions = wheres.map((where) => where(unit, perHour))
    return [
      `(SELECT COALESCE(SUM(${of}), 0) FROM ${table} WHERE name = ?` +
        `${conditions.map(([sql]) => ` AND ${sql}`).join('')})`,
      [name, ...conditions.flatMap(([, values]) => values)],
    ]
  }
  const openFrom = (days: string): Where => {
    return (unit, perHour) => [`${unit} >= ${HOURS_A_DAY * perHour} * (${days})`, [name]]
  }
  const [first, end] = [day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY]
  const ofDay: Where = (unit, perHour) => [
    `${unit} >= ? AND ${unit} < ?`,
    [first * perHour, end * perHour],
  ]
  const ofOthers: Where = (unit, perHour) => [
    `(${unit} < ? OR ${unit} >= ?)`,
    [first * perHour, end * perHour],
  ]
  const listed: Where = (unit) => [`${unit} >= COALESCE((${VALUES_FROM}), 0)`, [name]]
  const ofPages: Where = () => ['dimension = ?', [PAGE]]
  const others = [openFrom(OPEN_DAY), openFrom(AFTER_CLOSED), ofOthers]
  return {
    hour_views: sum('views', HOURS, ofDay),
    hour_late: sum('late', HOURS, ofDay),
    other_hours: sum('views', HOURS, ...others),
    other_removed: sum('removed', HOURS, ...others),
    other_seconds: sum('views', SECONDS, ...others),
    removed: sum('removed', HOURS, ofDay),
    seconds: sum('views', SECONDS, ofDay),
    listed_hours: sum('views', HOURS, ofDay, listed),
    listed_pages: sum('views', PAGES, ofPages, ofDay, listed),
  }
}

type Where = (unit: string, perHour: number) => Expression

/** Both sides of the law of a day that is open, or is being closed. */
export function dayBalanceOf(row: SqlRow): Balance & { readonly others: number } {
  const number = (column: string): number => Number(row[column] ?? 0)
  const uncounted = number('uncounted')
  const committed = number('committed')
  const balanceWith = (others: number) => ({
    allPageViews: number('settled') - uncounted + number('hour_views') + others,
    uncounted,
    committed,
    others,
  })
  const byHours = balanceWith(number('other_hours'))
  const bySeconds = balanceWith(number('other_removed') + number('other_seconds'))
  return differenceOf(bySeconds) === 0 ? bySeconds : byHours
}
