/**
 * Retention on what the collector has brought, all of it past its time: the other half of a day's
 * work.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { commitVisits } from '../../src/activity/commit.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Database } from '../../src/database/database.js'
import { NAME, visitAt } from './visits.js'

/** All days are closed, and nothing of closed days stays but their totals. */
const NOTHING_KEPT = { rowsMs: -86_400_000, valuesDays: 0, vanishedSeconds: -86_400 }

/** How long a call of a collecting run lasts, where there is more to remove. */
const CALL_MS = 250

/** Not the name whose rows are removed, so these stay. */
const BESIDE = 'beside'
const VISITS_A_COMMIT = 100

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
    const [[row]] = await sql.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS n FROM ${table} WHERE name = '${NAME}'`,
    )
    return Number(row?.['n'])
  }
  const removals: Removal[] = []
  for (let more = true; more;) {
    const before = await rowsLeft('activities')
    const now = await database.now()
    const began = performance.now()
    const mayGoOn = (): boolean => performance.now() - began < CALL_MS
    more = await removeOldVisits(database, { now, name: NAME }, NOTHING_KEPT, undefined, mayGoOn)
    const ms = performance.now() - began
    removals.push({ rows: before - (await rowsLeft('activities')), ms })
  }
  for (const table of ['activities', 'activity_seconds', 'activity_visitors']) {
    const left = await rowsLeft(table)
    if (left !== 0) throw new Error(`the retention has left ${left} rows in ${table}`)
  }
  return removals
}

/** Commits visits, one commit after the other, until `work` is done. Returns how long each took. */
export async function commitsUntil(database: Database, work: Promise<unknown>): Promise<number[]> {
  let done = false
  const end = work.finally(() => (done = true))
  const took: number[] = []
  for (let i = 0; !done; i++) {
    const now = Date.now()
    const visits = Array.from({ length: VISITS_A_COMMIT }, (_, visit) => visitAt(now, visit))
    const began = performance.now()
    await database.transaction((tx) => commitVisits(visits, tx, { now, name: BESIDE }))
    took.push(performance.now() - began)
  }
  await end
  return took
}
