import type { IncomingMessage } from 'node:http'
import { Connections } from '../connections/connections.js'
import { secretOf } from '../database/identity.js'
import type { Request } from '../page-views/express.js'
import { type Handler, isRequest } from '../page-views/handler.js'
import { Views } from '../page-views/views.js'
import { Visitors } from '../page-views/visitors.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { assertCalled } from '../support/missing-call.js'
import { integer, oneOf, onlyKnown } from '../support/options.js'
import { checkedRange, MAX_PERIODS } from '../support/periods.js'
import { describe, fieldOf, identityOf } from '../visitors/guard.js'
import type { DrainReport } from '../wide-cache/collector/drain-report.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import { checkedItem, checkedItems, checkedText } from './checks.js'
import { countingMap, type CountingMap } from './counting.js'
import { engineSettings } from './engine-settings.js'
import {
  DEFAULT_DAYS,
  type HitsDay,
  type HitsPeriod,
  KEPT_HOURS,
  MAX_DAYS,
  readItemHistory,
  readItemRange,
  readTopOfHours,
} from './history.js'
import { type Hit, isItem, MAX_ITEM_BYTES } from './hit.js'
import type {
  HitParties,
  Hits,
  HitsHistoryOptions,
  HitsHistoryQuery,
  HitsTopOptions,
} from './hits.js'
import { hitsMiddleware, type HitsMiddlewareOptions } from './middleware.js'
import { moveHits, type MoveTarget } from './move.js'
import { type HitsOptions, type HitsSettings, hitsSettings } from './options.js'
import { MAX_TOP, readCounts, readTop } from './read-counts.js'
import { hitsRouter, type HitsRouterOptions } from './router.js'

/**
 * Counts the views of items, so that no request touches the database: through a wide cache of its
 * own, and a `CollisionFreeMap`. Hits reach SQL exactly once, as the rows of a
 * {@link WideCache} do, and there a viewer counts once per item and window of `repeatSeconds`,
 * whatever process saw them, and in whatever order.
 *
 * Limits: a hit that comes to SQL later than two days (or `cellTtlSeconds`, if longer) after its
 * window is not told from a repeat any more. A viewer is known by a salt of the UTC day, which is
 * made of a secret in the database and a random part in the cache. A process that starts while one
 * of the two is away counts every hit until both are back. When the cache loses the random part, a
 * process that starts in the two minutes before another one puts it back may count viewers anew.
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
export class ItemHits extends EngineRecorder<Hit> implements Hits {
  readonly #settings: HitsSettings
  readonly #engine: Engine<Hit>
  readonly #logger: BurstLogger
  readonly #views: Views<string>
  readonly #map: CountingMap
  /** Of requests that `record` gets. */
  readonly #visitors: Visitors

  constructor(settings: HitsSettings, environment: Environment = systemEnvironment) {
    const { name, gridName } = settings
    const { clock } = environment
    const logger = new BurstLogger(settings.logger, () => clock.elapsed())
    const connections = new Connections<CloseReport>('Hits', name, environment)
    const engine: Engine<Hit> = new Engine(
      connections,
      engineSettings(settings, () => map, logger),
      environment,
    )
    // The database is the engine's, which commits by this map.
    const { map, metrics } = countingMap(engine.database.database, settings, environment)
    const { cache, database, writer } = engine
    const views = new Views<string>({
      cache,
      secret: () => secretOf(database),
      name: gridName,
      clock: engine.clock,
      logger,
      forward: (time, viewer, item, recordedAt) =>
        writer.append({ time, viewer, item }, recordedAt),
      got: 'a hit has',
      withPrivateCache: 'count the hits of one viewer several times',
    })
    // The map is never closed: a commit under way may need it.
    super(engine, views, [metrics])
    this.#settings = settings
    this.#engine = engine
    this.#logger = logger
    this.#views = views
    this.#map = map
    this.#visitors = new Visitors({ ...settings, visitor: undefined }, logger)
  }

  get name(): string {
    return this.#settings.name
  }

  record(item: string, parties?: HitParties): void
  record(item: string, req: IncomingMessage, parties?: HitParties): void
  record(item: string, told: IncomingMessage | HitParties = {}, parties: HitParties = {}): void {
    if (isRequest(told)) this.#recordRequest(item, told, parties)
    else {
      const viewer = this.#viewerOf(told, 'the hit counts without a viewer')
      if (!this.#isOwn(told, viewer)) this.#count(item, viewer, undefined)
    }
  }

  middleware(options: HitsMiddlewareOptions): Handler {
    assertCalled(this, 'hits.middleware')
    return hitsMiddleware(
      options,
      this.#settings,
      (item, identity, userAgent) => this.#count(item, identity, userAgent),
      this.#logger,
    )
  }

  router(options: HitsRouterOptions): Handler {
    assertCalled(this, 'hits.router')
    this.#engine.connections.check()
    return hitsRouter(options, (items) => this.counts(items), this.#engine.environment.clock)
  }

  async count(item: string): Promise<number> {
    const counts = await this.counts([item])
    return counts.get(item) ?? 0
  }

  counts(items: Iterable<string>): Promise<Map<string, number>> {
    return this.#engine.connections.run(async () => {
      const { name, gridName } = this.#settings
      const checked = checkedItems(items)
      return readCounts(this.#engine.database, name, gridName, checked)
    })
  }

  top(n: number, options: HitsTopOptions = {}): Promise<[item: string, hits: number][]> {
    return this.#engine.connections.run(async () => {
      onlyKnown('top', options, ['hours'])
      const { name } = this.#settings
      const checked = integer('n', n, 1, MAX_TOP, 'items')
      if (options.hours === undefined) {
        return readTop(this.#engine.database, name, checked)
      }
      const hours = integer('hours', options.hours, 1, KEPT_HOURS, 'hours')
      return this.#engine.read(`top:${checked}:${hours}`, async (database) =>
        readTopOfHours(database, name, checked, await database.now(), hours),
      )
    })
  }

  history(item: string, options?: HitsHistoryOptions): Promise<HitsDay[]>
  history(item: string, query: HitsHistoryQuery): Promise<HitsPeriod[]>
  history(
    item: string,
    options: HitsHistoryOptions | HitsHistoryQuery = {},
  ): Promise<HitsDay[] | HitsPeriod[]> {
    return this.#engine.connections.run(async () => {
      const text = checkedText('item', item)
      const { database } = this.#engine
      if (isRange(options)) {
        onlyKnown('history', options, ['from', 'to', 'by'])
        const by = oneOf('by', options.by, ['hour', 'day'])
        const range = checkedRange(options, by, MAX_PERIODS[by])
        const now = await database.now()
        return readItemRange(database, this.#settings.name, text, now, { by, ...range })
      }
      onlyKnown('history', options, ['days'])
      const days = integer('days', options.days ?? DEFAULT_DAYS, 1, MAX_DAYS, 'days')
      const now = await database.now()
      return readItemHistory(database, this.#settings.name, text, now, days)
    })
  }

  delete(item: string): Promise<number> {
    return this.#engine.connections.run(async () =>
      this.#move(checkedText('item', item), undefined),
    )
  }

  rename(item: string, newItem: string): Promise<number> {
    return this.#engine.connections.run(async () =>
      this.#move(checkedText('item', item), checkedItem('newItem', newItem)),
    )
  }

  override drain(options?: { all?: boolean }): Promise<DrainReport> {
    const drained = (): Promise<DrainReport> => super.drain(options)
    return this.#engine.connections.run(async () => {
      const report = await drained()
      await this.#map.process()
      return report
    })
  }

  #recordRequest(item: string, req: IncomingMessage, parties: HitParties): void {
    const viewer = this.#viewerOf(parties, 'the hit counts for the address of the request')
    if (this.#isOwn(parties, viewer)) return
    this.#visitors.record(req as Request, viewer, (identity, userAgent) =>
      this.#count(item, identity, userAgent),
    )
  }

  /** The viewer that is given, if it is one. */
  #viewerOf(parties: HitParties, instead: string): string | undefined {
    const viewer = fieldOf(parties, 'viewer')
    const identity = identityOf(viewer)
    if (identity === undefined && !isNobody(viewer)) {
      this.#refused('viewer', viewer, 'a text or a number', instead)
    }
    return identity
  }

  #isOwn(parties: HitParties, viewer: string | undefined): boolean {
    const owner = fieldOf(parties, 'owner')
    const author = identityOf(owner)
    if (owner === true || (viewer !== undefined && viewer === author)) return true
    if (author === undefined && owner !== false && !isNobody(owner)) {
      this.#refused('owner', owner, 'a text, a number or a boolean', 'the hit counts')
    }
    return false
  }

  #count(item: unknown, identity: string | undefined, userAgent: string | undefined): void {
    if (typeof item === 'string' && isItem(item)) {
      this.#views.count(item, identity, userAgent)
    } else {
      this.#refused(
        'item',
        item,
        `a text of 1 to ${MAX_ITEM_BYTES} bytes`,
        'the hit is not counted',
      )
    }
  }

  #move(from: string, to: string | undefined): Promise<number> {
    const { name, gridName } = this.#settings
    const add: MoveTarget['add'] = (counts, tx) => this.#map.update(counts, tx)
    return this.#engine.database.retriedTransaction((tx) =>
      moveHits(tx, { name, map: gridName, add }, from, to),
    )
  }

  #refused(field: string, value: unknown, wanted: string, instead: string): void {
    const what = typeof value === 'string' && value !== '' ? 'a longer text' : describe(value)
    this.#views.refused(field, value, wanted, instead, what)
  }
}

function isNobody(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function isRange(options: HitsHistoryOptions | HitsHistoryQuery): options is HitsHistoryQuery {
  return 'from' in Object(options)
}
