/**
 * The steps of a process: the moments, a second or more apart, at which it ran and SQL answered it.
 * Excuses are counted in them, so a machine that is busy, a process that stands still and a
 * database that is silent excuse as long as they last, and no longer.
 */
import { firstIndex } from './first-index.js'

/** Moments in milliseconds since the Unix epoch, in their order. */
export type Steps = readonly number[]

/** Returns the moment of the `count`-th step after `moment`; `Infinity`: there is none. */
export function stepAfter(steps: Steps, moment: number, count: number): number {
  const first = firstIndex(steps.length, (index) => steps[index]! <= moment)
  return steps[first + count - 1] ?? Infinity
}

/** Returns the moment of the `count`-th step before `moment`; `-Infinity`: there is none. */
export function stepBefore(steps: Steps, moment: number, count: number): number {
  const first = firstIndex(steps.length, (index) => steps[index]! < moment)
  return steps[first - count] ?? -Infinity
}
