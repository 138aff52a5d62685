import type { Connections } from '../connections/connections.js'
import type { NamespacedCache } from '../connections/namespaced-cache.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import { CachedReads } from './cached-reads.js'
import { Chores } from './collector/chores.js'
import { Completeness } from './completeness.js'
import type { ReadContext } from './contexts.js'
import type { EngineParts } from './engine-parts.js'
import type { EngineSettings } from './engine-settings.js'
import { type LedgerReport, ledgerReport } from './ledger/report.js'
import { type LiveTail, readLive } from './live.js'
import { Operations } from './operations/operations.js'
import type { CloseReport } from './writer/closing.js'
import { Writer } from './writer/writer.js'

/** Longest time that a live reading waits for the published watermark. */
const LIVE_PATIENCE_MS = 100

/**
 * Records and reads the rows of one name. Does not know what the rows are: activity, hits or a
 * WideCache hand in how they are committed, kept and told of.
 */
export class Engine<Row> {
  readonly name: string
  /** Tracks the calls under way, from creation to closing. Owns the cache and the database. */
  readonly connections: Connections<CloseReport>
  readonly environment: Environment
  /** The database's clock, or the process's own before that is known. */
  readonly clock: Clock
  readonly cache: NamespacedCache
  /** For what reads: nothing is entered before it is used. */
  readonly database: PreparedDatabase
  readonly settings: EngineSettings<Row>
  readonly writer: Writer<Row>
  readonly operations: Operations
  /** What the process that collects does for the rows. */
  readonly chores: Chores
  readonly #parts: EngineParts<Row>
  readonly #measure: number
  readonly #completeness: Completeness
  readonly #reads: CachedReads

  /** @param measure its place among those of the grid */
  constructor(shared: EngineParts<Row>, settings: EngineSettings<Row>, measure: number) {
    const { name, readTtlSeconds: ttlSeconds } = settings
    const { record, entered, decision } = shared
    const parts = { ...shared, settings, measure }
    this.name = name
    this.connections = shared.connections
    this.environment = shared.environment
    this.clock = shared.recording.clock
    this.cache = shared.cache
    this.database = shared.reading
    this.settings = settings
    this.#parts = shared
    this.#measure = measure
    this.writer = new Writer({
      ...parts,
      database: {
        async migrate() {
          // It had no rows when it last entered, and so has not decided about the time zone.
          if (decision.isOpen) shared.database.prepareAgain()
          decision.isOpen = false
          await shared.database.migrate()
        },
      },
      environment: shared.recording,
      // No frame is placed before SQL knows whose it is.
      record: {
        get grid() {
          return entered.has(name) ? record.grid : undefined
        },
      },
    })
    this.#completeness = new Completeness(parts)
    this.#reads = new CachedReads({ ...parts, name, ttlSeconds })
    this.operations = new Operations({ ...parts, writer: this.writer })
    this.chores = new Chores(parts)
  }

  /** Returns what became of all rows. */
  report(): Promise<LedgerReport> {
    return ledgerReport(this.database, this.name, () => this.writer.totals())
  }

  /**
   * Returns the figures that `read` reads, from the cache if they are at most `readTtlSeconds` old,
   * and the last good ones while SQL is away. `key` tells them from other figures of the name.
   * 200 keys are remembered; beyond that, the least recently used one is forgotten.
   */
  read<Figures>(
    key: string,
    read: (database: Queryable, context: ReadContext) => Promise<Figures>,
  ): Promise<Figures> {
    const { name } = this
    return this.#reads.read(key, async () => {
      const { readAt, ...context } = await this.#completeness.read()
      return { readAt, figures: await read(this.database, { name, ...context }) }
    })
  }

  /** Lets the next callers get figures that are read anew. Only for a private cache. */
  forgetFigures(): void {
    this.#reads.forget()
  }

  /**
   * Reads the rows in the cells of the layers from `since` on, in milliseconds since the Unix
   * epoch. They are on their way to SQL. Asks the cache only, once the grid is known from SQL.
   */
  async readLive(since: number, onRow: (row: Row) => void): Promise<LiveTail> {
    const { cache, record, published, stamp } = this.#parts
    const { clock } = this
    if (!record.grid) await record.refresh(this.database)
    if (!record.grid) await this.#parts.database.migrate()
    const grid = record.grid!
    // Where this process's clock is behind, frames are placed in the collectors' present.
    await published.refresh(grid, LIVE_PATIENCE_MS)
    const present = published.layerOf(grid, clock.now())
    return readLive(
      { cache, grid, stamp, measure: this.#measure, codec: this.settings.codec, clock },
      { since, now: grid.layers.endOf(present) - 1 },
      onRow,
    )
  }
}
