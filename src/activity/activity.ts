import type { Database } from '../database/database.js'
import { ClosedError } from '../support/closed-error.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { Lifetime } from '../support/lifetime.js'
import { BurstLogger } from '../support/logger.js'
import type { RequestHandler, Router } from '../page-views/express.js'
import { Guard, identityOf, kindOf } from '../visitors/guard.js'
import { Pseudonymizer } from '../visitors/pseudonymizer.js'
import { lastResponses } from '../page-views/last-responses.js'
import type { DrainReport } from '../wide-cache/collector/grid-drain.js'
import type { LedgerReport } from '../wide-cache/ledger/report.js'
import { useOf } from '../wide-cache/ledger/use.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import { activityMiddleware } from './middleware.js'
import {
  type ActivityOptions,
  type ActivitySettings,
  activitySettings,
  cacheWarning,
} from './options.js'
import { pageOf } from './page.js'
import { removeOldVisits } from './retention.js'
import { activityRouter } from './router.js'
import { type ActivityStats, readStats } from './stats.js'
import { MAX_TIME, type Visit, visitCodec } from './visit.js'

/** A visit that `record` takes. */
export interface RecordedVisit {
  /**
   * Who the visitor is, as a text or a number; only a keyed hash of it leaves the process. Not
   * given: unknown.
   */
  visitor?: string | number | bigint | null | undefined
  /** What was looked at, cut at 1,024 bytes. */
  page: string
  /**
   * When, in milliseconds since the Unix epoch, or as a Date. What lies ahead counts as now.
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
   * Resolves when all that was recorded so far is in the cache, or in SQL. Rejects when neither
   * takes it; it is kept.
   */
  flush(): Promise<void>
  /**
   * Brings to SQL what is old enough; with `all` the youngest visits too. Collectors do this by
   * themselves.
   */
  drain(options?: { all?: boolean }): Promise<DrainReport>
  /** What became of all visits. */
  ledger(): Promise<LedgerReport>
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
 */
export function createActivity(options: ActivityOptions = {}): Activity {
  return new SiteActivity(activitySettings(options))
}

/** {@link Activity}, with a clock that tests may own. */
export class SiteActivity implements Activity {
  readonly #settings: ActivitySettings
  readonly #environment: Environment
  readonly #wide: WideCache<Visit, ActivityStats>
  readonly #logger: BurstLogger
  readonly #guard: Guard
  readonly #pseudonymizer: Pseudonymizer
  readonly #middleware: () => RequestHandler
  readonly #lifetime = new Lifetime(() => new ClosedError('Activity', this.#settings.name))

  constructor(settings: ActivitySettings, environment: Environment = systemEnvironment) {
    const { clock } = environment
    this.#settings = settings
    this.#environment = environment
    this.#wide = new WideCache<Visit, ActivityStats>(
      {
        ...settings.grid,
        name: settings.name,
        codec: visitCodec,
        commit: commitVisits,
        maxCommitRows: MAX_COMMIT_ROWS,
        read: (database, context) => readStats(database, context, settings.windowSeconds),
        readTtlSeconds: settings.statsTtlSeconds,
        removeOld: async (database, context) =>
          removeOldVisits(database, context, 1000 * (await this.#keptSeconds(database))),
      },
      environment,
      { kind: 'activity', keepSeconds: settings.keepSeconds, tables: ['activity'] },
    )
    const logger = new BurstLogger(settings.logger, () => clock.elapsed())
    this.#logger = logger
    const warning = cacheWarning(this.#wide.cache)
    if (warning) logger.warn('cache', warning)
    this.#guard = new Guard(logger)
    this.#pseudonymizer = new Pseudonymizer({
      cache: this.#wide.cache,
      name: settings.name,
      clock,
      logger,
      forward: (time, visitor, page) => this.#wide.append({ time, visitor, page }),
    })
    this.#middleware = activityMiddleware(
      settings,
      (page, identity, userAgent) => this.#pseudonymizer.pseudonymize(page, identity, userAgent),
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
    const stored = isPage ? pageOf(page) : '/'
    this.#pseudonymizer.pseudonymize(stored, identity, undefined, this.#timeOf(at))
  }

  stats(): Promise<ActivityStats> {
    return this.#lifetime.run(() => this.#wide.read())
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

  migrate(): Promise<void> {
    return this.#lifetime.run(() => this.#wide.migrate())
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

  /** How long visits are kept: SQL has the longest time that a process has given. */
  async #keptSeconds(database: Database): Promise<number> {
    const { name, keepSeconds, retentionGiven } = this.#settings
    const kept = (await useOf(database, name))?.keepSeconds ?? keepSeconds
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
