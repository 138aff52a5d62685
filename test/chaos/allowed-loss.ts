/**
 * The rule of which rows of a killed writer may be missing. Promise 1 allows its open frame, what
 * the cache lost of its unconfirmed frames, and what reached a cell after its layer was drained.
 * From outside, that is seen by the faults:
 *
 * - A row must be there if its writer lived 2 s longer, and if there was no fault from 90 s before
 *   until 60 s after it was recorded: its frame was placed, and its cell was drained.
 * - A row must be there if its writer lived 90 s longer, and if from 90 s before until 90 s after
 *   it was recorded there was no fault but of the cache: its writer has committed it by itself.
 *
 * Every other row may be missing, and is counted. Kills, orderly ends, refused rows and rushes
 * excuse nothing.
 */
import type { WriterLife } from './account.js'
import type { Disturbances } from './disturbances.js'

/** A frame is sent after half a second; this is what a busy machine may need. */
const PLACED_MS = 2_000
/** A cell is drained some 5 s later, or 40 where its collector was killed, and lives for 60. */
const DRAINED_MS = 60_000
/** `confirmSeconds` of at most 29, the longest wait between two tries of 45, and time to commit. */
const COMMITTED_MS = 90_000
/** A connection that has gone silent is given up after 60 s. */
const RECOVERY_MS = 90_000

/** Whether a row must be there that a killed writer recorded at `at`. */
export function mustBeThere(at: number, life: Killed, disturbances: Disturbances): boolean {
  return isDrained(at, life, disturbances) || isCommitted(at, life, disturbances)
}

type Killed = Pick<WriterLife, 'killedAt' | 'hasPrivateCache'>

/**
 * Whether a killed writer has placed a row in a cell, and a collector has drained it. What a
 * private cache held has ended with it.
 */
export function isDrained(
  at: number,
  { killedAt, hasPrivateCache }: Killed,
  disturbances: Disturbances,
): boolean {
  const placedMs = hasPrivateCache ? DRAINED_MS : PLACED_MS
  const parts = ['cache', 'sql', 'process'] as const
  return killedAt - at >= placedMs && disturbances.areNone(parts, at - RECOVERY_MS, at + DRAINED_MS)
}

/** Whether a killed writer has committed a row by itself. */
function isCommitted(at: number, { killedAt }: Killed, disturbances: Disturbances): boolean {
  const parts = ['sql', 'process'] as const
  return (
    killedAt - at >= COMMITTED_MS &&
    disturbances.areNone(parts, at - RECOVERY_MS, at + COMMITTED_MS)
  )
}
