/**
 * The figures of several sites of one database, each in a row: what comes in now, the last seven
 * whole days beside the seven before, and each of the last thirty. Two statements read them,
 * however many sites there are.
 */
import type { Queryable, SqlRow, SqlValue } from '../database/database.js'
import { execute, raw, sql } from '../database/sql.js'
import { calendarIn, firstHoursIn } from './days.js'
import { FIRST, firstDayIn } from './first-day.js'

/** Seconds that count as now, and days of a line and of a week. */
export const NOW_SECONDS = 600
export const LINE_DAYS = 30
const WEEK_DAYS = 7
/** Below any change: the least is -1. */
const NOT_COMPARED = -2

/** A day, in milliseconds, and those that a zone may be away from UTC. */
const DAY_MS = 86_400_000
const AWAY_DAYS = 2

/** Figures of a site. `null`: not known, because it is of a time before the first page view. */
export interface SiteFigures {
  readonly name: string
  /** Name of the time zone of its days. */
  readonly zone: string
  /** Page views of the last ten minutes that have come to SQL. */
  readonly now: number
  /** Page views of the last seven whole days. */
  readonly week: number | null
  /** Page views of the seven days before. */
  readonly before: number | null
  /** `week` over `before`, less 1. `null`: not known, or there were none before. */
  readonly change: number | null
  /** Page views of each of the last thirty whole days. */
  readonly days: readonly (number | null)[]
}

/** Reads the figures of those of `names` that have any, that with the greatest change first. */
export async function readOverview(
  queryable: Queryable,
  names: readonly string[],
  now: number,
): Promise<SiteFigures[]> {
  if (names.length === 0) return []
  const among = sql`WHERE b.name IN (${names})`
  const second = Math.floor(now / 1000)
  const books = await execute(queryable)`SELECT b.name, b.first_hours, o.time_zone, o.hour_lead,
    ${raw(FIRST)}, (SELECT COALESCE(SUM(s.views), 0) FROM activity_seconds AS s
    WHERE s.name = b.name AND s.second > ${second - NOW_SECONDS} AND s.second <= ${second}) AS now
    FROM activity_books AS b LEFT JOIN wide_cache_names AS n ON n.name = b.name
    LEFT JOIN wide_cache_names AS o ON o.name = n.grid_name ${among} ORDER BY b.name`
  const firstDay = Math.floor(now / DAY_MS) - LINE_DAYS - AWAY_DAYS
  const { rows } = await execute(queryable)`SELECT b.name, 'day' AS unit, p.day AS at, p.views
    FROM activity_books AS b JOIN activity_days AS p ON p.name = b.name AND p.day >= ${firstDay}
    ${among} UNION ALL SELECT b.name, 'hour', p.hour, p.views FROM activity_books AS b
    JOIN activity_hours AS p ON p.name = b.name AND p.hour >= b.open_hour ${among}`
  const rowsOf = new Map<SqlValue | undefined, SqlRow[]>()
  for (const row of rows) {
    const its = rowsOf.get(row['name'])
    if (its) its.push(row)
    else rowsOf.set(row['name'], [row])
  }
  const sites = books.rows.map((row) => {
    const name = String(row['name'])
    const calendar = calendarIn(row, firstHoursIn(row['first_hours']))
    const views = new Map<number, number>()
    for (const { unit, at, views: more } of rowsOf.get(row['name']) ?? []) {
      const day = unit === 'day' ? Number(at) : calendar.dayOfHour(Number(at))
      views.set(day, (views.get(day) ?? 0) + Number(more))
    }
    const [today, first] = [calendar.dayOf(now), firstDayIn(row, calendar) ?? Infinity]
    const days = Array.from({ length: LINE_DAYS }, (_, index) => {
      const day = today - LINE_DAYS + index
      return views.get(day) ?? (day < first ? null : 0)
    })
    const week = sum(days.slice(-WEEK_DAYS))
    const before = sum(days.slice(-2 * WEEK_DAYS, -WEEK_DAYS))
    const change = week === null || !before ? null : week / before - 1
    return { name, zone: calendar.zone, now: Number(row['now']), week, before, change, days }
  })
  const rank = ({ change }: SiteFigures): number => change ?? NOT_COMPARED
  return sites.sort((a, b) => rank(b) - rank(a))
}

/** The sum of days that are all known. */
function sum(days: readonly (number | null)[]): number | null {
  return days.reduce((all, one) => (all === null || one === null ? null : all + one), 0)
}
