import type { Clock } from '../support/clock.js'

/**
 * An answer that may be used for a while. Callers who ask meanwhile share it, also while it is
 * still under way; an answer that fails is not kept.
 */
export class Recent<T> {
  readonly #clock: Clock
  readonly #ask: () => Promise<T>
  readonly #ms: number
  #answer: Promise<T> | undefined
  #until = 0

  /** @param ms how long an answer may be used, counted from the question */
  constructor(clock: Clock, ms: number, ask: () => Promise<T>) {
    this.#clock = clock
    this.#ms = ms
    this.#ask = ask
  }

  /** The answer; every caller who shares it gets the same promise. */
  get(): Promise<T> {
    const elapsed = this.#clock.elapsed()
    if (this.#answer && elapsed < this.#until) return this.#answer
    const answer = this.#ask()
    this.#answer = answer
    this.#until = elapsed + this.#ms
    answer.catch(() => this.forget(answer))
    return answer
  }

  /** Has the next caller ask anew: always, or unless another answer than `only` is there by now. */
  forget(only: Promise<T> | undefined = this.#answer): void {
    if (this.#answer === only) this.#answer = undefined
  }
}
