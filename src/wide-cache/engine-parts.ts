import type { Connections } from '../connections/connections.js'
import { CountingCache, CountingDatabase, type ErrorCounts } from '../connections/counting.js'
import { type NamespacedCache, namespaced } from '../connections/namespaced-cache.js'
import { PreparedDatabase } from '../connections/prepared-database.js'
import type { Clock } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { ClockWatch } from './clock-watch.js'
import { DrainTurns } from './collector/drain-turns.js'
import { NameDrain } from './collector/name-drain.js'
import { SameCache } from './collector/same-cache.js'
import type { EngineSettings } from './engine-settings.js'
import { entering, heldBy, type Recording } from './entering.js'
import { stampOf } from './frame.js'
import { Joining } from './joining.js'
import { checkKind } from './ledger/name-settings.js'
import { GridRecord } from './ledger/grid-record.js'
import { Ledger } from './ledger/ledger.js'
import { PublishedWatermark } from './published-watermark.js'
import type { CloseReport } from './writer/closing.js'

/**
 * Parts that the engines of an object and its collector share. Each of these names the parts that
 * it uses, and the settings that it reads.
 */
export interface EngineParts<Row> {
  readonly connections: Connections<CloseReport>
  /** Those of the first engine. */
  readonly settings: EngineSettings<Row>
  readonly environment: Environment
  /** That of the environment. */
  readonly clock: Clock
  /** The environment with the database's clock, for what is recorded. */
  readonly recording: Environment
  readonly logger: BurstLogger
  readonly cache: NamespacedCache
  readonly cacheErrors: ErrorCounts
  /** For all that only reads: before its first use it has the tables, and kinds are compared. */
  readonly reading: PreparedDatabase
  /** Before its first use the names and the grid are entered, too. */
  readonly database: PreparedDatabase
  readonly watch: ClockWatch
  readonly record: GridRecord
  /** Names that SQL has of this process. */
  readonly entered: ReadonlySet<string>
  /** Whether the first row of this process decides about the time zone. */
  readonly decision: { isOpen: boolean }
  readonly sameCache: SameCache
  /**
   * Reads the database's clock, compares the cache with that of the collectors and with the
   * database, and keeps the grid in use.
   */
  readonly heartbeat: () => Promise<void>
  readonly joining: Joining | undefined
  readonly published: PublishedWatermark
  readonly ledger: Ledger<Row>
  /** Starting value of the checksums of frames of its kind. */
  readonly stamp: number
  readonly nameDrain: NameDrain
  readonly turns: DrainTurns
}

/**
 * Makes them.
 *
 * @param all the settings of all engines that there may be
 * @param made the engines that this process has made
 * @throws TypeError, RangeError naming the option `cache` or `database`
 */
export function engineParts<Row>(
  connections: Connections<CloseReport>,
  all: readonly EngineSettings<Row>[],
  environment: Environment,
  made: readonly Recording[],
): EngineParts<Row> {
  const settings = all[0]!
  const { clock, newId } = environment
  const logger = new BurstLogger(settings.logger, () => clock.elapsed())
  const watch = new ClockWatch(clock, logger)
  const counted = new CountingCache(connections.openCache(settings.cache), clock)
  const { scope } = counted
  const owner = newId()
  const record = new GridRecord({ ...settings, geometry: settings, owner, scope, newId })
  const entered = new Set<string>()
  const decision = { isOpen: false }
  const heldMs = heldBy(made, clock)
  const enter = entering({
    settings,
    scope,
    clock,
    watch,
    record,
    made,
    entered,
    decision,
    heldMs,
  })
  const reading = connections.openDatabase(settings.database, ['wide-cache', ...settings.tables], {
    logger: settings.logger,
    through: (database) => CountingDatabase.of(database, clock),
    async enter(raw) {
      // Of all measures: a conflict shows at the start, not with the first row of one.
      for (const own of all) await checkKind(raw, own)
    },
  })
  const cache = namespaced(counted, { database: reading, environment, logger })
  const sameCache = new SameCache({ settings, cache, database: reading, record, logger })
  const isBrought = (): boolean =>
    made.every(({ writer }) => writer.isPlaced) &&
    (sameCache.isTheirs || made.some(({ writer }) => writer.isBrought))
  // Of a private cache it is known whose rows it has.
  const joining =
    scope === 'shared'
      ? new Joining({
          settings,
          clock,
          watch,
          database: reading,
          sameCache,
          owner,
          heldMs,
          isBrought,
        })
      : undefined
  const database = new PreparedDatabase(reading, [], environment, async (raw) => {
    await joining?.enter(raw)
    await enter(raw)
    // Now, while SQL answers, because no frame is placed before the namespace is known.
    await cache.namespace.enterBy(raw)
  })
  const heartbeat = async (): Promise<void> => {
    // A process that does not collect, or is at rest, has no other reading of this clock.
    const now = await watch.recent(database)
    await sameCache.compare()
    if (record.grid) return record.renewUse(database, now)
    // SQL has removed the row of the grid, because it was unused for so long.
    database.prepareAgain()
    await database.migrate()
  }
  const parts = {
    connections,
    settings,
    environment,
    clock,
    recording: { ...environment, clock: watch.clock },
    logger,
    cache,
    cacheErrors: counted.errors,
    reading,
    database,
    watch,
    record,
    entered,
    decision,
    sameCache,
    heartbeat,
    joining,
    published: new PublishedWatermark({ ...settings, cache, clock: watch.clock }),
    ledger: new Ledger<Row>({ ...settings, measures: all, database, record, watch, clock }),
    stamp: stampOf(settings.kind),
  }
  const nameDrain = new NameDrain(parts)
  return { ...parts, nameDrain, turns: new DrainTurns(environment, nameDrain) }
}
