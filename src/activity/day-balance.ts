/**
 * The law of the books for one day, as parts of a statement. The rows committed in the ledger are
 * three sums: the rows settled before the open days, the page views of the day, and those of the
 * other open days. Days that are closed are not added up again, and the others count as their hours
 * or as their seconds say. So a change to one day is no finding of another.
 */
import type { SqlRow, SqlValue } from '../database/database.js'
import type { Calendar } from '../support/calendar.js'
import { type Balance, differenceOf } from './balance.js'
import { OPEN_HOUR } from './books.js'
import { PAGE } from './sums.js'

/** An expression of SQL, and the values of its parameters. */
export type Expression = readonly [sql: string, values: readonly SqlValue[]]

/** What page views are summed up by: a table, and its column, a unit of time. */
type Unit = readonly [table: string, column: 'hour' | 'second']
const HOURS: Unit = ['activity_hours', 'hour']
const SECONDS: Unit = ['activity_seconds', 'second']
const PAGES: Unit = ['activity_hour_values', 'hour']

const SECONDS_AN_HOUR = 3600

/** The end of the last day that has figures of its closing, whatever the books say. */
const AFTER_CLOSED =
  'COALESCE((SELECT end_hour FROM activity_certificates WHERE name = ? AND views IS NOT NULL ' +
  'ORDER BY day DESC LIMIT 1), 0)'
const VALUES_FROM = 'SELECT values_from FROM activity_books WHERE name = ?'

/** The sums of a day, and those of the other open days, by their names. */
export function sumsOfDay(
  name: string,
  day: number,
  calendar: Calendar,
): Record<string, Expression> {
  const sum = (of: string, [table, unit]: Unit, ...wheres: Where[]): Expression => {
    const conditions = wheres.map((where) => where(unit))
    return [
      `(SELECT COALESCE(SUM(${of}), 0) FROM ${table} WHERE name = ?` +
        `${conditions.map(([sql]) => ` AND ${sql}`).join('')})`,
      [name, ...conditions.flatMap(([, values]) => values)],
    ]
  }
  const secondOf = (hour: number): number => calendar.startOfHour(hour) / 1000
  const openFrom = (hour: string): Where => {
    const second = `${SECONDS_AN_HOUR} * ${hour} + ${secondOf(0)}`
    return (unit) => [`${unit} >= ${unit === 'hour' ? hour : second}`, [name]]
  }
  const { from, to } = calendar.hoursOf(day)
  const edges = (unit: Unit[1]): readonly number[] =>
    unit === 'hour' ? [from, to] : [secondOf(from), secondOf(to)]
  const ofDay: Where = (unit) => [`${unit} >= ? AND ${unit} < ?`, edges(unit)]
  const ofOthers: Where = (unit) => [`(${unit} < ? OR ${unit} >= ?)`, edges(unit)]
  const listed: Where = (unit) => [`${unit} >= COALESCE((${VALUES_FROM}), 0)`, [name]]
  const ofPages: Where = () => ['dimension = ?', [PAGE]]
  const others = [openFrom(OPEN_HOUR), openFrom(AFTER_CLOSED), ofOthers]
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

type Where = (unit: Unit[1]) => Expression

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
