/**
 * Calls of a function that the user has given, which may take any time. A call that is past its
 * time limit counts as failed, whatever its result. So a promise that never settles blocks its
 * bucket for a limited time, and no other bucket.
 */
import type { Environment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'

/** Time after which a call counts as slow: it is logged, and other buckets are worked on. */
export const SLOW_MS = 5_000

/** A call that is no longer waited for. Also the `reason` of its `AbortSignal`. */
export class AbandonedCallError extends Error {
  override readonly name = 'AbandonedCallError'
  /** Stable code of the error, for programs. */
  readonly code: 'ERR_WIDE_CACHE_TIMEOUT' | 'ERR_WIDE_CACHE_LEASE_LOST' | 'CLOSED'

  constructor(code: AbandonedCallError['code'], message: string) {
    super(`wide-cache: ${message}`)
    this.code = code
  }
}

interface Parts {
  /** The function, in messages, such as `exporter of the export queue "prices"`. */
  readonly what: string
  readonly timeoutMs: number
  readonly environment: Environment
  readonly logger: BurstLogger
}

export class Calls {
  readonly #parts: Parts
  /** The calls under way, and when they began: the oldest first. */
  readonly #began = new Map<AbortController, number>()
  #timeouts = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Calls that have been given up at their time limit. */
  get timeouts(): number {
    return this.#timeouts
  }

  /** Milliseconds that the oldest call under way has run; 0: none is under way. */
  get longestMs(): number {
    const [oldest] = this.#began.values()
    return oldest === undefined ? 0 : this.#parts.environment.clock.elapsed() - oldest
  }

  /** Tells whether a call is slow that has begun at a moment of `clock.elapsed()`, or later. */
  hasSlow(since: number): boolean {
    const latest = this.#parts.environment.clock.elapsed() - SLOW_MS
    return [...this.#began.values()].some((began) => began >= since && began <= latest)
  }

  /**
   * Calls the function, with a signal that tells it when it is no longer waited for.
   *
   * @param until aborted when its result has become useless
   * @throws what the function throws, or the reason of the signal
   */
  async run<T>(call: (signal: AbortSignal) => Promise<T> | T, until: AbortSignal): Promise<T> {
    const {
      what,
      timeoutMs,
      environment: { clock },
      logger,
    } = this.#parts
    const abandon = new AbortController()
    const { signal } = abandon
    const abandoned = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
    until.addEventListener('abort', () => abandon.abort(until.reason))
    const timers = [
      clock.after(SLOW_MS, () =>
        logger.warn(
          'slow',
          `wide-cache: the ${what} has been running for ${SLOW_MS / 1000} s; other buckets ` +
            `go on, and the call fails after ${timeoutMs / 1000} s (option "timeoutMs")`,
        ),
      ),
      clock.after(timeoutMs, () => {
        this.#timeouts++
        abandon.abort(
          new AbandonedCallError(
            'ERR_WIDE_CACHE_TIMEOUT',
            `the ${what} did not end within ${timeoutMs / 1000} s (option "timeoutMs"); its ` +
              'input is delivered again',
          ),
        )
      }),
    ]
    this.#began.set(abandon, clock.elapsed())
    try {
      return await Promise.race([abandoned, (async () => call(signal))()])
    } finally {
      this.#began.delete(abandon)
      for (const timer of timers) timer.cancel()
    }
  }

  /** Gives up what is under way: the object has been closed. */
  end(): void {
    const message = `the ${this.#parts.what} was still running after close() had waited for it`
    const reason = new AbandonedCallError('CLOSED', message)
    for (const call of this.#began.keys()) call.abort(reason)
  }
}
