/** What became of each visit, and which fault a loss belongs to. */
import type { Pool, RowDataPacket } from 'mysql2/promise'
import { databaseOf, timesOf, type Writer } from './cells.js'
import { tableOf } from './table.js'

/** A visit: when it was recorded, how often it is in SQL, and since when. */
export interface Fate {
  readonly at: number
  readonly copies: number
  /** ms since the Unix epoch, as all moments here; NaN if it is not in SQL. */
  readonly arrived: number
}

/** A fault, from its beginning to its end. */
export interface Moment {
  readonly began: number
  readonly ended: number
}

/** What one fault cost one writer. */
export interface Cost {
  /** Traffic: a visit is as long as its writer waits from one to the next. */
  readonly lostMs: number
  readonly twiceMs: number
  /** From the end of the fault until all visits of before were in SQL that ever came. */
  readonly seconds: number
}

/** Visits this long after a fault may still be lost by it: in answers that do not come. */
export const SETTLE_MS = 5_000

/**
 * What each of the faults has cost, of faults in the order of time. A lost visit belongs to the
 * first fault that was not over for long when it was recorded.
 */
export function costsOf(
  fates: readonly Fate[],
  faults: readonly Moment[],
  msAVisit: number,
): Cost[] {
  return faults.map(({ ended }, at) => {
    const from = at === 0 ? -Infinity : faults[at - 1]!.ended + SETTLE_MS
    const own = fates.filter((visit) => visit.at >= from && visit.at < ended + SETTLE_MS)
    const late = own.filter((visit) => visit.at <= ended && visit.copies > 0)
    return {
      lostMs: own.filter(({ copies }) => copies === 0).length * msAVisit,
      twiceMs: own.reduce((sum, { copies }) => sum + Math.max(0, copies - 1), 0) * msAVisit,
      seconds: late.reduce((most, { arrived }) => Math.max(most, arrived - ended), 0) / 1000,
    }
  })
}

/** Lost visits that are older than one that is in SQL. */
export function holesIn(fates: readonly Fate[]): number {
  const newest = fates.findLastIndex(({ copies }) => copies > 0)
  return fates.filter(({ copies }, at) => copies === 0 && at < newest).length
}

/** By the visits' numbers. @throws Error if there is a visit that nobody recorded */
export async function fatesOf(pool: Pool, writer: Writer): Promise<Fate[]> {
  const { contender, name, prefix } = writer
  const table = tableOf(contender.peer)
  const times = timesOf(writer)
  const fates = [...times].map((at) => ({ at, copies: 0, arrived: NaN }))
  const copies = table === 'counts' ? 'SUM(views)' : 'COUNT(*)'
  // Where a table has rows of several names, an index leads to them.
  const ofName = table === 'activities' ? 'AND name = ? ' : ''
  const [rows] = await pool.query<RowDataPacket[]>(
    `SELECT page, ${copies} AS copies, UNIX_TIMESTAMP(MIN(arrived)) AS arrived ` +
      `FROM ${databaseOf(contender)}.${table} WHERE page LIKE ? ${ofName}GROUP BY page`,
    [`${prefix}%`, name],
  )
  for (const row of rows) {
    const number = Number(String(row['page']).slice(prefix.length))
    const fate = fates[number]
    const recorded = `of ${times.length} that were recorded`
    if (!fate) throw new Error(`${contender.label} has visit ${number}, ${recorded}`)
    fate.copies = Number(row['copies'])
    fate.arrived = Number(row['arrived']) * 1000
  }
  return fates
}
