/** Waits with a limit of time, whose timer is cancelled once it is not needed. */
import type { Clock } from './clock.js'

/** Node's own timers, which keep the process alive meanwhile. */
const KEPT_ALIVE: Pick<Clock, 'after'> = {
  after(ms, callback) {
    const timeout = setTimeout(callback, ms)
    return { cancel: () => clearTimeout(timeout) }
  },
}

/** Resolves when `promise` has ended, and after `ms` at the latest. */
export async function within(
  ms: number,
  promise: Promise<unknown>,
  clock: Pick<Clock, 'after'> = KEPT_ALIVE,
): Promise<void> {
  await answerWithin(clock, ms, () => promise).catch(() => undefined)
}

/**
 * Resolves with the result of `work`, but waits `ms` at most. Work that takes longer goes on, and
 * its outcome makes no difference.
 *
 * @throws what `timedOut` returns if it takes longer; by default a {@link TimedOutError}
 */
export function answerWithin<T>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: () => Promise<T>,
  timedOut: () => unknown = () => new TimedOutError(ms),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(timedOut()))
    work()
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
}

/** No answer came in time. */
export class TimedOutError extends Error {
  override readonly name = 'TimedOutError'

  constructor(ms: number) {
    super(`no answer within ${ms / 1000} s`)
  }
}
