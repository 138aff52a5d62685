/**
 * The rule of when a row must be in the figures that say they are complete up to it. It is the
 * table "visits missing in `lower` and `upper`" of `docs/activity.md`, with faults for causes and
 * with steps of the row's process for time:
 *
 * - Where nothing is disturbed, and where only SQL is, at every look: `asOf` waits for the row.
 * - What the cache lost, refused or did not answer for: after 20 steps, for its writer has brought
 *   it to SQL by itself. If its way to SQL was disturbed meanwhile, 20 steps after that.
 * - Of a process that has just begun, and has no salt yet: after 20 steps.
 * - Of a process that stood still, or whose clock was wrong: 20 steps after it goes on.
 * - What was recorded while the clock of the database's host was wrong, at no look.
 * - Of a killed writer, what was placed and drained without a fault. The rest may be missing for
 *   good.
 */
import type { WriterLife } from './account.js'
import { isDrained } from './allowed-loss.js'
import type { Disturbances } from './disturbances.js'
import type { FaultType } from './plan.js'
import { stepAfter, stepBefore } from './steps.js'

/** A row that was recorded at `at`, and which looks from the moment `from` on must count. */
export interface Due {
  readonly at: number
  readonly from: number
}

/** Steps from a row to the fault that it may meet on its way to SQL. */
const ON_ITS_WAY = 10
const BROUGHT = 20
/** Faults that make the time of a database wrong. */
export const STEPS: readonly FaultType[] = ['step a host', 'step a host by days']

/** Returns the rows that must be counted, in the order in which they were recorded. */
export function dueRows(lives: readonly WriterLife[], disturbances: Disturbances): Due[] {
  const due: Due[] = []
  for (const life of lives) {
    for (const [number, at] of life.times.entries()) {
      if (number >= life.afterClose) break
      if (hasWrongTime(at, life, disturbances)) continue
      if (!life.exact) {
        if (isDrained(at, life, disturbances)) due.push({ at, from: at })
        continue
      }
      const from = livingFrom(at, life, disturbances)
      // Of a process that ends before it has had its steps, no look must count the row.
      if (from < Infinity) due.push({ at, from })
    }
  }
  return due.sort((a, b) => a.at - b.at)
}

/** Whether a row recorded at `at` has its time from a database whose clock was wrong. */
export function hasWrongTime(at: number, life: WriterLife, disturbances: Disturbances): boolean {
  const { from, until } = onItsWay(at, life)
  return disturbances.of('sql', from, until, life.reliesOn).some(({ type }) => STEPS.includes(type))
}

function livingFrom(at: number, life: WriterLife, disturbances: Disturbances): number {
  const { steps, reliesOn } = life
  const { from, until, begins } = onItsWay(at, life)
  const stood = disturbances.of('process', from, until, reliesOn)
  if (!begins && stood.length === 0 && disturbances.of('cache', from, until).length === 0) return at
  const goesOnAt = Math.max(at, ...stood.map(({ to }) => to))
  let due = stepAfter(steps, goesOnAt, BROUGHT)
  for (const { to } of disturbances.of('sql', from, due, reliesOn)) {
    due = Math.max(due, stepAfter(steps, to, BROUGHT))
  }
  return due
}

/** When a row may meet a fault, and whether its process has just begun. */
function onItsWay(
  at: number,
  { steps, times }: WriterLife,
): { from: number; until: number; begins: boolean } {
  const from = stepBefore(steps, at, ON_ITS_WAY)
  const begins = from === -Infinity
  return { from: begins ? times[0]! : from, until: stepAfter(steps, at, ON_ITS_WAY), begins }
}
