import type { Connections } from '../connections/connections.js'
import type { NamespacedCache } from '../connections/namespaced-cache.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable } from '../database/database.js'
import { type Clock, timeLimit } from '../support/clock.js'
import { within } from '../support/within.js'
import type { Environment } from '../support/environment.js'
import { added } from '../support/added.js'
import { CachedReads } from './cached-reads.js'
import { Collector } from './collector/collector.js'
import type { DrainReport } from './collector/drain-report.js'
import type { DrainOptions } from './collector/name-drain.js'
import { Completeness } from './completeness.js'
import type { ReadContext } from './contexts.js'
import { type EngineParts, engineParts } from './engine-parts.js'
import type { EngineSettings } from './engine-settings.js'
import { collectPeriodSeconds, defaultLine } from './grid-options.js'
import { type LedgerReport, ledgerReport } from './ledger/report.js'
import { type LiveTail, readLive } from './live.js'
import { Operations } from './operations/operations.js'
import type { CloseReport } from './writer/closing.js'
import { Writer } from './writer/writer.js'
import { WriteProof } from './write-proof.js'

/** Longest time that a live reading waits for the published watermark. */
const LIVE_PATIENCE_MS = 100

/** Longest time that a process waits at its end until its private grid is given up. */
const RETIRE_MS = 500

/**
 * Puts the writer, the collector and the ledger of one name together. Does not know what the rows
 * are: activity, hits or a WideCache hand in how they are committed, kept and told of.
 */
export class Engine<Row> {
  /** Tracks the calls under way, from creation to closing. Owns the cache and the database. */
  readonly connections: Connections<CloseReport>
  readonly environment: Environment
  /** The database's clock, or the process's own before that is known. */
  readonly clock: Clock
  readonly cache: NamespacedCache
  readonly database: PreparedDatabase
  readonly writer: Writer<Row>
  readonly operations: Operations
  readonly #parts: EngineParts<Row>
  readonly #writeProof: WriteProof
  readonly #completeness: Completeness
  readonly #reads: CachedReads
  readonly #letEnd: (() => void) | undefined
  #collector: Collector | undefined

  /**
   * @param beside another engine of the same object, whose cache, database and clock this one uses
   * @throws TypeError, RangeError naming the option `cache` or `database`
   */
  constructor(
    connections: Connections<CloseReport>,
    settings: EngineSettings<Row>,
    environment: Environment,
    beside?: Engine<Row>,
  ) {
    const heldMs = (): number => this.writer.figures.heldMs
    const parts = engineParts(connections, settings, environment, heldMs, beside && beside.#parts)
    const { cache } = parts
    this.connections = connections
    this.environment = environment
    this.clock = parts.recording.clock
    this.cache = cache
    this.database = parts.database
    this.#parts = parts
    this.writer = new Writer({ ...parts, environment: parts.recording })
    this.#writeProof = new WriteProof(parts)
    this.#completeness = new Completeness({ ...parts, writeProof: this.#writeProof })
    const { name, readTtlSeconds: ttlSeconds } = settings
    this.#reads = new CachedReads({ cache, environment, name, ttlSeconds })
    this.operations = new Operations({ ...parts, connections, writer: this.writer })
    if (settings.collect !== false) this.collect(settings.collect)
    this.#letEnd = settings.staysToCollect ? environment.keepAlive?.() : undefined
  }

  /**
   * Starts to collect by a cron line, or by the default of the option `collect`, unless it does so
   * already.
   *
   * @throws TypeError, RangeError if `line` is no cron line
   */
  collect(line = defaultLine(this.#parts.settings.layerSeconds)): void {
    this.#collector ??= new Collector(this.#parts, line, collectPeriodSeconds(line))
  }

  /** Drains, after the drains that are under way. */
  drain(options: DrainOptions): Promise<DrainReport> {
    return this.#parts.turns.drain(options)
  }

  /** Returns what became of all rows. */
  report(): Promise<LedgerReport> {
    return ledgerReport(this.database, this.#parts.settings.name, () => this.writer.totals())
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
    const { name } = this.#parts.settings
    return this.#reads.read(key, async () => {
      const { readAt, ...context } = await this.#completeness.read()
      return { readAt, figures: await read(this.database, { name, ...context }) }
    })
  }

  /**
   * Reads the rows in the cells of the layers from `since` on, in milliseconds since the Unix
   * epoch. They are on their way to SQL. Asks the cache only, once the grid is known from SQL.
   */
  async readLive(since: number, onRow: (row: Row) => void): Promise<LiveTail> {
    const { settings, cache, record, published, stamp } = this.#parts
    const { clock } = this
    if (!record.grid) await this.database.migrate()
    const grid = record.grid!
    // Where this process's clock is behind, frames are placed in the collectors' present.
    await published.refresh(grid, LIVE_PATIENCE_MS)
    const present = published.layerOf(grid, clock.now())
    return readLive(
      { cache, grid, stamp, codec: settings.codec, clock },
      { since, now: grid.layers.endOf(present) - 1 },
      onRow,
    )
  }

  /**
   * Stops collecting, brings all rows to SQL within `closeTimeoutMs`, waits for what is under way,
   * and closes the connections. The connections must take no more work by then. The engines
   * `beside` it are closed meanwhile, within the same time. Returns what became of the rows of all.
   */
  async close(beside: readonly Engine<Row>[] = []): Promise<CloseReport> {
    const { settings, clock } = this.#parts
    const limit = timeLimit(clock, settings.closeTimeoutMs)
    const reports = await Promise.all([this, ...beside].map((engine) => engine.#end(limit.over)))
    await this.connections.releaseBy(limit.over)
    limit.cancel()
    return added(reports)
  }

  async #end(timeout: Promise<unknown>): Promise<CloseReport> {
    this.#letEnd?.()
    this.#collector?.stop()
    this.#writeProof.stop()
    const report = await this.writer.close()
    await Promise.race([Promise.all([this.#collector?.end(), this.connections.idle()]), timeout])
    await this.writer.end(timeout)
    await this.#retireGrid()
    return report
  }

  /**
   * Gives up a grid that ends with its process, so that figures need not wait for it. If SQL does
   * not answer, it ages out. Never rejects.
   */
  async #retireGrid(): Promise<void> {
    const { record, clock } = this.#parts
    if (this.cache.scope !== 'private' || !record.grid) return
    await within(RETIRE_MS, record.retire(this.database), clock)
  }
}
