/** The closing of days: from then on their figures never change. */
import type { Database, Queryable, Transaction } from '../database/database.js'
import { execute, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { PeriodRange } from '../support/calendar.js'
import { openBooks } from './books.js'
import { type ActivityCertificate, certify } from './certificate.js'
import { keepEmptyDays } from './closed-day.js'
import { calendarIn, enterDays, firstHoursIn } from './days.js'
import { dimensionsOf, OTHER_VALUE } from './dimension-values.js'

/** The visitors of hours. Their views are there already. */
const HOUR_VISITORS = table('activity_hours', ['name', 'hour'], 'views', 'late', [
  'visitors',
  'replace',
])
export const DAY_VALUES = table(
  'activity_day_values',
  ['name', 'dimension', 'day', 'value'],
  ['views', 'add'],
)

/** Values of a dimension that a closed day lists one by one. */
export const VALUES_A_DAY = 1_000

/** Closings of one call: after a long absence the other days wait for the next ones. */
const CLOSINGS_A_CALL = 50

/** Days without visits of one closing, each a row: a visit recorded as of 1970 makes thousands. */
const EMPTY_DAYS_A_CLOSING = 366

/**
 * Closes all days that ended `vanishedSeconds` ago or earlier, when nothing of them can be on its
 * way any more. Any number of collectors may call it at once. Each day with page views is
 * certified, and `onCertified` hears of it once it is closed.
 *
 * @returns whether there are more than one call closes
 */
export async function closeDays(
  database: Database,
  name: string,
  now: number,
  vanishedSeconds: number,
  onCertified: (certificate: ActivityCertificate) => void,
): Promise<boolean> {
  const ended = now - vanishedSeconds * 1000
  for (let closed = 0; closed < CLOSINGS_A_CALL; closed++) {
    if ((await nextToClose(database, name, ended)) === undefined) return false
    const certificate = await database.transaction((tx) => close(tx, name, ended))
    if (certificate) onCertified(certificate)
  }
  return true
}

/**
 * The end of the oldest open day that has visits, or else the day of `ended`, or that of as many
 * empty days as one closing keeps. All days until then can be closed, and only the last of them may
 * have visits. `undefined`: no day can be closed.
 */
async function nextToClose(
  queryable: Queryable,
  name: string,
  ended: number,
): Promise<number | undefined> {
  const [row] = (
    await execute(queryable)`SELECT b.open_day, b.first_hours, o.time_zone,
    o.hour_lead, (SELECT MIN(hour) FROM activity_hours AS h WHERE h.name = b.name
    AND h.hour >= b.open_hour) AS hour FROM activity_books AS b
    LEFT JOIN wide_cache_names AS n ON n.name = b.name
    LEFT JOIN wide_cache_names AS o ON o.name = n.grid_name WHERE b.name = ${name}`
  ).rows
  if (!row) return undefined
  const openDay = Number(row['open_day'])
  const calendar = calendarIn(row, firstHoursIn(row['first_hours']))
  const before = calendar.dayOf(ended)
  if (openDay >= before) return undefined
  const first = row['hour'] === null ? before : calendar.dayOfHour(Number(row['hour']))
  // Days before the first closing are no empty days.
  const most = openDay === 0 ? before : openDay + EMPTY_DAYS_A_CLOSING
  return Math.min(first + 1, most, before)
}

/** Returns the certificate of the day with page views that it has closed, if there was one. */
async function close(
  tx: Transaction,
  name: string,
  ended: number,
): Promise<ActivityCertificate | undefined> {
  const books = await openBooks(tx, name)
  const { openDay, calendar } = books
  // Asked again under the lock: a commit may have brought visits of an older open day meanwhile,
  // or another collector may have been quicker.
  const until = await nextToClose(tx, name, ended)
  if (until === undefined) return undefined
  const day = until - 1
  const hours = calendar.hoursOf(day)
  const visitors = await closeHours(tx, name, day, hours)
  const { affectedRows: entered } = await execute(tx)`INSERT INTO activity_days (name, day, views,
    late, visitors) SELECT name, ${day}, SUM(views), SUM(late), ${visitors}
    FROM activity_hours WHERE name = ${name} AND hour >= ${hours.from} AND hour < ${hours.to}
    GROUP BY name`
  await execute(tx)`UPDATE activity_books SET open_day = ${until}, open_hour = ${hours.to},
    first_day = COALESCE(first_day, ${entered === 0 ? null : day}) WHERE name = ${name}`
  await enterDays(tx, name, { ...books, openDay: until }, [until])
  // No day before the first one that closes has visits.
  await keepEmptyDays(
    tx,
    name,
    openDay === 0 ? day : openDay,
    entered === 0 ? until : day,
    calendar,
  )
  if (entered === 0) return undefined
  const dimensions = await dimensionsOf(tx, name)
  for (const dimension of dimensions) await closeValues(tx, name, dimension, day, hours)
  return certify(tx, name, day, dimensions, calendar)
}

/** Stores the visitors of each hour; returns those of the day. */
async function closeHours(
  tx: Transaction,
  name: string,
  day: number,
  { from, to }: PeriodRange,
): Promise<number> {
  const { rows } = await execute(tx)`SELECT hours, COUNT(*) AS visitors
    FROM activity_visitors WHERE name = ${name} AND day = ${day} GROUP BY hours`
  const groups = rows.map((row) => [Number(row['hours']), Number(row['visitors'])] as const)
  const byHour = visitorsByHour(groups, to - from)
  await execute(tx)`UPDATE activity_hours SET visitors = 0 WHERE name = ${name}
    AND hour >= ${from} AND hour < ${to}`
  const seen = byHour.flatMap((visitors, hour) =>
    visitors > 0 ? [[name, from + hour, 0, 0, visitors] as const] : [],
  )
  await HOUR_VISITORS.upsert(tx, seen)
  return groups.reduce((all, [, visitors]) => all + visitors, 0)
}

/**
 * Returns the visitors of each hour of a day that has so many. `groups`: numbers of visitors by
 * their hours.
 */
export function visitorsByHour(
  groups: Iterable<readonly [hours: number, visitors: number]>,
  hoursOfDay: number,
): number[] {
  const byHour = Array<number>(hoursOfDay).fill(0)
  for (const [hours, visitors] of groups) {
    for (let hour = 0; hour < hoursOfDay; hour++) {
      if (hours & (1 << hour)) byHour[hour]! += visitors
    }
  }
  return byHour
}

/** Enters the values of a dimension with the most views of a day, and all others as one. */
async function closeValues(
  tx: Transaction,
  name: string,
  dimension: string,
  day: number,
  { from, to }: PeriodRange,
): Promise<void> {
  const ofDay = sql`WHERE name = ${name} AND dimension = ${dimension}
    AND hour >= ${from} AND hour < ${to}`
  await execute(tx)`INSERT INTO activity_day_values (name, dimension, day, value, views)
    SELECT ${name}, ${dimension}, ${day}, value, SUM(views) AS sum_of_views
    FROM activity_hour_values ${ofDay} AND value <> ${OTHER_VALUE} GROUP BY value
    ORDER BY sum_of_views DESC, value LIMIT ${VALUES_A_DAY}`
  const { rows } = await execute(tx)`
    SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_hour_values ${ofDay}) -
    (SELECT COALESCE(SUM(views), 0) FROM activity_day_values WHERE name = ${name}
    AND dimension = ${dimension} AND day = ${day}) AS others`
  const others = Number(rows[0]!['others'])
  if (others === 0) return
  await DAY_VALUES.insert(tx, [[name, dimension, day, OTHER_VALUE, others]])
}
