import { type Cache, CacheError } from '../cache/cache.js'
import type { Database } from '../database/database.js'
import { type Clock, sleep } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { batchesOf, byWriter } from './batches.js'
import { type Frame, readCell } from './frame.js'
import type { Grid } from './grid.js'
import { type GridRecord, type Raise, WatermarkMoved } from './grid-record.js'
import type { Ledger } from './ledger.js'
import { type FrameLedger, settle } from './settle.js'

/** What one drain has done. Counts are rows unless they say otherwise. */
export interface DrainReport {
  /** Layers the watermark has risen by. */
  layers: number
  /** Cells that held something. */
  cells: number
  frames: number
  committed: number
  /** Rows of frames that had been settled before. */
  duplicate: number
  quarantined: number
  /** Cells whose server did not answer and is waited for. */
  unanswered: number
  /** The newest drained layer, after this. */
  watermark: number
}

/** Bytes of cells fetched at a time, about, and the most layers that they may come from. */
const FETCH_BYTES = 2 * 1024 * 1024
const FETCH_LAYERS = 64
/** Layers fetched first, when it is not known how full they are: those of a collecting period. */
const FIRST_LAYERS = 4
/** Bytes of cells taken apart before the process has a turn for other work. */
const TURN_BYTES = 512 * 1024

/** How long a cache server that does not answer is waited for before the watermark passes its cells. */
const SERVER_PATIENCE_MS = 60_000

/**
 * The last chance before that: long enough for the adapter to ask a server again that it takes for down, so
 * that one which merely stutters is not passed by.
 */
const LAST_CHANCE_MS = 1_500

/** How far ahead of the database's clock `all` looks: writers' clocks differ a little. */
const LAYERS_AHEAD = 2

/** Drains that may begin anew because another collector moved the watermark. */
const MAX_RESTARTS = 5

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
 * Drains old layers into SQL: reads all cells of the layers above the watermark that are old enough, brings
 * their frames into the ledger, raises the watermark with the last of them, and only then deletes the cells
 * and publishes the prefixes. Any number may run anywhere; safety is the ledger's.
 */
export class Collector {
  readonly #cache: Cache
  readonly #database: Database
  readonly #grid: Grid
  readonly #record: GridRecord
  readonly #ledger: FrameLedger & Pick<Ledger<unknown>, 'keepForeign'>
  readonly #clock: Clock
  readonly #logger: BurstLogger
  readonly #drainAfterLayers: number
  readonly #cellTtlSeconds: number
  readonly #maxCommitRows: number
  /** Since when each server has given no answer, by `clock.elapsed()`. */
  readonly #silent = new Map<string, number>()

  constructor(parts: {
    cache: Cache
    database: Database
    grid: Grid
    record: GridRecord
    ledger: FrameLedger & Pick<Ledger<unknown>, 'keepForeign'>
    clock: Clock
    logger: BurstLogger
    drainAfterLayers: number
    cellTtlSeconds: number
    maxCommitRows: number
  }) {
    this.#cache = parts.cache
    this.#database = parts.database
    this.#grid = parts.grid
    this.#record = parts.record
    this.#ledger = parts.ledger
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#drainAfterLayers = parts.drainAfterLayers
    this.#cellTtlSeconds = parts.cellTtlSeconds
    this.#maxCommitRows = parts.maxCommitRows
  }

  /**
   * Drains all layers that are old enough; with `all` also commits the younger ones, but neither deletes
   * them nor raises the watermark over them.
   */
  async drain({ all = false }: { all?: boolean | undefined } = {}): Promise<DrainReport> {
    const report: DrainReport = { layers: 0, cells: 0, frames: 0, committed: 0, duplicate: 0, quarantined: 0, unanswered: 0, watermark: 0 }
    let newest = 0
    for (let restarts = 0; ; restarts++) {
      try {
        newest = await this.#drainOld(report)
        break
      } catch (error) {
        if (!(error instanceof WatermarkMoved) || restarts >= MAX_RESTARTS) throw error
      }
    }
    if (all) await this.#commitYoung(newest + 1, report)
    return report
  }

  /** Drains from the watermark to the newest layer that is old enough, and returns that layer. */
  async #drainOld(report: DrainReport): Promise<number> {
    let watermark = await this.#record.watermark()
    report.watermark = watermark
    const present = this.#grid.layerAt(await this.#database.now())
    const newest = present - this.#drainAfterLayers
    // Nothing older than the TTL lives.
    let from = Math.max(watermark + 1, newest - this.#grid.layersIn(this.#cellTtlSeconds))
    let waits = false
    const silent = new Set<string>()
    let layers = FIRST_LAYERS
    while (from <= newest) {
      const to = Math.min(newest, from + layers - 1)
      const fetched = await this.#fetch(from, to, report, silent)
      const passable: number = waits ? watermark : Math.min(to, fetched.firstUnanswered - 1)
      waits ||= passable < to
      const raise = passable >= from ? { from: watermark, to: passable } : undefined
      await this.#commit(fetched.frames, report, raise)
      if (fetched.foreign.length > 0) await this.#keepForeign(fetched.foreign)
      await this.#delete(fetched.keys)
      if (raise) {
        report.layers += passable - watermark
        report.watermark = watermark = passable
      }
      from = to + 1
      layers = Math.max(1, Math.min(FETCH_LAYERS, Math.floor((FETCH_BYTES / Math.max(1, fetched.bytes)) * layers)))
    }
    for (const server of this.#silent.keys()) if (!silent.has(server)) this.#silent.delete(server)
    return newest
  }

  async #commitYoung(from: number, report: DrainReport): Promise<void> {
    const to = this.#grid.layerAt(await this.#database.now()) + LAYERS_AHEAD
    for (let layer = from; layer <= to; layer++) {
      const { frames } = await this.#fetch(layer, layer, report, new Set())
      await this.#commit(frames, report, undefined)
    }
  }

  /** Reads all cells of some layers at once, and adds to `silent` the servers that did not answer. */
  async #fetch(from: number, to: number, report: DrainReport, silent: Set<string>): Promise<Fetched> {
    const layers = new Map<string, number>()
    for (let layer = from; layer <= to; layer++) {
      for (let column = 0; column < this.#grid.width; column++) layers.set(this.#grid.cellKey(layer, column), layer)
    }
    const fetched: Fetched = { frames: [], foreign: [], keys: [], firstUnanswered: Infinity, bytes: 0 }
    const cells = await this.#ask([...layers.keys()], silent, (key) => {
      report.unanswered++
      fetched.firstUnanswered = Math.min(fetched.firstUnanswered, layers.get(key)!)
    })
    let turn = TURN_BYTES
    for (const [key, cell] of cells) {
      if (fetched.bytes > turn) {
        turn = fetched.bytes + TURN_BYTES
        await sleep(this.#clock, 0)
      }
      const { frames, foreign } = readCell(cell)
      fetched.keys.push(key)
      fetched.bytes += cell.length
      fetched.frames.push(...frames)
      fetched.foreign.push(...foreign)
    }
    report.cells += cells.size
    report.frames += fetched.frames.length
    return fetched
  }

  /**
   * The cells that exist. Those of servers that do not answer are reported to `wait`, unless the server has
   * been silent for longer than it is waited for, and a last time now.
   */
  async #ask(keys: readonly string[], silent: Set<string>, wait: (key: string) => void): Promise<Map<string, Buffer>> {
    const unanswered = new Map<string, string>()
    const cells = await this.#cache.getMany(keys, (key, error) => {
      unanswered.set(key, error.server ?? '')
      this.#logger.warn('unanswered', `wide-cache: a cache server does not answer the collector (${error.message}); its cells are waited for, then left to their writers`)
    })
    if (unanswered.size === 0) return cells
    const elapsed = this.#clock.elapsed()
    const hopeless = new Set([...this.#silent].filter(([, since]) => elapsed - since >= SERVER_PATIENCE_MS).map(([server]) => server))
    const last = [...unanswered].filter(([, server]) => hopeless.has(server) && !silent.has(server)).map(([key]) => key)
    if (last.length > 0) {
      await sleep(this.#clock, LAST_CHANCE_MS)
      const again = new Set(last)
      for (const [key, cell] of await this.#cache.getMany(last, (key) => again.delete(key))) cells.set(key, cell)
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

  /** Brings frames into the ledger, a batch a transaction; the watermark rises with the last. */
  async #commit(frames: readonly Frame[], report: DrainReport, raise: Raise | undefined): Promise<void> {
    const batches = batchesOf(byWriter(frames), this.#maxCommitRows)
    if (batches.length === 0 && raise) batches.push([])
    for (const [index, batch] of batches.entries()) {
      const settled = await settle(this.#ledger, batch, this.#logger, index === batches.length - 1 ? raise : undefined)
      report.committed += settled.committed
      report.duplicate += settled.duplicate
      report.quarantined += settled.quarantined
      await this.#publish(settled.prefixes)
    }
  }

  /** Tells writers how far all is settled. What goes astray is made good by the writer's own commit. */
  async #publish(prefixes: ReadonlyMap<string, number>): Promise<void> {
    await this.#quietly([...prefixes].map(([writer, prefix]) =>
      this.#cache.set(this.#grid.prefixKey(writer), Buffer.from(String(prefix)), this.#cellTtlSeconds)))
  }

  /** Removes cells whose frames are committed. What stays is passed by the watermark and ends with its TTL. */
  async #delete(keys: readonly string[]): Promise<void> {
    await this.#quietly(keys.map((key) => this.#cache.delete(key)))
  }

  async #keepForeign(foreign: readonly Buffer[]): Promise<void> {
    this.#logger.warn('foreign', 'wide-cache: a cell held bytes that are no frame; they are kept in wide_cache_quarantine')
    await this.#ledger.keepForeign(foreign)
  }

  /** Waits for cache operations whose failure harms nobody. */
  async #quietly(operations: Promise<unknown>[]): Promise<void> {
    for (const outcome of await Promise.allSettled(operations)) {
      if (outcome.status === 'rejected' && !(outcome.reason instanceof CacheError)) throw outcome.reason
    }
  }
}
