/**
 * The return from SQL alone to the cache. It has two steps, so that a storm of evictions does not
 * cost a generation each time: the first leaves a counter in the cache; the second opens a
 * generation with it, if the cache has kept it for {@link PROBE_MS}.
 */
import type { CurrentGeneration } from './current-generation.js'
import type { CacheCounters } from './cache-counters.js'
import type { NewestGeneration } from './newest-generation.js'

/** Least time for which numbers come from SQL alone before the cache is used again, in ms. */
export const RETURN_MS = 10_000
/** A counter that the cache has kept for so long is used. */
export const PROBE_MS = 3_000

/** The next step in a generation without a counter. */
interface Step {
  readonly of: CurrentGeneration
  readonly at: number
  /** A counter in the cache that nobody knows yet. */
  readonly probe: Buffer | undefined
}

export class CacheReturn {
  readonly #newest: NewestGeneration
  readonly #counters: CacheCounters
  readonly #elapsed: () => number
  #next: Step | undefined

  constructor(newest: NewestGeneration, counters: CacheCounters, elapsed: () => number) {
    this.#newest = newest
    this.#counters = counters
    this.#elapsed = elapsed
  }

  /** Tells whether a step may be taken now. A new sequence has nothing to come back from. */
  isDue(current: CurrentGeneration): boolean {
    return current.generation === 0 || this.#elapsed() >= this.#nextOf(current).at
  }

  /** Takes the next step. Resolves with whether numbers come from the cache again. */
  async step(current: CurrentGeneration): Promise<boolean> {
    const { probe } = this.#nextOf(current)
    this.#plan(current, RETURN_MS - PROBE_MS)
    if (current.generation === 0) {
      await this.#newest.open(current, await this.#counters.create())
      return false
    }
    if (!probe) {
      this.#plan(current, PROBE_MS, await this.#counters.create())
      return false
    }
    if (!(await this.#counters.keeps(probe))) return false
    await this.#newest.open(current, probe)
    return true
  }

  #nextOf(current: CurrentGeneration): Step {
    if (this.#next?.of === current) return this.#next
    return { of: current, at: current.since + RETURN_MS - PROBE_MS, probe: undefined }
  }

  #plan(current: CurrentGeneration, ms: number, probe?: Buffer): void {
    this.#next = { of: current, at: this.#elapsed() + ms, probe }
  }
}
