import type { Handler, ServerRequest } from '../page-views/handler.js'
import type { Period } from '../support/calendar.js'
import type { Moment } from '../support/periods.js'
import type { Recorder } from '../wide-cache/recorder.js'
import type { HitsPeriod } from './read-history.js'
import type { HitsMiddlewareOptions } from './middleware.js'
import type { HitsRouterOptions } from './router.js'

/** Persons concerned in a hit that `record` takes. */
export interface HitParties {
  /**
   * Viewer, as a text or a number; only a keyed hash of it leaves the process. Not
   * given: every hit counts; with a request, the viewer is its IP address and user agent.
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

/** A range of {@link Hits.top}. */
export interface HitsTopQuery {
  /** The first day is the one that this lies in. */
  from: Moment
  /** The last one is the one that ends here, or that this lies in. */
  to: Moment
}

/** Options of {@link Hits.history}. */
export interface HitsHistoryOptions {
  /** Days, today among them: 1 to 3,660. @default 30 */
  days?: number | undefined
}

/** A range of {@link Hits.history}. */
export interface HitsHistoryQuery {
  /** The first hour or day is the one that this lies in. */
  from: Moment
  /** The last one is the one that ends here, or that this lies in. */
  to: Moment
  /** Hours, or days. */
  by: Period
}

/** The views of items: threads, articles, profiles. */
export interface Hits extends Recorder {
  /** The name that was given. */
  readonly name: string
  /**
   * Counts a view of an item, a text of 1 to 255 bytes in UTF-8. Never throws and never waits: what
   * is no item is not counted, and of other wrong arguments the part that is right counts; the log
   * says so.
   */
  record(item: string, parties?: HitParties): void
  /**
   * Counts a view of an item that a request tells of, such as that of an API route. Without a
   * `viewer` it is by the IP address and the user agent, as in the middleware. Bots count apart,
   * and the option `privacySignals` holds. Never throws and never waits.
   *
   * @example
   * app.post('/api/threads/:id/views', (req, res) => {
   *   hits.record(req.params.id, req, { owner: authorOf(req.params.id) })
   *   res.sendStatus(204)
   * })
   */
  record(item: string, req: ServerRequest, parties?: HitParties): void
  /**
   * Counts the page views of items, by the same rule as the activity's, which is a table in
   * docs/activity-reference.md. Where it meets a report of `seen.js`, on its way to the router of
   * an activity, it counts that, too, as seen. Put it into a route:
   * `app.get('/threads/:id', hits.middleware({ item: (req) => req.params.id }), …)`, or mount it at
   * a path: `app.use('/threads/:id', …)`. `item`, `viewer` and `owner` see the request as it is
   * there.
   *
   * @throws TypeError
   */
  middleware(options: HitsMiddlewareOptions): Handler
  /**
   * `GET /<item>.svg` a badge with the count of an item, `GET /<item>.json` the count as JSON, for
   * the items that the option `allow` names: `app.use('/hits', hits.router({ allow: ['home'] }))`.
   * Items are percent-encoded. Requests for others go on to the next handler. However many requests
   * there are, a process asks SQL once a second at most.
   *
   * @throws TypeError, RangeError
   * @example
   * app.use('/hits', hits.router({ allow: (item) => item.startsWith('public-'), label: 'reads' }))
   */
  router(options: HitsRouterOptions): Handler
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
   * The `n` (1 to 1,000) items with the most hits that have come to SQL, each with its hits. Reads
   * one index. With `hours` (1 to 192): the items with the most hits in this hour and the
   * `hours - 1` before it. They are up to 3 s old, because all processes together ask SQL once in
   * 2 s.
   *
   * @throws TypeError, RangeError for a wrong `n` or `hours`; DatabaseError
   */
  top(n: number, options?: HitsTopOptions): Promise<[item: string, hits: number][]>
  /**
   * The items with the most hits on the days of a range, ten years at most: up to 3 s old.
   *
   * @throws TypeError, RangeError for a wrong `n` or field; DatabaseError
   */
  top(n: number, query: HitsTopQuery): Promise<[item: string, hits: number][]>
  /**
   * The hits of an item in each of the last days, up to today, without gaps, with those of
   * the other measures beside them.
   *
   * @throws TypeError, RangeError for an item that is no text, or a wrong `days`; DatabaseError
   */
  history(item: string, options?: HitsHistoryOptions): Promise<HitsPeriod[]>
  /**
   * The hits of an item in each hour or day of a range, without gaps: at most a year of hours or
   * ten years of days. Hits are kept by the hour for 8 days.
   *
   * @throws TypeError, RangeError for an item that is no text, or a wrong field; DatabaseError
   */
  history(item: string, query: HitsHistoryQuery): Promise<HitsPeriod[]>
  /**
   * Removes all hits of an item that have come to SQL, of all measures. Resolves with the number of
   * hits of the measure that the option `count` names. Hits that come to SQL later count for the
   * item anew, and so do viewers in their next window.
   *
   * Exact while others record and collect. Hits on their way to SQL (3 to 6 s) are left;
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
}
