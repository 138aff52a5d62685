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
import type { Disturbed, FaultType } from './plan.js'

/** A time in which something was disturbed, in milliseconds since the Unix epoch. */
export interface Disturbance {
  readonly type: FaultType
  readonly disturbs: Disturbed
  /** The server, route or place of a process that is disturbed. */
  readonly target: string
  readonly from: number
  readonly to: number
}

/** A frame is sent after 50 ms; this is what a busy machine may need. */
const PLACED_MS = 2_000
/** A cell is drained some 5 s later, or 40 where its collector was killed, and lives for 60. */
const DRAINED_MS = 60_000
/** `confirmSeconds` of at most 29, the longest wait between two tries of 45, and time to commit. */
const COMMITTED_MS = 90_000
/** A connection that has gone silent is given up after 60 s. */
const RECOVERY_MS = 90_000

/**
 * Whether a row that was recorded at `at` must be there, though its writer was killed at
 * `killedAt`. What a private cache held has ended with it.
 */
export function mustBeThere(
  at: number,
  { killedAt, hasPrivateCache }: Pick<WriterLife, 'killedAt' | 'hasPrivateCache'>,
  disturbances: readonly Disturbance[],
): boolean {
  const calm = (until: number, what: (disturbed: Disturbed) => boolean): boolean =>
    disturbances.every(
      ({ disturbs, from, to }) => !what(disturbs) || to < at - RECOVERY_MS || from > until,
    )
  return (
    (killedAt - at >= (hasPrivateCache ? DRAINED_MS : PLACED_MS) &&
      calm(at + DRAINED_MS, (disturbed) => disturbed !== 'none')) ||
    (killedAt - at >= COMMITTED_MS &&
      calm(at + COMMITTED_MS, (disturbed) => disturbed !== 'none' && disturbed !== 'cache'))
  )
}
