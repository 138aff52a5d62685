/**
 * Retention on what the collector has brought, all of it past its time: the other half of a day's
 * work.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Database } from '../../src/database/database.js'
import { NAME } from './visits.js'

/** All days are closed, and nothing of closed days stays but their totals. */
const NOTHING_KEPT = { rowsMs: -86_400_000, valuesDays: 0, vanishedSeconds: -86_400 }

export interface Removal {
  readonly rows: number
  readonly ms: number
}

/**
 * Calls it until nothing is left, each time as a collecting run does. @throws Error if it leaves
 * rows, sums or visitors
 */
export async function removeAll(database: Database, sql: Connection): Promise<Removal[]> {
  const rowsLeft = async (table: string): Promise<number> => {
    const [[row]] = await sql.query<RowDataPacket[]>(`SELECT COUNT(*) AS n FROM ${table}`)
    return Number(row?.['n'])
  }
  const removals: Removal[] = []
  for (let more = true; more;) {
    const before = await rowsLeft('activities')
    const now = await database.now()
    const began = performance.now()
    more = await removeOldVisits(database, { now, name: NAME }, NOTHING_KEPT)
    const ms = performance.now() - began
    removals.push({ rows: before - (await rowsLeft('activities')), ms })
  }
  for (const table of ['activities', 'activity_seconds', 'activity_visitors']) {
    const left = await rowsLeft(table)
    if (left !== 0) throw new Error(`the retention has left ${left} rows in ${table}`)
  }
  return removals
}
