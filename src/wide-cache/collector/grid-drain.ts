import { CacheError } from '../../cache/cache.js'
import { publishHint, readHint } from '../drain-hint.js'
import type { Grid } from '../grid.js'
import type { GridSettings } from '../grid-options.js'
import type { Layers } from '../layers.js'
import type { GridState } from '../ledger/grid-record.js'
import { MAX_AHEAD_MS, type PublishedWatermark } from '../published-watermark.js'
import {
  CellReader,
  type CellReaderParts,
  type LayersRead,
  type SilentServers,
} from './cell-reader.js'
import { CacheMemory } from './cache-memory.js'
import { DrainCommit, type DrainCommitParts } from './drain-commit.js'
import { countRead, type DrainReport } from './drain-report.js'
import { DrainedWriters } from './drained-writers.js'
import { YoungLayers, type YoungLayersParts } from './young-layers.js'

interface DrainSettings extends Pick<
  GridSettings,
  'drainAfterLayers' | 'cellTtlSeconds' | 'directSeconds'
> {
  readonly maxCommitRows: number
}

/** Parts of a {@link GridDrain} that are the same for all grids. */
export interface DrainParts extends CellReaderParts, DrainCommitParts, YoungLayersParts {
  readonly settings: DrainSettings
  /** The namespace of the keys in `cache`. */
  readonly namespace: Buffer
  readonly published: Pick<PublishedWatermark, 'publish' | 'ttlMs'>
}

/**
 * Rows of the layers that are read at a time, or the rows of a commit if these are more. Bytes and
 * layers are bounded, too.
 */
const READ_ROWS = 20_000
const READ_BYTES = 6 * 1024 * 1024
const READ_LAYERS = 64

/** Layers read first, before it is known how full they are. */
export const FIRST_LAYERS = 12

/**
 * Seconds that a process looks back when it drains a grid for the first time, or after a pause. The
 * database's clock may have been ahead when the watermark rose, and the processes that noticed may
 * have ended. While no watermark was published, writers whose clocks are behind did not know of it.
 */
const LOOK_BACK_SECONDS = 300

/** Progress of a drain. */
export interface Drained {
  /** The newest layer that was old enough. */
  readonly newest: number
  /** Whether all cells up to it were answered, and no younger ones may have been lost. */
  readonly isWhole: boolean
}

/**
 * Tells whether a watermark is so far ahead of the database's clock that no writer heeds it. Up to
 * there writers place frames above it, so it stays where it is until time has caught up.
 */
export function isFarAhead(watermark: number, layers: Layers, now: number): boolean {
  return watermark > layers.at(now + MAX_AHEAD_MS)
}

/**
 * Drains one grid. Reads all cells of the layers above the watermark that are old enough, brings
 * their frames into the ledger, and raises the watermark with the last of them. Only then deletes
 * the cells. Any number of processes may do so, because the ledger takes each frame once.
 */
export class GridDrain {
  /** The layers above those that it drains. */
  readonly young: YoungLayers
  /** The namespace of its cells. */
  readonly namespace: Buffer
  readonly #parts: DrainParts
  readonly #grid: Grid
  readonly #reader: CellReader
  readonly #memory: CacheMemory
  readonly #writers: DrainedWriters
  readonly #commit: DrainCommit
  /**
   * The oldest layer to drain again after the database's clock was ahead, until all of these layers
   * are drained. Below the watermark they are drained without raising it.
   */
  #againFrom: number | undefined
  /** Last step back of the database's clock that the drain has dealt with, by `clock.elapsed()`. */
  #wentBackAt = -Infinity
  #hasLookedBack = false
  #publishedAt = -Infinity

  constructor(parts: DrainParts, grid: Grid) {
    this.namespace = parts.namespace
    this.#parts = parts
    this.#grid = grid
    this.#reader = new CellReader(parts, grid)
    this.#memory = new CacheMemory(parts.cache, grid)
    this.#writers = new DrainedWriters(grid.layers)
    this.#commit = new DrainCommit(parts, this.#writers)
    this.young = new YoungLayers(parts, grid, this.#reader, this.#commit)
  }

  /**
   * Drains from the watermark to the newest layer that is old enough. If the watermark is far
   * ahead, drains all layers that may live, and sets it to the newest of them.
   *
   * @param now the database's clock
   * @param mark the newest mark that this process's cache shows
   * @throws WatermarkMoved
   */
  async drain(
    now: number,
    { watermark, isNew }: Pick<GridState, 'watermark' | 'isNew'>,
    mark: Buffer | undefined,
    report: DrainReport,
  ): Promise<Drained> {
    const { settings, published, clock, namespace, cache, watch } = this.#parts
    const newest = this.#grid.layers.at(now) - settings.drainAfterLayers
    const silent: SilentServers = new Set()
    if (clock.elapsed() - this.#publishedAt >= published.ttlMs) this.#hasLookedBack = false
    // Before the first cell is read, so that a writer that places a frame there later knows of it.
    await this.#publish(newest)
    let from = this.#oldestToDrain(watermark, newest)
    const isAhead = isFarAhead(watermark, this.#grid.layers, now)
    await this.#writers.begin(isAhead ? from - 1 : watermark, () => readHint(cache, this.#grid))
    let raised = watermark
    // Layers above an unanswered cell are drained too, but the watermark stays below it.
    let stays = false
    let layers = FIRST_LAYERS
    while (from <= newest) {
      const to = Math.min(newest, from + layers - 1)
      const read = await this.#reader.read(from, to, silent)
      countRead(read, report)
      // As of after the read, which may come long after `now`.
      await this.#memory.look(read, Math.floor(watch.estimate ?? now), isNew)
      const passable: number = stays ? raised : Math.min(to, read.firstUnanswered - 1)
      stays ||= passable < to
      const raise =
        passable >= from && (passable > raised || (isAhead && passable === newest))
          ? {
              grid: this.#grid,
              namespace,
              from: raised,
              to: passable,
              mark,
              used: read.frames.length > 0,
              leapAfterMs: raised < this.#memory.lostTo ? 0 : this.#leapAfterMs,
            }
          : undefined
      await this.#commit.settle(read, report, raise)
      await this.#delete(read)
      if (raise) {
        report.layers += Math.max(0, passable - raised)
        raised = passable
        this.#writers.raised(raised)
      }
      if (this.#againFrom !== undefined && !stays) this.#againFrom = to + 1
      from = to + 1
      layers = this.#layersToRead(layers, read)
      // Again, because a long drain takes longer than a published watermark lives.
      if (from <= newest) await this.#publish(newest)
    }
    if (this.#againFrom !== undefined && this.#againFrom > raised) this.#againFrom = undefined
    this.#hasLookedBack = true
    await this.#reader.forgetSilence(silent)
    report.watermark = raised
    const { lostTo } = this.#memory
    if (raised !== watermark) await publishHint(cache, this.#grid, this.#writers.hint(lostTo))
    return { newest, isWhole: !stays && newest >= lostTo }
  }

  /**
   * Longest rest of the watermark before a rise that is no leap. After a longer rest, cells may
   * have expired before they were read, and writers may count as vanished, because SQL has taken
   * nothing of what they hold.
   */
  get #leapAfterMs(): number {
    const { drainAfterLayers, cellTtlSeconds, directSeconds } = this.#parts.settings
    // The grid may be that of other processes, with longer layers.
    const drainAge = (drainAfterLayers + 1) * this.#grid.layerSeconds
    return Math.min(Math.max(directSeconds, drainAge), cellTtlSeconds - drainAge) * 1000
  }

  async #publish(newest: number): Promise<void> {
    const { clock, published, cache } = this.#parts
    this.#publishedAt = clock.elapsed()
    await published.publish(cache, this.#grid, newest)
  }

  /** Returns the number of layers to read next, from what the last `layers` layers held. */
  #layersToRead(layers: number, { bytes, frames }: LayersRead): number {
    const rows = frames.reduce((sum, { rowCount }) => sum + rowCount, 0)
    const ofRows = Math.max(this.#parts.settings.maxCommitRows, READ_ROWS) / Math.max(1, rows)
    const ofBytes = READ_BYTES / Math.max(1, bytes)
    return Math.max(1, Math.min(READ_LAYERS, Math.floor(layers * Math.min(ofRows, ofBytes))))
  }

  #oldestToDrain(watermark: number, newest: number): number {
    const { watch, settings } = this.#parts
    // The clock was ahead when the watermark rose: what has been written since lies below it.
    if (watch.wentBackAt > this.#wentBackAt) this.#againFrom = -Infinity
    this.#wentBackAt = watch.wentBackAt
    if (watermark > newest) this.#againFrom ??= -Infinity
    // Nothing older than the TTL lives.
    const oldestAlive = newest - this.#grid.layers.countIn(settings.cellTtlSeconds)
    const lookBackFrom = this.#hasLookedBack
      ? Infinity
      : newest - this.#grid.layers.countIn(LOOK_BACK_SECONDS)
    return Math.max(Math.min(this.#againFrom ?? watermark + 1, lookBackFrom), oldestAlive)
  }

  /**
   * Removes cells whose frames are committed. A cell that stays is passed by the watermark, and
   * ends with its TTL.
   */
  async #delete({ keys, frames }: LayersRead): Promise<void> {
    this.#commit.forget(frames)
    for (const outcome of await Promise.allSettled(
      keys.map((key) => this.#parts.cache.delete(key)),
    )) {
      if (outcome.status === 'rejected' && !(outcome.reason instanceof CacheError)) {
        throw outcome.reason
      }
    }
  }
}
