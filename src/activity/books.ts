/**
 * The row of a name that each commit writes, each closing of a day, and whatever else changes its
 * totals: so they come one after the other, and a commit knows which days are closed. On a database
 * of several nodes, two that write it at once conflict, and one of them is rolled back.
 */
import { type Database, DatabaseError, type Transaction } from '../database/database.js'
import { execute, sql, type Sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Calendar } from '../support/calendar.js'
import { calendarIn, firstHoursIn } from './days.js'
import { type Keep, keptBy } from './keep.js'
import { committedSum } from '../wide-cache/ledger/sums.js'

/** Selects the first hour of the oldest day of a name that is open. */
export function openHour(name: string): Sql {
  return sql`(SELECT open_hour FROM activity_books WHERE name = ${name})`
}

const BOOKS = table('activity_books', ['name'], 'open_day', ['views', 'add'], ['changes', 'add'])

/** State of the books that a transaction finds. */
export interface Books {
  /** The oldest day that is open, counted from 1970. */
  readonly openDay: number
  /** The first hour of that. */
  readonly openHour: number
  /** First hours of open days, and of the days after them, that are entered. */
  readonly firstHours: ReadonlyMap<number, number>
  /** The days of the name. */
  readonly calendar: Calendar
  /** Views of the name so far. */
  readonly views: number
  /** What is kept of visits. */
  readonly keep: Keep
  /**
   * Most views that bring no hour of an open day above its `count_after`. Hours that are not in SQL
   * yet are not looked at.
   */
  readonly room: number
}

/** Locks the books of a name, so that no other transaction changes its totals until this ends. */
export async function openBooks(tx: Transaction, name: string): Promise<Books> {
  return enterViews(tx, name, 0)
}

/**
 * As {@link openBooks}, in one statement, where an hour is of an open day. `false`: it is closed,
 * and stays so.
 */
export async function openBooksOf(tx: Transaction, name: string, hour: number): Promise<boolean> {
  const { affectedRows } = await execute(tx)`UPDATE activity_books SET changes = changes + 1
    WHERE name = ${name} AND open_hour <= ${hour}`
  return affectedRows > 0
}

/** {@link openBooks}, and enters `views` more views. Returns what there was before. */
export async function enterViews(tx: Transaction, name: string, views: number): Promise<Books> {
  await BOOKS.upsert(tx, [[name, 0, views, 1]])
  const [row] = (
    await execute(tx)`SELECT open_day, open_hour, first_hours, b.views, changes, n.keeps,
    o.time_zone, o.hour_lead, (SELECT MIN(count_after - h.views) FROM activity_hours AS h
    WHERE h.name = b.name AND hour >= open_hour) AS room FROM activity_books AS b
    LEFT JOIN wide_cache_names AS n ON n.name = b.name LEFT JOIN wide_cache_names AS o
    ON o.name = n.grid_name WHERE b.name = ${name}`
  ).rows
  if (row?.['changes'] === 1) await beginBooks(tx, name)
  const firstHours = firstHoursIn(row?.['first_hours'])
  return {
    openDay: Number(row?.['open_day']),
    openHour: Number(row?.['open_hour']),
    firstHours,
    calendar: calendarIn(row ?? {}, firstHours),
    views: Number(row?.['views']) - views,
    keep: keptBy(row?.['keeps']),
    room: Number(row?.['room'] ?? Infinity),
  }
}

/**
 * Begins the books with what the ledger committed before the first visit. No hour has that: under
 * another kind of rows, or before the sums were removed. The transaction's own rows are not entered
 * there yet.
 */
async function beginBooks(tx: Transaction, name: string): Promise<void> {
  const [row] = (await execute(tx)`${committedSum(name)}`).rows
  const committed = Number(row?.['committed'])
  await execute(tx)`UPDATE activity_books SET uncounted = ${committed}, settled = ${committed}
    WHERE name = ${name}`
}

/**
 * Notes that values of hours before `hour` are about to be removed by age, so that no check reports
 * them as missing.
 *
 * @returns `false`: a commit holds the books, and nothing may be removed
 */
export async function noteRemoval(
  database: Database,
  name: string,
  hour: number,
): Promise<boolean> {
  try {
    await execute(database)`UPDATE activity_books SET values_from = ${hour}
      WHERE name = ${name} AND values_from < ${hour}`
    return true
  } catch (error) {
    if (error instanceof DatabaseError && error.category === 'lock') return false
    throw error
  }
}
