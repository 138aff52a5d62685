import type { Cache } from '../cache/cache.js'
import { Connections } from '../connections/connections.js'
import { CountingCache, CountingDatabase, errorsOf } from '../connections/counting.js'
import type { Database, Queryable } from '../database/database.js'
import { sleep } from '../support/clock.js'
import { idText } from '../support/id-text.js'
import { BurstLogger } from '../support/logger.js'
import { observeBy, type MetricsMeter } from '../metrics/open-telemetry.js'
import { prometheusText } from '../metrics/prometheus.js'
import { CachedRead, MEMO_MS } from './cached-read.js'
import { CachedReads } from './cached-reads.js'
import { ClockWatch } from './clock-watch.js'
import { completeUpTo } from './complete.js'
import { Chores } from './collector/chores.js'
import { Collecting } from './collector/collecting.js'
import { Collector, type DrainOptions } from './collector/collector.js'
import { stampOf } from './frame.js'
import { type Environment, keptAlive, systemEnvironment } from '../support/environment.js'
import { keyStart } from './grid.js'
import { GridRecord } from './ledger/grid-record.js'
import type { DrainReport } from './collector/grid-drain.js'
import { Ledger } from './ledger/ledger.js'
import { Marks } from './collector/marks.js'
import { type LiveTail, readLive } from './live.js'
import {
  PACKAGE_KINDS,
  type ReadContext,
  type RetentionContext,
  type Settings,
  settingsOf,
  type WideCacheOptions,
} from './options.js'
import type { Health } from './operations/health.js'
import { readNameState, type StateOfUse, type UseMetrics } from './operations/name-state.js'
import { metricsWith, Operations } from './operations/operations.js'
import { Runs } from './operations/runs.js'
import { type LedgerReport, ledgerReport } from './ledger/report.js'
import { PublishedWatermark } from './published-watermark.js'
import { collectPeriodSeconds } from '../support/schedule.js'
import { enterUse, type Use } from './ledger/use.js'
import type { CloseReport } from './writer/closing.js'
import { Writer } from './writer/writer.js'

/** Key of the figures that `read()` returns. */
const FIGURES = 'figures'

/** Key of the state of the name, and seconds for which one reading of it serves all processes. */
const STATE = 'state'
const STATE_TTL_SECONDS = 10

/**
 * Age of the watermark of a new grid in a shared cache, in seconds. The id of the grid is new, so
 * only writers whose clocks are behind place frames in past layers.
 */
const NEW_GRID_SECONDS = 300

/** Longest time that a live reading waits for the published watermark. */
const LIVE_PATIENCE_MS = 100

/** Settings of the package's own uses of the wide cache, beside their options. */
export interface OwnUse extends Partial<
  Pick<Use, 'kind' | 'keepSeconds' | 'historyDays' | 'repeatSeconds' | 'keep'>
> {
  /** Parts of the package whose tables `commit` uses. */
  readonly tables?: readonly string[]
  /**
   * Called by the process that collects: after each run by a cron line, otherwise after a run every
   * 10 s. Must take milliseconds only.
   */
  readonly afterRun?: (database: Database, context: RetentionContext) => Promise<void>
  /**
   * Metrics that the use adds to those of its name.
   *
   * @internal
   */
  readonly metrics?: UseMetrics
}

/**
 * Writes rows of any kind to SQL by a `commit` of the caller, in bulk and each exactly once.
 * `append` costs a request microseconds. The rows travel in frames through the grid in the cache,
 * and collectors bring the frames to SQL. If the collectors or the cache fail, the writer itself
 * does so. See docs/architecture.md for the protocol.
 *
 * @example
 * ```js
 * import { sqlite, WideCache } from 'wide-cache'
 *
 * const database = sqlite(':memory:')
 * await database.query('CREATE TABLE clicks (button VARCHAR(20))')
 * const clicks = new WideCache({
 *   name: 'clicks',
 *   database,
 *   async commit(rows, tx) {
 *     for (const row of rows) await tx.query('INSERT INTO clicks VALUES (?)', [row.button])
 *   },
 * })
 * clicks.append({ button: 'buy' })
 * await clicks.close()
 * await database.close()
 * ```
 */
export class WideCache<Row, Figures = unknown> {
  /** The cache that holds the grid, as opened. */
  readonly cache: Cache
  /** The database that the rows go to. */
  readonly database: Database
  readonly #settings: Settings<Row, Figures>
  readonly #environment: Environment
  readonly #use: Use
  readonly #useMetrics: UseMetrics | undefined
  readonly #connections: Connections<CloseReport>
  readonly #logger: BurstLogger
  readonly #record: GridRecord
  readonly #watch: ClockWatch
  readonly #marks: Marks
  readonly #published: PublishedWatermark
  readonly #writer: Writer<Row>
  readonly #collector: Collector
  readonly #cachedReads: CachedReads
  readonly #stamp: number
  readonly #runs: Runs
  readonly #operations: Operations
  readonly #observed: (() => void)[] = []
  readonly #startCollecting: (when: string | true) => void
  #collecting: Collecting | undefined
  #periodSeconds: number
  readonly #createdAt: number
  #draining: Promise<unknown> = Promise.resolve()

  /**
   * @throws TypeError, RangeError naming the option that is wrong, its value and what is allowed.
   */
  constructor(
    options: WideCacheOptions<Row, Figures>,
    environment: Environment = systemEnvironment,
    own: OwnUse = {},
  ) {
    const settings = settingsOf(options)
    const { kind = settings.kind, tables = [], afterRun } = own
    const { keepSeconds = 0, historyDays = 0, repeatSeconds = 0, keep = '' } = own
    this.#connections = new Connections('WideCache', settings.name, environment)
    const { clock, newId } = environment
    const cache = new CountingCache(this.#connections.openCache(options.cache), clock)
    const database = this.#connections.openDatabase(options.database, ['wide-cache', ...tables], {
      logger: settings.logger,
      through: (opened) => CountingDatabase.of(opened, clock),
      enter: (itself) => this.#enter(itself),
    })
    this.cache = cache
    this.database = database
    this.#settings = settings
    this.#environment = environment
    this.#use = {
      kind,
      cellTtlSeconds: settings.cellTtlSeconds,
      keepSeconds,
      historyDays,
      repeatSeconds,
      keep,
    }
    this.#useMetrics = own.metrics
    this.#createdAt = clock.elapsed()
    this.#logger = new BurstLogger(settings.logger, () => clock.elapsed())
    this.#runs = new Runs(environment)
    this.#watch = new ClockWatch(clock, this.#logger)
    const owner = newId()
    this.#record = new GridRecord({
      name: settings.name,
      geometry: settings,
      owner,
      scope: cache.scope,
      newId,
    })
    const parts = {
      ...settings,
      cache,
      database,
      environment,
      clock,
      newId,
      logger: this.#logger,
      record: this.#record,
      watch: this.#watch,
      stamp: stampOf(kind),
    }
    this.#stamp = parts.stamp
    this.#marks = new Marks(parts)
    const published = new PublishedWatermark(parts)
    this.#published = published
    const ledger = new Ledger<Row>(parts)
    this.#writer = new Writer<Row>({
      ...parts,
      published,
      grid: () => this.#record.grid,
      apart: () => this.#marks.apart,
      ledger,
      enter: () => database.migrate(),
      compare: () => this.#compare(),
    })
    const collector = new Collector({ ...parts, ledger, marks: this.#marks, published })
    this.#collector = collector
    const reads = {
      ...parts,
      keyStart: async () => {
        await database.migrate()
        return keyStart(this.#record.grid!.id)
      },
    }
    this.#cachedReads = new CachedReads({ ...reads, ttlSeconds: settings.readTtlSeconds })
    const state = new CachedRead({
      ...reads,
      key: STATE,
      ttlSeconds: STATE_TTL_SECONDS,
      query: () => this.#readState(),
    })
    this.#operations = new Operations({
      ...parts,
      privateTo: cache.scope === 'private' ? idText(owner) : null,
      cacheErrors: cache.errors,
      databaseErrors: errorsOf(database.database),
      writer: this.#writer,
      runs: this.#runs,
      readState: () => state.read(),
      useMetrics: own.metrics?.table,
      isOpen: () => this.#connections.isOpen,
    })
    this.#periodSeconds = settings.periodSeconds
    this.#startCollecting = (when) => {
      this.#periodSeconds = collectPeriodSeconds(when, settings.layerSeconds)
      const collecting = {
        ...parts,
        published,
        collector,
        chores: new Chores({ ...parts, afterRun, steady: when === true }),
        runs: this.#runs,
        drain: (drain: DrainOptions) => this.#drain(drain),
        compare: () => this.#compare(),
      }
      this.#collecting = new Collecting(collecting, when, this.#periodSeconds)
    }
    if (settings.collect !== false) this.#startCollecting(settings.collect)
  }

  /**
   * Starts to collect, by a cron line or as soon as layers are old enough, unless this process
   * collects already. For a command that collects for processes that do not. Returns the scope of
   * the cache: nothing of other processes can be collected from a private one.
   *
   * @throws TypeError, RangeError if `when` is neither `true` nor a cron line
   * @internal
   */
  collectBy(when: string | true): Cache['scope'] {
    this.#connections.check()
    if (!this.#collecting) this.#startCollecting(when)
    return this.cache.scope
  }

  /**
   * Records a row. Never throws, never waits, does no I/O on the caller's tick. A row that cannot
   * be taken (too large for a frame, not encodable, no room left) is dropped and counted in
   * `ledger().dropped`.
   */
  append(row: Row): void {
    this.#writer.append(row)
  }

  /**
   * Resolves when all rows taken so far are in the cache or in SQL. Rejects when neither takes
   * them; they are kept.
   */
  flush(): Promise<void> {
    return this.#connections.run(() => keptAlive(this.#environment, () => this.#writer.flush()))
  }

  /**
   * Brings all layers that are old enough to SQL. With `all`, also brings the younger ones, so that
   * everything flushed is in SQL afterwards. Scheduled collectors do this by themselves.
   */
  drain(options: { all?: boolean } = {}): Promise<DrainReport> {
    return this.#connections.run(() => this.#drain(options))
  }

  async #drain(options: DrainOptions): Promise<DrainReport> {
    const mine = this.#draining.then(() => this.#runs.count(() => this.#collector.drain(options)))
    this.#draining = mine.catch(() => undefined)
    return keptAlive(this.#environment, () => mine)
  }

  /** Returns what became of all rows. */
  ledger(): Promise<LedgerReport> {
    return this.#connections.run(() => keptAlive(this.#environment, () => this.#ledgerReport()))
  }

  /**
   * Returns the figures of the option `read`, at most `readTtlSeconds` old. While SQL is away,
   * returns the last good figures.
   */
  read(): Promise<Figures> {
    const { read } = this.#settings
    if (!read) {
      return Promise.reject(
        new TypeError('wide-cache: read() needs the option "read", a function (database, context)'),
      )
    }
    return this.readCached(FIGURES, read)
  }

  /**
   * Time of the database's clock, or of this process's as long as that is not known; in
   * milliseconds since the Unix epoch.
   *
   * @internal
   */
  get now(): number {
    return this.#watch.estimate ?? this.#environment.clock.now()
  }

  /**
   * Returns the figures of the parameter `read`, cached like those of {@link read}. `key` tells
   * them from other figures of the name. There are few keys, or old ones go out of use.
   *
   * @internal
   */
  readCached<Other>(
    key: string,
    read: (database: Queryable, context: ReadContext) => Promise<Other>,
  ): Promise<Other> {
    return this.#connections.run(() => this.#cachedReads.read(key, () => this.#query(read)))
  }

  /**
   * Reads the rows in the cells of the layers from `since` on, in milliseconds since the Unix
   * epoch. They are not settled. Asks the cache only, once the grid is known from SQL.
   *
   * @internal
   */
  readLive(since: number, onRow: (row: Row) => void): Promise<LiveTail> {
    return this.#connections.run(async () => {
      if (!this.#record.grid) await this.database.migrate()
      const { clock } = this.#environment
      const grid = this.#record.grid!
      // Where this process's clock is behind, frames are placed in the collectors' present.
      await this.#published.refresh(grid, LIVE_PATIENCE_MS)
      const present = this.#published.layerOf(grid, clock.now())
      return readLive(
        { ...this.#settings, cache: this.cache, grid, clock, stamp: this.#stamp },
        // `asOf` is so much before the end of the newest drained layer.
        { since: since + this.#settings.flushMs, now: grid.endOf(present) - 1 },
        onRow,
      )
    })
  }

  /**
   * Returns the metrics as text for Prometheus: those of the name, from SQL, at most about 10 s old
   * and the same from every process, and those of this process. Never waits for SQL for longer than
   * 3 s. While SQL is away, the last figures are served with their age.
   */
  metrics(): Promise<string> {
    return this.#connections.run(() =>
      keptAlive(this.#environment, async () => prometheusText(await this.#operations.readings())),
    )
  }

  /**
   * Lets a meter of OpenTelemetry observe the same figures, until `close()`. They are read once per
   * collection.
   *
   * @throws TypeError
   */
  instrument(meter: MetricsMeter): void {
    this.#connections.check()
    this.#observed.push(
      observeBy(meter, metricsWith(this.#useMetrics?.table), () => this.#operations.readings()),
    )
  }

  /**
   * Tells whether this process works, from what it knows already: waits for no server. A problem
   * with tracking never makes the process unready. It has a sentence in `reasons`.
   */
  health(): Health {
    return this.#operations.health()
  }

  /**
   * Returns the reasons why a process that only collects is not ready; empty if it is.
   *
   * @internal
   */
  collectingTroubles(): Promise<string[]> {
    return this.#connections.run(() => this.#operations.collectingTroubles())
  }

  /**
   * Brings the tables up to this version and enters the grid. Runs by itself before the first use
   * of SQL.
   */
  migrate(): Promise<void> {
    return this.#connections.run(() => keptAlive(this.#environment, () => this.database.migrate()))
  }

  /**
   * Stops collecting, brings all rows that it holds to SQL within `closeTimeoutMs`, and closes the
   * connections that it has opened. Idempotent. Returns what became of these rows. From then on all
   * other methods but `append` and `health` fail with a {@link ClosedError}.
   */
  close(): Promise<CloseReport> {
    return this.#connections.close(() => keptAlive(this.#environment, () => this.#close()))
  }

  async #close(): Promise<CloseReport> {
    const { clock } = this.#environment
    const timeout = sleep(clock, this.#settings.closeTimeoutMs)
    this.#collecting?.stop()
    for (const end of this.#observed) end()
    const report = await this.#writer.close()
    await Promise.race([Promise.all([this.#collecting?.end(), this.#connections.idle()]), timeout])
    await this.#writer.end(timeout)
    await this.#connections.releaseBy(timeout)
    return report
  }

  /** Enters the grid. Done whenever the tables have been migrated. */
  async #enter(database: Queryable): Promise<void> {
    const { name, cellTtlSeconds, layerSeconds } = this.#settings
    await enterUse(database, name, this.#use)
    const now = await this.#watch.now(database)
    const ageMs = this.#environment.clock.elapsed() - this.#createdAt
    // A private cache has no cells older than this process.
    const oldest = this.cache.scope === 'private' ? ageMs / 1000 + layerSeconds : NEW_GRID_SECONDS
    await this.#record.enter(
      database,
      now,
      Math.min(oldest, cellTtlSeconds),
      Math.floor(now - ageMs),
    )
  }

  async #readState(): Promise<StateOfUse | null> {
    const now = await this.#watch.now(this.database)
    const { name } = this.#settings
    const state = await readNameState(this.database, name, now)
    if (!state) return null
    return { ...state, ofUse: (await this.#useMetrics?.read(this.database, name)) ?? {} }
  }

  #ledgerReport(): Promise<LedgerReport> {
    return ledgerReport(this.database, this.#settings.name, this.#settings.vanishedSeconds, () =>
      this.#writer.totals(),
    )
  }

  async #compare(): Promise<void> {
    await this.#marks.compare()
    // Unused for so long that it was forgotten.
    if (!this.#record.grid) await this.#enter(this.database)
  }

  async #query<Other>(
    read: (database: Queryable, context: ReadContext) => Promise<Other>,
  ): Promise<Other> {
    const { name } = this.#settings
    return read(this.database, { name, ...(await this.#complete()) })
  }

  /**
   * Returns the moment up to which all is in SQL, whether it is longer ago than it should be, and
   * when it will be.
   */
  async #complete(): Promise<Omit<ReadContext, 'name'>> {
    const { name, readTtlSeconds, directSeconds } = this.#settings
    const now = await this.#watch.now(this.database)
    const states = await this.#record.states(this.database)
    const { asOf, overdueMs, byWriters } = completeUpTo(states, now, this.#settings)
    // A new grid has its watermark long ago, and its first collector is yet to run.
    const known = this.#environment.clock.elapsed() - this.#createdAt > directSeconds * 1000
    if (byWriters && known) {
      this.#logger.warnOnce(
        'no collector',
        `wide-cache: nobody collects "${name}", so its figures are ${directSeconds} s old; ` +
          remedyFor(this.#use.kind),
      )
    }
    return {
      asOf,
      stale: overdueMs > 0,
      staleAt: now - overdueMs + readTtlSeconds * 1000 + MEMO_MS,
    }
  }
}

/** Returns what to do if no process collects rows of a kind, for the log. */
function remedyFor(kind: string): string {
  return PACKAGE_KINDS.includes(kind)
    ? 'start "node_modules/.bin/wide-cache collect" beside the web processes ("npx wide-cache ' +
        'collect" in a terminal), or leave out collect: false in one of them'
    : 'leave out collect: false in one of its processes, or start "wide-cache collect --module" ' +
        'with a file that exports it'
}
