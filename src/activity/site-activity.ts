import { types } from 'node:util'
import type { DashboardOptions } from '../dashboard/options.js'
import { dashboardRouter } from '../dashboard/router.js'
import type {
  ActivityPeriod,
  LiveActivity,
  ValuePeriod,
  ValueViews,
} from '../dashboard/site-figures.js'
import type { DashboardSource } from '../dashboard/source.js'
import type { Queryable } from '../database/database.js'
import { type Handler, isRequest, type ServerRequest } from '../page-views/handler.js'
import { measureName } from '../page-views/measures.js'
import { ViewRecorder } from '../page-views/view-recorder.js'
import type { Clock } from '../support/clock.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { assertCalled } from '../support/missing-call.js'
import { fieldOf, identityOf } from '../visitors/guard.js'
import { ActivityFigures } from './activity-figures.js'
import type { Activity, RecordedView, RecordedVisit } from './activity.js'
import type { ActivityCertificate } from './certificate.js'
import { activityRows } from './engine-settings.js'
import { type RequestViews, requestViews, type ViewedPage } from './middleware.js'
import { type ActivityOptions, type ActivitySettings, activitySettings } from './options.js'
import { pageOf } from './page.js'
import { type HistoryQuery, isOfValue, type TopQuery, type ValueHistoryQuery } from './ranges.js'
import { activityRouter, type ActivityRouterOptions } from './router.js'
import type { ActivityStats } from './stats.js'
import { MAX_TIME, type Visit } from './visit.js'

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
  readonly #figures: ActivityFigures
  readonly #requests: RequestViews

  constructor(settings: ActivitySettings, environment: Environment = systemEnvironment) {
    super(activityRows(settings, environment), environment)
    this.#settings = settings
    this.#figures = new ActivityFigures(settings, this.engine, this.calendar)
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
    return this.#figures.stats()
  }

  history(query: ValueHistoryQuery): Promise<ValuePeriod[]>
  history(query: HistoryQuery): Promise<ActivityPeriod[]>
  async history(
    query: HistoryQuery | ValueHistoryQuery,
  ): Promise<ActivityPeriod[] | ValuePeriod[]> {
    if (isOfValue(query)) return (await this.#figures.valueHistory(query)).figures
    return (await this.#figures.history(query)).figures
  }

  async top(dimension: string, query: TopQuery): Promise<ValueViews[]> {
    return (await this.#figures.top(dimension, query)).figures
  }

  live(): Promise<LiveActivity> {
    return this.#figures.live()
  }

  dashboard(options: DashboardOptions = {}): Handler {
    assertCalled(this, 'activity.dashboard')
    this.engine.connections.check()
    const figures = this.#figures
    const source: DashboardSource = {
      name: this.#settings.name,
      dimensions: figures.dimensions,
      calendar: this.calendar,
      historyDays: this.#settings.historyDays,
      overview: () => figures.overview(),
      live: (asOf) => figures.liveSince(asOf),
      history: (query) => figures.historyOfNow(query),
      valueHistory: ({ bots, ...query }) => figures.valueHistory(query, bots),
      top: (dimension, { under, ...query }) => figures.top(dimension, query, under),
      hours: (range) => figures.hours(range),
      notes: (range) => figures.notes(range),
      firstDay: figures.firstDay,
      ledger: () => this.ledger(),
      certificates: (days) => figures.certificates(days),
      collectors: () => this.engine.operations.collecting(),
      health: () => this.health(),
      advice: () => this.engine.operations.advice(),
    }
    return dashboardRouter(source, options, this.logger, this.engine.clock)
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.#figures.certificate(day)
  }

  note(day: string, text: string | null): Promise<void> {
    return this.#figures.note(day, text)
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
