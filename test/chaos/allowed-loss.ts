/**
 * The rule of which rows of a killed writer may be missing. Promise 1 allows its open frame, what
 * the cache lost of its unconfirmed frames, and what reached a cell after its layer was drained.
 * From outside, that is seen by the faults, by the steps of its process and by the figures:
 *
 * - A row must be there if its process lived for three steps more, and if there was no fault from
 *   30 steps before it until figures had gone past it while its cell lived: its frame was placed,
 *   and its cell was drained.
 * - A row must be there if its process lived for 90 steps more, and if from 30 steps before it
 *   until then there was no fault but of the cache: its writer has committed it by itself.
 *
 * Every other row may be missing, and is counted. Kills, orderly ends, refused rows and rushes
 * excuse nothing.
 */
import type { WriterLife } from './account.js'
import type { Disturbances } from './disturbances.js'
import { stepAfter, stepBefore } from './steps.js'
import { CELL_TTL_SECONDS } from './uses.js'

/** A frame is sent after half a second. */
const PLACED = 3
/** `confirmSeconds` of at most 29, the longest wait between two tries of 45, and a commit. */
const COMMITTED = 90
/** A link has recovered from a fault that is so long ago. */
const RECOVERED = 30

/** Whether a row must be there that a killed writer recorded at `at`. */
export function mustBeThere(at: number, life: Killed, disturbances: Disturbances): boolean {
  return isDrained(at, life, disturbances) || isCommitted(at, life, disturbances)
}

type Killed = Pick<
  WriterLife,
  'killedAt' | 'hasPrivateCache' | 'steps' | 'times' | 'figuresPassedAt'
>

/**
 * Whether a killed writer has placed a row in a cell, and a collector has drained it. What a
 * private cache held has ended with it.
 */
export function isDrained(at: number, life: Killed, disturbances: Disturbances): boolean {
  const { killedAt, hasPrivateCache, steps, figuresPassedAt } = life
  if (stepAfter(steps, at, PLACED) > killedAt) return false
  const passedAt = figuresPassedAt(at)
  if (passedAt > (hasPrivateCache ? killedAt : at + CELL_TTL_SECONDS * 1000)) return false
  return disturbances.areNone(['cache', 'sql', 'process'], recoveredFrom(at, life), passedAt)
}

/** Whether a killed writer has committed a row by itself. */
function isCommitted(at: number, life: Killed, disturbances: Disturbances): boolean {
  const until = stepAfter(life.steps, at, COMMITTED)
  return (
    until <= life.killedAt &&
    disturbances.areNone(['sql', 'process'], recoveredFrom(at, life), until)
  )
}

function recoveredFrom(at: number, { steps, times }: Killed): number {
  return Math.max(stepBefore(steps, at, RECOVERED), times[0]!)
}
