import type { Cache, CacheError } from '../../cache/cache.js'
import { type Clock, sleep } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'
import { type Frame, readCell } from '../frame.js'
import type { Grid } from '../grid.js'
import { MEMORY_KEYS, type MemoryRead } from './cache-memory.js'

/** Time for which a silent server is waited for before the watermark passes its cells. */
const SERVER_PATIENCE_MS = 60_000

/**
 * Wait before a silent server is asked a last time. It is long enough for the adapter to retry a
 * server that it takes for down, so that a server with a short stall is not given up.
 */
const LAST_CHANCE_MS = 1_500

/** Bytes of cells decoded before the process does other work. */
const PAUSE_BYTES = 512 * 1024

/** Contents of the cells of some layers. */
export interface LayersRead extends MemoryRead {
  readonly frames: Frame[]
  /** Bytes that are no frame of the kind. */
  readonly unreadable: Buffer[]
  /** The keys of the cells that held something. */
  readonly keys: string[]
  readonly bytes: number
  /** Cells whose server is silent and is waited for. */
  readonly unanswered: number
  /** The oldest layer with such a cell; `Infinity` if there is none. */
  readonly firstUnanswered: number
}

/** Silence of a server. */
interface Silence {
  /** Its beginning, by `clock.elapsed()`. */
  readonly since: number
  /** The key of a cell that it has not answered for. */
  readonly key: string
}

/** The servers that have been silent in one drain. */
export type SilentServers = Set<string>

export interface CellReaderParts {
  readonly cache: Cache
  readonly clock: Clock
  readonly logger: BurstLogger
  /** Starting value of the checksums of frames of the kind. */
  readonly stamp: number
}

/**
 * Reads the cells of one grid. A server that gives no usable answer is silent: its cells are
 * unanswered, and are waited for. A server that has been silent in all drains of
 * {@link SERVER_PATIENCE_MS} is given up: its cells are passed, and left to their writers.
 */
export class CellReader {
  readonly #parts: CellReaderParts
  readonly #grid: Grid
  /** Silence of each silent server, by its name. */
  readonly #silence = new Map<string, Silence>()

  constructor(parts: CellReaderParts, grid: Grid) {
    this.#parts = parts
    this.#grid = grid
  }

  /** Reads all cells of the layers `from` to `to` at once, and adds to `silent`. */
  async read(from: number, to: number, silent: SilentServers): Promise<LayersRead> {
    const layers = this.#cellsOf(from, to)
    // A private cache keeps its memory for as long as its process.
    const memoryKeys = this.#parts.cache.scope === 'shared' ? MEMORY_KEYS : []
    const forgotten = new Set(memoryKeys)
    const { cells, unanswered } = await this.#get([...layers.keys()], forgotten, silent)
    const memory: number[] = []
    for (const key of memoryKeys) {
      const value = cells.get(key)
      if (value === undefined) continue
      memory.push(Number(value.toString()))
      forgotten.delete(key)
      cells.delete(key)
    }
    const frames: Frame[] = []
    const unreadable: Buffer[] = []
    let bytes = 0
    let pauseAt = PAUSE_BYTES
    for (const cell of cells.values()) {
      if (bytes > pauseAt) {
        pauseAt = bytes + PAUSE_BYTES
        await sleep(this.#parts.clock, 0)
      }
      const content = readCell(cell, this.#parts.stamp)
      for (const frame of content.frames) frames.push(frame)
      unreadable.push(...content.unreadable)
      bytes += cell.length
    }
    let firstUnanswered = Infinity
    for (const key of unanswered) firstUnanswered = Math.min(firstUnanswered, layers.get(key)!)
    return {
      frames,
      unreadable,
      keys: [...cells.keys()],
      bytes,
      unanswered: unanswered.length,
      firstUnanswered,
      memory,
      forgotten: [...forgotten],
    }
  }

  /**
   * Ends a drain: forgets the silence of servers that answered in it. Asks those that no cell of
   * the drain lay on: otherwise they would be waited for anew as soon as a cell does.
   */
  async forgetSilence(silent: SilentServers): Promise<void> {
    const quiet = [...this.#silence].filter(([server]) => !silent.has(server))
    if (quiet.length === 0) return
    const unanswered = new Set<string>()
    const keys = quiet.map(([, { key }]) => key)
    await this.#parts.cache.getMany(keys, (key) => unanswered.add(key))
    for (const [server, { key }] of quiet) if (!unanswered.has(key)) this.#silence.delete(server)
  }

  /** Returns the keys of the cells of some layers, each with its layer. */
  #cellsOf(from: number, to: number): Map<string, number> {
    const layers = new Map<string, number>()
    for (let layer = from; layer <= to; layer++) {
      for (let column = 0; column < this.#grid.width; column++) {
        layers.set(this.#grid.keys.cell(layer, column), layer)
      }
    }
    return layers
  }

  /**
   * Reads cells, and other keys with them. Returns those that exist, and the keys of the cells that
   * are unanswered. Removes from `others` what is unanswered.
   */
  async #get(
    keys: readonly string[],
    others: Set<string>,
    silent: SilentServers,
  ): Promise<{ cells: Map<string, Buffer>; unanswered: string[] }> {
    const { cache, clock } = this.#parts
    /** The cells that have no answer, each with its silent server. */
    const servers = new Map<string, string>()
    // A server is silent from when it is asked on: the answer may be looked at much later.
    const elapsed = clock.elapsed()
    const cells = await cache.getMany([...keys, ...others], (key, error) => {
      if (others.delete(key)) return
      servers.set(key, error.server ?? '')
      this.#warn(error)
    })
    if (servers.size === 0) return { cells, unanswered: [] }
    await this.#askLastTime(cells, servers, silent, elapsed)
    const unanswered: string[] = []
    for (const [key, server] of servers) {
      if (!this.#isGivenUp(server, elapsed)) unanswered.push(key)
      if (!this.#silence.has(server)) this.#silence.set(server, { since: elapsed, key })
      silent.add(server)
    }
    return { cells, unanswered }
  }

  /**
   * Asks servers that are to be given up a last time, once in a drain. Moves what they answer from
   * `servers` to `cells`.
   */
  async #askLastTime(
    cells: Map<string, Buffer>,
    servers: Map<string, string>,
    silent: SilentServers,
    elapsed: number,
  ): Promise<void> {
    const { cache, clock } = this.#parts
    const keys = [...servers]
      .filter(([, server]) => this.#isGivenUp(server, elapsed) && !silent.has(server))
      .map(([key]) => key)
    if (keys.length === 0) return
    await sleep(clock, LAST_CHANCE_MS)
    const answered = new Set(keys)
    const found = await cache.getMany(keys, (key) => answered.delete(key))
    for (const [key, cell] of found) cells.set(key, cell)
    for (const key of answered) {
      this.#silence.delete(servers.get(key)!)
      servers.delete(key)
    }
  }

  #isGivenUp(server: string, elapsed: number): boolean {
    const silence = this.#silence.get(server)
    return silence !== undefined && elapsed - silence.since >= SERVER_PATIENCE_MS
  }

  #warn(error: CacheError): void {
    this.#parts.logger.warn(
      'unanswered',
      `wide-cache: a cache server does not answer the collector (${error.message}); after a ` +
        'minute the writers commit what is in its cells',
    )
  }
}
