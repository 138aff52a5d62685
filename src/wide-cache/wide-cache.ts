import type { Cache } from '../cache/cache.js'
import { openCache } from '../cache/open.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { sleep } from '../support/clock.js'
import { BurstLogger } from '../support/logger.js'
import { CachedRead } from './cached-read.js'
import { Collector, type DrainReport } from './collector.js'
import { type Environment, keptAlive, systemEnvironment } from '../support/environment.js'
import { Grid } from './grid.js'
import { GeometryError, GridRecord } from './grid-record.js'
import { Ledger } from './ledger.js'
import { type Settings, settingsOf, type WideCacheOptions } from './options.js'
import { forgetOld, type LedgerReport, ledgerReport } from './report.js'
import { type Schedule, schedule } from './schedule.js'
import { type CloseReport, Writer } from './writer.js'

/** All processes of a shared cache have one watermark, under this id. */
const SHARED_CACHE_ID = Buffer.alloc(16)

/** How long, past its time, closing waits for connections to end that do not answer. */
const RELEASE_MS = 500

/** How often what is old is removed, unless there is more than one call takes. */
const TIDY_EVERY_MS = 60_000

/**
 * A wide cache for any row and any commit: `append` costs a request microseconds; the rows travel in frames
 * through the grid in the cache, and each frame reaches SQL exactly once, with the help of collectors and, if
 * those or the cache fail, by the writer itself. See docs/architecture.md for the protocol.
 */
export class WideCache<Row, Figures = unknown> {
  readonly cache: Cache
  readonly database: Database
  readonly #settings: Settings<Row, Figures>
  readonly #environment: Environment
  readonly #owned: (() => Promise<void>)[] = []
  readonly #logger: BurstLogger
  readonly #record: GridRecord
  readonly #writer: Writer<Row>
  readonly #collector: Collector
  readonly #cachedRead: CachedRead<Figures>
  readonly #schedule: Schedule | undefined
  readonly #createdAt: number
  #ready: Promise<void> | undefined
  #draining: Promise<unknown> = Promise.resolve()
  #collecting: Promise<void> | undefined
  #tidyAt = 0
  #closing: Promise<CloseReport> | undefined

  /**
   * @throws TypeError, RangeError naming the option that is wrong, its value and what is allowed.
   */
  constructor(options: WideCacheOptions<Row, Figures>, environment: Environment = systemEnvironment) {
    const settings = settingsOf(options)
    const { cache, owned: ownsCache } = openCache(options.cache)
    const { database, owned: ownsDatabase } = openDatabase(options.database)
    if (ownsCache) this.#owned.push(() => cache.close())
    if (ownsDatabase) this.#owned.push(() => database.close())
    this.cache = cache
    this.database = database
    this.#settings = settings
    this.#environment = environment
    this.#createdAt = environment.clock.elapsed()
    this.#logger = new BurstLogger(settings.logger, () => environment.clock.elapsed())
    const grid = new Grid(settings.name, settings.width, settings.layerSeconds)
    const owner = environment.newId()
    this.#record = new GridRecord(database, grid, cache.scope === 'private' ? owner : SHARED_CACHE_ID, owner)
    const ledger = new Ledger<Row>({ ...settings, database, grid, clock: environment.clock, record: this.#record })
    const parts = { ...settings, cache, database, grid, environment, clock: environment.clock, logger: this.#logger }
    this.#writer = new Writer<Row>({
      ...parts,
      ledger: {
        commit: async (...args) => (await this.#whenReady(), ledger.commit(...args)),
        enterTotals: async (totals) => (await this.#whenReady(), ledger.enterTotals(totals)),
        enter: () => this.#whenReady(),
      },
    })
    this.#collector = new Collector({ ...parts, ledger, record: this.#record })
    this.#cachedRead = new CachedRead({ ...parts, environment, ttlSeconds: settings.readTtlSeconds, query: () => this.#query() })
    if (settings.collect !== false) this.#schedule = schedule(settings.collect, () => (this.#collecting = this.#collect()))
  }

  /**
   * Records a row. Never throws, never waits, does no I/O on the caller's tick. A row that cannot be taken
   * (too large for a frame, not encodable, no room left) is dropped and counted in `ledger().dropped`.
   */
  append(row: Row): void {
    this.#writer.append(row)
  }

  /** Resolves when all rows taken so far are in the cache or in SQL. Rejects when neither takes them; they are kept. */
  flush(): Promise<void> {
    return keptAlive(this.#environment, () => this.#writer.flush())
  }

  /**
   * Brings to SQL all layers that are old enough; with `all` the young ones too, so that everything flushed
   * is in SQL afterwards. Scheduled collectors do this by themselves.
   */
  async drain(options: { all?: boolean } = {}): Promise<DrainReport> {
    const mine = this.#draining.then(async () => {
      await this.#whenReady()
      return this.#collector.drain(options)
    })
    this.#draining = mine.catch(() => undefined)
    return keptAlive(this.#environment, () => mine)
  }

  /** What became of all rows. */
  ledger(): Promise<LedgerReport> {
    return keptAlive(this.#environment, async () => {
      await this.#whenReady()
      return ledgerReport(this.database, this.#settings.name, this.#settings.vanishedSeconds, () => this.#writer.totals())
    })
  }

  /** What the caller's `read` returns, at most `readTtlSeconds` old; the last good figures while SQL is away. */
  read(): Promise<Figures> {
    return this.#cachedRead.read()
  }

  /** Brings the tables up to this version and enters the grid. Done by itself before the first use of SQL. */
  migrate(): Promise<void> {
    return keptAlive(this.#environment, () => this.#whenReady())
  }

  /**
   * Stops collecting, brings all that is held to SQL within `closeTimeoutMs`, and lets go of the connections
   * that it has opened. Idempotent. Returns what became of the rows held.
   */
  close(): Promise<CloseReport> {
    this.#closing ??= keptAlive(this.#environment, () => this.#close())
    return this.#closing
  }

  async #close(): Promise<CloseReport> {
    const { clock } = this.#environment
    const timeout = sleep(clock, this.#settings.closeTimeoutMs)
    this.#schedule?.stop()
    const report = await this.#writer.close()
    await Promise.race([this.#collecting, timeout])
    const released = Promise.allSettled(this.#owned.map((close) => close()))
    await Promise.race([released, timeout.then(() => sleep(clock, RELEASE_MS))])
    return report
  }

  /** Migrates and enters the grid, once; tried again after a failure, but never after a disagreement. */
  #whenReady(): Promise<void> {
    this.#ready ??= this.#enter().catch((error: unknown) => {
      if (error instanceof GeometryError) {
        this.#schedule?.stop()
        this.#writer.refuse(error)
        this.#logger.error(error.message)
      } else {
        this.#ready = undefined
      }
      throw error
    })
    return this.#ready
  }

  async #enter(): Promise<void> {
    await this.database.migrate()
    const { cellTtlSeconds, layerSeconds } = this.#settings
    // A private cache has no cells older than this process.
    const age = (this.#environment.clock.elapsed() - this.#createdAt) / 1000 + layerSeconds
    await this.#record.enter(this.cache.scope === 'private' ? Math.min(age, cellTtlSeconds) : cellTtlSeconds)
  }

  /** A scheduled run: drains if no other collector is at it, and tidies up. Never rejects. */
  async #collect(): Promise<void> {
    try {
      await this.#whenReady()
      const now = await this.database.now()
      if (!await this.#record.lease(now)) return
      try {
        await this.drain()
        if (this.#environment.clock.elapsed() >= this.#tidyAt) await this.#tidy(now)
      } finally {
        await this.#record.release()
      }
      this.#logger.recovered('collect', 'wide-cache: collecting again')
    } catch (error) {
      this.#logger.warn('collect', `wide-cache: collecting "${this.#settings.name}" failed and will be tried again: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  async #tidy(now: number): Promise<void> {
    const began = this.#environment.clock.elapsed()
    this.#tidyAt = began + TIDY_EVERY_MS
    const { name, layerSeconds, tidy } = this.#settings
    await forgetOld(this.database, name, now)
    if (await tidy?.(this.database, { now, name, layerSeconds })) this.#tidyAt = began
  }

  async #query(): Promise<Figures> {
    const { read, name, layerSeconds } = this.#settings
    if (!read) throw new TypeError('wide-cache: read() needs the option "read", a function (database, context)')
    await this.#whenReady()
    return read(this.database, { name, layerSeconds, watermark: await this.#record.watermark() })
  }
}
