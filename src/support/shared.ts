import type { Clock } from './clock.js'

/** A question that callers share. */
export interface Shared<T> {
  /** Returns the answer. All callers that share it get the same promise. */
  (): Promise<T>
  /** Has the next caller ask anew: always, or unless another answer than `only` is there by now. */
  forget(only?: Promise<T>): void
}

/**
 * Shares the answer of `work` among callers, so that many open tabs cost no more than one. A
 * failure is not kept.
 *
 * @param ms time for which an answer is used, from the question on
 * @param joinMs time for which callers wait for an answer under way, from the question on
 */
export function shared<T>(
  clock: Clock,
  ms: number,
  work: () => Promise<T>,
  joinMs = Infinity,
): Shared<T> {
  let last: { readonly at: number; readonly answer: Promise<T>; running: boolean } | undefined
  const forget = (only = last?.answer): void => {
    if (last?.answer === only) last = undefined
  }
  const ask = (): Promise<T> => {
    const at = clock.elapsed()
    if (last && at - last.at < (last.running ? joinMs : ms)) return last.answer
    const mine = { at, answer: work(), running: true }
    last = mine
    mine.answer.then(
      () => {
        mine.running = false
      },
      () => forget(mine.answer),
    )
    return mine.answer
  }
  return Object.assign(ask, { forget })
}
