/** Receives log messages. `console`, pino and winston all fit. */
export interface Logger {
  /** Takes an event that nobody has to act on. */
  info(message: string): void
  /** Takes a problem that the package copes with, and that somebody should look at. */
  warn(message: string): void
  /** Takes a loss, or a problem that somebody must repair. */
  error(message: string): void
}

/** Prints nothing. */
export const SILENT: Logger = { info() {}, warn() {}, error() {} }

/** Time without messages about a trouble after which the next one is printed again. */
export const BURST_QUIET_MS = 60_000

/**
 * A logger for failures in the background. Of a burst of messages about one trouble it prints only
 * the first. The first message of the next burst says how many others there were.
 */
export class BurstLogger {
  readonly #logger: Logger
  readonly #elapsed: () => number
  readonly #troubles = new Map<string, { last: number; silenced: number }>()
  readonly #warnedOf = new Set<string>()
  /** Troubles that are not over: when they began, and when the last message came. */
  readonly #lasting = new Map<string, { since: number; last: number }>()

  constructor(logger: Logger, elapsed: () => number) {
    this.#logger = logger
    this.#elapsed = elapsed
  }

  /** Prints once. */
  info(message: string): void {
    this.#print('info', message)
  }

  /** Prints once. */
  error(message: string): void {
    this.#print('error', message)
  }

  /**
   * Prints `message`, unless `trouble` has printed within the last minute. `trouble` is one of a
   * fixed few.
   */
  warn(trouble: string, message: string): void {
    const elapsed = this.#elapsed()
    const seen = this.#troubles.get(trouble)
    if (seen && elapsed - seen.last < BURST_QUIET_MS) {
      seen.last = elapsed
      seen.silenced++
      return
    }
    this.#troubles.set(trouble, { last: elapsed, silenced: 0 })
    this.#print(
      'warn',
      seen?.silenced ? `${message} (${seen.silenced} more like it before)` : message,
    )
  }

  /**
   * Prints `message` as {@link warn} does, but only if the trouble has lasted for `ms` without a
   * {@link recovered} in between. A trouble that passes by itself needs no message.
   *
   * @param beganAt when the trouble began, unless a message of the last minute was about it
   */
  warnLasting(trouble: string, beganAt: number, ms: number, message: string): void {
    const elapsed = this.#elapsed()
    const seen = this.#lasting.get(trouble)
    const since = seen && elapsed - seen.last < BURST_QUIET_MS ? seen.since : beganAt
    this.#lasting.set(trouble, { since, last: elapsed })
    if (elapsed - since >= ms) this.warn(trouble, message)
  }

  /**
   * Prints `message`, unless `trouble` has been printed here before: for set-up mistakes, which
   * stay until a restart.
   */
  warnOnce(trouble: string, message: string): void {
    if (this.#warnedOf.has(trouble)) return
    this.#warnedOf.add(trouble)
    this.#print('warn', message)
  }

  /**
   * Notes that a trouble is over: its next message starts a new burst. Prints only if there was
   * one.
   */
  recovered(trouble: string, message: string): void {
    this.#lasting.delete(trouble)
    if (this.#troubles.delete(trouble)) this.#print('info', message)
  }

  /**
   * Prints a message. A logger that throws, or returns a promise that rejects, must not harm the
   * caller.
   */
  #print(level: keyof Logger, message: string): void {
    try {
      const returned: unknown = this.#logger[level](message)
      Promise.resolve(returned).catch(() => undefined)
    } catch {
      // There is nowhere left to say it.
    }
  }
}
