/** Lengths of time in milliseconds. */
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** A timer that a {@link Clock} has started. */
export interface Timer {
  /** Stops it. After it has run: does nothing. */
  readonly cancel: () => void
}

/**
 * Time as the protocol sees it, passed in so that a simulation can control it. `now()` is the wall
 * clock and may be wrong or jump; `elapsed()` only ever goes forward.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Milliseconds since some fixed moment, monotonic. */
  elapsed(): number
  /**
   * Calls `callback` once after `ms` milliseconds, unless cancelled; after 0 as soon as other work
   * has had a turn. Never keeps a process alive for longer.
   */
  after(ms: number, callback: () => void): Timer
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback) {
    // A timeout of 0 takes a whole millisecond.
    if (ms === 0) {
      const immediate = setImmediate(callback)
      return { cancel: () => clearImmediate(immediate) }
    }
    const timeout = setTimeout(callback, ms)
    timeout.unref()
    return { cancel: () => clearTimeout(timeout) }
  },
}

/** Resolves after `ms` milliseconds of `clock`. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve))
}

/** A limit of time, which may be cancelled. */
export interface TimeLimit {
  /** Resolves when the time is over; never once it has been cancelled. */
  readonly over: Promise<void>
  cancel(): void
}

/** A limit of `ms` milliseconds of `clock`, which begin now. */
export function timeLimit(clock: Clock, ms: number): TimeLimit {
  let timer: Timer | undefined
  const over = new Promise<void>((resolve) => (timer = clock.after(ms, resolve)))
  return { over, cancel: () => timer?.cancel() }
}
