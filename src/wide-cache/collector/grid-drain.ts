import { type Cache, CacheError } from '../../cache/cache.js'
import { type Database, DatabaseError } from '../../database/database.js'
import { type Clock, sleep } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'
import type { ClockWatch } from '../clock-watch.js'
import { type Frame, readCell } from '../frame.js'
import type { Grid } from '../grid.js'
import { batchesOf, byWriter } from '../ledger/batches.js'
import type { Raise } from '../ledger/grid-record.js'
import { frameKey, type Ledger, type Settled } from '../ledger/ledger.js'
import { type FrameLedger, settle } from '../ledger/settle.js'

/** What one drain has done. Counts are rows unless they say otherwise. */
export interface DrainReport {
  /** Layers the watermark has risen by. */
  layers: number
  /** Cells that held something. */
  cells: number
  frames: number
  committed: number
  /** Rows that came again and had been settled before. */
  duplicate: number
  quarantined: number
  /** Cells whose server did not answer and is waited for. */
  unanswered: number
  /** The newest drained layer, after this. */
  watermark: number
}

/** What draining takes, whichever grid it is. */
export interface DrainParts {
  readonly cache: Cache
  readonly database: Database
  readonly ledger: FrameLedger & Pick<Ledger<unknown>, 'keepForeign'>
  readonly watch: ClockWatch
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly drainAfterLayers: number
  readonly cellTtlSeconds: number
  readonly maxCommitRows: number
  /** What the frames of its kind are sealed with. */
  readonly stamp: number
}

/** Bytes of cells fetched at a time, about, and the most layers that they may come from. */
const FETCH_BYTES = 2 * 1024 * 1024
const FETCH_LAYERS = 64
/** Layers fetched first, when it is not known how full they are: those of a collecting period. */
const FIRST_LAYERS = 4
/** Bytes of cells taken apart before the process has a turn for other work. */
const TURN_BYTES = 512 * 1024

/**
 * How long a cache server that does not answer is waited for before the watermark passes its cells.
 */
const SERVER_PATIENCE_MS = 60_000

/**
 * The last chance before that: long enough for the adapter to ask a server again that it takes for
 * down, so that one which merely stutters is not passed by.
 */
const LAST_CHANCE_MS = 1_500

/** How far ahead of the database's clock `all` looks: writers' clocks differ a little. */
const LAYERS_AHEAD = 2

/**
 * Most frames remembered of cells that are to be read again; past it, reading them again counts as
 * duplicates.
 */
const MAX_READ = 200_000

/** What the cells of some layers held. */
interface Fetched {
  frames: Frame[]
  foreign: Buffer[]
  keys: string[]
  /** The oldest layer with a cell that must be waited for. */
  firstUnanswered: number
  bytes: number
}

/**
 * Drains one grid: reads all cells of the layers above the watermark that are old enough, brings
 * their frames into the ledger, raises the watermark with the last of them, and only then deletes
 * the cells. Any number of processes may do so; safety is the ledger's.
 */
export class GridDrain {
  readonly #parts: DrainParts
  readonly #grid: Grid
  /** Since when each server has given no answer, by `clock.elapsed()`. */
  readonly #silent = new Map<string, number>()
  /** Frames settled here out of cells that still stand. */
  readonly #read = new Set<string>()
  /**
   * The ledger. What it has settled is remembered at once: of a batch that is halved the rest may
   * fail.
   */
  readonly #remembering: FrameLedger
  /**
   * From where layers are still to be drained that lie below a watermark which the database's clock
   * had raised too far, until all of them have been.
   */
  #againFrom: number | undefined
  /** When the database's clock last went back, as far as that has been seen to. */
  #wentBackAt = -Infinity

  constructor(parts: DrainParts, grid: Grid) {
    this.#parts = parts
    this.#grid = grid
    const settled = async (frames: readonly Frame[], settling: Promise<Settled>) => {
      const result = await settling
      this.#remember(frames)
      return result
    }
    this.#remembering = {
      commit: (frames, options) => settled(frames, parts.ledger.commit(frames, options)),
      quarantine: (frames, reason, options) =>
        settled(frames, parts.ledger.quarantine(frames, reason, options)),
    }
  }

  /**
   * Drains from `watermark` to the newest layer that is old enough, and returns that layer.
   *
   * @param mark what the cache shows that this collector has put there
   * @throws WatermarkMoved
   */
  async old(watermark: number, mark: Buffer | undefined, report: DrainReport): Promise<number> {
    const { drainAfterLayers, cellTtlSeconds, watch, database } = this.#parts
    const newest = this.#grid.layerAt(await watch.now(database)) - drainAfterLayers
    // The clock was ahead when the watermark rose: what has been written since lies below it, and
    // is drained without raising it.
    if (watch.wentBackAt > this.#wentBackAt) this.#againFrom = -Infinity
    this.#wentBackAt = watch.wentBackAt
    if (watermark > newest) this.#againFrom ??= -Infinity
    // Nothing older than the TTL lives.
    let from = Math.max(
      this.#againFrom ?? watermark + 1,
      newest - this.#grid.layersIn(cellTtlSeconds),
    )
    let waits = false
    let raised = watermark
    const silent = new Set<string>()
    let layers = FIRST_LAYERS
    while (from <= newest) {
      const to = Math.min(newest, from + layers - 1)
      const fetched = await this.#fetch(from, to, report, silent)
      const passable: number = waits ? raised : Math.min(to, fetched.firstUnanswered - 1)
      waits ||= passable < to
      const raise =
        passable >= from && passable > raised
          ? { grid: this.#grid, from: raised, to: passable, mark, used: fetched.frames.length > 0 }
          : undefined
      await this.#commit(fetched.frames, report, raise)
      if (fetched.foreign.length > 0) await this.#keepForeign(fetched.foreign)
      await this.#delete(fetched)
      if (raise) {
        report.layers += passable - raised
        raised = passable
      }
      if (this.#againFrom !== undefined && !waits) this.#againFrom = to + 1
      from = to + 1
      layers = Math.max(
        1,
        Math.min(FETCH_LAYERS, Math.floor((FETCH_BYTES / Math.max(1, fetched.bytes)) * layers)),
      )
    }
    if (this.#againFrom !== undefined && this.#againFrom > watermark) this.#againFrom = undefined
    for (const server of this.#silent.keys()) if (!silent.has(server)) this.#silent.delete(server)
    report.watermark = raised
    return newest
  }

  /**
   * Commits the layers above `newest` too, but neither deletes them nor raises the watermark over
   * them.
   */
  async young(newest: number, report: DrainReport): Promise<void> {
    const to = this.#grid.layerAt(await this.#parts.watch.now(this.#parts.database)) + LAYERS_AHEAD
    for (let layer = newest + 1; layer <= to; layer++) {
      const { frames } = await this.#fetch(layer, layer, report, new Set())
      await this.#commit(frames, report, undefined)
    }
  }

  /**
   * Reads all cells of some layers at once, and adds to `silent` the servers that did not answer.
   */
  async #fetch(
    from: number,
    to: number,
    report: DrainReport,
    silent: Set<string>,
  ): Promise<Fetched> {
    const layers = new Map<string, number>()
    for (let layer = from; layer <= to; layer++) {
      for (let column = 0; column < this.#grid.width; column++) {
        layers.set(this.#grid.cellKey(layer, column), layer)
      }
    }
    const fetched: Fetched = {
      frames: [],
      foreign: [],
      keys: [],
      firstUnanswered: Infinity,
      bytes: 0,
    }
    const cells = await this.#ask([...layers.keys()], silent, (key) => {
      report.unanswered++
      fetched.firstUnanswered = Math.min(fetched.firstUnanswered, layers.get(key)!)
    })
    let turn = TURN_BYTES
    for (const [key, cell] of cells) {
      if (fetched.bytes > turn) {
        turn = fetched.bytes + TURN_BYTES
        await sleep(this.#parts.clock, 0)
      }
      const { frames, foreign } = readCell(cell, this.#parts.stamp)
      fetched.keys.push(key)
      fetched.bytes += cell.length
      for (const frame of frames) fetched.frames.push(frame)
      fetched.foreign.push(...foreign)
    }
    report.cells += cells.size
    report.frames += fetched.frames.length
    return fetched
  }

  /**
   * The cells that exist. Those of servers that do not answer are reported to `wait`, unless the
   * server has been silent for longer than it is waited for, and a last time now.
   */
  async #ask(
    keys: readonly string[],
    silent: Set<string>,
    wait: (key: string) => void,
  ): Promise<Map<string, Buffer>> {
    const { cache, clock, logger } = this.#parts
    const unanswered = new Map<string, string>()
    const cells = await cache.getMany(keys, (key, error) => {
      unanswered.set(key, error.server ?? '')
      logger.warn(
        'unanswered',
        `wide-cache: a cache server does not answer the collector (${error.message}); its ` +
          'cells are waited for, then left to their writers',
      )
    })
    if (unanswered.size === 0) return cells
    const elapsed = clock.elapsed()
    const hopeless = new Set(
      [...this.#silent]
        .filter(([, since]) => elapsed - since >= SERVER_PATIENCE_MS)
        .map(([server]) => server),
    )
    const last = [...unanswered]
      .filter(([, server]) => hopeless.has(server) && !silent.has(server))
      .map(([key]) => key)
    if (last.length > 0) {
      await sleep(clock, LAST_CHANCE_MS)
      const again = new Set(last)
      for (const [key, cell] of await cache.getMany(last, (key) => again.delete(key))) {
        cells.set(key, cell)
      }
      for (const key of again) {
        hopeless.delete(unanswered.get(key)!)
        this.#silent.delete(unanswered.get(key)!)
        unanswered.delete(key)
      }
    }
    for (const [key, server] of unanswered) {
      silent.add(server)
      if (!this.#silent.has(server)) this.#silent.set(server, elapsed)
      if (!hopeless.has(server)) wait(key)
    }
    return cells
  }

  /**
   * Brings frames into the ledger, a batch a transaction; the watermark rises with the last. A
   * batch that another transaction's locks stop does not stop those behind it, but the watermark
   * stays.
   */
  async #commit(
    frames: readonly Frame[],
    report: DrainReport,
    raise: Raise | undefined,
  ): Promise<void> {
    const batches = batchesOf(byWriter(frames), this.#parts.maxCommitRows)
    if (batches.length === 0 && raise) batches.push([])
    let locked: DatabaseError | undefined
    for (const [index, batch] of batches.entries()) {
      const last = index === batches.length - 1
      try {
        const settled = await settle(this.#remembering, batch, this.#parts.logger, {
          raise: last && !locked ? raise : undefined,
          read: this.#read,
        })
        report.committed += settled.committed
        report.duplicate += settled.duplicate
        report.quarantined += settled.quarantined
      } catch (error) {
        if (!(error instanceof DatabaseError && error.kind === 'lock')) throw error
        locked = error
      }
    }
    if (locked) throw locked
  }

  #remember(frames: readonly Frame[]): void {
    if (this.#read.size > MAX_READ) this.#read.clear()
    for (const frame of frames) this.#read.add(frameKey(frame))
  }

  /**
   * Removes cells whose frames are committed. What stays is passed by the watermark and ends with
   * its TTL.
   */
  async #delete({ keys, frames }: Fetched): Promise<void> {
    for (const frame of frames) this.#read.delete(frameKey(frame))
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
