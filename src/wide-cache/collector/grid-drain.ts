import { type Cache, CacheError } from '../../cache/cache.js'
import { type Database, DatabaseError } from '../../database/database.js'
import type { Clock } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'
import type { ClockWatch } from '../clock-watch.js'
import type { Frame } from '../frame.js'
import type { Grid } from '../grid.js'
import { frameBatches, byWriter } from '../ledger/frame-batches.js'
import type { Raise } from '../ledger/grid-record.js'
import { MAX_AHEAD_MS, type PublishedWatermark } from '../published-watermark.js'
import type { Ledger } from '../ledger/ledger.js'
import { type FrameLedger, settle } from '../ledger/settle.js'
import { CellReader, type LayersRead, type SilentServers } from './cell-reader.js'
import type { DrainReport } from './drain-report.js'
import { SettledHere } from './settled-here.js'

/** Parts of a {@link GridDrain} that are the same for all grids. */
export interface DrainParts {
  readonly cache: Cache
  readonly database: Database
  readonly ledger: FrameLedger & Pick<Ledger<unknown>, 'keepForeign' | 'raise'>
  readonly published: Pick<PublishedWatermark, 'publish' | 'ttlMs'>
  readonly watch: ClockWatch
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly drainAfterLayers: number
  readonly cellTtlSeconds: number
  readonly maxCommitRows: number
  /** Starting value of the checksums of frames of its kind. */
  readonly stamp: number
}

/**
 * Rows of the layers that are read at a time, or the rows of a commit if these are more. Bytes and
 * layers are bounded, too.
 */
const READ_ROWS = 20_000
const READ_BYTES = 6 * 1024 * 1024
const READ_LAYERS = 64

/** Layers read first, before it is known how full they are. */
const FIRST_LAYERS = 12

/**
 * Seconds that a process looks back when it drains a grid for the first time, or after a pause. The
 * database's clock may have been ahead when the watermark rose, and the processes that noticed may
 * have ended. While no watermark was published, writers whose clocks are behind did not know of it.
 */
const LOOK_BACK_SECONDS = 300

/** Layers read at a time that are not old enough: nearly all of them are empty. */
const AHEAD_LAYERS = 16

/**
 * Least number of layers ahead of the present that are read: writers' clocks differ a little.
 */
const LAYERS_AHEAD = 2

/**
 * Most bytes of a second that are read early, on the average. Cells that are read early are read
 * again until they are drained, so a grid in much use is left to its drains.
 */
const EARLY_BYTES_A_SECOND = 64 * 1024

/**
 * Drains one grid. Reads all cells of the layers above the watermark that are old enough, brings
 * their frames into the ledger, and raises the watermark with the last of them. Only then deletes
 * the cells. Any number of processes may do so, because the ledger takes each frame once.
 */
export class GridDrain {
  readonly #parts: DrainParts
  readonly #grid: Grid
  readonly #reader: CellReader
  readonly #ledger: SettledHere
  /**
   * The oldest layer to drain below a watermark that the database's clock had raised too far, until
   * all of these layers are drained. They are drained without raising the watermark.
   */
  #againFrom: number | undefined
  /** Last step back of the database's clock that the drain has dealt with, by `clock.elapsed()`. */
  #wentBackAt = -Infinity
  #hasLookedBack = false
  #publishedAt = -Infinity
  /** Whether the last drain came to its end, and no cell was unanswered. */
  #isDrained = false
  /** Moment from which on the layers above may be read early, by `clock.elapsed()`. */
  #mayReadEarlyAt = -Infinity

  constructor(parts: DrainParts, grid: Grid) {
    this.#parts = parts
    this.#grid = grid
    this.#reader = new CellReader(parts, grid)
    this.#ledger = new SettledHere(parts.ledger)
  }

  /**
   * Drains from `watermark` to the newest layer that is old enough, and returns that layer.
   *
   * @param now the database's clock
   * @param mark the mark that this collector has put into the cache, if the cache shows it
   * @throws WatermarkMoved
   */
  async drain(
    now: number,
    watermark: number,
    mark: Buffer | undefined,
    report: DrainReport,
  ): Promise<number> {
    this.#isDrained = false
    const newest = this.#grid.layers.at(now) - this.#parts.drainAfterLayers
    const silent: SilentServers = new Set()
    const { published, clock } = this.#parts
    if (clock.elapsed() - this.#publishedAt >= published.ttlMs) this.#hasLookedBack = false
    // Before the first cell is read, so that a writer that places a frame there later knows of it.
    await this.#publish(newest)
    let from = this.#oldestToDrain(watermark, newest)
    let raised = watermark
    // Layers above an unanswered cell are drained too, but the watermark stays below it.
    let stays = false
    let layers = FIRST_LAYERS
    while (from <= newest) {
      const to = Math.min(newest, from + layers - 1)
      const read = await this.#read(from, to, report, silent)
      const passable: number = stays ? raised : Math.min(to, read.firstUnanswered - 1)
      stays ||= passable < to
      const raise =
        passable >= from && passable > raised
          ? { grid: this.#grid, from: raised, to: passable, mark, used: read.frames.length > 0 }
          : undefined
      await this.#settle(read, report, raise)
      await this.#delete(read)
      if (raise) {
        report.layers += passable - raised
        raised = passable
      }
      if (this.#againFrom !== undefined && !stays) this.#againFrom = to + 1
      from = to + 1
      layers = this.#layersToRead(layers, read)
      // It does not live for as long as a long drain takes.
      if (from <= newest) await this.#publish(newest)
    }
    if (this.#againFrom !== undefined && this.#againFrom > watermark) this.#againFrom = undefined
    this.#hasLookedBack = true
    await this.#reader.forgetSilence(silent)
    this.#isDrained = !stays
    report.watermark = raised
    return newest
  }

  /**
   * After a drain to `newest`, commits the rows of the layers above it, as {@link commitYounger}
   * does, unless that is too much to read. Tells whether SQL now has all that the cells hold.
   *
   * @param now the database's clock
   */
  async commitEarly(newest: number, now: number, report: DrainReport): Promise<boolean> {
    const { clock } = this.#parts
    if (!this.#isDrained || clock.elapsed() < this.#mayReadEarlyAt) return false
    const silent: SilentServers = new Set()
    const to = this.#grid.layers.at(now) + LAYERS_AHEAD
    let bytes = 0
    let answered = true
    for (let from = newest + 1; from <= to && bytes <= READ_BYTES; from += AHEAD_LAYERS) {
      const read = await this.#reader.read(from, Math.min(to, from + AHEAD_LAYERS - 1), silent)
      bytes += read.bytes
      answered &&= read.unanswered === 0
      // Most of them have been read early before.
      await this.#commit(this.#ledger.unsettled(read.frames), report, undefined)
    }
    this.#mayReadEarlyAt = clock.elapsed() + (bytes / EARLY_BYTES_A_SECOND) * 1000
    return answered && bytes <= READ_BYTES
  }

  /**
   * Commits the layers above `newest` too, but neither deletes them nor raises the watermark over
   * them.
   */
  async commitYounger(newest: number, report: DrainReport): Promise<void> {
    const now = await this.#parts.watch.now(this.#parts.database)
    const to = Math.max(
      this.#grid.layers.at(now) + LAYERS_AHEAD,
      this.#grid.layers.at(now + MAX_AHEAD_MS),
    )
    // The clock may have leapt since `newest`: nothing older than the TTL lives.
    const oldestAlive =
      this.#grid.layers.at(now) - this.#grid.layers.countIn(this.#parts.cellTtlSeconds)
    for (let from = Math.max(newest + 1, oldestAlive); from <= to; from += AHEAD_LAYERS) {
      const last = Math.min(to, from + AHEAD_LAYERS - 1)
      const { frames } = await this.#read(from, last, report, new Set())
      await this.#commit(frames, report, undefined)
    }
  }

  async #publish(newest: number): Promise<void> {
    this.#publishedAt = this.#parts.clock.elapsed()
    await this.#parts.published.publish(this.#grid, newest)
  }

  /** Returns the number of layers to read next, from what the last `layers` layers held. */
  #layersToRead(layers: number, { bytes, frames }: LayersRead): number {
    const rows = frames.reduce((sum, { rowCount }) => sum + rowCount, 0)
    const ofRows = Math.max(this.#parts.maxCommitRows, READ_ROWS) / Math.max(1, rows)
    const ofBytes = READ_BYTES / Math.max(1, bytes)
    return Math.max(1, Math.min(READ_LAYERS, Math.floor(layers * Math.min(ofRows, ofBytes))))
  }

  #oldestToDrain(watermark: number, newest: number): number {
    const { watch, cellTtlSeconds } = this.#parts
    // The clock was ahead when the watermark rose: what has been written since lies below it.
    if (watch.wentBackAt > this.#wentBackAt) this.#againFrom = -Infinity
    this.#wentBackAt = watch.wentBackAt
    if (watermark > newest) this.#againFrom ??= -Infinity
    // Nothing older than the TTL lives.
    const oldestAlive = newest - this.#grid.layers.countIn(cellTtlSeconds)
    const lookBackFrom = this.#hasLookedBack
      ? Infinity
      : newest - this.#grid.layers.countIn(LOOK_BACK_SECONDS)
    return Math.max(Math.min(this.#againFrom ?? watermark + 1, lookBackFrom), oldestAlive)
  }

  async #read(
    from: number,
    to: number,
    report: DrainReport,
    silent: SilentServers,
  ): Promise<LayersRead> {
    const read = await this.#reader.read(from, to, silent)
    report.cells += read.keys.length
    report.frames += read.frames.length
    report.unanswered += read.unanswered
    return read
  }

  /**
   * Brings to SQL what cells held. The watermark passes bytes that are no frame only when SQL has
   * them: below it, no drain would read them again.
   */
  async #settle(
    { frames, foreign }: LayersRead,
    report: DrainReport,
    raise: Raise | undefined,
  ): Promise<void> {
    if (foreign.length === 0) return this.#commit(frames, report, raise)
    await this.#commit(frames, report, undefined)
    await this.#keepForeign(foreign)
    await this.#commit([], report, raise)
  }

  /**
   * Brings frames into the ledger, one batch per transaction. The watermark rises with the last
   * one. A batch that the locks of another transaction stop does not stop the batches behind it,
   * but then the watermark stays.
   */
  async #commit(
    frames: readonly Frame[],
    report: DrainReport,
    raise: Raise | undefined,
  ): Promise<void> {
    const batches = frameBatches(byWriter(frames), this.#parts.maxCommitRows)
    if (batches.length === 0 && raise) return this.#parts.ledger.raise(raise)
    let locked: DatabaseError | undefined
    for (const [index, batch] of batches.entries()) {
      const last = index === batches.length - 1
      try {
        const settled = await settle(this.#ledger, batch, this.#parts.logger, {
          raise: last && !locked ? raise : undefined,
          settledHere: this.#ledger.keys,
        })
        report.committed += settled.committed
        report.duplicate += settled.duplicate
        report.quarantined += settled.quarantined
      } catch (error) {
        if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
        locked = error
      }
    }
    if (locked) throw locked
  }

  /**
   * Removes cells whose frames are committed. A cell that stays is passed by the watermark, and
   * ends with its TTL.
   */
  async #delete({ keys, frames }: LayersRead): Promise<void> {
    this.#ledger.forget(frames)
    for (const outcome of await Promise.allSettled(
      keys.map((key) => this.#parts.cache.delete(key)),
    )) {
      if (outcome.status === 'rejected' && !(outcome.reason instanceof CacheError)) {
        throw outcome.reason
      }
    }
  }

  async #keepForeign(foreign: readonly Buffer[]): Promise<void> {
    await this.#parts.ledger.keepForeign(foreign)
    this.#parts.logger.warn(
      'foreign',
      'wide-cache: a cell held bytes that are no frame of its kind; they are kept in ' +
        'wide_cache_quarantine',
    )
  }
}
