import type { CollisionFreeMap } from '../collision-free-map/collision-free-map.js'
import type { Cache } from '../cache/cache.js'
import { Connections } from '../connections/connections.js'
import { CountingDatabase } from '../connections/counting.js'
import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { joinMetrics } from '../metrics/prometheus.js'
import { CLOSED, type Health } from '../wide-cache/operations/health.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { integer, onlyKnown } from '../support/options.js'
import type { RequestHandler, Router } from '../page-views/express.js'
import { Guard, identityOf, kindOf } from '../visitors/guard.js'
import { Pseudonymizer } from '../visitors/pseudonymizer.js'
import { lastResponses } from '../page-views/last-responses.js'
import type { DrainReport } from '../wide-cache/collector/grid-drain.js'
import type { LedgerReport } from '../wide-cache/ledger/report.js'
import { useOf } from '../wide-cache/ledger/use.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { checkedItem, checkedItems, checkedText } from './checks.js'
import { countingMap, hitsCommit } from './counting.js'
import {
  DEFAULT_DAYS,
  type HitsDay,
  KEPT_HOURS,
  MAX_DAYS,
  readItemHistory,
  readTopOfHours,
  removeHours,
} from './history.js'
import { type Hit, hitCodec, isItem, MAX_ITEM_BYTES } from './hit.js'
import { hitsMiddleware, type HitsMiddlewareOptions } from './middleware.js'
import { moveHits, type MoveTarget } from './move.js'
import { cacheWarning, type HitsOptions, type HitsSettings, hitsSettings } from './options.js'
import { MAX_TOP, readCounts, readTop } from './read-counts.js'
import { removeOldHits } from './retention.js'
import { hitsRouter, type HitsRouterOptions } from './router.js'

/** Persons concerned in a hit that `record` takes. */
export interface HitParties {
  /**
   * Viewer, as a text or a number; only a keyed hash of it leaves the process. Not
   * given: every hit counts.
   */
  viewer?: string | number | bigint | null | undefined
  /**
   * Author, in the same way; or `true`: the viewer is. The author's own views never
   * count.
   */
  owner?: string | number | bigint | boolean | null | undefined
}

/** Options of {@link Hits.top}. */
export interface HitsTopOptions {
  /** Hours that count, this one among them: 1 to 192. @default all hits of all time */
  hours?: number | undefined
}

/** Options of {@link Hits.history}. */
export interface HitsHistoryOptions {
  /** Days, today among them: 1 to 3,660. @default 30 */
  days?: number | undefined
}

/** The views of items: threads, articles, profiles. */
export interface Hits {
  /** The name that was given. */
  readonly name: string
  /**
   * Counts a view of an item, a text of 1 to 255 bytes in UTF-8. Never throws and never waits: what
   * is no item is not counted, and of other wrong arguments the part that is right counts; the log
   * says so.
   */
  record(item: string, parties?: HitParties): void
  /**
   * Counts the page views of items, by the same rule as the activity's; docs/activity.md has it as
   * a table. Put it into a route:
   * `app.get('/threads/:id', hits.middleware({ item: (req) => req.params.id }), …)`, or mount it at
   * a path: `app.use('/threads/:id', …)`. `item`, `viewer` and `owner` see the request as it is
   * there.
   *
   * @throws TypeError naming the option that is wrong
   */
  middleware(options: HitsMiddlewareOptions): RequestHandler
  /**
   * `GET /<item>.svg` a badge with the count of an item, `GET /<item>.json` the count as JSON, for
   * the items that the option `allow` names: `app.use('/hits', hits.router({ allow: ['home'] }))`.
   * Items are percent-encoded. Requests for others go on to the next handler. However many requests
   * there are, a process asks SQL once a second at most.
   *
   * @throws TypeError, RangeError naming the option that is wrong
   * @example
   * app.use('/hits', hits.router({ allow: (item) => item.startsWith('public-'), label: 'reads' }))
   */
  router(options: HitsRouterOptions): Router
  /**
   * The hits of an item that have come to SQL; 0 for one that has none. @throws TypeError,
   * DatabaseError
   */
  count(item: string): Promise<number>
  /**
   * The same for up to 1,000 items, in one query, each with its count in the order given.
   *
   * @throws TypeError, RangeError for items that are no texts, or too many; DatabaseError
   */
  counts(items: Iterable<string>): Promise<Map<string, number>>
  /**
   * The `n` (1 to 1,000) items with the most hits, and those: from an index, as of the last
   * processing, so up to 10 s behind `count`. With `hours` (1 to 192): those with the most
   * hits in this hour and the `hours - 1` before it, up to 3 s old, because all processes together
   * ask SQL once in 2 s.
   *
   * @throws TypeError, RangeError for a wrong `n` or `hours`; DatabaseError
   */
  top(n: number, options?: HitsTopOptions): Promise<[item: string, hits: number][]>
  /**
   * The hits of an item in each of the last days, in UTC, up to today, without gaps.
   *
   * @throws TypeError, RangeError for an item that is no text, or a wrong `days`; DatabaseError
   */
  history(item: string, options?: HitsHistoryOptions): Promise<HitsDay[]>
  /**
   * Takes away all hits of an item that have come to SQL. Resolves with how many. `count` is 0 at
   * once; `top` follows with the next processing. Hits that come to SQL later count for the item
   * anew, and so do viewers in their next window.
   *
   * Exact while others record, collect and process. Hits on their way to SQL (2 to 3 s) are left;
   * `drain({ all: true })` first brings those that have reached the cache. If it rejects because
   * the outcome is unknown, call it again.
   *
   * @throws TypeError for an item that is no text; DatabaseError
   */
  delete(item: string): Promise<number>
  /**
   * Gives all hits of an item that have come to SQL to `newItem`, added to those it has. Resolves
   * with how many. What {@link Hits.delete} says of hits on their way holds here too. A viewer who
   * has seen `item` may count for `newItem` in the same window.
   *
   * @throws TypeError, RangeError for an item that is no text, or a new one not of 1 to 255 bytes;
   * DatabaseError
   */
  rename(item: string, newItem: string): Promise<number>
  /**
   * Resolves when all that was recorded so far is in the cache, or in SQL. Rejects when neither
   * takes it; it is kept.
   */
  flush(): Promise<void>
  /**
   * Brings to SQL what is old enough, with `all` the youngest hits too, and processes what has come
   * there. Collectors do this by themselves.
   */
  drain(options?: { all?: boolean }): Promise<DrainReport>
  /** Reports the state of all rows recorded so far, repeats included. */
  ledger(): Promise<LedgerReport>
  /**
   * Returns its metrics as text for Prometheus, those of the grid `hits.<name>` and of the map
   * beside it: what SQL says, at most about 10 s old and the same from every process, and what this
   * process says of itself. Never waits for SQL for longer than 3 s. `joinMetrics` joins those of
   * several objects to one page.
   */
  metrics(): Promise<string>
  /**
   * Has a meter of OpenTelemetry observe the same figures, until `close()`. They are read once a
   * collection.
   *
   * @throws TypeError
   */
  instrument(meter: MetricsMeter): void
  /**
   * Tells whether this process does its part, from what it knows: waits for no server. Trouble with
   * tracking never makes it not ready, and has a sentence in `reasons`.
   */
  health(): Health
  /** Brings the tables up to this version; done by itself before SQL is first used. */
  migrate(): Promise<void>
  /**
   * Brings to SQL what is held, within `closeTimeoutMs`, and lets go of all connections it has
   * opened. Idempotent. Page views whose connections have been cut just before, by
   * `server.closeAllConnections()`, still count. From then on all other methods but `record` and
   * the middleware reject with a {@link ClosedError}.
   */
  close(): Promise<void>
}

/**
 * Counts the views of items, so that no request touches the database: through a wide cache of its
 * own, and a {@link CollisionFreeMap}. Hits reach SQL exactly once, as the rows of a
 * {@link WideCache} do, and there a viewer counts once per item and window of `repeatSeconds`,
 * whatever process saw them, and in whatever order.
 *
 * Limits: a hit that comes to SQL later than two days (or `cellTtlSeconds`, if longer) after its
 * window is not told from a repeat any more. A viewer is known by a salt of the UTC day in the
 * cache: a process that starts while the cache is away counts every hit until it is back; and when
 * the cache loses the salt, a process that starts in the two minutes before another one puts it
 * back may count viewers anew.
 *
 * @throws TypeError, RangeError naming the option that is wrong, its value and what is allowed
 *
 * @example
 * ```js
 * import express from 'express'
 * import { createHits } from 'wide-cache'
 *
 * const hits = createHits({ name: 'threads' })
 * const app = express()
 * app.get('/threads/:id', hits.middleware({ item: (req) => req.params.id }), async (req, res) => {
 *   res.send(`<h1>${await hits.count(req.params.id)} views</h1>`)
 * })
 * app.listen(3000)
 * ```
 */
export function createHits(options: HitsOptions): Hits {
  return new ItemHits(hitsSettings(options))
}

/** {@link Hits}, with a clock that tests may own. */
export class ItemHits implements Hits {
  readonly #settings: HitsSettings
  readonly #environment: Environment
  readonly #logger: BurstLogger
  readonly #guard: Guard
  readonly #connections: Connections
  readonly #database: PreparedDatabase
  readonly #wide: WideCache<Hit>
  readonly #map: CollisionFreeMap<string, number>
  readonly #pseudonymizer: Pseudonymizer<string>

  constructor(settings: HitsSettings, environment: Environment = systemEnvironment) {
    const { clock } = environment
    const { name, gridName, repeatSeconds, keepSeconds } = settings
    this.#settings = settings
    this.#environment = environment
    this.#logger = new BurstLogger(settings.logger, () => clock.elapsed())
    this.#guard = new Guard(this.#logger)
    this.#connections = new Connections('Hits', name, environment)
    this.#database = this.#connections.openDatabase(settings.grid.database, ['hits'], {
      logger: settings.logger,
      through: (opened) => CountingDatabase.of(opened, clock),
    })
    const { database } = this.#database
    this.#map = countingMap(database, settings, environment)
    this.#wide = new WideCache<Hit>(
      {
        ...settings.grid,
        database,
        name: gridName,
        codec: hitCodec,
        commit: hitsCommit(settings, this.#map),
        removeOld: async (database, { now }) => {
          const kept = (await useOf(database, gridName))?.keepSeconds ?? keepSeconds
          const more = await removeOldHits(database, name, now - 1000 * kept)
          return (await removeHours(database, name, now)) || more
        },
      },
      environment,
      {
        kind: 'hits',
        keepSeconds,
        repeatSeconds,
        tables: ['hits', 'collision-free-map'],
        afterRun: () => this.#process(),
      },
    )
    const warning = cacheWarning(this.#wide.cache)
    if (warning) this.#logger.warn('cache', warning)
    this.#pseudonymizer = new Pseudonymizer({
      cache: this.#wide.cache,
      name: gridName,
      clock,
      logger: this.#logger,
      forward: (time, viewer, item) => this.#wide.append({ time, viewer, item }),
    })
  }

  get name(): string {
    return this.#settings.name
  }

  record(item: string, parties: HitParties = {}): void {
    const { viewer, owner }: { [K in keyof HitParties]?: unknown } = parties ?? {}
    const [identity, author] = [identityOf(viewer), identityOf(owner)]
    if (identity === undefined && !isNobody(viewer)) {
      this.#refused('viewer', viewer, 'a text or a number', 'the hit counts without a viewer')
    }
    if (owner === true || (identity !== undefined && identity === author)) return
    if (author === undefined && owner !== false && !isNobody(owner)) {
      this.#refused('owner', owner, 'a text, a number or a boolean', 'the hit counts')
    }
    this.#count(item, identity)
  }

  middleware(options: HitsMiddlewareOptions): RequestHandler {
    return hitsMiddleware(
      options,
      this.#settings,
      (item, identity, userAgent) => this.#count(item, identity, userAgent),
      this.#logger,
    )
  }

  router(options: HitsRouterOptions): Router {
    this.#connections.check()
    return hitsRouter(options, (items) => this.counts(items), this.#environment.clock)
  }

  async count(item: string): Promise<number> {
    const counts = await this.counts([item])
    return counts.get(item) ?? 0
  }

  counts(items: Iterable<string>): Promise<Map<string, number>> {
    return this.#connections.run(async () => {
      const { name, gridName } = this.#settings
      const checked = checkedItems(items)
      return this.#read(() => readCounts(this.#wide.database, name, gridName, checked))
    })
  }

  top(n: number, options: HitsTopOptions = {}): Promise<[item: string, hits: number][]> {
    return this.#connections.run(async () => {
      onlyKnown('top', options, ['hours'])
      const { name } = this.#settings
      const checked = integer('n', n, 1, MAX_TOP, 'items')
      if (options.hours === undefined) {
        return this.#read(() => readTop(this.#wide.database, name, checked))
      }
      const hours = integer('hours', options.hours, 1, KEPT_HOURS, 'hours')
      return this.#wide.readCached(`top:${checked}:${hours}`, async (database) =>
        readTopOfHours(database, name, checked, await database.now(), hours),
      )
    })
  }

  history(item: string, options: HitsHistoryOptions = {}): Promise<HitsDay[]> {
    return this.#connections.run(async () => {
      onlyKnown('history', options, ['days'])
      const text = checkedText('item', item)
      const days = integer('days', options.days ?? DEFAULT_DAYS, 1, MAX_DAYS, 'days')
      return this.#read(async () => {
        const now = await this.#wide.database.now()
        return readItemHistory(this.#wide.database, this.#settings.name, text, now, days)
      })
    })
  }

  delete(item: string): Promise<number> {
    return this.#connections.run(async () => this.#move(checkedText('item', item), undefined))
  }

  rename(item: string, newItem: string): Promise<number> {
    return this.#connections.run(async () =>
      this.#move(checkedText('item', item), checkedItem('newItem', newItem)),
    )
  }

  flush(): Promise<void> {
    return this.#connections.run(async () => {
      await this.#pseudonymizer.forwarded()
      await this.#wide.flush()
    })
  }

  drain(options?: { all?: boolean }): Promise<DrainReport> {
    return this.#connections.run(() =>
      keptAlive(this.#environment, async () => {
        const report = await this.#wide.drain(options)
        await this.#map.process()
        return report
      }),
    )
  }

  ledger(): Promise<LedgerReport> {
    return this.#connections.run(() => this.#wide.ledger())
  }

  metrics(): Promise<string> {
    return this.#connections.run(() => joinMetrics(this.#wide, this.#map))
  }

  instrument(meter: MetricsMeter): void {
    this.#connections.check()
    this.#wide.instrument(meter)
    this.#map.instrument(meter)
  }

  health(): Health {
    return this.#connections.isOpen ? this.#wide.health() : CLOSED
  }

  /** Why a process that only collects is not ready; empty if it is. */
  collectingTroubles(): Promise<string[]> {
    return this.#connections.run(() => this.#wide.collectingTroubles())
  }

  migrate(): Promise<void> {
    return this.#connections.run(() => this.#wide.migrate())
  }

  /** As {@link WideCache.collectBy}. */
  collectBy(when: string | true): Cache['scope'] {
    this.#connections.check()
    return this.#wide.collectBy(when)
  }

  close(): Promise<void> {
    return this.#connections.close(() => keptAlive(this.#environment, () => this.#close()))
  }

  async #close(): Promise<void> {
    const { clock } = this.#environment
    const timeout = sleep(clock, this.#settings.closeTimeoutMs)
    // The map is not closed: a commit under way may need it.
    this.#map.bucketMetrics.end()
    await lastResponses(clock)
    await this.#pseudonymizer.forwarded()
    this.#pseudonymizer.close()
    await this.#wide.close()
    await Promise.race([this.#connections.idle(), timeout])
    await this.#connections.releaseBy(timeout)
  }

  #count(item: unknown, identity: string | undefined, userAgent?: string): void {
    if (typeof item === 'string' && isItem(item)) {
      this.#pseudonymizer.pseudonymize(item, identity, userAgent)
    } else {
      this.#refused(
        'item',
        item,
        `a text of 1 to ${MAX_ITEM_BYTES} bytes`,
        'the hit is not counted',
      )
    }
  }

  #read<T>(work: () => Promise<T>): Promise<T> {
    return keptAlive(this.#environment, async () => (await this.#wide.migrate(), work()))
  }

  #move(from: string, to: string | undefined): Promise<number> {
    const { name, gridName } = this.#settings
    const add: MoveTarget['add'] = (counts, tx) => this.#map.update(counts, tx)
    return this.#read(() =>
      this.#database.retriedTransaction((tx) =>
        moveHits(tx, { name, map: gridName, add }, from, to),
      ),
    )
  }

  /** Adds up what has come since the last time. Never rejects. */
  async #process(): Promise<void> {
    try {
      await this.#map.process()
      this.#logger.recovered('process', 'wide-cache: processing hits again')
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#logger.warn(
        'process',
        `wide-cache: processing the hits "${this.#settings.name}" failed and will be tried ` +
          `again: ${why}`,
      )
    }
  }

  #refused(field: string, value: unknown, wanted: string, instead: string): void {
    const what = typeof value === 'string' && value !== '' ? 'a longer text' : kindOf(value)
    this.#guard.say(`record ${field}`, `a hit has ${what} as "${field}", not ${wanted}`, instead)
  }
}

function isNobody(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
