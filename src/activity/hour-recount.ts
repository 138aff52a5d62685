/**
 * Recounts an hour: the rows of `activities` against its seconds, its visitors and its pages. Reads
 * rows and visitors in pieces, so that no statement takes long, and keeps a bounded part of them.
 *
 * Rows and seconds are written, and removed, by the same transactions, so one statement finds them
 * equal at any time. Visitors and pages are compared if the hour is the same after the last piece
 * as before the first. They are left out if rows were removed by age, or only sums are kept of some
 * visits.
 */
import type { Database, Queryable, SqlRow } from '../database/database.js'
import { hex } from '../database/dialect.js'
import { execute, joined, raw, selectOne, type Sql, sql } from '../database/sql.js'
import type { Calendar } from '../support/calendar.js'
import { counted } from '../support/printable.js'
import { readCalendar } from './days.js'
import { MAX_VALUE_BYTES } from './packed-dimensions.js'
import { REMOVED_PAGE } from './remove-value.js'
import { PAGE, storedValue } from './sums.js'

/** Rows of a piece. It has whole seconds: one that has more is a piece of its own. */
const ROWS_A_PIECE = 50_000

/**
 * Visitors of an hour that are compared, and visitors that one statement reads. Of an hour that has
 * more page views, a part of the visitors is compared, always the same.
 */
const MAX_VISITORS = 200_000

/** Pages of an hour that are compared one by one. Of more, the smallest are folded. */
const MAX_PAGES = 10_000

/** No value is longer, in bytes; a page may be. */
const PAGE_START = `SUBSTR(page, 1, ${MAX_VALUE_BYTES})`

function rowsOf(name: string, from: number, to: number): Sql {
  return sql`FROM activities WHERE name = ${name} AND created_at >= ${from} AND created_at < ${to}`
}

/** Rows of `activities`, page views that have one, and seconds of which both differ. */
export interface RecountedRows {
  readonly rows: number
  readonly views: number
  readonly unequal: number
}

/** Compares the rows of each second from `from` up to `to`, in milliseconds. */
export async function recountRows(
  queryable: Queryable,
  name: string,
  from: number,
  to: number,
): Promise<RecountedRows> {
  const { rows } = await execute(queryable)`SELECT SUM(found) AS found, SUM(views) AS views,
    SUM(CASE WHEN found = views THEN 0 ELSE 1 END) AS unequal FROM
    (SELECT SUM(found) AS found, SUM(views) AS views FROM
    (SELECT created_at - created_at % 1000 AS at, COUNT(*) AS found, 0 AS views
    ${rowsOf(name, from, to)} GROUP BY 1 UNION ALL SELECT second * 1000, 0, views - sums_only
    FROM activity_seconds WHERE name = ${name} AND second >= ${from / 1000}
    AND second < ${to / 1000}) AS e GROUP BY at) AS s`
  const { found, views, unequal } = rows[0] ?? {}
  return { rows: Number(found), views: Number(views), unequal: Number(unequal) }
}

/**
 * Recounts an hour, counted from 1970, and yields between its pieces.
 *
 * @returns what differs, as the end of a sentence; empty: nothing; `undefined`: it has no rows, or
 *   has changed meanwhile
 */
export async function* recountHour(
  database: Database,
  name: string,
  hour: number,
): AsyncGenerator<undefined, string | undefined> {
  const calendar = await readCalendar(database, name)
  const before = await readHour(database, name, hour, calendar)
  if (!before) return undefined
  const isWhole = before.removed === 0 && before.sumsOnly === 0
  const mostViews = Math.max(before.views, before.dayViews / before.dayHours)
  const share = Math.min(1, MAX_VISITORS / mostViews)
  const all = { rows: 0, views: 0, unequal: 0 }
  const pages = new Map<string, number>()
  const visitors = new Set<string>()
  for (const [index, [from, to]] of (await piecesOf(database, name, hour, calendar)).entries()) {
    if (index > 0) yield
    const { rows, views, unequal } = await recountRows(database, name, from, to)
    all.rows += rows
    all.views += views
    all.unequal += unequal
    if (!isWhole) continue
    if (pages.size <= MAX_PAGES) {
      const page = raw(hex(database.dialect, PAGE_START, 'text'))
      const found = await execute(database)`SELECT ${page} AS page, COUNT(*) AS n
        ${rowsOf(name, from, to)} GROUP BY 1 LIMIT ${MAX_PAGES + 1}`
      addViews(pages, found.rows)
    }
    const found = await execute(database)`SELECT DISTINCT visitor ${rowsOf(name, from, to)}
      AND visitor IS NOT NULL ${visitorsWithin(0, share)}`
    for (const { visitor } of found.rows) visitors.add((visitor as Buffer).toString('latin1'))
  }
  if (all.rows === 0 && all.views === 0) return undefined
  const differences = [rowsDifference(all)]
  if (isWhole) {
    const inSums = await countVisitors(database, name, before, share)
    differences.push(
      visitors.size === inSums
        ? ''
        : `${counted(visitors.size, 'visitor')} in its rows, and sums of ` +
            counted(inSums, 'visitor'),
      await pagesDifference(database, name, hour, pages),
    )
    const after = await readHour(database, name, hour, calendar)
    if (after?.views !== before.views || after.removed > 0) {
      if (all.unequal === 0) return undefined
      differences.length = 1
    }
  }
  return differences.filter((text) => text !== '').join(', ')
}

function rowsDifference({ rows, views, unequal }: RecountedRows): string {
  if (unequal === 0) return ''
  if (rows === views) return `${counted(unequal, 'second')} with other rows than sums`
  return `${counted(rows, 'row')}, and sums of ${counted(views, 'page view')}`
}

/** Adds up pages as the stored values. As text, MySQL would group `/a` and `/a `. */
function addViews(pages: Map<string, number>, rows: readonly SqlRow[]): void {
  for (const { page, n } of rows) {
    const value = storedValue(Buffer.from(String(page), 'hex').toString())
    pages.set(value, (pages.get(value) ?? 0) + Number(n))
  }
}

/**
 * Compares pages with their rows. A page may have fewer page views than rows: those that were
 * folded, or removed. It may have more than rows only by rows of a removed page, which came again
 * while its rows were removed.
 */
async function pagesDifference(
  queryable: Queryable,
  name: string,
  hour: number,
  pages: ReadonlyMap<string, number>,
): Promise<string> {
  const { rows } = await execute(queryable)`SELECT value, views FROM activity_hour_values
    WHERE name = ${name} AND dimension = ${PAGE} AND hour = ${hour} LIMIT ${MAX_PAGES + 1}`
  if (pages.size > MAX_PAGES || rows.length > MAX_PAGES) return ''
  let more = 0
  for (const { value, views } of rows) {
    const page = (value as Buffer).toString()
    if (page !== '') more += Math.max(0, Number(views) - (pages.get(page) ?? 0))
  }
  const removed = pages.get(REMOVED_PAGE) ?? 0
  return more > removed ? `${counted(more, 'page view')} of pages without a row` : ''
}

/** Counts the visitors that the sums have of an hour, in as many statements as its day needs. */
async function countVisitors(
  queryable: Queryable,
  name: string,
  { day, bit, dayViews }: { readonly day: number; readonly bit: number; readonly dayViews: number },
  share: number,
): Promise<number> {
  const statements = Math.ceil((dayViews * share) / MAX_VISITORS)
  let visitors = 0
  for (let at = 0; at < statements; at++) {
    const part = visitorsWithin((at / statements) * share, ((at + 1) / statements) * share)
    const { rows } = await execute(queryable)`SELECT COUNT(*) AS n FROM activity_visitors
      WHERE name = ${name} AND day = ${day} AND hours & ${bit} <> 0 ${part}`
    visitors += Number(rows[0]?.['n'])
  }
  return visitors
}

/** The condition for a part of all visitors. They are hashes, so parts are equally large. */
function visitorsWithin(from: number, to: number): Sql {
  const edge = (place: number): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32BE(Math.floor(place * 2 ** 32))
    return bytes
  }
  const parts = [
    ...(from > 0 ? [sql`AND visitor >= ${edge(from)}`] : []),
    ...(to < 1 ? [sql`AND visitor < ${edge(to)}`] : []),
  ]
  return joined(parts, ' ')
}

/** The sums of an hour, and the page views of its day. */
async function readHour(queryable: Queryable, name: string, hour: number, calendar: Calendar) {
  const day = calendar.dayOfHour(hour)
  const { from, to } = calendar.hoursOf(day)
  const [first, end] = [calendar.startOfHour(hour), calendar.startOfHour(hour + 1)]
  const dayViews = sql`(SELECT SUM(views) FROM activity_hours AS d
    WHERE d.name = h.name AND d.hour >= ${from} AND d.hour < ${to})`
  const sumsOnly = sql`(SELECT SUM(sums_only) FROM activity_seconds AS s
    WHERE s.name = h.name AND s.second >= ${first / 1000} AND s.second < ${end / 1000})`
  const sums = await selectOne(queryable, {
    views: Number,
    removed: Number,
    dayViews: [Number, dayViews],
    sumsOnly: [Number, sumsOnly],
  })`FROM activity_hours AS h WHERE name = ${name} AND hour = ${hour}`
  return sums && { ...sums, day, dayHours: to - from, bit: 1 << (hour - from) }
}

/** The pieces of an hour, in milliseconds. */
async function piecesOf(
  queryable: Queryable,
  name: string,
  hour: number,
  calendar: Calendar,
): Promise<[from: number, to: number][]> {
  const [first, end] = [calendar.startOfHour(hour), calendar.startOfHour(hour + 1)]
  const { rows } = await execute(queryable)`SELECT second, views FROM activity_seconds
    WHERE name = ${name} AND second >= ${first / 1000} AND second < ${end / 1000} ORDER BY second`
  const starts = [first]
  let ofPiece = 0
  for (const { second, views } of rows) {
    ofPiece += Number(views)
    if (ofPiece <= ROWS_A_PIECE) continue
    starts.push(Number(second) * 1000)
    ofPiece = Number(views)
  }
  return [...new Set(starts)].map((from, at, all) => [from, all[at + 1] ?? end])
}
