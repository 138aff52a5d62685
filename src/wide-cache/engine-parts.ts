import type { Connections } from '../connections/connections.js'
import { CountingCache, CountingDatabase, type ErrorCounts } from '../connections/counting.js'
import { type NamespacedCache, namespaced } from '../connections/namespaced-cache.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { ClockWatch } from './clock-watch.js'
import { DrainTurns } from './collector/drain-turns.js'
import { NameDrain } from './collector/name-drain.js'
import { SameCache } from './collector/same-cache.js'
import type { EngineSettings } from './engine-settings.js'
import { entering } from './entering.js'
import { stampOf } from './frame.js'
import { GridRecord } from './ledger/grid-record.js'
import { Ledger } from './ledger/ledger.js'
import { PublishedWatermark } from './published-watermark.js'
import type { CloseReport } from './writer/closing.js'

/**
 * Parts that the writer, the collector, the readings and the operations of one engine share. Each
 * of these names the parts that it uses, and the settings that it reads.
 */
export interface EngineParts<Row> {
  readonly settings: EngineSettings<Row>
  readonly environment: Environment
  /** That of the environment. */
  readonly clock: Clock
  /** The environment with the database's clock, for what is recorded. */
  readonly recording: Environment
  readonly logger: BurstLogger
  readonly cache: NamespacedCache
  /** The cache, before it is divided by databases. */
  readonly counted: CountingCache
  readonly cacheErrors: ErrorCounts
  /** Prepared: before its first use it has the tables, and the name and the grid are entered. */
  readonly database: PreparedDatabase
  readonly watch: ClockWatch
  readonly record: GridRecord
  readonly sameCache: SameCache
  /** Compares the cache with that of the collectors, and with the database. */
  readonly compare: () => Promise<void>
  readonly published: PublishedWatermark
  readonly ledger: Ledger<Row>
  /** Starting value of the checksums of frames of its kind. */
  readonly stamp: number
  readonly nameDrain: NameDrain
  readonly turns: DrainTurns
  /** Whether its cache, database and clock are those of another engine. */
  readonly isBeside: boolean
}

/**
 * Makes them. `heldMs` returns the age of the oldest row that the writer has, in milliseconds.
 *
 * @param beside the parts of another engine of the same object, whose cache, database and clock
 * this one uses
 * @throws TypeError, RangeError naming the option `cache` or `database`
 */
export function engineParts<Row>(
  connections: Connections<CloseReport>,
  settings: EngineSettings<Row>,
  environment: Environment,
  heldMs: () => number,
  beside?: EngineParts<Row>,
): EngineParts<Row> {
  const { name, cellTtlSeconds, drainAfterLayers, periodSeconds, flushMs, codec, commit } = settings
  const { clock, newId } = environment
  const logger = new BurstLogger(settings.logger, () => clock.elapsed())
  const watch = beside?.watch ?? new ClockWatch(clock, logger)
  const counted = beside?.counted ?? new CountingCache(connections.openCache(settings.cache), clock)
  const { scope } = counted
  const record = new GridRecord({
    name,
    geometry: settings,
    drainAfterLayers,
    flushMs,
    owner: newId(),
    scope,
    newId,
  })
  const entersSql = entering({ settings, scope, clock, watch, record, heldMs })
  const enter = async (raw: Queryable): Promise<void> => {
    await entersSql(raw)
    // Now, while SQL answers, because no frame is placed before the namespace is known.
    await cache.namespace.enterBy(raw)
  }
  const tables = ['wide-cache', ...settings.tables]
  const opened = beside?.database.database
  const database = connections.openDatabase(opened ?? settings.database, tables, {
    logger: settings.logger,
    through: (database) => CountingDatabase.of(database, clock),
    enter,
  })
  const cache: NamespacedCache =
    beside?.cache ?? namespaced(counted, { database, environment, logger })
  const sameCache = new SameCache({ settings, cache, database, record, logger })
  const parts = {
    settings,
    environment,
    clock,
    recording: { ...environment, clock: watch.clock },
    logger,
    cache,
    counted,
    cacheErrors: counted.errors,
    database,
    watch,
    record,
    sameCache,
    async compare() {
      // A process that does not collect, or is at rest, has no other reading of this clock.
      const now = await watch.recent(database)
      await sameCache.compare()
      // SQL has removed the row of the grid, because it was unused for so long.
      if (record.grid) await record.renewUse(database, now)
      else await enter(database)
    },
    published: new PublishedWatermark({
      cache,
      clock: watch.clock,
      drainAfterLayers,
      periodSeconds,
    }),
    ledger: new Ledger<Row>({
      name,
      database,
      record,
      watch,
      clock,
      cellTtlSeconds,
      periodSeconds,
      codec,
      commit,
    }),
    stamp: stampOf(settings.kind),
  }
  const nameDrain = new NameDrain(parts)
  return {
    ...parts,
    nameDrain,
    turns: new DrainTurns(environment, nameDrain),
    isBeside: beside !== undefined,
  }
}
