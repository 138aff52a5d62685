/** Retention on rows that are all past their time, as fast as it can. */
import { commitVisits, MAX_COMMIT_ROWS } from '../../src/activity/commit.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Database } from '../../src/database/database.js'
import { NAME } from '../drain/visits.js'
import { visitsBetween } from './visits.js'
import { sum } from '../harness/statistics.js'

/** Duration of a call of a collecting run, where there is more to remove. */
export const CALL_MS = 250

/** All days are closed, and nothing of closed days stays but their totals. */
export const NOTHING_KEPT = { rowsMs: -86_400_000, valuesDays: 0, vanishedSeconds: -86_400 }

/** Visits a second in the rows that are brought and removed. */
const VISITS_A_SECOND = 4_000

type Work = Readonly<Record<'rows' | 'ms', number>>

/** Rows a second. */
export function speedOf(work: readonly Work[]): number {
  return (sum(work.map(({ rows }) => rows)) / sum(work.map(({ ms }) => ms))) * 1000
}

/** Brings as many visits of the last minutes, in commits of the size that a backlog has. */
export async function bring(database: Database, count: number): Promise<Work[]> {
  const commits: Work[] = []
  const now = await database.now()
  const timeOf = (visit: number): number => now + ((visit - count) / VISITS_A_SECOND) * 1000
  for (let from = 0; from < count; from += MAX_COMMIT_ROWS) {
    const to = Math.min(from + MAX_COMMIT_ROWS, count)
    const visits = visitsBetween(timeOf(from), timeOf(to), to - from)
    const began = performance.now()
    await database.transaction((tx) => commitVisits(visits, tx, { now, name: NAME }))
    commits.push({ rows: to - from, ms: performance.now() - began })
  }
  return commits
}

/**
 * Calls it until nothing is left, each time as a collecting run does. @throws Error if it leaves
 * rows, sums or visitors
 */
export async function removeAll(database: Database): Promise<Work[]> {
  const calls: Work[] = []
  for (let more = true; more;) {
    const before = await count(database, 'activities')
    const now = await database.now()
    const began = performance.now()
    const mayGoOn = (): boolean => performance.now() - began < CALL_MS
    more = await removeOldVisits(database, { now, name: NAME }, NOTHING_KEPT, undefined, mayGoOn)
    const ms = performance.now() - began
    calls.push({ rows: before - (await count(database, 'activities')), ms })
  }
  for (const table of ['activities', 'activity_seconds', 'activity_visitors']) {
    const left = await count(database, table)
    if (left !== 0) throw new Error(`the retention has left ${left} rows in ${table}`)
  }
  return calls
}

/** The rows of a table, or a sum of them. */
export async function count(database: Database, table: string, what = 'COUNT(*)'): Promise<number> {
  const { rows } = await database.query(
    `SELECT COALESCE(${what}, 0) AS n FROM ${table} WHERE name = ?`,
    [NAME],
  )
  return Number(rows[0]!['n'])
}
