import type { Request } from '../page-views/express.js'
import { type Handler, isRequest, type ServerRequest } from '../page-views/handler.js'
import {
  type Measure,
  measureName,
  MEASURES,
  otherMeasure,
  sentMeasure,
} from '../page-views/measures.js'
import { ViewRecorder } from '../page-views/view-recorder.js'
import { Visitors } from '../page-views/visitors.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { assertCalled } from '../support/missing-call.js'
import { integer, oneOf, onlyKnown } from '../support/options.js'
import { checkedRange, MAX_PERIODS, type Moment } from '../support/periods.js'
import { fieldOf, identityOf } from '../visitors/guard.js'
import { recordedAmong } from '../wide-cache/ledger/name-settings.js'
import { checkedItem, checkedItems, checkedText } from './checks.js'
import { MAX_TOP, readCounts, readTop } from './counts.js'
import { hitsRows } from './engine-settings.js'
import { DAYS, HOURS, KEPT_HOURS, readTopOf } from './history.js'
import { type Hit, isItem, MAX_ITEM_BYTES, type ViewedItem } from './hit.js'
import type {
  HitParties,
  Hits,
  HitsHistoryOptions,
  HitsHistoryQuery,
  HitsTopOptions,
  HitsTopQuery,
} from './hits.js'
import { hitsMiddleware, type HitsMiddlewareOptions } from './middleware.js'
import { moveHits } from './move.js'
import { type HitsOptions, type HitsSettings, hitsSettings } from './options.js'
import {
  DEFAULT_DAYS,
  type HitsPeriod,
  MAX_DAYS,
  readItemHistory,
  readItemRange,
  type RecordedHits,
  readFirstDay,
} from './read-history.js'
import { hitsRouter, type HitsRouterOptions } from './router.js'

/**
 * Counts the views of items, so that no request touches the database: through a wide cache of its
 * own. Hits reach SQL exactly once, as the rows of a {@link WideCache} do. There a viewer counts
 * once per item and window of `repeatSeconds`, on all processes together and in any order.
 *
 * Limits: a view may be counted twice if it reaches SQL more than two days (or `cellTtlSeconds`, if
 * longer) after its window. A viewer is known by a salt of the day. It is made of a secret in
 * the database and a random part in the cache. A process that starts while one of the two is away
 * counts every hit until both are back. When the cache loses the random part, a process that starts
 * in the two minutes before another one puts it back may count viewers anew.
 *
 * @throws TypeError, RangeError
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
export class ItemHits extends ViewRecorder<ViewedItem, Hit> implements Hits {
  readonly #settings: HitsSettings
  /** Of requests that `record` gets. */
  readonly #visitors: Visitors

  constructor(settings: HitsSettings, environment: Environment = systemEnvironment) {
    super(hitsRows(settings), environment)
    this.#settings = settings
    const { privacySignals } = settings
    this.#visitors = new Visitors({ visitor: undefined, privacySignals }, this.logger)
  }

  get name(): string {
    return this.#settings.name
  }

  record(item: string, parties?: HitParties): void
  record(item: string, req: ServerRequest, parties?: HitParties): void
  record(item: string, given: ServerRequest | HitParties = {}, parties: HitParties = {}): void {
    if (isRequest(given)) this.#recordRequest(item, given, parties)
    else {
      const viewer = this.#viewerOf(given, 'the hit counts without a viewer')
      if (!this.#isOwn(given, viewer)) {
        this.#count({ measure: 'served', item }, viewer, undefined)
      }
    }
  }

  middleware(options: HitsMiddlewareOptions): Handler {
    assertCalled(this, 'hits.middleware')
    return hitsMiddleware(
      options,
      this.#settings,
      (viewed, identity, userAgent) => this.#count(viewed, identity, userAgent),
      this.logger,
    )
  }

  router(options: HitsRouterOptions): Handler {
    assertCalled(this, 'hits.router')
    this.engine.connections.check()
    return hitsRouter(options, (items) => this.counts(items), this.engine.environment.clock)
  }

  async count(item: string): Promise<number> {
    const counts = await this.counts([item])
    return counts.get(item) ?? 0
  }

  counts(items: Iterable<string>): Promise<Map<string, number>> {
    return this.engine.connections.run(async () => {
      return readCounts(this.engine.database, this.#countedName, checkedItems(items))
    })
  }

  top(
    n: number,
    options: HitsTopOptions | HitsTopQuery = {},
  ): Promise<[item: string, hits: number][]> {
    return this.engine.connections.run(async () => {
      const name = this.#countedName
      const checked = integer('n', n, 1, MAX_TOP, 'items')
      if (isRange(options)) {
        onlyKnown('top', options, ['from', 'to'])
        const range = await this.calendar.checked((days) =>
          checkedRange(options, 'day', MAX_PERIODS.day, days),
        )
        return this.engine.read(`top:${checked}:${range.from}:${range.to}`, (database) =>
          readTopOf(database, DAYS, name, checked, range),
        )
      }
      onlyKnown('top', options, ['hours'])
      if (options.hours === undefined) return readTop(this.engine.database, name, checked)
      const hours = integer('hours', options.hours, 1, KEPT_HOURS, 'hours')
      return this.engine.read(`top:${checked}:${hours}`, async (database) => {
        const calendar = await this.calendar.read()
        const to = calendar.hourOf(await database.now()) + 1
        return readTopOf(database, HOURS, name, checked, { from: to - hours, to })
      })
    })
  }

  /** Returns the time zone of the days, for the dashboard. */
  timeZone(): Promise<string> {
    return this.engine.connections.run(async () => (await this.calendar.read()).zone)
  }

  /** Returns the first day with hits, for the dashboard; `null`: there is none. */
  firstDay(): Promise<string | null> {
    return this.engine.connections.run(() =>
      this.engine.read('first-day', (database) => readFirstDay(database, this.#countedName)),
    )
  }

  history(item: string, options?: HitsHistoryOptions): Promise<HitsPeriod[]>
  history(item: string, query: HitsHistoryQuery): Promise<HitsPeriod[]>
  history(
    item: string,
    options: HitsHistoryOptions | HitsHistoryQuery = {},
  ): Promise<HitsPeriod[]> {
    return this.engine.connections.run(async () => {
      const text = checkedText('item', item)
      const { database } = this.engine
      if (isRange(options)) {
        onlyKnown('history', options, ['from', 'to', 'by'])
        const by = oneOf('by', options.by, ['hour', 'day'])
        const range = await this.calendar.checked((days) =>
          checkedRange(options, by, MAX_PERIODS[by], days),
        )
        const now = await database.now()
        return readItemRange(database, await this.#site(), text, now, { by, ...range })
      }
      onlyKnown('history', options, ['days'])
      const days = integer('days', options.days ?? DEFAULT_DAYS, 1, MAX_DAYS, 'days')
      const now = await database.now()
      return readItemHistory(database, await this.#site(), text, now, days)
    })
  }

  delete(item: string): Promise<number> {
    return this.engine.connections.run(async () => this.#move(checkedText('item', item), undefined))
  }

  rename(item: string, newItem: string): Promise<number> {
    return this.engine.connections.run(async () =>
      this.#move(checkedText('item', item), checkedItem('newItem', newItem)),
    )
  }

  #recordRequest(item: string, req: ServerRequest, parties: HitParties): void {
    const viewer = this.#viewerOf(parties, 'the hit counts for the address of the request')
    if (this.#isOwn(parties, viewer)) return
    this.#visitors.record(req as Request, viewer, (identity, userAgent, isBot) =>
      this.#count({ measure: sentMeasure(isBot), item }, identity, userAgent),
    )
  }

  /** The viewer that is given, if it is one. */
  #viewerOf(parties: HitParties, instead: string): string | undefined {
    const viewer = fieldOf(parties, 'viewer')
    const identity = identityOf(viewer)
    if (identity === undefined && !isNobody(viewer)) {
      this.views.refused('viewer', viewer, 'a text or a number', instead)
    }
    return identity
  }

  #isOwn(parties: HitParties, viewer: string | undefined): boolean {
    const owner = fieldOf(parties, 'owner')
    const author = identityOf(owner)
    if (owner === true || (viewer !== undefined && viewer === author)) return true
    if (author === undefined && owner !== false && !isNobody(owner)) {
      this.views.refused('owner', owner, 'a text, a number or a boolean', 'the hit counts')
    }
    return false
  }

  /** The name of the rows of the measure that the figures are of. */
  get #countedName(): string {
    return measureName(this.#settings.name, this.#settings.count)
  }

  /** The measures that any process has had hits of. */
  async #recorded(): Promise<Measure[]> {
    const nameOf = (measure: Measure): string => measureName(this.#settings.gridName, measure)
    const names = await recordedAmong(this.engine.database, MEASURES.map(nameOf))
    return MEASURES.filter((measure) => names.includes(nameOf(measure)))
  }

  async #site(): Promise<RecordedHits> {
    const { name, count } = this.#settings
    const recorded = await this.#recorded()
    const calendar = await this.calendar.read()
    return { name, count, hasOther: recorded.includes(otherMeasure(count)), calendar }
  }

  #count(
    { measure, item }: { readonly measure: Measure; readonly item: unknown },
    identity: string | undefined,
    userAgent: string | undefined,
  ): void {
    if (typeof item === 'string' && isItem(item)) {
      this.views.count({ measure, item }, identity, userAgent)
    } else {
      const wanted = `a text of 1 to ${MAX_ITEM_BYTES} bytes`
      const what = typeof item === 'string' && item !== '' ? 'a longer text' : undefined
      this.views.refused('item', item, wanted, 'the hit is not counted', what)
    }
  }

  /** Moves the hits of all measures. Resolves with how many the figures had. */
  async #move(from: string, to: string | undefined): Promise<number> {
    const recorded = await this.#recorded()
    return this.engine.database.retriedTransaction(async (tx) => {
      let moved = 0
      for (const measure of recorded) {
        const hits = await moveHits(tx, measureName(this.#settings.name, measure), from, to)
        if (measure === this.#settings.count) moved = hits
      }
      return moved
    })
  }
}

function isNobody(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function isRange<Options extends object>(
  options: Options,
): options is Extract<Options, { readonly from: Moment }> {
  return 'from' in Object(options)
}
