import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import { type Clock, sleep } from '../support/clock.js'
import type { Grid } from './grid.js'
import type { GridSettings } from './grid-options.js'
import { LEASE_MS } from './ledger/grid-record.js'

/** How long a published watermark is used before the cache is asked again. */
const RECENT_MS = 1_000

/** How long the placement of a frame waits for the answer. */
const PATIENCE_MS = 100

/** The most that a frame is placed ahead of the process's own clock, whatever the cache says. */
export const MAX_AHEAD_MS = 60_000

/** A watermark in the cache: the digits of a layer. */
const DIGITS = /^\d{1,15}$/

/**
 * The watermark of a grid as its collector publishes it in the cache. A writer whose clock is
 * behind places its frames above it, where the collector still finds them. It also tells that a
 * collector is alive: it lives in the cache for as long as the lease of the collector that has
 * published it.
 *
 * It is a hint. A wrong value delays frames by {@link MAX_AHEAD_MS} at most, and then their writers
 * commit them.
 */
export class PublishedWatermark {
  readonly #cache: Cache
  readonly #clock: Clock
  readonly #drainAfterLayers: number
  readonly #ttlSeconds: number
  /** As last read; `undefined` if there is none. */
  #known: { readonly grid: Grid; readonly watermark: number | undefined } | undefined
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(
    parts: Pick<GridSettings, 'collect' | 'drainAfterLayers' | 'periodSeconds'> & {
      cache: Cache
      clock: Clock
    },
  ) {
    this.#cache = parts.cache
    this.#clock = parts.clock
    this.#drainAfterLayers = parts.drainAfterLayers
    // Who keeps the lease renews both.
    const period = parts.collect === true ? 0 : parts.periodSeconds
    this.#ttlSeconds = Math.min(MAX_TTL_SECONDS, period + LEASE_MS / 1000)
  }

  /** Publishes the watermark of a grid until the next run may have begun. Waits for nothing. */
  publish(grid: Grid, watermark: number): void {
    const value = Buffer.from(String(watermark))
    this.#cache.set(grid.watermarkKey, value, this.#ttlSeconds).catch(() => undefined)
  }

  /** The collector ends. Waits for nothing. */
  withdraw(grid: Grid): void {
    this.#cache.delete(grid.watermarkKey).catch(() => undefined)
  }

  /** Reads the watermark of a grid. `undefined`: nobody publishes one, or no answer came. */
  async read(grid: Grid): Promise<number | undefined> {
    try {
      const value = (await this.#cache.get(grid.watermarkKey))?.toString('latin1') ?? ''
      return DIGITS.test(value) ? Number(value) : undefined
    } catch {
      return undefined
    }
  }

  /**
   * The layer for a frame of `moment`, by the process's wall clock: that of the moment, or, if the
   * clock is behind, the present one of the collector. Asks the cache at most once a second, or for
   * each frame if the clock is behind: a collector that runs by a cron line raises the watermark by
   * many layers at once.
   */
  async layerOf(grid: Grid, moment: number): Promise<number> {
    const own = grid.layerAt(moment)
    const present = await this.#present(grid, own)
    if (present === undefined) return own
    // One that is farther ahead is wrong, or no collector would find the frame there.
    const isTooFar = present > grid.layerAt(this.#clock.now() + MAX_AHEAD_MS)
    return isTooFar ? own : Math.max(own, present)
  }

  /** The collector's present layer. One that is read each second suffices if `own` is no older. */
  async #present(grid: Grid, own: number): Promise<number | undefined> {
    const isRecent = this.#clock.elapsed() - this.#readAt < RECENT_MS
    if (!isRecent || this.#known?.grid !== grid || (this.#knownPresent() ?? own) > own) {
      this.#reading ??= this.#reread(grid)
      await Promise.race([this.#reading, sleep(this.#clock, PATIENCE_MS)])
    }
    return this.#known?.grid === grid ? this.#knownPresent() : undefined
  }

  /** Just after a run the collector's present layer is so many layers above the watermark. */
  #knownPresent(): number | undefined {
    const watermark = this.#known?.watermark
    return watermark === undefined ? undefined : watermark + this.#drainAfterLayers
  }

  async #reread(grid: Grid): Promise<void> {
    const watermark = await this.read(grid)
    this.#known = { grid, watermark }
    this.#readAt = this.#clock.elapsed()
    this.#reading = undefined
  }
}
