import type { Cache } from '../cache/cache.js'
import type { Database } from '../database/database.js'
import type { DashboardOptions } from '../dashboard/options.js'
import { dashboardRouter } from '../dashboard/router.js'
import type { DashboardSource } from '../dashboard/source.js'
import { ClosedError } from '../support/closed-error.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { Lifetime } from '../support/lifetime.js'
import { BurstLogger } from '../support/logger.js'
import { oneOf } from '../support/options.js'
import type { MetricsMeter } from '../metrics/open-telemetry.js'
import type { RequestHandler, Router } from '../page-views/express.js'
import { Guard, identityOf, kindOf } from '../visitors/guard.js'
import { Pseudonymizer } from '../visitors/pseudonymizer.js'
import { lastResponses } from '../page-views/last-responses.js'
import type { DrainReport } from '../wide-cache/collector/grid-drain.js'
import type { LedgerReport } from '../wide-cache/ledger/report.js'
import { CLOSED, type Health } from '../wide-cache/operations/health.js'
import type { ReadContext, RetentionContext } from '../wide-cache/options.js'
import { type Keep, useOf } from '../wide-cache/ledger/use.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { watchBalance } from './balance.js'
import { HOURS_A_DAY } from './books.js'
import { type ActivityCertificate, certificateLine, readCertificate } from './certificate.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import { type ActivityPeriod, readHistory, readTop, type ValueViews } from './history.js'
import { keptBy } from './keep.js'
import { type LiveActivity, liveView } from './live.js'
import { bookMetrics } from './book-metrics.js'
import { activityMiddleware, type ViewedPage } from './middleware.js'
import {
  type ActivityOptions,
  type ActivitySettings,
  activitySettings,
  cacheWarning,
} from './options.js'
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
import { removeOldVisits } from './retention.js'
import { activityRouter } from './router.js'
import { type ActivityStats, readStats } from './stats.js'
import { PAGE } from './sums.js'
import { MAX_TIME, type Visit, visitCodec } from './visit.js'

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
export interface Activity {
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
   * Returns the contents of the cells of the newest layers, straight from the cache. A visit is
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
   * Resolves when all that was recorded so far is in the cache, or in SQL. Rejects when neither
   * takes it; it is kept.
   */
  flush(): Promise<void>
  /**
   * Brings to SQL what is old enough; with `all` the youngest visits too. Collectors do this by
   * themselves.
   */
  drain(options?: { all?: boolean }): Promise<DrainReport>
  /** Reports the state of all visits recorded so far. */
  ledger(): Promise<LedgerReport>
  /**
   * Returns its metrics as text for Prometheus: what SQL says, at most about 10 s old and the same
   * from every process, and what this process says of itself. Never waits for SQL for longer than
   * 3 s; as long as SQL is away, its last figures are served with their age. `joinMetrics` joins
   * those of several objects to one page.
   *
   * @example
   * ```js
   * import express from 'express'
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * const inside = express()
   * inside.get('/metrics', async (req, res) => {
   *   res.type('text/plain; version=0.0.4').send(await activity.metrics())
   * })
   * inside.listen(9464, '127.0.0.1')
   * ```
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

/** Duration of a call of the retention, for which collecting waits. */
const LEAST_REMOVAL_MS = 250
const MOST_REMOVAL_MS = 2_500
/** A third of the time: rows are removed twice as fast as a collector brings them. */
const REMOVAL_SHARE = 3

/** Figures, and when they become stale unless new ones are read; see {@link ReadContext}. */
type CachedStats = ActivityStats & Pick<ReadContext, 'staleAt'>

/** {@link Activity}, with a clock that tests may own. */
export class SiteActivity implements Activity {
  readonly #settings: ActivitySettings
  readonly #environment: Environment
  readonly #wide: WideCache<Visit, CachedStats>
  readonly #logger: BurstLogger
  readonly #guard: Guard
  readonly #pseudonymizer: Pseudonymizer<ViewedPage>
  readonly #live: () => Promise<LiveActivity>
  readonly #recounts: Recounts
  readonly #middleware: () => RequestHandler
  /** Start of the last removal that left rows to remove. */
  #moreToRemoveSince: number | undefined
  readonly #lifetime = new Lifetime(() => new ClosedError('Activity', this.#settings.name))

  constructor(settings: ActivitySettings, environment: Environment = systemEnvironment) {
    const { clock } = environment
    this.#settings = settings
    this.#environment = environment
    this.#wide = new WideCache<Visit, CachedStats>(
      {
        ...settings.grid,
        name: settings.name,
        codec: visitCodec,
        commit: commitVisits,
        maxCommitRows: MAX_COMMIT_ROWS,
        read: async (database, context) => ({
          ...(await readStats(database, context, settings.windowSeconds)),
          staleAt: context.staleAt,
        }),
        readTtlSeconds: settings.statsTtlSeconds,
        removeOld: (database, context) => this.#removeOld(database, context),
      },
      environment,
      {
        kind: 'activity',
        keepSeconds: settings.keepSeconds,
        historyDays: settings.historyDays,
        keep: settings.keep,
        tables: ['activity'],
        afterRun: (database, { now }) => this.#recounts.run(database, now),
        metrics: bookMetrics,
      },
    )
    this.#live = liveView(this.#wide, clock)
    const logger = new BurstLogger(settings.logger, () => clock.elapsed())
    this.#logger = logger
    const { name, layerSeconds } = settings
    this.#recounts = new Recounts({
      name,
      layerSeconds,
      random: () => environment.random(),
      logger,
    })
    const warning = cacheWarning(this.#wide.cache)
    if (warning) logger.warn('cache', warning)
    this.#guard = new Guard(logger)
    this.#pseudonymizer = new Pseudonymizer({
      cache: this.#wide.cache,
      name: settings.name,
      clock,
      logger,
      forward: (time, visitor, { page, dimensions }) =>
        this.#wide.append({ time, visitor, page, dimensions }),
    })
    this.#middleware = activityMiddleware(
      settings,
      (viewed, identity, userAgent) =>
        this.#pseudonymizer.pseudonymize(viewed, identity, userAgent),
      logger,
    )
  }

  middleware(): RequestHandler {
    return this.#middleware()
  }

  router(): Router {
    this.#lifetime.check()
    return activityRouter(() => this.stats(), this.#settings.statsTtlSeconds)
  }

  record(visit: RecordedVisit): void {
    const { visitor, page, at }: { [K in keyof RecordedVisit]?: unknown } = visit ?? {}
    const identity = identityOf(visitor)
    const isPage = typeof page === 'string' && page !== ''
    if (identity === undefined && visitor !== undefined && visitor !== null) {
      this.#refused('visitor', visitor, 'a text or a number', 'the visit counts without a visitor')
    }
    if (!isPage) this.#refused('page', page, 'a text', 'the visit counts for the page "/"')
    const viewed = { page: isPage ? pageOf(page) : '/', dimensions: undefined }
    this.#pseudonymizer.pseudonymize(viewed, identity, undefined, this.#timeOf(at))
  }

  stats(): Promise<ActivityStats> {
    return this.#lifetime.run(async () => {
      const { staleAt, ...stats } = await this.#wide.read()
      // While SQL is away, the last good figures are served.
      return { ...stats, stale: stats.stale || this.#wide.now > staleAt }
    })
  }

  history(query: HistoryQuery): Promise<ActivityPeriod[]> {
    return this.#lifetime.run(async () => {
      const { by, range } = historyQuery(query)
      return this.#wide.readCached(
        `history:${by}:${range.from}:${range.to}`,
        (database, { name }) => readHistory(database, name, by, range),
      )
    })
  }

  top(dimension: string, query: TopQuery): Promise<ValueViews[]> {
    return this.#lifetime.run(async () => {
      const known = oneOf('dimension', dimension, this.dimensions)
      const { range, n } = topQuery(query)
      return this.#wide.readCached(
        `top:${known}:${range.from}:${range.to}:${n}`,
        (database, { name, asOf }) => {
          const keptFrom = hourOf(asOf) - HOURS_A_DAY * this.#settings.historyDays
          return readTop(database, name, known, wholeDays(range, keptFrom), n)
        },
      )
    })
  }

  live(): Promise<LiveActivity> {
    return this.#lifetime.run(() => this.#live())
  }

  dashboard(options: DashboardOptions = {}): Router {
    this.#lifetime.check()
    const source: DashboardSource = {
      name: this.#settings.name,
      dimensions: this.dimensions,
      stats: () => this.stats(),
      live: () => this.live(),
      history: (query) => this.history(query),
      top: (dimension, query) => this.top(dimension, query),
      ledger: () => this.ledger(),
    }
    return dashboardRouter(source, options, this.#logger, this.#environment.clock)
  }

  flush(): Promise<void> {
    return this.#lifetime.run(async () => {
      await this.#pseudonymizer.forwarded()
      await this.#wide.flush()
    })
  }

  drain(options?: { all?: boolean }): Promise<DrainReport> {
    return this.#lifetime.run(() => this.#wide.drain(options))
  }

  ledger(): Promise<LedgerReport> {
    return this.#lifetime.run(() => this.#wide.ledger())
  }

  metrics(): Promise<string> {
    return this.#lifetime.run(() => this.#wide.metrics())
  }

  instrument(meter: MetricsMeter): void {
    this.#lifetime.check()
    this.#wide.instrument(meter)
  }

  health(): Health {
    return this.#lifetime.isOpen ? this.#wide.health() : CLOSED
  }

  /** Why a process that only collects is not ready; empty if it is. */
  collectingTroubles(): Promise<string[]> {
    return this.#lifetime.run(() => this.#wide.collectingTroubles())
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.#lifetime.run(async () => {
      const number = dayNumber('day', day, this.#environment.clock.now())
      return this.#wide.readCached(`certificate:${number}`, async (database, { name }) => {
        const vanishedBefore = (await database.now()) - this.#settings.vanishedSeconds * 1000
        return readCertificate(database, name, number, vanishedBefore)
      })
    })
  }

  migrate(): Promise<void> {
    return this.#lifetime.run(() => this.#wide.migrate())
  }

  /** As {@link WideCache.collectBy}. */
  collectBy(when: string | true): Cache['scope'] {
    this.#lifetime.check()
    return this.#wide.collectBy(when)
  }

  close(): Promise<void> {
    return this.#lifetime.close(() => this.#close())
  }

  async #close(): Promise<void> {
    await lastResponses(this.#environment.clock)
    await this.#pseudonymizer.forwarded()
    this.#pseudonymizer.close()
    await this.#wide.close()
  }

  /** The dimensions that this process knows of. */
  get dimensions(): readonly string[] {
    return [PAGE, ...Object.keys(this.#settings.dimensions)]
  }

  /** SQL has the longest times that a process has given. */
  async #removeOld(database: Database, context: RetentionContext): Promise<boolean> {
    const began = this.#environment.clock.elapsed()
    const until = began + this.#removalMs(began)
    const { name, historyDays, vanishedSeconds } = this.#settings
    await watchBalance(database, name, this.#logger)
    const use = await useOf(database, name)
    this.#compareKeep(keptBy(use))
    const kept = {
      rowsMs: 1000 * this.#keptSeconds(use?.keepSeconds),
      valuesDays: Math.max(historyDays, use?.historyDays ?? 0),
      vanishedSeconds: Math.max(vanishedSeconds, use?.cellTtlSeconds ?? 0),
    }
    const onCertified = (certificate: ActivityCertificate): void => {
      const line = certificateLine(name, certificate)
      if (certificate.balanced) this.#logger.info(line)
      else this.#logger.error(line)
    }
    const mayGoOn = (): boolean => this.#environment.clock.elapsed() < until
    const more = await removeOldVisits(database, context, kept, onCertified, mayGoOn)
    this.#moreToRemoveSince = more ? began : undefined
    return more
  }

  /**
   * Returns the duration of one call. If the last one left rows, it is a share of the time since
   * then; collecting has the rest.
   */
  #removalMs(began: number): number {
    const since = began - (this.#moreToRemoveSince ?? began)
    return Math.min(Math.max(LEAST_REMOVAL_MS, since / REMOVAL_SHARE), MOST_REMOVAL_MS)
  }

  /** SQL has what the last process has given. */
  #compareKeep(kept: Keep): void {
    const { name, keep } = this.#settings
    if (keep === '' || keep === kept) return
    this.#logger.warnOnce(
      'keep',
      `wide-cache: another process has given the option "keep" of "${name}" as "${kept}" after ` +
        `this one, which has "${keep}"; all processes go by the last, so give all the same`,
    )
  }

  /** Returns the time for which visits are kept: the longest that any process has given. */
  #keptSeconds(kept = this.#settings.keepSeconds): number {
    const { name, keepSeconds, retentionGiven } = this.#settings
    if (retentionGiven && kept > keepSeconds) {
      this.#logger.warnOnce(
        'kept longer',
        `wide-cache: visits of "${name}" are kept for ${hoursOf(kept)} h, the longest time ` +
          `that a process has given, and not for ${hoursOf(keepSeconds)} h as this one has; ` +
          'if no process needs them so long, run: UPDATE wide_cache_uses SET keep_seconds = ' +
          `${keepSeconds} WHERE name = '${name}'`,
      )
    }
    return kept
  }

  #timeOf(at: unknown): number {
    const time = at instanceof Date ? at.getTime() : (at ?? this.#environment.clock.now())
    if (typeof time === 'number' && time >= 0 && time <= MAX_TIME) return Math.floor(time)
    this.#refused('at', at, 'a Date, or milliseconds since 1970', 'the visit counts as of now')
    return this.#environment.clock.now()
  }

  #refused(field: string, value: unknown, wanted: string, instead: string): void {
    this.#guard.say(
      `record ${field}`,
      `record() got ${kindOf(value)} as "${field}", not ${wanted}`,
      instead,
    )
  }
}

function hoursOf(seconds: number): number {
  return Math.round(seconds / 360) / 10
}
