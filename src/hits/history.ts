/** Hits by the hour and by the day: adds them, with the counts of items, and reads them. */
import type { Database, Queryable, Transaction } from '../database/database.js'
import { execute, raw } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { COUNTS } from './counts.js'

/** Hours that hits are kept by the hour. */
export const KEPT_HOURS = 8 * 24

/** The tables, and what they are divided by. */
export const HOURS = {
  table: table('hits_hours', ['name', 'item', 'hour'], ['hits', 'add']),
  period: 'hour' as Period,
}
export const DAYS = {
  table: table('hits_days', ['name', 'item', 'day'], ['hits', 'add']),
  period: 'day' as Period,
}

/** A hit that counts. */
export interface CountedHit {
  readonly item: string
  /** Its time, in milliseconds since the Unix epoch. */
  readonly at: number
}

/**
 * Adds hits to the counts of their items, to hours and to days. All transactions lock in this
 * order, and in each table by item, then period: in different orders they would deadlock.
 */
export async function addHits(
  tx: Transaction,
  name: string,
  hits: readonly CountedHit[],
  calendar: Calendar,
): Promise<void> {
  await COUNTS.upsert(
    tx,
    summed(hits, () => 0).map(([item, , sum]) => [name, item, sum]),
  )
  for (const { table, period } of [HOURS, DAYS]) {
    await table.upsert(
      tx,
      summed(hits, (at) => calendar.periodOf(period, at)).map(([item, at, sum]) => [
        name,
        item,
        at,
        sum,
      ]),
    )
  }
}

/** Adds up the hits of each item in each period, by item, then period. */
function summed(
  hits: readonly CountedHit[],
  periodOf: (at: number) => number,
): (readonly [item: Buffer, period: number, hits: number])[] {
  const sums = new Map<string, [item: Buffer, period: number, hits: number]>()
  for (const { item, at } of hits) {
    const period = periodOf(at)
    const key = `${period} ${item}`
    const sum = sums.get(key)
    if (sum) sum[2]++
    else sums.set(key, [Buffer.from(item), period, 1])
  }
  return [...sums.values()].sort((a, b) => a[0].compare(b[0]) || a[1] - b[1])
}

/** The first hour whose hits are kept by the hour. */
export function keptHoursFrom(now: number, calendar: Calendar): number {
  return calendar.hourOf(now) - KEPT_HOURS
}

/** The `n` items with the most hits in the hours or days of a range. */
export async function readTopOf(
  queryable: Queryable,
  { table, period }: typeof HOURS,
  name: string,
  n: number,
  { from, to }: PeriodRange,
): Promise<[item: string, hits: number][]> {
  const { rows } = await execute(queryable)`SELECT item, SUM(hits) AS hits
    FROM ${raw(table.name)} WHERE name = ${name} AND ${raw(period)} >= ${from}
    AND ${raw(period)} < ${to} GROUP BY item ORDER BY hits DESC, item DESC LIMIT ${n}`
  return rows.map(({ item, hits }) => [String(item), Number(hits)])
}

/** Removes the oldest hours that are over; resolves with whether there are more. */
export async function removeHours(
  database: Database,
  name: string,
  now: number,
  calendar: Calendar,
): Promise<boolean> {
  const keepFrom = keptHoursFrom(now, calendar)
  const { rows } = await execute(database)`SELECT MIN(hour) AS hour FROM hits_hours
    WHERE name = ${name}`
  const oldest = rows[0]?.['hour']
  if (typeof oldest !== 'number' || oldest >= keepFrom) return false
  await execute(database)`DELETE FROM hits_hours WHERE name = ${name} AND hour = ${oldest}`
  return oldest + 1 < keepFrom
}
