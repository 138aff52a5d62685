import {
  type Database,
  DatabaseError,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { forUpdate, placeholders } from '../database/dialect.js'
import type { RetentionContext } from '../wide-cache/options.js'
import { HOURS_A_DAY, openDayOf } from './books.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import type { ActivityCertificate } from './certificate.js'
import { closeDays } from './closing.js'
import { sliceOf } from './sums.js'
import { foldValues, removeValues } from './values.js'

/**
 * How much one call removes: few seconds' work, so that the collector has its time. With a call in
 * each collecting run this keeps up with 20,000 visits a second.
 */
const SECONDS_A_CALL = 1_500
const ROWS_A_CALL = 200_000

/** Rows of one DELETE, about; visitors of one. */
const ROWS_A_STATEMENT = 5_000
const VISITORS_A_STATEMENT = 500

/** Visitors that one call removes. */
const VISITORS_A_CALL = 100_000

/**
 * Days that values by the hour are kept for longer: a reader goes by the time up to which all is
 * collected, and so asks for hours that are over by the database's clock.
 */
const SLACK_DAYS = 1

/** How long what is kept. */
export interface Retention {
  readonly rowsMs: number
  /** Values of dimensions by the hour. */
  readonly valuesDays: number
  /** Seconds after which nothing of a writer that is not heard of can come any more. */
  readonly vanishedSeconds: number
}

/**
 * Closes the days that are over, and removes what is old: seconds with their rows, visitors of
 * closed days, and values by the hour. Totals stay.
 *
 * `onCertified` hears of each day with page views that has been closed.
 *
 * What is locked by others is left for the next call. Resolves with whether there is more than one
 * call removes.
 */
export async function removeOldVisits(
  database: Database,
  { now, name }: RetentionContext,
  { rowsMs, valuesDays, vanishedSeconds }: Retention,
  onCertified: (certificate: ActivityCertificate) => void = () => {},
): Promise<boolean> {
  const more = [
    await closeDays(database, name, now, vanishedSeconds, onCertified),
    await foldValues(database, name),
    await removeSeconds(database, name, Math.floor((now - rowsMs) / 1000)),
    await removeVisitors(database, name, Math.floor((now - rowsMs) / 1000)),
    await removeValues(
      database,
      name,
      Math.floor(now / HOUR_MS) - (valuesDays + SLACK_DAYS) * HOURS_A_DAY,
    ),
  ]
  return more.includes(true)
}

/**
 * Removes seconds before `keepFrom`, oldest first, each whole in a transaction of its own: its sum
 * and its rows, so that the sums always are what the rows say. Locks the sum first: it keeps out
 * those who would add to the second meanwhile. Nobody else is in the way: READ COMMITTED locks no
 * gaps, and new rows go elsewhere.
 */
async function removeSeconds(database: Database, name: string, keepFrom: number): Promise<boolean> {
  const { rows } = await database.query(
    'SELECT second FROM activity_seconds WHERE name = ? AND second < ? ORDER BY second LIMIT ?',
    [name, keepFrom, SECONDS_A_CALL],
  )
  let removed = 0
  for (const { second } of rows) {
    if (removed >= ROWS_A_CALL) return true
    try {
      removed += await database.transaction((tx) => removeSecond(tx, name, Number(second)))
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'lock') return false
      throw error
    }
  }
  return rows.length === SECONDS_A_CALL
}

/** Returns how many rows there were. */
async function removeSecond(tx: Transaction, name: string, second: number): Promise<number> {
  const sum = await tx.query(
    `SELECT views FROM activity_seconds WHERE name = ? AND second = ?${forUpdate(tx.dialect)}`,
    [name, second],
  )
  if (sum.rows.length === 0) return 0
  const removed = await removeRows(tx, name, second * 1000, (second + 1) * 1000)
  await tx.query('DELETE FROM activity_seconds WHERE name = ? AND second = ?', [name, second])
  return removed
}

async function removeRows(
  tx: Transaction,
  name: string,
  from: number,
  to: number,
): Promise<number> {
  let removed = 0
  for (;;) {
    // A DELETE with a LIMIT is MySQL's only; so the time of the first row to stay is asked for.
    const next = await tx.query(
      'SELECT created_at FROM activities WHERE name = ? AND created_at >= ? AND created_at < ' +
        '? ORDER BY created_at LIMIT 1 OFFSET ?',
      [name, from, to, ROWS_A_STATEMENT],
    )
    const upTo = next.rows[0] ? Math.max(Number(next.rows[0]['created_at']), from + 1) : to
    const { affectedRows } = await tx.query(
      'DELETE FROM activities WHERE name = ? AND created_at >= ? AND created_at < ?',
      [name, from, upTo],
    )
    removed += affectedRows
    if (upTo >= to) return removed
    from = upTo
  }
}

/**
 * Removes visitors last seen before `keepFrom`, by whole slices. Those of open days stay, so no commit is in the
 * way: none changes a visitor of a closed day.
 */
async function removeVisitors(
  database: Database,
  name: string,
  keepFrom: number,
): Promise<boolean> {
  const before = sliceOf(Math.min(keepFrom, ((await openDayOf(database, name)) * DAY_MS) / 1000))
  for (let removed = 0; removed < VISITORS_A_CALL; removed += VISITORS_A_STATEMENT) {
    const { rows } = await database.query(
      'SELECT day, visitor FROM activity_visitors WHERE name = ? AND last_slice < ? ' +
        'ORDER BY last_slice LIMIT ?',
      [name, before, VISITORS_A_STATEMENT],
    )
    const byDay = new Map<number, SqlValue[]>()
    for (const { day, visitor } of rows) {
      const visitors = byDay.get(Number(day)) ?? []
      byDay.set(Number(day), visitors)
      visitors.push(visitor ?? null)
    }
    for (const [day, visitors] of byDay) {
      await database.query(
        'DELETE FROM activity_visitors WHERE name = ? AND day = ? AND ' +
          `visitor IN (${placeholders(visitors.length)})`,
        [name, day, ...visitors],
      )
    }
    if (rows.length < VISITORS_A_STATEMENT) return false
  }
  return true
}
