import {
  type Database,
  DatabaseError,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { forUpdate, placeholders } from '../database/dialect.js'
import type { RetentionContext } from '../wide-cache/options.js'

/**
 * How much one call removes: few seconds' work, so that the collector has its time. With a call in
 * each collecting run this keeps up with 20,000 visits a second.
 */
const SECONDS_A_CALL = 1_500
const ROWS_A_CALL = 200_000

/** Rows of one DELETE, about; visitors of one. */
const ROWS_A_STATEMENT = 5_000
const VISITORS_A_STATEMENT = 500

/**
 * Removes seconds older than `retentionMs`, oldest first, each whole in a transaction of its own:
 * its sum, its rows, and the visitors seen last in it, so that the sums always are what the rows
 * say. Locks in the order of {@link commitVisits}, the sum first: it keeps out those who would add
 * to the second meanwhile. Nobody else is in the way: READ COMMITTED locks no gaps, and new rows go
 * elsewhere.
 *
 * What is locked by others is left for the next call. Resolves with whether there is more than one
 * call removes.
 */
export async function removeOldVisits(
  database: Database,
  { now, name }: RetentionContext,
  retentionMs: number,
): Promise<boolean> {
  const keepFrom = Math.floor((now - retentionMs) / 1000)
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
      if (error instanceof OlderSecond) return true
      if (error instanceof DatabaseError && error.kind === 'lock') return false
      throw error
    }
  }
  return rows.length === SECONDS_A_CALL
}

/** A visit has come to a second older than the one that is removed, which was the oldest. */
class OlderSecond extends Error {}

/** Returns how many rows there were. @throws OlderSecond */
async function removeSecond(tx: Transaction, name: string, second: number): Promise<number> {
  const sum = await tx.query(
    `SELECT views FROM activity_seconds WHERE name = ? AND second = ?${forUpdate(tx.dialect)}`,
    [name, second],
  )
  if (sum.rows.length === 0) return 0
  const removed = await removeRows(tx, name, second * 1000, (second + 1) * 1000)
  // After the rows, which take longest: a visitor who is back meanwhile must wait for this one.
  await removeVisitors(tx, name, second)
  // One of those visitors may have a row in it, which was committed before they were locked.
  const older = await tx.query(
    'SELECT second FROM activity_seconds WHERE name = ? AND second < ? LIMIT 1',
    [name, second],
  )
  if (older.rows.length > 0) throw new OlderSecond()
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
      'SELECT created_at FROM activities WHERE name = ? AND created_at >= ? AND created_at < ? ' +
        'ORDER BY created_at LIMIT 1 OFFSET ?',
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

async function removeVisitors(tx: Transaction, name: string, second: number): Promise<void> {
  for (;;) {
    const { rows } = await tx.query(
      'SELECT visitor FROM activity_visitors ' +
        'WHERE name = ? AND last_second = ? ORDER BY visitor LIMIT ?',
      [name, second, VISITORS_A_STATEMENT],
    )
    const visitors = rows.map(({ visitor }): SqlValue => visitor ?? null)
    if (visitors.length === 0) return
    // By primary key, as those who commit lock them: `+ 0` keeps MySQL from its index on
    // last_second, with which the two would wait for each other. Who is back meanwhile has another
    // last_second and stays.
    await tx.query(
      'DELETE FROM activity_visitors ' +
        `WHERE name = ? AND visitor IN (${placeholders(visitors.length)}) AND last_second + 0 = ?`,
      [name, ...visitors, second],
    )
  }
}
