/**
 * The removal of one value, such as an address that carried a secret: all that has been stored of
 * it. Its views stay in all totals.
 */
import { listsOf } from '../database/bulk.js'
import type { Database, Transaction } from '../database/database.js'
import { execute, raw, select, sql } from '../database/sql.js'
import type { Calendar } from '../support/calendar.js'
import { openBooks } from './books.js'
import { CLOSED_VALUES, weightOf } from './closed-day.js'
import { DAY_VALUES } from './day-closing.js'
import { PAGE } from './sums.js'
import { fitText } from './text.js'
import { MAX_VALUE_BYTES } from './packed-dimensions.js'
import { HOUR_VALUES, OTHER_VALUE } from './dimension-values.js'

/** The page of visits whose own page has been removed. */
export const REMOVED_PAGE = '(removed)'

/** Rows of `activities` that are looked at in one go. */
const ROWS_A_LOOK = 1_000

/** Numbers of what has been removed. */
export interface RemovedValue {
  /** Hours in which its views count as `(other)` from now on, and days. */
  readonly hours: number
  readonly days: number
  /** Rows of `activities` that have another page. */
  readonly rows: number
}

/**
 * Counts the views of a value as `(other)`, in all hours and days, and gives the rows of a page
 * another page. Views that come later bring the value back.
 *
 * @param value as `top()` shows it, or longer
 */
export async function removeValue(
  database: Database,
  name: string,
  dimension: string,
  value: string,
): Promise<RemovedValue> {
  const stored = fitText(value, MAX_VALUE_BYTES)
  const sums = await database.transaction(async (tx) => {
    // No commit adds to the value meanwhile, and no day closes.
    const { openDay, calendar } = await openBooks(tx, name)
    const place = { name, dimension, value: stored, openDay, calendar }
    return {
      hours: await moveToOther(tx, 'hour', place),
      days: await moveToOther(tx, 'day', place),
    }
  })
  return { ...sums, rows: dimension === PAGE ? await replacePages(database, name, stored) : 0 }
}

interface Place {
  readonly name: string
  readonly dimension: string
  readonly value: string
  /** The oldest day that is open. */
  readonly openDay: number
  readonly calendar: Calendar
}

/** Returns in how many hours or days there were views. */
async function moveToOther(
  tx: Transaction,
  period: 'hour' | 'day',
  { name, dimension, value, openDay, calendar }: Place,
): Promise<number> {
  const table = period === 'hour' ? HOUR_VALUES : DAY_VALUES
  const place = sql`FROM ${raw(table.name)} WHERE name = ${name} AND dimension = ${dimension}
    AND value = ${Buffer.from(value)}`
  const columns = {
    at: [Number, period],
    views: Number,
    weight: [Number, `views * (${weightOf(tx.dialect)})`],
  } as const
  const rows = await select(tx, columns)`${place} ORDER BY ${raw(period)}`
  await table.upsert(
    tx,
    rows.map(({ at, views }) => [name, dimension, at, OTHER_VALUE, views]),
  )
  await execute(tx)`DELETE ${place}`
  const weights = new Map<number, number>()
  for (const { at, weight } of rows) {
    const day = period === 'hour' ? calendar.dayOfHour(at) : at
    if (day < openDay) weights.set(day, (weights.get(day) ?? 0) - weight)
  }
  // The other value weighs nothing.
  await CLOSED_VALUES.upsert(
    tx,
    [...weights].map(([day, weight]) => [
      ...([name, day, dimension, 0] as const),
      period === 'day' ? weight : 0,
      period === 'hour' ? weight : 0,
    ]),
  )
  return rows.length
}

/** Rows have whole pages. The value is the beginning of a page. */
async function replacePages(database: Database, name: string, value: string): Promise<number> {
  let replaced = 0
  const columns = { createdAt: Number, number: Number, page: String }
  const start = raw(`SUBSTR(page, 1, ${[...value].length})`)
  let last = { createdAt: -1, number: -1 }
  for (;;) {
    const { createdAt, number } = last
    const rows = await select(database, columns)`FROM activities WHERE name = ${name}
      AND created_at >= ${createdAt} AND (created_at > ${createdAt} OR number > ${number})
      AND ${start} = ${value} ORDER BY created_at, number LIMIT ${ROWS_A_LOOK}`
    if (rows.length === 0) return replaced
    last = rows.at(-1)!
    const found = rows.filter(({ page }) => fitText(page, MAX_VALUE_BYTES) === value)
    for (const list of listsOf(found, database)) {
      const { affectedRows } = await execute(database)`UPDATE activities SET page = ${REMOVED_PAGE}
        WHERE name = ${name} AND created_at BETWEEN ${list[0]!.createdAt}
        AND ${list.at(-1)!.createdAt} AND number IN (${list.map((row) => row.number)})`
      replaced += affectedRows
    }
  }
}
