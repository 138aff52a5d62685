import { appendOrAdd, type WayToStore } from '../../cache/append-or-add.js'
import type { Cache } from '../../cache/cache.js'
import type { Database } from '../../database/database.js'
import { sleep } from '../../support/clock.js'
import { within } from '../../support/within.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { Grid } from '../grid.js'
import type { GridSettings } from '../grid-options.js'
import type { GridRecord } from '../ledger/grid-record.js'
import type { PublishedWatermark } from '../published-watermark.js'
import type { HeldFrame } from './outbox.js'

/**
 * Columns that answer a frame with "not stored" before it waits. That answer may mean a miss, a
 * full cell or a full server.
 */
const REFUSALS = 3

/** Wait before a frame is tried again. */
const RETRY_MS = 500

/** Interval at which one frame tries a cache that is known to be down. */
const PROBE_MS = 1_000

/**
 * Time without a frame, because none came or the process stood still, after which the marks are
 * looked at first. Another database may use the namespace that is known.
 */
const IDLE_MS = 60_000

/**
 * Longest time that the marks are looked at, and the wait between tries. A frame that waits is in
 * this process only.
 */
const ASK_MS = 500
const ASK_AGAIN_MS = 100

/**
 * Longest time that a frame in its cell waits for the published watermark. It is longer than a
 * cache takes to answer or to fail. At the end of the process the frame waits less, to count as
 * placed.
 */
const PATIENCE_MS = 1_500
const LAST_PATIENCE_MS = 100

const NOT_REACHED = 'the database had not been reached before'

export interface PlacerParts {
  readonly settings: Pick<GridSettings, 'drainAfterLayers' | 'cellTtlSeconds'>
  readonly environment: Environment
  readonly cache: Cache
  /** Its migration also enters the grid, and does nothing where that has been done. */
  readonly database: Pick<Database, 'migrate'>
  readonly record: Pick<GridRecord, 'grid'>
  /** `differs`: whether the collectors use another cache, and never read what this one has. */
  readonly sameCache: { readonly differs: boolean }
  /** Asks SQL for the grid again, and looks at the marks; may reject. */
  readonly heartbeat: () => Promise<void>
  readonly published: Pick<PublishedWatermark, 'layerOf' | 'refresh' | 'hasPassed'>
}

/**
 * Returns the milliseconds for which a frame may go to the layer of its first row: three quarters
 * of the time before the layer is drained. It may be open for half of it.
 */
function inTimeMs({ layerSeconds }: Grid, drainAfterLayers: number): number {
  return ((drainAfterLayers - 1) * layerSeconds * 1000 * 3) / 4
}

/**
 * Places frames: appends each to a random cell of the present layer, and makes the cell if there is
 * none. If the process's clock is behind, the present layer is that of the collectors. Knows
 * whether the cache is down, so that frames need not wait for it.
 */
export class Placer {
  readonly #parts: PlacerParts
  #down = false
  #probeAt = 0
  /** Of the last frame: with few frames most cells have to be made, and with many hardly any. */
  #way: WayToStore = 'append'
  /** Time of the last frame: the monotonic clock stands still while a machine sleeps. */
  #usedAt: { readonly elapsed: number; readonly wall: number }
  #asking: Promise<void> | undefined
  #asksNoMore = false
  #stopAsking = (): void => {}
  #why = 'no cache server has answered yet'

  constructor(parts: PlacerParts) {
    this.#parts = parts
    this.#usedAt = this.#moment()
  }

  /** Whether it makes no sense to try to place a frame now. */
  get down(): boolean {
    return this.#down || this.#parts.sameCache.differs
  }

  /** Reason for the last failure to place a frame. */
  get why(): string {
    const { sameCache, record } = this.#parts
    if (sameCache.differs) return 'the collectors use another cache'
    return record.grid ? this.#why : NOT_REACHED
  }

  /**
   * Tries until the frame is placed, is no longer wanted, the cache is down, or `deadline` comes.
   * Returns the layer in which it was placed.
   */
  async place(
    frame: HeldFrame,
    wanted: () => boolean,
    deadline: number,
  ): Promise<number | undefined> {
    const { environment, database, record, sameCache } = this.#parts
    const { clock } = environment
    if (!record.grid) {
      await within(Math.max(0, deadline - clock.elapsed()), database.migrate(), clock)
      if (!record.grid) this.#why = NOT_REACHED
    } else if (this.#isIdle && !this.#asksNoMore) {
      this.#asking ??= this.#ask()
      await this.#asking
    }
    this.#usedAt = this.#moment()
    while (wanted()) {
      const now = clock.elapsed()
      if (sameCache.differs) return undefined
      if (this.#down) {
        if (now < this.#probeAt) return undefined
        this.#probeAt = now + PROBE_MS
      }
      const { grid } = record
      const layer = grid && (await this.#tryColumns(grid, frame, deadline))
      if (layer !== undefined) return layer
      if (this.#down || clock.elapsed() + RETRY_MS >= deadline) return undefined
      await sleep(clock, RETRY_MS)
    }
    return undefined
  }

  /** Stops asking SQL before a frame is placed, because the process is about to end. */
  stopAsking(): void {
    this.#asksNoMore = true
    this.#stopAsking()
  }

  #moment(): { elapsed: number; wall: number } {
    const { clock } = this.#parts.environment
    return { elapsed: clock.elapsed(), wall: clock.now() }
  }

  get #isIdle(): boolean {
    const { elapsed, wall } = this.#moment()
    return Math.max(elapsed - this.#usedAt.elapsed, wall - this.#usedAt.wall) >= IDLE_MS
  }

  /** Looks at the marks, for half a second at most. Never rejects. */
  async #ask(): Promise<void> {
    const { environment, heartbeat } = this.#parts
    const { clock } = environment
    const until = clock.elapsed() + ASK_MS
    const answered = async (): Promise<void> => {
      while (clock.elapsed() < until) {
        const hasAnswer = await heartbeat().then(
          () => true,
          () => false,
        )
        if (hasAnswer) return
        await sleep(clock, ASK_AGAIN_MS)
      }
    }
    const stopped = new Promise<void>((resolve) => (this.#stopAsking = resolve))
    await within(ASK_MS, Promise.race([answered(), stopped]), clock)
    this.#asking = undefined
  }

  /**
   * Tries one column after another, from a random one on: the next is likely on another server, and
   * a server known to be down costs no time. A frame whose layer a collector has passed meanwhile
   * is placed again, in a layer that has not been passed. Returns its layer.
   */
  async #tryColumns(grid: Grid, frame: HeldFrame, deadline: number): Promise<number | undefined> {
    const { settings, environment, cache, published } = this.#parts
    const { clock, random } = environment
    const first = Math.floor(random() * grid.width)
    let refusals = 0
    let isSilent = true
    for (let tried = 0; tried < Math.max(grid.width, REFUSALS) && refusals < REFUSALS; tried++) {
      if (tried >= REFUSALS && clock.elapsed() >= deadline) break
      try {
        const layer = this.#layerOf(grid, frame)
        const cell = grid.keys.cell(layer, (first + tried) % grid.width)
        const { bytes } = frame
        const way = await appendOrAdd(cache, cell, bytes, settings.cellTtlSeconds, this.#way)
        if (way) {
          this.#way = way
          this.#down = false
          await published.refresh(grid, this.#asksNoMore ? LAST_PATIENCE_MS : PATIENCE_MS)
          if (!published.hasPassed(layer) || this.#layerOf(grid, frame) <= layer) return layer
        } else {
          refusals++
          this.#why =
            `the cache does not store frames of ${bytes.length} bytes: a cell ` +
            'would be over its item size limit, or its memory is full'
        }
        isSilent = false
      } catch (error) {
        // It may have come there all the same: the ledger takes it once.
        if (refusals === 0) this.#why = `no cache server answers (${messageOf(error)})`
      }
    }
    this.#down = isSilent
    if (this.#down) this.#probeAt = clock.elapsed() + PROBE_MS
    return undefined
  }

  /**
   * Returns the layer of a frame: that of its first row, so that a drained layer is complete
   * however late timers are. A frame that could come too late for it goes to the present layer.
   */
  #layerOf(grid: Grid, { openedAt }: HeldFrame): number {
    const { settings, environment, published } = this.#parts
    const now = environment.clock.now()
    const inTime = now >= openedAt && now - openedAt <= inTimeMs(grid, settings.drainAfterLayers)
    return published.layerOf(grid, inTime ? openedAt : now)
  }
}
