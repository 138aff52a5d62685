/**
 * Fills the window of a site's figures with visits, and asks for the figures in the ways there are.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { createActivity } from '../../src/activity/activity.js'
import type { ActivityStats } from '../../src/activity/stats.js'
import type { Cache } from '../../src/cache/cache.js'
import type { Database } from '../../src/database/database.js'

export const WINDOW_SECONDS = 600
const LAYER_SECONDS = 3
const PAGES = 500

/** Time for the newest visits to be old enough for the window's end, on a slow machine too. */
const AGE_MS = 30_000

/** Visits recorded at a time: less than an outbox holds. */
const PORTION = 100_000

/** An activity as a web process has it, that collects only when it is told to. */
export function activityOn(cache: Cache, database: Database): ReturnType<typeof createActivity> {
  return createActivity({ cache, database, collect: false, windowSeconds: WINDOW_SECONDS })
}

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
  const more = Array.from({ length: times - 1 }, (_, i) => `SELECT ${i}`).join(' UNION ALL ')
  await sql.query(
    'INSERT INTO activities (name, created_at, visitor, page) ' +
      `SELECT name, created_at, visitor, page FROM activities JOIN (${more}) AS more`,
  )
  await sql.query('UPDATE activity_seconds SET views = views * ?', [times])
}

/** So that the optimiser knows the tables as it would those of a site that has run for a while. */
export async function analyze(sql: Connection): Promise<void> {
  await sql.query('ANALYZE TABLE activities, activity_seconds, activity_visitors')
}

/** When the window begins, in milliseconds since the Unix epoch. */
export async function windowStart(sql: Connection): Promise<number> {
  const [[row]] = await sql.query<RowDataPacket[]>('SELECT watermark FROM wide_cache_grids')
  return (Number(row!['watermark']) + 1 - WINDOW_SECONDS / LAYER_SECONDS) * LAYER_SECONDS * 1000
}

const FROM_WINDOW = `FROM activities WHERE name = 'activity' AND created_at >= ?`

/** What a site without sums asks. */
export async function countViews(sql: Connection, from: number): Promise<number> {
  const [[row]] = await sql.query<RowDataPacket[]>(`SELECT COUNT(*) AS n ${FROM_WINDOW}`, [from])
  return Number(row!['n'])
}

export async function countVisitors(sql: Connection, from: number): Promise<number> {
  const [[row]] = await sql.query<RowDataPacket[]>(
    `SELECT COUNT(DISTINCT visitor) AS n ${FROM_WINDOW}`,
    [from],
  )
  return Number(row!['n'])
}

/** The figures when no process and no cache has any: what one refresh costs. */
export async function refresh(
  cache: Cache,
  database: Database,
  forget: () => Promise<void>,
): Promise<{ ms: number; stats: ActivityStats }> {
  const activity = activityOn(cache, database)
  // Once per process and not part of a refresh.
  await activity.migrate()
  await forget()
  const began = performance.now()
  const stats = await activity.stats()
  const ms = performance.now() - began
  await activity.close()
  return { ms, stats }
}
