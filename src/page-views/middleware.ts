import type { Request, Response } from './express.js'
import { type Handler, targetOf } from './handler.js'
import { type Measure, sentMeasure } from './measures.js'
import type { BurstLogger } from '../support/logger.js'
import { Guard, describe } from '../visitors/guard.js'
import { Exchanges } from './exchange.js'
import { Mount } from './mount.js'
import { rememberPeer } from './peer.js'
import type { Report } from './reports.js'
import type { Count, Visitors } from './visitors.js'

type Skip = (req: Request, res: Response) => boolean

/** Functions that are asked about a page view, and rules for page views that do not count. */
export interface PageViewSettings<Subject> {
  readonly skip: Skip | undefined
  readonly visitors: Visitors
  /**
   * The page or the item that the page view counts for. `target` is the request's target before
   * routers rewrote it. `undefined`: nothing counts where this middleware is mounted; then the next
   * place where the request meets it is asked.
   */
  readonly subject: (req: Request, target: string, measure: Measure) => Subject | undefined
  /** Whether the visitor is the author of the subject, whose views do not count. */
  readonly isOwn?: (req: Request, res: Response, identity: string | undefined) => boolean
  /**
   * Whether `skip`, `visitor`, `subject` or `isOwn` call functions of the user. Only then is the
   * place of the middleware remembered.
   */
  readonly callsBack: boolean
  /** The path that a proxy in front of the site removes. */
  readonly publicPath: string
  /** Media types that count for bots as pages do. */
  readonly botTypes?: ReadonlySet<string>
  /** Whether pages that are not there count, in a measure of their own. */
  readonly countsGone?: boolean
}

/** Functions that count page views. */
export interface PageViews {
  readonly middleware: () => Handler
  /** Counts a view that a browser has reported, as the request that would have asked for it. */
  readonly seen: Report
}

/**
 * The middleware: it adds a listener to the response and calls `next()`. All else happens when the
 * response has been sent, or the client has gone after the headers were sent. Nothing here throws,
 * waits, or changes the request for others. A request counts once, even if it passes this
 * middleware several times.
 *
 * The user's functions see `url`, `path`, `baseUrl`, `originalUrl` and `params` as they were where
 * the middleware is mounted: the first place, if a request meets it at several.
 */
export function pageViews<Subject>(
  settings: PageViewSettings<Subject>,
  count: Count<Subject>,
  logger: BurstLogger,
): PageViews {
  const { skip, visitors, subject, isOwn, publicPath, botTypes, countsGone } = settings
  const callsBack = settings.callsBack || publicPath !== ''
  const guard = new Guard(logger)
  const exchanges = new Exchanges(visitors.bots, botTypes)
  /**
   * The response that was decided last. A request that meets this middleware twice leaves two
   * listeners for one `close` event, which run right after each other.
   */
  let decided: Response | undefined

  /**
   * Decides whether a response counts. `false`: undecided; it may count where the request meets
   * this middleware again.
   */
  function decide(req: Request, res: Response, place: string | Mount): boolean {
    const target = typeof place === 'string' ? place : place.target
    const verdict = exchanges.verdictOf(req, res, target)
    const isGone = verdict === 'status' && countsGone === true && exchanges.isGone()
    if (verdict !== 'page' && !isGone) return true
    return typeof place === 'string'
      ? ask(req, res, target, isGone)
      : askIn(place, req, res, isGone)
  }

  // A function in which another one closes over arguments allocates at each call. So these two are
  // apart from those that run for each response.
  function askIn(mount: Mount, req: Request, res: Response, isGone: boolean): boolean {
    return mount.during(req, () => ask(req, res, mount.target, isGone))
  }

  function skips(says: Skip, req: Request, res: Response): boolean {
    return guard.truth('skip', 'the visit counts', () => says(req, res))
  }

  function ask(req: Request, res: Response, target: string, isGone: boolean): boolean {
    const { headers } = req
    const treatment = visitors.treatmentOf(headers)
    if (treatment === 'none') return true
    if (skip && skips(skip, req, res)) return true
    const isKnown = treatment === 'with visitor' && !isGone
    const identity = isKnown ? visitors.identityOf(req) : undefined
    const viewed = subject(req, target, isGone ? 'gone' : sentMeasure(treatment === 'bot'))
    if (viewed === undefined) return false
    if (isOwn?.(req, res, identity)) return true
    count(viewed, identity, visitors.userAgentOf(headers, identity))
    return true
  }

  function watch(req: Request, res: Response): void {
    // Whatever the method, since `record(req)` may come late.
    rememberPeer(req)
    if (req.method !== 'GET') return
    // Routers rewrite it.
    const place = callsBack ? new Mount(req, publicPath) : (req.originalUrl ?? req.url)
    // `close` is emitted once: after `finish`, or alone when the client hangs up.
    res.on('close', () => {
      if (res === decided) return
      decided = res
      try {
        if (res.headersSent && !decide(req, res, place)) decided = undefined
      } catch (error) {
        guard.say(
          'middleware',
          `a request could not be read (${describe(error)})`,
          'its visit is not counted',
        )
      }
    })
  }

  return {
    middleware: () => (req, res, next) => {
      try {
        // Typed as Express's for the site's own functions, whatever framework it is.
        watch(req as Request, res as Response)
      } catch {
        // Some tests of sites pass objects that are no requests. They are no visits.
      }
      next?.()
    },
    seen(received, answered) {
      const [req, res] = [received as Request, answered as Response]
      if (skip && skips(skip, req, res)) return
      visitors.record(req, undefined, (identity, userAgent, isBot) => {
        if (isBot) return
        const viewed = subject(req, targetOf(req), 'seen')
        if (viewed === undefined || isOwn?.(req, res, identity)) return
        count(viewed, identity, userAgent)
      })
    },
  }
}
