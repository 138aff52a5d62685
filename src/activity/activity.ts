import { Connections } from '../connections/connections.js'
import type { DashboardOptions } from '../dashboard/options.js'
import { dashboardRouter } from '../dashboard/router.js'
import type { DashboardSource } from '../dashboard/source.js'
import type { RequestHandler, Router } from '../page-views/express.js'
import { Views } from '../page-views/views.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { oneOf } from '../support/options.js'
import { START_COMMAND } from '../support/package-kinds.js'
import { identityOf } from '../visitors/guard.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import type { Recorder } from '../wide-cache/recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import { bookMetrics } from './book-metrics.js'
import { HOURS_A_DAY } from './books.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
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
import { Recounts } from './recount.js'
import { activityRouter } from './router.js'
import { type ActivityStats, readStats } from './stats.js'
import { PAGE } from './sums.js'
import { MAX_TIME, type Visit, visitCodec } from './visit.js'
import { VisitRetention } from './visit-retention.js'

/** A visit that `record` takes. */
export interface RecordedVisit {
  /**
   * Visitor, as a text or a number; only a keyed hash of it leaves the process. Not
   * given: unknown.
   */
  visitor?: string | number | bigint | null | undefined
  /** Page that was viewed, cut at 1,024 bytes. */
  page: string
  /**
   * Time of the visit, in milliseconds since the Unix epoch, or as a Date. A time in the future
   * counts as now.
   * @default now
   */
  at?: number | Date | undefined
}

/** The visits of a site, and the figures of its last minutes. */
export interface Activity extends Recorder {
  /** Counts page views; put it before the routes: `app.use(activity.middleware())`. */
  middleware(): RequestHandler
  /**
   * `GET /` the figures as JSON, `GET /widget.js` the element that shows them:
   * `app.use('/activity', activity.router())`.
   */
  router(): Router
  /**
   * Counts a visit that the middleware does not see. Never throws and never waits: of a wrong
   * argument the part that is right counts, and the log says so.
   */
  record(visit: RecordedVisit): void
  /**
   * The figures, at most `statsTtlSeconds` old; the last good ones while SQL is away. However many
   * callers and processes ask, SQL is asked once in that time.
   *
   * @throws if there never were any, what the database threw
   */
  stats(): Promise<ActivityStats>
  /**
   * Page views and visitors of each hour, or of each day in UTC, without gaps: exact, and for ever.
   * A visitor of two days is two visitors, so sums over days are no "unique visitors". What comes
   * after its day was closed (about an hour after its end) counts at the start of the oldest open
   * day. At most a year of hours or ten years of days. Cached as {@link stats} is.
   *
   * @throws TypeError, RangeError naming the field that is wrong; what the database throws
   *
   * @example
   * ```js
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * const to = Date.now()
   * const week = await activity.history({ from: to - 7 * 86_400_000, to, by: 'day' })
   * console.log(week.length) // 8: two days of the range are not whole
   * await activity.close()
   * ```
   */
  history(query: HistoryQuery): Promise<ActivityPeriod[]>
  /**
   * The values of a dimension with the most page views, the first with the most: `page`, or one of
   * the option `dimensions`. `null` stands for visits without a value, `(other)` for values that
   * are not listed one by one. Hours that are older than `historyDays` are rounded to whole days.
   * Cached as {@link stats} is.
   *
   * @throws TypeError, RangeError for an unknown dimension or a wrong field; what the database
   * throws
   *
   * @example
   * ```js
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * const to = Date.now()
   * console.log(await activity.top('page', { from: to - 86_400_000, to, n: 5 }))
   * await activity.close()
   * ```
   */
  top(dimension: string, query: TopQuery): Promise<ValueViews[]>
  /**
   * Returns the contents of the cells of the newest layers, from the cache. A visit is
   * there within a second. A visit may be missing, or come twice, while its frame is on its way.
   * All callers of a second share one read.
   *
   * @throws CacheError if the cache does not answer
   */
  live(): Promise<LiveActivity>
  /**
   * A page with all figures, for those whom `authorize` lets in:
   * `app.use('/admin/activity', activity.dashboard({ authorize }))`. Also `/history.csv` and
   * `/top.csv`. Without `authorize` only the machine itself sees it, with `NODE_ENV=development`.
   *
   * @throws TypeError naming the option that is wrong
   */
  dashboard(options?: DashboardOptions): Router
  /**
   * Returns the certificate of a UTC day: its figures, the sums of the ledger when the day was
   * closed, and whether they agree. For an open day, such as today, all figures are as of now.
   * Cached as {@link stats} is.
   *
   * @param day as in `2026-05-17`
   * @throws TypeError, RangeError for a text that is not a day, and for a day that has not begun;
   * what the database throws
   *
   * @example
   * ```js
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * const today = new Date().toISOString().slice(0, 10)
   * const { balanced, findings } = await activity.certificate(today)
   * console.log(balanced, findings) // true []
   * await activity.close()
   * ```
   */
  certificate(day: string): Promise<ActivityCertificate>
}

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

/** Key of the figures that `stats()` returns. */
const STATS = 'figures'

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
    const { cache, writer } = engine
    const views = new Views<ViewedPage>({
      cache,
      name,
      clock,
      logger,
      forward: (time, visitor, { page, dimensions }) =>
        writer.append({ time, visitor, page, dimensions }),
      got: 'record() got',
      withPrivateCache: 'count one visitor several times',
    })
    super(engine, views)
    this.#settings = settings
    this.#engine = engine
    this.#logger = logger
    this.#views = views
    this.#live = liveView(() => this.#stats(), engine, clock)
    this.#middleware = activityMiddleware(settings, views.count, logger)
  }

  middleware(): RequestHandler {
    return this.#middleware()
  }

  router(): Router {
    this.#engine.connections.check()
    return activityRouter(() => this.stats(), this.#settings.statsTtlSeconds)
  }

  record(visit: RecordedVisit): void {
    const { visitor, page, at }: { [K in keyof RecordedVisit]?: unknown } = visit ?? {}
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
      return { ...stats, stale: stats.stale || this.#engine.now > staleAt }
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
      return this.#engine.read(
        `top:${known}:${range.from}:${range.to}:${n}`,
        (database, { name, asOf }) => {
          const keptFrom = hourOf(asOf) - HOURS_A_DAY * this.#settings.historyDays
          return readTop(database, name, known, wholeDays(range, keptFrom), n)
        },
      )
    })
  }

  live(): Promise<LiveActivity> {
    return this.#engine.connections.run(() => this.#live())
  }

  dashboard(options: DashboardOptions = {}): Router {
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
    return dashboardRouter(source, options, this.#logger, this.#engine.environment.clock)
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.#engine.connections.run(async () => {
      const number = dayNumber('day', day, this.#engine.environment.clock.now())
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
    return this.#engine.read(STATS, async (database, context) => ({
      ...(await readStats(database, context, this.#settings.windowSeconds)),
      staleAt: context.staleAt,
    }))
  }

  #timeOf(at: unknown): number {
    const { clock } = this.#engine.environment
    const time = at instanceof Date ? at.getTime() : (at ?? clock.now())
    if (typeof time === 'number' && time >= 0 && time <= MAX_TIME) return Math.floor(time)
    this.#views.refused(
      'at',
      at,
      'a Date, or milliseconds since 1970',
      'the visit counts as of now',
    )
    return clock.now()
  }
}

/** Returns what an activity hands in to its engine. */
function engineSettings(
  settings: ActivitySettings,
  environment: Environment,
  logger: BurstLogger,
): EngineSettings<Visit> {
  const { name, keepSeconds, historyDays, keep, layerSeconds } = settings
  const { clock } = environment
  const random = (): number => environment.random()
  const recounts = new Recounts({ name, layerSeconds, random, logger })
  const retention = new VisitRetention({ ...settings, clock, logger })
  return {
    ...settings.grid,
    name,
    kind: 'activity',
    nameSettings: {
      keepSeconds: { value: keepSeconds, counts: 'longest' },
      historyDays: { value: historyDays, counts: 'longest' },
      keep: { value: keep, counts: 'last' },
    },
    tables: ['activity'],
    codec: visitCodec,
    commit: commitVisits,
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: settings.statsTtlSeconds,
    removeOld: (database, context) => retention.removeOld(database, context),
    afterRun: (database, { now }) => recounts.run(database, now),
    metrics: bookMetrics,
    collectorRemedy: START_COMMAND,
  }
}
