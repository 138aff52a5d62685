/**
 * The law of the books for one day, as parts of a statement. The rows committed in the ledger are
 * three sums: the rows settled before the open days, the page views of the day, and those of the
 * other open days. Days that are closed are not added up again, and the others count as their hours
 * or as their seconds say. So a change to one day is no finding of another.
 */
import type { SqlRow } from '../database/database.js'
import { joined, raw, sql, type Sql } from '../database/sql.js'
import type { Calendar } from '../support/calendar.js'
import { type Balance, differenceOf } from './balance.js'
import { openHour } from './books.js'
import { PAGE } from './sums.js'

/** What page views are summed up by: a table, and its column, a unit of time. */
type Unit = readonly [table: string, column: 'hour' | 'second']
const HOURS: Unit = ['activity_hours', 'hour']
const SECONDS: Unit = ['activity_seconds', 'second']
const PAGES: Unit = ['activity_hour_values', 'hour']

const SECONDS_AN_HOUR = 3600

/** The sums of a day, and those of the other open days, by their names. */
export function sumsOfDay(name: string, day: number, calendar: Calendar): Record<string, Sql> {
  const sum = (of: string, [table, unit]: Unit, ...wheres: Where[]): Sql => {
    const conditions = [sql`name = ${name}`, ...wheres.map((where) => where(unit))]
    return sql`(SELECT COALESCE(SUM(${raw(of)}), 0) FROM ${raw(table)}
      WHERE ${joined(conditions, ' AND ')})`
  }
  const secondOf = (hour: number): number => calendar.startOfHour(hour) / 1000
  const openFrom = (hour: Sql): Where => {
    const second = sql`${raw(`${SECONDS_AN_HOUR} *`)} ${hour} + ${raw(String(secondOf(0)))}`
    return (unit) => sql`${raw(unit)} >= ${unit === 'hour' ? hour : second}`
  }
  // The end of the last day that has figures of its closing, whatever the books say.
  const afterClosed = sql`COALESCE((SELECT end_hour FROM activity_certificates
    WHERE name = ${name} AND views IS NOT NULL ORDER BY day DESC LIMIT 1), 0)`
  const { from, to } = calendar.hoursOf(day)
  const edges = (unit: Unit[1]): readonly [number, number] =>
    unit === 'hour' ? [from, to] : [secondOf(from), secondOf(to)]
  const ofDay: Where = (unit) => {
    const [first, end] = edges(unit)
    return sql`${raw(unit)} >= ${first} AND ${raw(unit)} < ${end}`
  }
  const ofOthers: Where = (unit) => {
    const [first, end] = edges(unit)
    return sql`(${raw(unit)} < ${first} OR ${raw(unit)} >= ${end})`
  }
  const listed: Where = (unit) => sql`${raw(unit)} >= COALESCE((
    SELECT values_from FROM activity_books WHERE name = ${name}), 0)`
  const ofPages: Where = () => sql`dimension = ${PAGE}`
  const others = [openFrom(openHour(name)), openFrom(afterClosed), ofOthers]
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

type Where = (unit: Unit[1]) => Sql

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
