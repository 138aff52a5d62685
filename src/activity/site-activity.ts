import { types } from 'node:util'
import { Connections } from '../connections/connections.js'
import { secretOf } from '../database/identity.js'
import type { DashboardOptions } from '../dashboard/options.js'
import { dashboardRouter } from '../dashboard/router.js'
import type { DashboardSource } from '../dashboard/source.js'
import type { RequestHandler, Router } from '../page-views/express.js'
import { Views } from '../page-views/views.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { assertCalled } from '../support/missing-call.js'
import { oneOf } from '../support/options.js'
import { fieldOf, identityOf } from '../visitors/guard.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import type { Activity, RecordedVisit } from './activity.js'
import { HOURS_A_DAY } from './books.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { engineSettings } from './engine-settings.js'
import { type ActivityPeriod, readHistory, readTop, type ValueViews } from './history.js'
import { type LiveActivity, liveView } from './live.js'
import { activityMiddleware, type ViewedPage } from './middleware.js'
import { type ActivityOptions, type ActivitySettings, activitySettings } from './options.js'
import { pageOf } from './page.js'
import {
  dayNumber,
  type HistoryQuery,
  historyQuery,
  hourOf,
  type TopQuery,
  topQuery,
  wholeDays,
} from './ranges.js'
import { activityRouter, type ActivityRouterOptions } from './router.js'
import { type ActivityStats, readStats } from './stats.js'
import { PAGE } from './sums.js'
import { MAX_TIME, type Visit } from './visit.js'

/**
 * Counts the visits of a site. Servers need not be there yet: visits are kept, within bounds, until
 * they are.
 *
 * @throws TypeError, RangeError naming the option that is wrong, its value and what is allowed
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

/** Figures, and when they become stale unless new ones are read; see {@link ReadContext}. */
type CachedStats = ActivityStats & Pick<ReadContext, 'staleAt'>

/** {@link Activity}, with a clock that tests may own. */
export class SiteActivity extends EngineRecorder<Visit> implements Activity {
  readonly #settings: ActivitySettings
  readonly #engine: Engine<Visit>
  readonly #logger: BurstLogger
  readonly #views: Views<ViewedPage>
  readonly #live: () => Promise<LiveActivity>
  readonly #middleware: () => RequestHandler

  constructor(settings: ActivitySettings, environment: Environment = systemEnvironment) {
    const { name } = settings
    const { clock } = environment
    const logger = new BurstLogger(settings.logger, () => clock.elapsed())
    const connections = new Connections<CloseReport>('Activity', name, environment)
    const engine = new Engine(
      connections,
      engineSettings(settings, environment, logger),
      environment,
    )
    const { cache, database, writer } = engine
    const views = new Views<ViewedPage>({
      cache,
      secret: () => secretOf(database),
      name,
      clock: engine.clock,
      logger,
      forward: (time, visitor, { page, dimensions }, recordedAt) =>
        writer.append({ time, visitor, page, dimensions }, recordedAt),
      got: 'record() got',
      withPrivateCache: 'count one visitor several times',
    })
    super(engine, views)
    this.#settings = settings
    this.#engine = engine
    this.#logger = logger
    this.#views = views
    this.#live = liveView(() => this.#stats(), engine)
    this.#middleware = activityMiddleware(settings, views.count, logger)
  }

  middleware(): RequestHandler {
    assertCalled(this, 'activity.middleware')
    return this.#middleware()
  }

  router(options?: ActivityRouterOptions): Router {
    assertCalled(this, 'activity.router')
    this.#engine.connections.check()
    return activityRouter(() => this.stats(), this.#settings.statsTtlSeconds, options)
  }

  record(visit: RecordedVisit): void {
    const [visitor, page, at] = [
      fieldOf(visit, 'visitor'),
      fieldOf(visit, 'page'),
      fieldOf(visit, 'at'),
    ]
    const identity = identityOf(visitor)
    const isPage = typeof page === 'string' && page !== ''
    if (identity === undefined && visitor !== undefined && visitor !== null) {
      this.#views.refused(
        'visitor',
        visitor,
        'a text or a number',
        'the visit counts without a visitor',
      )
    }
    if (!isPage) this.#views.refused('page', page, 'a text', 'the visit counts for the page "/"')
    const viewed = { page: isPage ? pageOf(page) : '/', dimensions: undefined }
    this.#views.countAt(this.#timeOf(at), viewed, identity)
  }

  stats(): Promise<ActivityStats> {
    return this.#engine.connections.run(async () => {
      const { staleAt, ...stats } = await this.#stats()
      // While SQL is away, the last good figures are served.
      return { ...stats, stale: stats.stale || this.#engine.clock.now() > staleAt }
    })
  }

  history(query: HistoryQuery): Promise<ActivityPeriod[]> {
    return this.#engine.connections.run(async () => {
      const { by, range } = historyQuery(query)
      return this.#engine.read(`history:${by}:${range.from}:${range.to}`, (database, { name }) =>
        readHistory(database, name, by, range),
      )
    })
  }

  top(dimension: string, query: TopQuery): Promise<ValueViews[]> {
    return this.#engine.connections.run(async () => {
      const known = oneOf('dimension', dimension, this.dimensions)
      const { range, n } = topQuery(query)
      const { historyDays } = this.#settings
      return this.#engine.read(
        `top:${known}:${range.from}:${range.to}:${n}:${historyDays}`,
        (database, { name, asOf }) => {
          const keptFrom = hourOf(asOf) - HOURS_A_DAY * historyDays
          return readTop(database, name, known, wholeDays(range, keptFrom), n)
        },
      )
    })
  }

  live(): Promise<LiveActivity> {
    return this.#engine.connections.run(() => this.#live())
  }

  dashboard(options: DashboardOptions = {}): Router {
    assertCalled(this, 'activity.dashboard')
    this.#engine.connections.check()
    const source: DashboardSource = {
      name: this.#settings.name,
      dimensions: this.dimensions,
      stats: () => this.stats(),
      live: () => this.live(),
      history: (query) => this.history(query),
      top: (dimension, query) => this.top(dimension, query),
      ledger: () => this.ledger(),
    }
    return dashboardRouter(source, options, this.#logger, this.#engine.clock)
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.#engine.connections.run(async () => {
      const number = dayNumber('day', day, this.#engine.clock.now())
      return this.#engine.read(`certificate:${number}`, async (database, { name }) =>
        readCertificate(database, name, number, await database.now()),
      )
    })
  }

  /** The dimensions that this process knows of. */
  get dimensions(): readonly string[] {
    return [PAGE, ...Object.keys(this.#settings.dimensions)]
  }

  #stats(): Promise<CachedStats> {
    const { windowSeconds } = this.#settings
    return this.#engine.read(`stats:${windowSeconds}`, async (database, context) => ({
      ...(await readStats(database, context, windowSeconds)),
      staleAt: context.staleAt,
    }))
  }

  /** Returns the time that a visit is said to be of; `undefined`: now. */
  #timeOf(at: unknown): number | undefined {
    if (at === undefined || at === null) return undefined
    const time = types.isDate(at) ? Date.prototype.getTime.call(at) : at
    if (typeof time === 'number' && time >= 0 && time <= MAX_TIME) return Math.floor(time)
    this.#views.refused(
      'at',
      at,
      'a Date, or milliseconds since 1970',
      'the visit counts as of now',
    )
    return undefined
  }
}
