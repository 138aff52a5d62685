import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import type { Clock } from '../support/clock.js'
import { within } from '../support/within.js'
import type { Grid } from './grid.js'
import type { GridSettings } from './grid-options.js'
import { keepsLease, LEASE_MS } from './ledger/grid-record.js'

/**
 * Longest time that a frame is placed ahead of the database's clock as the process knows it,
 * whatever the cache says.
 */
export const MAX_AHEAD_MS = 60_000

/** A watermark in the cache: the digits of a layer, and whether its collector has ended. */
const PUBLISHED = /^(\d{1,15})( ended)?$/

/**
 * The watermark of a grid as its collector publishes it in the cache, before it reads the cells
 * below. A writer looks at it after it has placed a frame: either the collector finds the frame, or
 * the writer sees that its layer was passed, and places it again (the pattern of Dekker's mutual
 * exclusion). So it does not matter how far the writer's reading of the database's clock is behind,
 * up to a minute. It also tells that a collector is alive: it lives in the cache for as long as the
 * lease of the collector that has published it.
 *
 * No count relies on it. A wrong value delays frames by {@link MAX_AHEAD_MS} at most, and then
 * their writers commit them.
 */
export class PublishedWatermark {
  readonly #cache: Cache
  readonly #clock: Clock
  readonly #drainAfterLayers: number
  readonly #ttlSeconds: number
  /** As last read; `undefined` if there is none. */
  #known: number | undefined
  /** As last published by this process, by the keys of the grids. */
  readonly #own = new Map<string, number>()

  constructor(
    parts: Pick<GridSettings, 'drainAfterLayers' | 'periodSeconds'> & {
      cache: Cache
      clock: Clock
    },
  ) {
    this.#cache = parts.cache
    this.#clock = parts.clock
    this.#drainAfterLayers = parts.drainAfterLayers
    // A collector that keeps the lease renews both.
    const period = keepsLease(parts.periodSeconds) ? 0 : parts.periodSeconds
    this.#ttlSeconds = Math.min(MAX_TTL_SECONDS, period + LEASE_MS / 1000)
  }

  /** Lifetime of a published watermark, in milliseconds. */
  get ttlMs(): number {
    return this.#ttlSeconds * 1000
  }

  /**
   * Publishes the next watermark of a grid in the cache that its cells are read from, until the
   * next run may have begun. Resolves when the cache has it, or does not take it.
   */
  async publish(cache: Cache, grid: Grid, watermark: number): Promise<void> {
    this.#own.set(grid.keys.watermark, watermark)
    await this.#put(cache, grid, String(watermark))
  }

  /**
   * Marks the published watermark as that of a collector that has ended. The watermark stays valid,
   * until another collector may have come. To be called while this process holds the lease: what
   * the next collector publishes must not be taken back. Resolves when the cache has it, or does
   * not take it.
   */
  async withdraw(grid: Grid): Promise<void> {
    const own = this.#own.get(grid.keys.watermark)
    if (own !== undefined) await this.#put(this.#cache, grid, `${own} ended`)
  }

  /**
   * Tells whether a collector keeps a grid's watermark published. `false` also if no answer came.
   */
  async isKept(grid: Grid): Promise<boolean> {
    const published = await this.#read(grid)
    return published !== undefined && !published.ended
  }

  /**
   * Returns the layer for a frame of `moment`: the layer of that moment. If the watermark as last
   * read shows the process's reading of the clock to be behind, returns the present layer of the
   * collector.
   */
  layerOf(grid: Grid, moment: number): number {
    const own = grid.layers.at(moment)
    if (this.#known === undefined) return own
    // When a run begins, the collector's present layer is so many layers above what it publishes.
    const present = this.#known + this.#drainAfterLayers
    // One that is farther ahead is wrong, or no collector would find the frame there.
    const isTooFar = present > grid.layers.at(this.#clock.now() + MAX_AHEAD_MS)
    return isTooFar ? own : Math.max(own, present)
  }

  /**
   * Tells whether the watermark as last read has passed a layer: then its cells may have been read.
   */
  hasPassed(layer: number): boolean {
    return this.#known !== undefined && this.#known >= layer
  }

  /** Reads the watermark anew. If no answer comes within `patienceMs`, the last one serves. */
  async refresh(grid: Grid, patienceMs: number): Promise<void> {
    const reading = this.#read(grid).then((read) => void (this.#known = read?.watermark))
    await within(patienceMs, reading, this.#clock)
  }

  async #put(cache: Cache, grid: Grid, text: string): Promise<void> {
    const { watermark } = grid.keys
    await cache.set(watermark, Buffer.from(text), this.#ttlSeconds).catch(() => undefined)
  }

  /** Reads the watermark from the cache. `undefined`: there is none, or no answer came. */
  async #read(grid: Grid): Promise<{ watermark: number; ended: boolean } | undefined> {
    try {
      const value = await this.#cache.get(grid.keys.watermark)
      const [, digits, ended] = PUBLISHED.exec(value?.toString('latin1') ?? '') ?? []
      return digits === undefined
        ? undefined
        : { watermark: Number(digits), ended: ended !== undefined }
    } catch {
      return undefined
    }
  }
}
