import type { Clock } from './clock.js'

/** The value of `work`. Rejects if there is none after `ms`; the work goes on unattended. */
export function answerWithin<T>(clock: Clock, ms: number, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(new TimedOutError()))
    work()
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
}

/** No answer came in time. */
class TimedOutError extends Error {
  override readonly name = 'TimedOutError'
}

/**
 * Calls of `work` that share one: those that come while it runs, and those within `ms` after its
 * start. So many open tabs cost no more than one. A failure is not kept.
 */
export function shared<T>(clock: Clock, ms: number, work: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly value: Promise<T>; running: boolean } | undefined
  return () => {
    if (last && (last.running || clock.elapsed() - last.at < ms)) return last.value
    const mine = { at: clock.elapsed(), value: Promise.resolve().then(work), running: true }
    last = mine
    mine.value.then(
      () => {
        mine.running = false
      },
      () => {
        if (last === mine) last = undefined
      },
    )
    return mine.value
  }
}
