import type { Clock } from '../support/clock.js'
import { answerWithin } from '../support/within.js'

/** Longest wait for figures when metrics are read. Prometheus waits ten seconds for a page. */
const PATIENCE_MS = 3_000

/** Time for which older figures are ignored, because a cache that was away may have kept them. */
const OLDER_MS = 60_000

/** Figures, and when they were read, by `clock.elapsed()`. */
export interface Known<Figures> {
  readonly figures: Figures
  readonly at: number
}

/** Returns the age at `elapsed` of something known, in milliseconds. */
export function ageOf(known: Known<unknown>, elapsed: number): number {
  return Math.max(0, elapsed - known.at)
}

/**
 * The newest figures that a read has returned; the last ones while it fails, or is slow. Older ones
 * come from a cache that was away meanwhile, and would make counters fall.
 */
export class LastKnown<Figures> {
  readonly #clock: Clock
  readonly #read: () => Promise<Known<Figures> | undefined>
  #known: Known<Figures> | undefined
  #takenAt = -Infinity

  constructor(clock: Clock, read: () => Promise<Known<Figures> | undefined>) {
    this.#clock = clock
    this.#read = read
  }

  /** Returns what is known, without reading. */
  get known(): Known<Figures> | undefined {
    return this.#known
  }

  /** Never rejects; `undefined`: there never were any. */
  async get(): Promise<Known<Figures> | undefined> {
    try {
      const found = await answerWithin(this.#clock, PATIENCE_MS, this.#read)
      if (found) this.#take(found)
    } catch {
      // The age of the figures tells of it, and so do the errors by server.
    }
    return this.#known
  }

  #take(found: Known<Figures>): void {
    const elapsed = this.#clock.elapsed()
    if (this.#known && found.at < this.#known.at && elapsed - this.#takenAt < OLDER_MS) return
    this.#known = found
    this.#takenAt = elapsed
  }
}
