/**
 * A collector's life: each second it brings the visits of that second, and it removes what is past
 * its time as collecting runs do. Days pass quickly, so that some are closed and removed.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { commitVisits } from '../../src/activity/commit.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Database } from '../../src/database/database.js'
import { DAY_MS } from '../../src/support/clock.js'
import { CALL_MS, count } from './removal.js'
import { NAME } from '../drain/visits.js'
import { FAST, visitsBetween } from './visits.js'

/** Values by the hour stay for this many days, and a day is closed so long after its end. */
const VALUES_DAYS = 1
const VANISHED_SECONDS = 300

/** Milliseconds of the run before its first midnight. */
const BEFORE_MIDNIGHT_MS = 5_000

export interface Life {
  /** Visits a second. */
  readonly rate: number
  readonly seconds: number
  /** Retention of rows, in seconds of the run. */
  readonly keptSeconds: number
  /** From one removal to the next, where the last one left nothing, and of a period. */
  readonly everySeconds: number
}

/** Stands still at the end of each period, so that one may look at the tables. */
export async function* live(
  database: Database,
  { rate, seconds, keptSeconds, everySeconds }: Life,
) {
  const began = performance.now()
  const elapsed = (): number => (performance.now() - began) / 1000
  // A day later than any that has been closed.
  const midnight = (Math.ceil(Date.now() / DAY_MS) + 1) * DAY_MS
  const siteTime = (second: number): number =>
    midnight + FAST * (second * 1000 - BEFORE_MIDNIGHT_MS)
  const rowsMs = keptSeconds * FAST * 1000
  const kept = { rowsMs, valuesDays: VALUES_DAYS, vanishedSeconds: VANISHED_SECONDS }
  let [dueAt, closedDays, longestCallMs] = [0, 0, 0]
  for (let second = 1; second <= seconds; second++) {
    await delay(Math.max(0, second - elapsed()) * 1000)
    const context = { now: siteTime(second), name: NAME }
    const visits = visitsBetween(siteTime(second - 1), context.now, rate)
    await database.transaction((tx) => commitVisits(visits, tx, context))
    if (elapsed() >= dueAt) {
      const called = performance.now()
      const more = await removeOldVisits(
        database,
        context,
        kept,
        () => closedDays++,
        () => performance.now() < called + CALL_MS,
      )
      longestCallMs = Math.max(longestCallMs, performance.now() - called)
      dueAt = more ? 0 : elapsed() + everySeconds
    }
    if (second % everySeconds !== 0) continue
    const oldest = (await count(database, 'activity_seconds', 'MIN(second)')) * 1000
    const age = (context.now - oldest) / FAST / 1000
    yield {
      /** Whether rows were past their time: none are in the first periods. */
      removes: second > keptSeconds,
      /** Since the beginning. */
      brought: second * rate,
      closedDays,
      /** The longest call of the retention in the period. */
      longestCallMs,
      /** Time by which the oldest row is past its retention at the end, in seconds of the run. */
      overdueSeconds: Math.max(0, age - keptSeconds),
      /** Lag of the collector behind its second at the end. */
      behindSeconds: Math.max(0, elapsed() - second),
    }
    longestCallMs = 0
  }
}
