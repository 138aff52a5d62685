/**
 * Tracks an object from creation to close. No work begins once closing has begun. The work under
 * way is known, so closing can wait for it, for a limited time.
 */

/** Time that `close()` waits for work under way, unless there is an option for it. */
export const CLOSE_TIMEOUT_MS = 5_000

export class Lifetime<Report = void> {
  readonly #closed: () => Error
  #open = true
  #underWay = 0
  #whenIdle: (() => void) | undefined
  #closing: Promise<Report> | undefined

  /** @param closed makes the error of every call that comes once closing has begun */
  constructor(closed: () => Error) {
    this.#closed = closed
  }

  /** Whether closing has not begun. */
  get isOpen(): boolean {
    return this.#open
  }

  /** Runs `work`; rejects once closing has begun. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.check()
    const running = work()
    this.track(running)
    return running
  }

  /** Checks that closing has not begun, for methods that are not asynchronous. @throws if it has */
  check(): void {
    if (!this.#open) throw this.#closed()
  }

  /** Has {@link idle} wait for `running` too. */
  track(running: Promise<unknown>): void {
    this.#underWay++
    const ended = (): void => {
      if (--this.#underWay === 0) this.#whenIdle?.()
    }
    running.then(ended, ended)
  }

  /** Ends it by `end`, which is called once. All callers get its report. */
  close(end: () => Promise<Report>): Promise<Report> {
    this.#open = false
    this.#closing ??= end()
    return this.#closing
  }

  /** Resolves when no work is under way any more. This includes work that was begun meanwhile. */
  async idle(): Promise<void> {
    while (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
  }
}
