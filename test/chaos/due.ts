/**
 * The rule of when a row must be in the figures that say they are complete up to it. It is the
 * table "visits missing in `lower` and `upper`" of `docs/activity.md`, with faults for causes and
 * with time for a busy machine:
 *
 * - Where nothing is disturbed, and where only SQL is, at every look: `asOf` waits for the row.
 * - What the cache lost, refused or did not answer for: 20 s later, for its writer has brought it
 *   to SQL by itself. If its way to SQL was disturbed meanwhile, 20 s after that; after a silence
 *   120 s, because a silent connection is given up after a minute.
 * - Of a process that has just begun, and has no salt yet: 20 s later.
 * - Of a process that stood still, or whose clock was wrong: 20 s after it goes on.
 * - What was recorded while the clock of the database's host was wrong, at no look.
 * - Of a killed writer, what was placed and drained without a fault. The rest may be missing for
 *   good.
 */
import type { WriterLife } from './account.js'
import { isDrained } from './allowed-loss.js'
import type { Disturbances } from './disturbances.js'
import type { FaultType } from './plan.js'

/** A row that was recorded at `at`, and which looks from the moment `from` on must count. */
export interface Due {
  readonly at: number
  readonly from: number
}

/** From a row to the fault that it may meet on its way to SQL. */
const ON_ITS_WAY_MS = 10_000
const BROUGHT_MS = 20_000
const SILENCE_MS = 120_000
/** A process that begins waits for its salt, which takes long on a busy machine. */
const BEGINS_MS = 10_000
/** Faults that make the time of a database wrong. */
export const STEPS: readonly FaultType[] = ['step a host', 'step a host by days']

/** Returns the rows that must be counted, in the order in which they were recorded. */
export function dueRows(lives: readonly WriterLife[], disturbances: Disturbances): Due[] {
  const due: Due[] = []
  for (const life of lives) {
    for (const [number, at] of life.times.entries()) {
      if (number >= life.afterClose) break
      if (hasWrongTime(at, life, disturbances)) continue
      if (life.exact) due.push({ at, from: livingFrom(at, life, disturbances) })
      else if (isDrained(at, life, disturbances)) due.push({ at, from: at })
    }
  }
  return due.sort((a, b) => a.at - b.at)
}

/** Whether a row recorded at `at` has its time from a database whose clock was wrong. */
export function hasWrongTime(at: number, life: WriterLife, disturbances: Disturbances): boolean {
  return disturbances
    .of('sql', at - ON_ITS_WAY_MS, at + ON_ITS_WAY_MS, life.reliesOn)
    .some(({ type }) => STEPS.includes(type))
}

function livingFrom(at: number, life: WriterLife, disturbances: Disturbances): number {
  const [from, until] = [at - ON_ITS_WAY_MS, at + ON_ITS_WAY_MS]
  let due = at
  if (disturbances.of('cache', from, until).length > 0) due = at + BROUGHT_MS
  for (const { to } of disturbances.of('process', from, until, life.reliesOn)) {
    due = Math.max(due, to + BROUGHT_MS)
  }
  const begins = at - life.times[0]! < BEGINS_MS
  if (begins) due = Math.max(due, at + BROUGHT_MS)
  if (due === at) return at
  for (const { type, to } of disturbances.of('sql', from, Math.max(due, until), life.reliesOn)) {
    due = Math.max(due, to + (type === 'silence SQL' ? SILENCE_MS : BROUGHT_MS))
  }
  return due
}
