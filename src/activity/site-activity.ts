import { hash } from 'node:crypto'
import { types } from 'node:util'
import type { DashboardOptions } from '../dashboard/options.js'
import { withToday } from '../dashboard/open-day.js'
import { dashboardRouter } from '../dashboard/router.js'
import type {
  ActivityPeriod,
  LiveActivity,
  ValuePeriod,
  ValueViews,
} from '../dashboard/site-figures.js'
import type { DashboardSource, Dated, Note, Overview, Range } from '../dashboard/source.js'
import type { Queryable } from '../database/database.js'
import { type Handler, isRequest, type ServerRequest } from '../page-views/handler.js'
import { type Measure, measureName } from '../page-views/measures.js'
import { ViewRecorder } from '../page-views/view-recorder.js'
import { dayText, type LongPeriod, summedBy } from '../support/calendar-days.js'
import type { Clock } from '../support/clock.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { assertCalled } from '../support/missing-call.js'
import { oneOf } from '../support/options.js'
import { shared } from '../support/shared.js'
import { fieldOf, identityOf } from '../visitors/guard.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import type { Activity, RecordedView, RecordedVisit } from './activity.js'
import { RESERVED, ownMeasureOf } from './dimensions/own-measure.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { activityRows } from './engine-settings.js'
import { readFirstDay } from './first-day.js'
import { readHourlyViews, readTop } from './history.js'
import { readActivityHistory } from './activity-history.js'
import { readActivityTop } from './activity-top.js'
import { liveView, readLive } from './live.js'
import { type RequestViews, requestViews, type ViewedPage } from './middleware.js'
import { type ActivityOptions, type ActivitySettings, activitySettings } from './options.js'
import { pageOf } from './page.js'
import {
  dayNumber,
  type HistoryQuery,
  checkedHistory,
  isOfValue,
  keptFrom,
  type TopQuery,
  checkedTop,
  type ValueHistoryQuery,
  checkedValueHistory,
  wholeDays,
} from './ranges.js'
import { activityRouter, type ActivityRouterOptions } from './router.js'
import { type ActivityStats, readStats } from './stats.js'
import { checkedNote, readNotes, writeNote } from './notes.js'
import { PAGE } from './sums.js'
import { readValueHistory } from './value-history.js'
import { MAX_TIME, type Visit } from './visit.js'

/** Time for which an answer of the first day serves all who ask a dashboard. */
const FIRST_DAY_MS = 1_000

/**
 * Counts the visits of a site. Servers need not be there yet: visits are kept, within bounds, until
 * they are.
 *
 * @throws TypeError, RangeError
 *
 * @example
 * ```js
 * import express from 'express'
 * import { createActivity } from 'wide-cache'
 *
 * const activity = createActivity({ windowSeconds: 3600 })
 * const app = express()
 * app.use(activity.middleware())
 * app.use('/activity', activity.router())
 * app.get('/', (req, res) => res.send('<h1>A page</h1>'))
 * app.listen(3000)
 * ```
 */
export function createActivity(options: ActivityOptions = {}): Activity {
  return new SiteActivity(activitySettings(options))
}

/** A site of an overview. */
export interface OverviewSite {
  readonly name: string
  /** Full name of the measure that its figures are of. */
  readonly measure: string
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly run: <Answer>(work: (database: Queryable) => Promise<Answer>) => Promise<Answer>
}

/** {@link Activity}, with a clock that tests may own. */
export class SiteActivity extends ViewRecorder<ViewedPage, Visit> implements Activity {
  readonly #settings: ActivitySettings
  readonly #live: () => Promise<LiveActivity>
  readonly #requests: RequestViews

  constructor(settings: ActivitySettings, environment: Environment = systemEnvironment) {
    super(activityRows(settings, environment), environment)
    this.#settings = settings
    this.#live = liveView(() => this.#stats(), this.engine)
    this.#requests = requestViews(settings, this.views.count, this.logger)
  }

  /** What the overview of several sites needs of an activity; `undefined`: it is none. */
  static siteOf(activity: unknown): OverviewSite | undefined {
    if (!(activity instanceof SiteActivity)) return undefined
    const { connections, clock, database } = activity.engine
    connections.check()
    const { name, count } = activity.#settings
    const { logger } = activity
    const run: OverviewSite['run'] = (work) => connections.run(() => work(database))
    return { name, measure: measureName(name, count), clock, logger, run }
  }

  middleware(): Handler {
    assertCalled(this, 'activity.middleware')
    return this.#requests.middleware()
  }

  router(options?: ActivityRouterOptions): Handler {
    assertCalled(this, 'activity.router')
    this.engine.connections.check()
    const { statsTtlSeconds, publicPath } = this.#settings
    const { seen } = this.#requests
    const stats = () => this.stats()
    const { logger } = this
    return activityRouter({ stats, statsTtlSeconds, seen, publicPath, logger }, options)
  }

  record(visit: RecordedVisit): void
  record(req: ServerRequest, view?: RecordedView): void
  record(given: RecordedVisit | ServerRequest, view?: RecordedView): void {
    if (isRequest(given)) this.#recordRequest(given, fieldOf(view, 'page'))
    else this.#recordVisit(given)
  }

  #recordRequest(req: ServerRequest, page: unknown): void {
    const isPage = typeof page === 'string' && page !== ''
    if (!isPage && page !== undefined) {
      this.views.refused('page', page, 'a text', 'the visit counts for the page of the request')
    }
    this.#requests.record(req, isPage ? page : undefined)
  }

  #recordVisit(visit: RecordedVisit): void {
    const [visitor, page, at] = [
      fieldOf(visit, 'visitor'),
      fieldOf(visit, 'page'),
      fieldOf(visit, 'at'),
    ]
    const identity = identityOf(visitor)
    const isPage = typeof page === 'string' && page !== ''
    if (identity === undefined && visitor !== undefined && visitor !== null) {
      this.views.refused(
        'visitor',
        visitor,
        'a text or a number',
        'the visit counts without a visitor',
      )
    }
    if (!isPage) this.views.refused('page', page, 'a text', 'the visit counts for the page "/"')
    const viewed: ViewedPage = {
      measure: 'served',
      page: isPage ? pageOf(page) : '/',
      dimensions: undefined,
    }
    this.views.countAt(this.#timeOf(at), viewed, identity)
  }

  stats(): Promise<ActivityStats> {
    return this.engine.connections.run(() => this.#stats())
  }

  history(query: ValueHistoryQuery): Promise<ValuePeriod[]>
  history(query: HistoryQuery): Promise<ActivityPeriod[]>
  async history(
    query: HistoryQuery | ValueHistoryQuery,
  ): Promise<ActivityPeriod[] | ValuePeriod[]> {
    if (isOfValue(query)) return (await this.#valueHistory(query)).figures
    return (await this.#history(query)).figures
  }

  async top(dimension: string, query: TopQuery): Promise<ValueViews[]> {
    return (await this.#top(dimension, query)).figures
  }

  #history(query: HistoryQuery, today?: Overview['today']): Promise<Dated<ActivityPeriod[]>> {
    return this.engine.connections.run(async () => {
      const {
        by,
        range,
        summedBy: long,
      } = await this.calendar.checked((days) => checkedHistory(query, days))
      const history = await this.#read(`history:${by}:${range.from}:${range.to}`, (database) =>
        readActivityHistory(database, this.#settings, by, range),
      )
      const { figures } = history
      return inPeriods(
        {
          ...history,
          figures: today ? withToday(figures, by, today, this.calendar.current) : figures,
        },
        long,
      )
    })
  }

  /** The history, which has no fewer page views than the overview of the same moment. */
  async #historyOfNow(query: HistoryQuery): Promise<Dated<ActivityPeriod[]>> {
    // Without it the history is what it is.
    const overview = await this.engine.connections
      .run(() => this.#overview())
      .catch(() => undefined)
    return this.#history(query, overview?.figures.today)
  }

  #valueHistory(query: ValueHistoryQuery, bots = false): Promise<Dated<ValuePeriod[]>> {
    return this.engine.connections.run(async () => {
      const {
        by,
        range,
        summedBy: long,
        ...key
      } = await this.calendar.checked((days) => checkedValueHistory(query, this.#readable, days))
      // Keys of the cache are short, and values are any text.
      const value = hash('sha256', key.value, 'base64url')
      const own = ownMeasureOf(key.dimension, bots)
      const history = await this.#read(
        `history:${by}:${range.from}:${range.to}:${key.dimension}:${value}:${own?.measure ?? ''}`,
        (database, { name }) =>
          readValueHistory(database, own ? this.#nameOf(own.measure) : name, by, range, {
            ...key,
            ...(own && { dimension: own.dimension }),
          }),
      )
      return inPeriods(history, long)
    })
  }

  /** @param under of values that begin with it */
  #top(dimension: string, query: TopQuery, under = ''): Promise<Dated<ValueViews[]>> {
    return this.engine.connections.run(async () => {
      const known = oneOf('dimension', dimension, this.#readable)
      const { range, n, ...asked } = await this.calendar.checked((days) => checkedTop(query, days))
      const own = ownMeasureOf(known, asked.bots)
      const { historyDays } = this.#settings
      const measure = own?.measure ?? ''
      const among = under && `:${hash('sha256', under, 'base64url')}`
      return this.#read(
        `top:${known}:${range.from}:${range.to}:${n}:${historyDays}:${measure}${among}`,
        (database, { asOf }) => {
          const { current } = this.calendar
          const hours = wholeDays(range, keptFrom(asOf, historyDays, current), current)
          if (own) {
            const name = this.#nameOf(own.measure)
            return readTop(database, name, own.dimension, hours, { n, under })
          }
          return readActivityTop(database, this.#settings, known, hours, { n, under })
        },
      )
    })
  }

  live(): Promise<LiveActivity> {
    return this.engine.connections.run(() => this.#live())
  }

  dashboard(options: DashboardOptions = {}): Handler {
    assertCalled(this, 'activity.dashboard')
    this.engine.connections.check()
    const source: DashboardSource = {
      name: this.#settings.name,
      dimensions: this.dimensions,
      calendar: this.calendar,
      historyDays: this.#settings.historyDays,
      overview: () => this.engine.connections.run(() => this.#overview()),
      live: (asOf) => this.engine.connections.run(() => readLive(asOf, this.engine)),
      history: (query) => this.#historyOfNow(query),
      valueHistory: ({ bots, ...query }) => this.#valueHistory(query, bots),
      top: (dimension, { under, ...query }) => this.#top(dimension, query, under),
      hours: (range) => this.#hours(range),
      notes: (range) => this.#notes(range),
      // Each list of an answer asks for it.
      firstDay: shared(this.engine.clock, FIRST_DAY_MS, () => this.#firstDay()),
      ledger: () => this.ledger(),
      certificates: (days) => this.#certificates(days),
      collectors: () => this.engine.operations.collecting(),
      health: () => this.health(),
      advice: () => this.engine.operations.advice(),
    }
    return dashboardRouter(source, options, this.logger, this.engine.clock)
  }

  #firstDay(): Promise<string | null> {
    return this.engine.connections.run(() =>
      this.engine.read(this.#keyOf('first-day'), (database, { name }) =>
        readFirstDay(database, name),
      ),
    )
  }

  /** The page views of each hour of a range of whole hours. */
  #hours(range: Range): Promise<Dated<number[]>> {
    return this.engine.connections.run(async () => {
      const calendar = await this.calendar.read()
      const [from, to] = [calendar.hourOf(range.from), calendar.hourOf(range.to)]
      return this.#read(`hours:${from}:${to}`, (database, { name }) =>
        readHourlyViews(database, name, { from, to }),
      )
    })
  }

  /** One after the other: nobody waits for them, and each asks SQL several times. */
  async #certificates(days: number): Promise<ActivityCertificate[]> {
    const today = (await this.calendar.read()).dayOf(this.engine.clock.now())
    const certificates: ActivityCertificate[] = []
    for (let day = today - days + 1; day <= today; day++) {
      certificates.push(await this.certificate(dayText(day)))
    }
    return certificates
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.engine.connections.run(async () => {
      const now = this.engine.clock.now()
      const number = dayNumber('day', day, now, await this.calendar.read())
      return this.engine.read(this.#keyOf(`certificate:${number}`), async (database, { name }) =>
        readCertificate(database, name, number, await database.now()),
      )
    })
  }

  note(day: string, text: string | null): Promise<void> {
    return this.engine.connections.run(async () => {
      const [number, checked] = checkedNote(day, text)
      await writeNote(this.engine.database, this.#settings.name, number, checked)
    })
  }

  /** The notes on the days of a range. */
  #notes({ from, to }: Range): Promise<Note[]> {
    return this.engine.connections.run(async () => {
      const calendar = await this.calendar.read()
      const days = { from: calendar.dayOf(from), to: calendar.dayOf(to - 1) + 1 }
      return this.engine.read(this.#keyOf(`notes:${days.from}:${days.to}`), (database) =>
        readNotes(database, this.#settings.name, days),
      )
    })
  }

  /** The dimensions that this process knows of. */
  get dimensions(): readonly string[] {
    return [PAGE, ...Object.keys(this.#settings.dimensions)]
  }

  get #readable(): readonly string[] {
    return [...this.dimensions, ...RESERVED]
  }

  #nameOf(measure: Measure): string {
    return measureName(this.#settings.name, measure)
  }

  async #stats(): Promise<ActivityStats> {
    const { windowSeconds } = this.#settings
    const { figures, stale } = await this.#read(`stats:${windowSeconds}`, (database, context) =>
      readStats(database, context, windowSeconds),
    )
    return { ...figures, stale }
  }

  /** The figures of the window, and of the day, are of one reading. */
  #overview(): Promise<Dated<Overview>> {
    const { windowSeconds } = this.#settings
    return this.#read(`overview:${windowSeconds}`, async (database, context) => {
      const { pageViews, visitors } = await readStats(database, context, windowSeconds)
      const calendar = await this.calendar.read()
      const hour = calendar.hourOf(this.engine.clock.now())
      const day = calendar.dayOfHour(hour)
      const range = { from: calendar.firstHour(day), to: hour + 1 }
      // After the window, so that the hours have at least its page views of the day.
      const hours = await readHourlyViews(database, context.name, range)
      const today = {
        day: dayText(day),
        views: hours.reduce((sum, views) => sum + views, 0),
        hours,
      }
      return { windowSeconds, pageViews, visitors, today }
    })
  }

  /** Days of another zone are other figures: before one is recorded, this process may be wrong. */
  #keyOf(key: string): string {
    const { zone } = this.calendar.current
    return zone === 'UTC' ? key : `${zone}:${key}`
  }

  /** Reads figures, as `Engine.read` does. While SQL is away, they become stale. */
  async #read<Figures>(
    key: string,
    read: (database: Queryable, context: ReadContext) => Promise<Figures>,
  ): Promise<Dated<Figures>> {
    const { figures, asOf, stale, staleAt } = await this.engine.read(
      this.#keyOf(key),
      async (database, context) => ({ ...context, figures: await read(database, context) }),
    )
    const isOver = this.engine.clock.now() > staleAt
    const dated = { figures, asOf: new Date(asOf).toISOString(), stale: stale || isOver }
    return isOver && !stale ? { ...dated, unread: true } : dated
  }

  /** Returns the time that a visit is said to be of; `undefined`: now. */
  #timeOf(at: unknown): number | undefined {
    if (at === undefined || at === null) return undefined
    const time = types.isDate(at) ? Date.prototype.getTime.call(at) : at
    if (typeof time === 'number' && time >= 0 && time <= MAX_TIME) return Math.floor(time)
    this.views.refused('at', at, 'a Date, or milliseconds since 1970', 'the visit counts as of now')
    return undefined
  }
}

/** A history, by the weeks or months that were asked for. */
function inPeriods<One extends { readonly start: string }>(
  history: Dated<One[]>,
  by: LongPeriod | undefined,
): Dated<One[]> {
  return by ? { ...history, figures: summedBy(history.figures, by) } : history
}
