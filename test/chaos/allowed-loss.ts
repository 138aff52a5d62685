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
 * - A view that a browser has reported must be there if its writer lived 120 s longer, and the same
 *   holds for these 120 s. It may lie in a cell for longer than that lives: it is drained each half
 *   minute, and its collector may be killed.
 *
 * Every other row may be missing, and is counted. Kills, orderly ends, refused rows and rushes
 * excuse nothing.
 */
import type { WriterLife } from './account.js'
import type { Disturbances } from './disturbances.js'

/** A frame is sent after 50 ms; this is what a busy machine may need. */
const PLACED_MS = 2_000
/** A cell is drained some 5 s later, or 40 where its collector was killed, and lives for 60. */
const DRAINED_MS = 60_000
/** `confirmSeconds` of at most 29, the longest wait between two tries of 45, and time to commit. */
const COMMITTED_MS = 90_000
/** The same with a `confirmSeconds` of 49. */
const SEEN_COMMITTED_MS = 120_000
/** A connection that has gone silent is given up after 60 s. */
const RECOVERY_MS = 90_000

/** Whether a row must be there that a killed writer recorded at `at`. */
export function mustBeThere(at: number, life: Killed, disturbances: Disturbances): boolean {
  return isDrained(at, life, disturbances) || isCommitted(at, life, disturbances)
}

/** Whether a view must be there that a browser had reported to a killed writer by `at`. */
export function mustBeSeen(at: number, life: Killed, disturbances: Disturbances): boolean {
  return isCommitted(at, life, disturbances, SEEN_COMMITTED_MS)
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
function isCommitted(
  at: number,
  { killedAt }: Killed,
  disturbances: Disturbances,
  committedMs = COMMITTED_MS,
): boolean {
  const parts = ['sql', 'process'] as const
  return (
    killedAt - at >= committedMs && disturbances.areNone(parts, at - RECOVERY_MS, at + committedMs)
  )
}
