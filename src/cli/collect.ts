/**
 * `wide-cache collect`: collectors alone. They wait for servers that are not there, and end when
 * told to.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { activityRows } from '../activity/engine-settings.js'
import { activitySettings } from '../activity/options.js'
import type { Cache } from '../cache/cache.js'
import { openCache } from '../cache/open.js'
import { type Database, DatabaseError } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { refusedRights } from '../database/rights.js'
import { hitsRows } from '../hits/engine-settings.js'
import { GRID_NAME_START, hitsSettings } from '../hits/options.js'
import { measureOf } from '../page-views/measures.js'
import { ViewCollector } from '../page-views/view-recorder.js'
import { systemClock } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { messageOf } from '../support/errors.js'
import { BurstLogger } from '../support/logger.js'
import { identifier } from '../support/options.js'
import { type Collectable, collectableOf } from '../wide-cache/commands.js'
import { type SharedName, sharedNames } from '../wide-cache/ledger/name-settings.js'
import { type OptionsOf, UsageError } from './arguments.js'
import { DOCTOR_KIND } from './doctor/whole-way.js'
import { addressOf, listenWhile } from './listen.js'
import type { CommandLog } from './log.js'
import { servedBy } from './served.js'

/**
 * Intervals at which the database is asked which names there are, in ms. The first holds as long as
 * none is known, or the database is away; the second afterwards.
 */
const LOOK_EVERY_MS = 2_000
const LOOK_AGAIN_EVERY_MS = 10_000

/** Tables that each collecting run writes. */
const WRITTEN = [
  'wide_cache_writers',
  'wide_cache_ranges',
  'wide_cache_grids',
  'wide_cache_joining',
]

type CollectOptions = Omit<OptionsOf<'collect'>, 'cache' | 'listen' | 'module'>

/** The collector of a name, and the settings that it was started for. */
interface Running {
  readonly shared: SharedName
  readonly collector: Collectable
}

/**
 * Collects until `stop` is aborted, and listens where `listen` says. @throws errors that do not
 * pass by themselves: wrong options, a missing right.
 */
export async function collect(
  { cache: servers, listen, module: _module, ...options }: OptionsOf<'collect'>,
  logger: CommandLog,
  stop: AbortSignal,
): Promise<void> {
  // Of all flags, before anything is opened.
  const { name, ...others } = options
  activitySettings({ ...others, logger })
  if (name !== undefined) identifier('name', name)
  const address = listen === undefined ? undefined : addressOf(listen)
  const { cache } = openCache(servers)
  try {
    if (cache.scope === 'private') {
      throw new UsageError(
        'a memory: cache is private to its web process, which collects itself: there is ' +
          'nothing to collect here; set WIDE_CACHE_SERVERS (or MEMCACHE_SERVERS), or --cache ' +
          'memcached://host:port',
      )
    }
    const { database } = openDatabase(options.database, logger)
    const names = new CollectedNames(cache, database, options, logger, stop)
    try {
      await listenWhile(address, names.served, logger, () => names.follow())
    } finally {
      await names.close()
      await database.close()
    }
  } finally {
    await cache.close()
  }
}

/**
 * A collector for each name in the database that this command can collect, or for the one that is
 * asked for.
 */
class CollectedNames {
  readonly #cache: Cache
  readonly #database: Database
  readonly #options: CollectOptions
  readonly #logger: CommandLog
  readonly #burst: BurstLogger
  readonly #stop: AbortSignal
  readonly #running = new Map<string, Running>()
  /** Reason why it is not known what is to be collected; `undefined` if it is known. */
  #blind: string | undefined = 'the database has not been asked yet'
  /** Metrics and troubles that are served over HTTP. */
  readonly served = servedBy(
    () => [...this.#running].map(([name, { collector }]) => [name, collector] as const),
    () => this.#blind,
  )
  #mayWrite = false

  constructor(
    cache: Cache,
    database: Database,
    options: CollectOptions,
    logger: CommandLog,
    stop: AbortSignal,
  ) {
    this.#cache = cache
    this.#database = database
    this.#options = options
    this.#logger = logger
    this.#burst = new BurstLogger(logger, () => systemClock.elapsed())
    this.#stop = stop
  }

  /**
   * Starts collectors as names are recorded, until `stop` is aborted. @throws errors that do not
   * pass by themselves
   */
  async follow(): Promise<void> {
    const stop = this.#stop
    const stopped = new Promise<void>((resolve) =>
      stop.addEventListener('abort', () => resolve(), { once: true }),
    )
    while (!stop.aborted) {
      const look = this.#look()
      look.catch(() => undefined)
      await Promise.race([look, stopped])
      const isKnown = this.#running.size > 0 && this.#blind === undefined
      const wait = isKnown ? LOOK_AGAIN_EVERY_MS : LOOK_EVERY_MS
      await delay(wait, undefined, { signal: stop }).catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ collector }) => collector.close()))
  }

  async #look(): Promise<void> {
    try {
      await this.#database.migrate(['wide-cache'])
      await this.#refuseMissingRights()
      const { name } = this.#options
      // The measures of an object are collected together.
      const asked = name === undefined ? [] : [name, measureOf(name).name]
      const names = (await sharedNames(this.#database)).filter(
        (shared) => shared.kind !== DOCTOR_KIND && (!name || asked.includes(shared.name)),
      )
      if (names.length === 0 && this.#running.size === 0) {
        this.#burst.warnOnce(
          'none',
          'wide-cache: no process with a shared cache has used ' +
            `${name === undefined ? 'this database' : `"${name}" in this database`} yet; ` +
            'collecting begins when one does',
        )
      }
      for (const shared of names) await this.#see(shared)
      this.#blind = undefined
      this.#burst.recovered('look', 'wide-cache: the database answers again')
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.category === 'usage') throw error
      this.#blind = 'the database does not answer'
      this.#burst.warn(
        'look',
        'wide-cache: reading what to collect from the database failed and will be retried: ' +
          messageOf(error),
      )
    }
  }

  /** Checks the rights, until it has succeeded. @throws DatabaseError naming right and table */
  async #refuseMissingRights(): Promise<void> {
    if (this.#mayWrite) return
    for (const { error } of await refusedRights(this.#database, WRITTEN)) {
      if (error.category === 'usage') throw error
    }
    this.#mayWrite = true
  }

  /** Starts the collector of a name, or starts it anew where its settings have changed. */
  async #see(shared: SharedName): Promise<void> {
    const { name, kind } = shared
    const running = this.#running.get(name)
    if (
      running &&
      running.shared.kind === kind &&
      running.shared.cellTtlSeconds >= shared.cellTtlSeconds
    ) {
      return
    }
    await running?.collector.close()
    this.#running.delete(name)
    if (this.#stop.aborted) return
    try {
      this.#running.set(name, { shared, collector: this.#start(shared) })
      this.#logger.info(`wide-cache: collecting "${name}" (${kind})`, { name, kind })
    } catch (error) {
      // One that cannot be collected does not stop the others.
      if (this.#options.name !== undefined) throw error
      this.#burst.warnOnce(
        `${name} ${kind}`,
        `wide-cache: not collecting "${name}": ${messageOf(error).replace(/^wide-cache: /, '')}`,
      )
    }
  }

  /** @throws TypeError, RangeError for flags that do not fit its grid; UsageError */
  #start({ name, kind, ...recorded }: SharedName): Collectable {
    const {
      retentionHours,
      width = recorded.width,
      layerSeconds = recorded.layerSeconds,
      cellTtlSeconds = recorded.cellTtlSeconds,
      ...others
    } = this.#options
    const grid = {
      ...others,
      cache: this.#cache,
      database: this.#database,
      logger: this.#logger,
      width,
      layerSeconds,
      cellTtlSeconds,
    }
    if (kind === 'activity') {
      const historyDays = recorded.historyDays || undefined
      const settings = activitySettings({ ...grid, name, retentionHours, historyDays })
      // As the sites have it, and not for longer by default.
      const kept = retentionHours === undefined ? { keepSeconds: recorded.keepSeconds } : {}
      const rows = activityRows({ ...settings, ...kept }, systemEnvironment)
      return collectableOf(new ViewCollector(rows))!
    }
    if (kind === 'hits' && name.startsWith(GRID_NAME_START)) {
      const settings = hitsSettings({ ...grid, name: name.slice(GRID_NAME_START.length) })
      return collectableOf(new ViewCollector(hitsRows(settings)))!
    }
    throw new UsageError(
      `"${name}" has rows of kind "${kind}", which only the WideCache of your own processes ` +
        'can collect; let one of them collect, or start wide-cache collect --module with a file ' +
        'that exports it',
    )
  }
}
