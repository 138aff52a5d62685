import type { Database } from '../../database/database.js'
import type { Clock } from '../../support/clock.js'
import type { ClockWatch } from '../clock-watch.js'
import type { Grid } from '../grid.js'
import type { GridSettings } from '../grid-options.js'
import { MAX_AHEAD_MS } from '../published-watermark.js'
import type { CellReader, SilentServers } from './cell-reader.js'
import type { DrainCommit } from './drain-commit.js'
import { countRead, type DrainReport } from './drain-report.js'

/** Layers read at a time: nearly all of them are empty. */
const LAYERS_AT_ONCE = 16

/**
 * Least number of layers ahead of the present that are read: writers' clocks differ a little.
 */
const LAYERS_AHEAD = 2

/**
 * Most bytes that are read early: at once, and per second on average. Cells that are read early are
 * read again until they are drained, so a busy grid is left to its drains.
 */
const EARLY_BYTES = 6 * 1024 * 1024
const EARLY_BYTES_A_SECOND = 64 * 1024

export interface YoungLayersParts {
  readonly database: Database
  readonly clock: Clock
  readonly watch: ClockWatch
  readonly settings: Pick<GridSettings, 'cellTtlSeconds'>
}

/**
 * The layers of one grid that are not old enough to be drained. Commits what they hold, but neither
 * deletes their cells nor raises the watermark over them: a drain will read them again.
 */
export class YoungLayers {
  readonly #parts: YoungLayersParts
  readonly #grid: Grid
  readonly #reader: CellReader
  readonly #commit: DrainCommit
  /** Moment from which on they may be read early, by `clock.elapsed()`. */
  #mayReadEarlyAt = -Infinity

  constructor(parts: YoungLayersParts, grid: Grid, reader: CellReader, commit: DrainCommit) {
    this.#parts = parts
    this.#grid = grid
    this.#reader = reader
    this.#commit = commit
  }

  /**
   * Commits the layers above `newest`, unless that is too much to read. Tells whether SQL now has
   * all that their cells hold.
   *
   * @param now the database's clock
   */
  async commitEarly(newest: number, now: number, report: DrainReport): Promise<boolean> {
    const { clock } = this.#parts
    if (clock.elapsed() < this.#mayReadEarlyAt) return false
    const silent: SilentServers = new Set()
    const to = this.#grid.layers.at(now) + LAYERS_AHEAD
    let bytes = 0
    let answered = true
    let from = this.#oldest(newest, now)
    for (; from <= to && bytes <= EARLY_BYTES; from += LAYERS_AT_ONCE) {
      const last = Math.min(to, from + LAYERS_AT_ONCE - 1)
      const read = await this.#reader.read(from, last, silent)
      bytes += read.bytes
      answered &&= read.unanswered === 0 && read.forgotten.length < 2
      // Most of them have been read early before.
      await this.#commit.commitUnsettled(read.frames, report)
    }
    this.#mayReadEarlyAt = clock.elapsed() + (bytes / EARLY_BYTES_A_SECOND) * 1000
    return answered && bytes <= EARLY_BYTES
  }

  /** Commits all layers above `newest`. */
  async commitAll(newest: number, report: DrainReport): Promise<void> {
    const { database, watch } = this.#parts
    const { layers } = this.#grid
    const now = await watch.now(database)
    const to = Math.max(layers.at(now) + LAYERS_AHEAD, layers.at(now + MAX_AHEAD_MS))
    for (let from = this.#oldest(newest, now); from <= to; from += LAYERS_AT_ONCE) {
      const last = Math.min(to, from + LAYERS_AT_ONCE - 1)
      const read = await this.#reader.read(from, last, new Set())
      countRead(read, report)
      await this.#commit.commit(read.frames, report)
    }
  }

  /**
   * Returns the oldest layer above `newest` that may hold something. The clock may have leapt since
   * `newest`, and nothing older than the TTL lives.
   */
  #oldest(newest: number, now: number): number {
    const { layers } = this.#grid
    const { cellTtlSeconds } = this.#parts.settings
    return Math.max(newest + 1, layers.at(now) - layers.countIn(cellTtlSeconds))
  }
}
