import type { DashboardOptions } from '../dashboard/options.js'
import type {
  ActivityPeriod,
  LiveActivity,
  ValuePeriod,
  ValueViews,
} from '../dashboard/site-figures.js'
import type { Handler, ServerRequest } from '../page-views/handler.js'
import type { Recorder } from '../wide-cache/recorder.js'
import type { ActivityCertificate } from './certificate.js'
import type { HistoryQuery, TopQuery, ValueHistoryQuery } from './ranges.js'
import type { ActivityRouterOptions } from './router.js'
import type { ActivityStats } from './stats.js'

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

/** A view of a page that `record` takes with the request that tells of it. */
export interface RecordedView {
  /**
   * Page that was viewed, cut at 1,024 bytes.
   * @default what the option `page` says, else the path of the request
   */
  page?: string | undefined
}

/** The visits of a site, and the figures of its last minutes. */
export interface Activity extends Recorder {
  /** Counts page views; put it before the routes: `app.use(activity.middleware())`. */
  middleware(): Handler
  /**
   * `GET /` the figures as JSON, `GET /widget.js` the element that shows them, `GET /seen.js` the
   * script that reports views to `POST /seen`: `app.use('/activity', activity.router())`.
   *
   * @throws TypeError, RangeError
   */
  router(options?: ActivityRouterOptions): Handler
  /**
   * Counts a visit that the middleware does not see. Never throws and never waits: of a wrong
   * argument the part that is right counts, and the log says so.
   */
  record(visit: RecordedVisit): void
  /**
   * Counts a page view that a request tells of, such as that of an API route: with the visitor and
   * the values of dimensions that the middleware would find in it. Bots count apart, and the option
   * `privacySignals` holds. The option `skip` is not asked. Never throws and never waits.
   *
   * @example
   * app.post('/api/views', (req, res) => {
   *   activity.record(req, { page: '/threads/7' })
   *   res.sendStatus(204)
   * })
   */
  record(req: ServerRequest, view?: RecordedView): void
  /**
   * The figures, at most `statsTtlSeconds` old; the last good ones while SQL is away. However many
   * callers and processes ask, SQL is asked once in that time.
   *
   * @throws if there never were any, what the database threw
   */
  stats(): Promise<ActivityStats>
  /**
   * Page views and visitors of each hour, or of each day, without gaps: exact, and for ever.
   * A visitor of two days is two visitors, so sums over days are no "unique visitors". Weeks begin
   * on Monday. A week or month is whole, and has the sums of its days that are known; its visitors
   * are those of the day with the most. What comes
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
   * The page views with one value of a dimension in each hour or day, without gaps. `null`: not
   * known, because the value is among `(other)`, the hour is older than `historyDays`, or the day
   * is before the first one. A closed day lists its 1,000 most viewed values. A value that some
   * hour of a day did not list, because it had over 10,000, lacks the views of that hour. Values
   * have no visitors. The cost does not grow with the other values.
   *
   * @throws TypeError, RangeError naming the field that is wrong; what the database throws
   */
  history(query: ValueHistoryQuery): Promise<ValuePeriod[]>
  /**
   * The values of a dimension with the most page views, the first with the most: `page`, one of the
   * option `dimensions`, `bot` or `botPurpose`, or `gone` for missing pages. `null` stands for
   * visits without a value, `(other)` for values that are not listed one by one. Hours that are
   * older than `historyDays` are rounded to whole days. Cached as {@link stats} is.
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
   * @throws TypeError
   */
  dashboard(options?: DashboardOptions): Handler
  /**
   * Returns the certificate of a day: its figures, the sums of the ledger when the day was
   * closed, and whether they agree, with each other and with what the day was then. For an open
   * day, such as today, all figures are as of now. Cached as {@link stats} is.
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
  /**
   * Notes what happened on a day, in at most 200 characters. The next note on the day replaces it;
   * `null` removes it. The dashboard shows it in the chart and in the files of the history, but not
   * where it is `shared`.
   *
   * @param day as in `2026-05-17`
   * @throws TypeError, RangeError naming what is wrong; what the database throws
   *
   * @example
   * ```js
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * await activity.note('2026-05-17', 'Released 2.0')
   * await activity.close()
   * ```
   */
  note(day: string, text: string | null): Promise<void>
}
