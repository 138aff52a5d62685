import type { Clock, Timer } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'

/** Time in which no frame goes straight to SQL before the log says that this is over. */
const QUIET_MS = 20_000

/**
 * Logs that frames go straight to SQL, and why: a line when that begins or its reason changes, and
 * one when it ends.
 */
export class StraightLog {
  readonly #clock: Clock
  readonly #logger: BurstLogger
  readonly #name: string
  #reason: string | undefined
  #frames = 0
  #rows = 0
  #quiet: Timer | undefined

  constructor(parts: { clock: Clock; logger: BurstLogger; name: string }) {
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#name = parts.name
  }

  /**
   * Notes that frames have gone straight to SQL. `kind` tells one reason from another, `why` puts
   * it in words.
   */
  went(kind: string, why: string, frames: number, rows: number): void {
    if (kind !== this.#reason) {
      this.#logger.warn(
        `straight: ${kind}`,
        `wide-cache: frames of "${this.#name}" go straight to SQL: ${why}; nothing is lost`,
      )
    }
    this.#reason = kind
    this.#frames += frames
    this.#rows += rows
    this.#quiet?.cancel()
    this.#quiet = this.#clock.after(QUIET_MS, () => this.end())
  }

  /** Notes that frames go through the cache again, or that no more frames come. */
  end(): void {
    this.#quiet?.cancel()
    if (this.#reason === undefined) return
    this.#logger.recovered(
      `straight: ${this.#reason}`,
      `wide-cache: frames of "${this.#name}" go through the cache again; ${this.#frames} ` +
        `frames with ${this.#rows} rows went straight to SQL`,
    )
    this.#reason = undefined
    this.#frames = this.#rows = 0
  }
}
