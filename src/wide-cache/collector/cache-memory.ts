import { type Cache, MAX_TTL_SECONDS } from '../../cache/cache.js'
import type { Grid } from '../grid.js'

/**
 * Keys that stay in the memory of the servers. Each of a few servers has several of them, so
 * where one alone is missing, the server has evicted it.
 */
export const MEMORY_KEYS: readonly string[] = Array.from({ length: 16 }, (_, i) => `memory:${i}`)

/** What a read has found of them. */
export interface MemoryRead {
  /** The values of those that exist. */
  readonly memory: readonly number[]
  /** Those that do not exist. */
  readonly forgotten: readonly string[]
}

/** They run out one by one, as if they were evicted. */
function ttlOf(key: string): number {
  return MAX_TTL_SECONDS - MEMORY_KEYS.indexOf(key) * 3600
}

/**
 * Tells which layers may have lost frames with the memory of a server. The value of each key is the
 * moment at which it was stored. A server that starts anew, or is flushed, has none of its keys.
 * They are stored again, and say to all collectors that what was placed before may be gone.
 */
export class CacheMemory {
  readonly #cache: Cache
  readonly #grid: Grid
  #lostBefore = 0

  constructor(cache: Cache, grid: Grid) {
    this.#cache = cache
    this.#grid = grid
  }

  /**
   * Takes what a read has found, and stores the keys that are missing. Never rejects.
   *
   * @param now the database's clock
   * @param isFirst no collector has stored them before
   */
  async look({ memory, forgotten }: MemoryRead, now: number, isFirst: boolean): Promise<void> {
    const isLost = forgotten.length > 1 && !isFirst
    // A loss that was seen while the database's clock was ahead is of a moment that has passed.
    this.#lostBefore = Math.min(this.#lostBefore, now)
    for (const stored of [...memory, isLost ? now : 0]) {
      if (stored <= now) this.#lostBefore = Math.max(this.#lostBefore, stored)
    }
    const value = Buffer.from(String(isLost ? now : 0))
    await Promise.allSettled(forgotten.map((key) => this.#cache.add(key, value, ttlOf(key))))
  }

  /** The newest layer of which frames may be lost. Clocks of writers differ by less than one. */
  get lostTo(): number {
    return this.#grid.layers.at(this.#lostBefore) + 1
  }
}
