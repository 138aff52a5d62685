import type { Cache } from '../cache/cache.js'
import { sleep } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import type { Frame } from './frame.js'
import type { Grid } from './grid.js'

/** Columns tried for a frame before it waits: "not stored" may mean a miss, a full cell or a full server. */
const COLUMNS_TRIED = 3

/** Wait before a frame is tried again. */
const RETRY_MS = 500

/** How often one frame tries a cache that is known to be down. */
const PROBE_MS = 1_000

/**
 * Places frames: appends each to a random cell of the present layer, making the cell where there is none.
 * Knows whether the cache is down, so that frames need not wait for it.
 */
export class Placer {
  readonly #cache: Cache
  readonly #grid: Grid
  readonly #environment: Environment
  readonly #cellTtlSeconds: number
  #down = false
  #probeAt = 0

  constructor(parts: { cache: Cache; grid: Grid; environment: Environment; cellTtlSeconds: number }) {
    this.#cache = parts.cache
    this.#grid = parts.grid
    this.#environment = parts.environment
    this.#cellTtlSeconds = parts.cellTtlSeconds
  }

  /** The last frame tried found no server that answers. */
  get down(): boolean {
    return this.#down
  }

  /** Tries until the frame is placed (`true`), is no longer wanted, the cache is down, or `deadline` has come. */
  async place(frame: Frame, wanted: () => boolean, deadline: number): Promise<boolean> {
    const { clock } = this.#environment
    while (wanted()) {
      const now = clock.elapsed()
      if (this.#down) {
        if (now < this.#probeAt) return false
        this.#probeAt = now + PROBE_MS
      }
      if (await this.#tryColumns(frame)) return true
      if (this.#down || clock.elapsed() + RETRY_MS >= deadline) return false
      await sleep(clock, RETRY_MS)
    }
    return false
  }

  async #tryColumns(frame: Frame): Promise<boolean> {
    let answered = false
    for (let tries = 0; tries < COLUMNS_TRIED; tries++) {
      const layer = this.#grid.layerAt(this.#environment.clock.now())
      const column = Math.floor(this.#environment.random() * this.#grid.width)
      try {
        if (await this.#put(this.#grid.cellKey(layer, column), frame.bytes)) {
          this.#down = false
          return true
        }
        answered = true
      } catch {
        // It may have come there all the same: the ledger takes it once. Another column is likely on another server.
      }
    }
    this.#down = !answered
    if (this.#down) this.#probeAt = this.#environment.clock.elapsed() + PROBE_MS
    return false
  }

  /** `append` needs a cell and `add` needs none; between the two another writer may have made it. */
  async #put(key: string, bytes: Buffer): Promise<boolean> {
    return await this.#cache.append(key, bytes)
      || await this.#cache.add(key, bytes, this.#cellTtlSeconds)
      || await this.#cache.append(key, bytes)
  }
}
