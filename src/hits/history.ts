/** Hits by the hour and by the UTC day, written in the transaction that counts them. */
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { listsOf } from '../database/bulk.js'
import type { Database, Queryable, Transaction } from '../database/database.js'
import { placeholders, type Statement } from '../database/dialect.js'
import { table } from '../database/table.js'
import type { PeriodRange } from '../support/periods.js'

/** Hours that hits are kept by the hour. */
export const KEPT_HOURS = 8 * 24

/** The tables, and what they are divided by. */
export const HOURS = {
  table: table('hits_hours', ['name', 'item', 'hour'], ['hits', 'add']),
  period: 'hour',
  ms: HOUR_MS,
}
export const DAYS = {
  table: table('hits_days', ['name', 'item', 'day'], ['hits', 'add']),
  period: 'day',
  ms: DAY_MS,
}

/** The hits that one transaction counts. */
export class CountedHits {
  /** All of each item. */
  readonly byItem = new Map<string, number>()
  readonly #byHour = new Map<number, Map<string, number>>()

  /** `at`: its time, in milliseconds since the Unix epoch. */
  add(item: string, at: number): void {
    this.byItem.set(item, (this.byItem.get(item) ?? 0) + 1)
    const hour = Math.floor(at / HOUR_MS)
    let items = this.#byHour.get(hour)
    if (!items) this.#byHour.set(hour, (items = new Map()))
    items.set(item, (items.get(item) ?? 0) + 1)
  }

  /** The hits of each item in each hour (`HOUR_MS`) or day. */
  by(ms: number): [period: number, item: Buffer, hits: number][] {
    const sums = new Map<string, [period: number, item: Buffer, hits: number]>()
    for (const [hour, items] of this.#byHour) {
      const period = Math.floor((hour * HOUR_MS) / ms)
      for (const [item, hits] of items) {
        const sum = sums.get(`${period} ${item}`)
        if (sum) sum[2] += hits
        else sums.set(`${period} ${item}`, [period, Buffer.from(item), hits])
      }
    }
    return [...sums.values()]
  }
}

/** Adds hits to their hours and days. Locks in the order of the tables' keys. */
export async function writeHistory(
  tx: Transaction,
  name: string,
  counted: CountedHits,
): Promise<void> {
  for (const { table, ms } of [HOURS, DAYS]) {
    const periods = counted.by(ms).sort((a, b) => a[0] - b[0] || a[1].compare(b[1]))
    await table.upsert(
      tx,
      periods.map(([period, item, hits]) => [name, item, period, hits]),
    )
  }
}

/** The hits of an item in one hour or day. */
export interface ItemPeriod {
  readonly unit: 'hour' | 'day'
  readonly period: number
  readonly hits: number
}

/** Selects `unit`, `period` and `hits` of all hours and days of an item. */
export function itemPeriods(name: string, item: string): Statement {
  const of = ({ table, period }: typeof HOURS): string =>
    `SELECT '${period}' AS unit, ${period} AS period, hits FROM ${table.name} ` +
    'WHERE name = ? AND item = ?'
  const key = [name, Buffer.from(item)]
  return { sql: `${of(HOURS)} UNION ALL ${of(DAYS)}`, values: [...key, ...key] }
}

/**
 * Gives hits of `from`, by hour and day, to `to`, or to nowhere. What other transactions add to
 * `from` meanwhile stays there.
 */
export async function moveHistory(
  tx: Transaction,
  name: string,
  periods: readonly ItemPeriod[],
  from: string,
  to: string | undefined,
): Promise<void> {
  for (const part of [HOURS, DAYS]) {
    const ofPart = periods
      .filter(({ unit }) => unit === part.period)
      .sort((a, b) => a.period - b.period)
    for (const { period, hits } of ofPart) {
      // One that has been removed for its age meanwhile has nothing to be taken off.
      await tx.query(
        `UPDATE ${part.table.name} SET hits = hits - ? WHERE name = ? AND item = ? AND ` +
          `${part.period} = ?`,
        [hits, name, Buffer.from(from), period],
      )
    }
    for (const list of listsOf(ofPart)) {
      await tx.query(
        `DELETE FROM ${part.table.name} WHERE name = ? AND item = ? AND hits = 0 AND ` +
          `${part.period} IN (${placeholders(list.length)})`,
        [name, Buffer.from(from), ...list.map(({ period }) => period)],
      )
    }
    if (to !== undefined) {
      const item = Buffer.from(to)
      await part.table.upsert(
        tx,
        ofPart.map(({ period, hits }) => [name, item, period, hits]),
      )
    }
  }
}

/** The first hour whose hits are kept by the hour. */
export function keptHoursFrom(now: number): number {
  return Math.floor(now / HOUR_MS) - KEPT_HOURS
}

/** The `n` items with the most hits in the hours or days of a range. */
export async function readTopOf(
  queryable: Queryable,
  { table, period }: typeof HOURS,
  name: string,
  n: number,
  { from, to }: PeriodRange,
): Promise<[item: string, hits: number][]> {
  const { rows } = await queryable.query(
    `SELECT item, SUM(hits) AS hits FROM ${table.name} WHERE name = ? AND ${period} >= ? AND ` +
      `${period} < ? GROUP BY item ORDER BY hits DESC, item DESC LIMIT ?`,
    [name, from, to, n],
  )
  return rows.map(({ item, hits }) => [String(item), Number(hits)])
}

/** Removes the oldest hours that are over; resolves with whether there are more. */
export async function removeHours(database: Database, name: string, now: number): Promise<boolean> {
  const keepFrom = keptHoursFrom(now)
  const { rows } = await database.query('SELECT MIN(hour) AS hour FROM hits_hours WHERE name = ?', [
    name,
  ])
  const oldest = rows[0]?.['hour']
  if (typeof oldest !== 'number' || oldest >= keepFrom) return false
  await database.query('DELETE FROM hits_hours WHERE name = ? AND hour = ?', [name, oldest])
  return oldest + 1 < keepFrom
}
