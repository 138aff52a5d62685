/**
 * Fills the window of a site's figures with visits, and asks for the figures in the ways there are.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise'
import type { Activity } from '../../src/activity/activity.js'
import { createActivity } from '../../src/activity/site-activity.js'
import type { Cache } from '../../src/cache/cache.js'
import type { Database } from '../../src/database/database.js'
import { rowOf } from '../harness/sql.js'
import { gridSettings } from '../../src/wide-cache/grid-options.js'

const WINDOW_SECONDS = 600
const PAGES = 500

/** Time for the newest visits to be old enough for the window's end, on a slow machine too. */
const AGE_MS = 30_000

/** Visits recorded at a time: less than an outbox holds. */
const PORTION = 100_000

/** An activity as a web process has it, that collects only when it is told to. */
const activityOn = (cache: Cache, database: Database) =>
  createActivity({ cache, database, collect: false, windowSeconds: WINDOW_SECONDS })

/**
 * Brings `count` visits of exactly `visitors` visitors, all in the window, to SQL: through the
 * grid.
 */
export async function record(
  cache: Cache,
  database: Database,
  count: number,
  visitors: number,
): Promise<void> {
  const activity = activityOn(cache, database)
  await activity.migrate()
  const youngest = Date.now() - AGE_MS
  const spanMs = (WINDOW_SECONDS - 60) * 1000 - AGE_MS
  // The first visit asks for the day's salt; those that come before the answer would wait, and not
  // too many can.
  activity.record({ visitor: 'visitor 0', page: '/0', at: youngest })
  await activity.flush()
  for (let i = 1; i < count; i++) {
    activity.record({
      visitor: `visitor ${i % visitors}`,
      page: `/forum/threads/${(i * 7919) % PAGES}`,
      at: youngest - Math.floor((i * spanMs) / count),
    })
    if (i % PORTION === 0) await activity.flush()
  }
  await activity.flush()
  await activity.drain({ all: true })
  await activity.close()
}

/** Makes each row `times` rows, and the sums what the rows then say. */
export async function multiply(sql: Connection, times: number): Promise<void> {
  await sql.query(
    'INSERT INTO activities (name, created_at, number, visitor, page) SELECT name, created_at, ' +
      'number + seq * (SELECT MAX(number) FROM activities), visitor, page ' +
      `FROM activities JOIN seq_1_to_${times - 1}`,
  )
  for (const table of ['activity_seconds', 'activity_hours', 'activity_hour_values']) {
    await sql.query(`UPDATE ${table} SET views = views * ?`, [times])
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HOURS = 24
const DAYS = 30

/**
 * Sums of the hours and days before, each like the first hour of the visits, as a site has them
 * that has run for a month. Its rows are not needed: nothing here reads them.
 *
 * @returns when the first hour of the visits began, in milliseconds since the Unix epoch
 */
export async function addHistory(sql: Connection): Promise<number> {
  const { first } = await rowOf<'first'>(
    sql,
    `SELECT MIN(created_at) DIV ${HOUR_MS} AS first FROM activities`,
  )
  const day = Math.floor(first / HOURS)
  await sql.query('UPDATE activity_books SET open_day = ?, open_hour = ?', [day, day * HOURS])
  for (const [table, period, columns, count, newest] of [
    ['activity_hour_values', 'hour', 'value, views', HOURS, first],
    ['activity_hours', 'hour', 'views, 0, 1000', HOURS, first],
    ['activity_day_values', 'day', 'value, views', DAYS, day],
    ['activity_days', 'day', 'views, 0, 1000', DAYS, day],
  ] as const) {
    const ofValues = columns.startsWith('value')
    const from = ofValues ? 'activity_hour_values' : 'activity_hours'
    const names = ofValues
      ? `name, dimension, ${period}, value, views`
      : `name, ${period}, views, late, visitors`
    await sql.query(
      `INSERT INTO ${table} (${names}) SELECT name, ${ofValues ? 'dimension, ' : ''}? - seq, ` +
        `${columns} FROM ${from} JOIN seq_1_to_${count} WHERE hour = ?`,
      [newest, first],
    )
  }
  return first * HOUR_MS
}

/** Returns the range that the dashboard asks for, up to now. */
export function rangeOf(days: number): { from: number; to: number } {
  const to = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS
  return { from: to - days * DAY_MS, to }
}

/** So that the optimiser knows the tables as it would those of a site that has run for a while. */
export async function analyze(sql: Connection): Promise<void> {
  await sql.query(
    'ANALYZE TABLE activities, activity_seconds, activity_visitors, activity_hours, ' +
      'activity_days, activity_hour_values, activity_day_values',
  )
}

/** Returns when the window begins, in milliseconds since the Unix epoch. */
export async function windowStart(sql: Connection): Promise<number> {
  const { watermark } = await rowOf<'watermark'>(sql, 'SELECT watermark FROM wide_cache_grids')
  const { layerSeconds } = gridSettings({})
  return ((watermark + 1) * layerSeconds - WINDOW_SECONDS) * 1000
}

/** The column `n` of what a site without sums asks of its rows since `from`. */
export async function askRows(
  sql: Connection,
  from: number,
  columns: string,
  grouped = '',
): Promise<number[]> {
  const [rows] = await sql.query<RowDataPacket[]>(
    `SELECT ${columns} FROM activities WHERE name = 'activity' AND created_at >= ? ${grouped}`,
    [from],
  )
  return rows.map((row) => Number(row['n']))
}

/** An answer when no process and no cache has any. `server`: the cache's. */
export async function refresh<Answer>(
  cache: Cache,
  server: { flush(): Promise<void> },
  database: Database,
  read: (activity: Activity) => Promise<Answer>,
): Promise<{ ms: number; answer: Answer }> {
  const activity = activityOn(cache, database)
  // Once per process and not part of a refresh.
  await activity.migrate()
  await server.flush()
  const began = performance.now()
  const answer = await read(activity)
  const ms = performance.now() - began
  await activity.close()
  return { ms, answer }
}
