/**
 * The days of a name. SQL has its time zone, and the first hours of days with visits and of those
 * after them: the transaction that first needs one enters it, and all processes use that. So two
 * that know different laws of a country count alike. The certificate of a closed day keeps its own.
 */
import type { Queryable, SqlRow, Transaction } from '../database/database.js'
import { execute } from '../database/sql.js'
import { type Calendar, UTC } from '../support/calendar.js'
import { calendarOf, UTC_ZONE } from '../support/time-zone.js'
import { type Keep, keptBy } from './keep.js'
import { readNameSettings, timeZoneIn } from '../wide-cache/ledger/name-settings.js'

type FirstHours = ReadonlyMap<number, number>

/** Closed days whose first hours the books keep: values by the hour stay for a year at most. */
const KEPT_DAYS = 400
/** Runs of days with 24 hours that the books keep: the newest. */
const MAX_RUNS = 200
const HOURS_A_DAY = 24

/** What the books have of days. */
interface Days {
  readonly openDay: number
  readonly firstHours: FirstHours
  readonly calendar: Calendar
}

/** Reads the calendar of a name. `hours`: hours whose days may be closed. */
export async function readCalendar(
  queryable: Queryable,
  name: string,
  hours: readonly number[] = [0],
): Promise<Calendar> {
  // A day of any zone begins within 15 hours of that of UTC.
  const days = hours.map((hour) => Math.floor(hour / HOURS_A_DAY))
  const around = days.flatMap((day) => [day - 1, day, day + 1])
  return (await readDays(queryable, name, around)).calendar
}

/** What SQL has of the days of a name. */
interface NameDays {
  readonly calendar: Calendar
  /** The first hour of the oldest day that is open; 0 before the first visit. */
  readonly openHour: number
  readonly keep: Keep
}

/** Reads the days of a name. `days`: some of them that may be closed. */
export async function readDays(
  queryable: Queryable,
  name: string,
  days: readonly number[] = [-1],
): Promise<NameDays> {
  const { rows } = await execute(queryable)`SELECT open_day, open_hour, first_hours, n.keeps,
    o.time_zone, o.hour_lead, c.day, c.first_hour, c.end_hour FROM activity_books AS b
    LEFT JOIN wide_cache_names AS n ON n.name = b.name
    LEFT JOIN wide_cache_names AS o ON o.name = n.grid_name
    LEFT JOIN activity_certificates AS c ON c.name = b.name AND c.day IN (${days})
    WHERE b.name = ${name}`
  const [row] = rows
  if (!row) {
    const settings = await readNameSettings(queryable, name)
    const calendar = calendarOf(settings?.timeZone ?? UTC_ZONE)
    return { calendar, openHour: 0, keep: keptBy(settings?.keep) }
  }
  const known = new Map(firstHoursIn(row['first_hours']))
  for (const { day, first_hour: from, end_hour: to } of rows) {
    if (from !== null && from !== undefined) known.set(Number(day), Number(from))
    if (to !== null && to !== undefined) known.set(Number(day) + 1, Number(to))
  }
  const openHour = Number(row['open_hour'])
  return { calendar: calendarIn(row, known), openHour, keep: keptBy(row['keeps']) }
}

/** Returns the calendar of the time zone in a row. */
export function calendarIn(row: SqlRow, known: FirstHours): Calendar {
  return calendarOf(timeZoneIn(row) ?? UTC_ZONE).knowing(known)
}

/**
 * Enters the first hours of days, and of the days after them, that the books do not have. Days of
 * UTC are never in doubt.
 */
export async function enterDays(
  tx: Transaction,
  name: string,
  { openDay, firstHours, calendar }: Days,
  days: Iterable<number>,
): Promise<void> {
  const needed = new Set([...days].flatMap((day) => [day, day + 1]))
  const missing = [...needed].filter((day) => !firstHours.has(day))
  if (calendar === UTC || missing.length === 0) return
  const kept = [...firstHours].filter(([day]) => day >= openDay - KEPT_DAYS)
  const all = new Map([...kept, ...missing.map((day) => [day, calendar.firstHour(day)] as const)])
  await execute(tx)`UPDATE activity_books SET first_hours = ${textOf(all)} WHERE name = ${name}`
}

/** Returns first hours as runs of days with 24 hours, such as `20000:479999*3`. */
function textOf(firstHours: FirstHours): string {
  const runs: [day: number, hour: number, days: number][] = []
  for (const [day, hour] of [...firstHours].sort(([a], [b]) => a - b)) {
    const last = runs.at(-1)
    if (last && day === last[0] + last[2] && hour === last[1] + last[2] * HOURS_A_DAY) last[2]++
    else runs.push([day, hour, 1])
  }
  return runs
    .slice(-MAX_RUNS)
    .map(([day, hour, days]) => `${day}:${hour}*${days}`)
    .join(' ')
}

/** Returns the first hours in the text that {@link enterDays} has written, by their days. */
export function firstHoursIn(text: unknown): FirstHours {
  const runs = String(text ?? '').matchAll(/(-?\d+):(-?\d+)\*(\d{1,5})/g)
  return new Map(
    [...runs].flatMap(([, day, hour, days]) =>
      Array.from(
        { length: Number(days) },
        (_, at) => [Number(day) + at, Number(hour) + at * HOURS_A_DAY] as const,
      ),
    ),
  )
}
