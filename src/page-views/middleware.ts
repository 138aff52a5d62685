import type { Request, RequestHandler, Response } from './express.js'
import type { BurstLogger } from '../support/logger.js'
import { Guard, describe } from '../visitors/guard.js'
import { Mount } from './mount.js'
import { Bots, asksForPrivacy, isPage, isPrefetch, isWhole } from './page-view.js'

/** Functions that are asked about a page view, and rules for page views that do not count. */
export interface PageViewSettings<Subject> {
  readonly skip: ((req: Request, res: Response) => boolean) | undefined
  readonly visitor: { readonly option: string; readonly of: (req: Request) => unknown } | undefined
  /**
   * The page or the item that the page view counts for. `target` is the request's target before
   * routers rewrote it. `undefined`: nothing counts where this middleware is mounted; then the next
   * place where the request meets it is asked.
   */
  readonly subject: (req: Request, target: string) => Subject | undefined
  /** Whether the visitor is the author of the subject, whose views do not count. */
  readonly isOwn?: (req: Request, res: Response, identity: string | undefined) => boolean
  readonly bots: 'skip' | 'count'
  readonly privacySignals: 'anonymous' | 'skip' | 'ignore'
  /**
   * Whether `skip`, `visitor`, `subject` or `isOwn` call functions of the user. Only then is the
   * place of the middleware remembered.
   */
  readonly callsBack: boolean
}

/** Counts a view of a subject. `identity` and `userAgent` say who came, and are not hashed yet. */
export type Count<Subject> = (
  subject: Subject,
  identity: string | undefined,
  userAgent: string | undefined,
) => void

/**
 * The middleware: on a request's way it leaves a listener and calls `next()`; all else happens when
 * the response has been sent, or the client has gone after the headers went out. Nothing here
 * throws, waits, or changes the request for others. However often a request comes by, it counts
 * once.
 *
 * The user's functions see `url`, `path`, `baseUrl`, `originalUrl` and `params` as they were where
 * the middleware is mounted: the first place, if a request meets it at several.
 */
export function pageViews<Subject>(
  settings: PageViewSettings<Subject>,
  count: Count<Subject>,
  logger: BurstLogger,
): () => RequestHandler {
  const { skip, visitor, subject, isOwn, bots, privacySignals, callsBack } = settings
  const guard = new Guard(logger)
  const robots = new Bots()
  /**
   * The response that was decided last. A request that meets this middleware twice leaves two
   * listeners for one `close` event, which run right after each other.
   */
  let decided: Response | undefined
  let lookedAtTrust = false
  let lookedAtForwarding = false

  /**
   * Decides whether a response counts. `false`: undecided; it may count where the request meets
   * this middleware again.
   */
  function decide(req: Request, res: Response, place: string | Mount): boolean {
    if (!isPage(req, res) || !isWhole(req) || isPrefetch(req)) return true
    if (bots === 'skip' && robots.isBot(req)) return true
    const asksPrivacy = privacySignals !== 'ignore' && asksForPrivacy(req)
    if (asksPrivacy && privacySignals === 'skip') return true
    if (typeof place === 'string') return ask(req, res, place, asksPrivacy)
    return place.during(req, () => ask(req, res, place.target, asksPrivacy))
  }

  function ask(req: Request, res: Response, target: string, asksPrivacy: boolean): boolean {
    if (skip && guard.truth('skip', 'the visit counts', () => skip(req, res))) return true
    const identity = asksPrivacy ? undefined : identityOf(req)
    const viewed = subject(req, target)
    if (viewed === undefined) return false
    if (isOwn?.(req, res, identity)) return true
    // By default a visitor is an IP address and a user agent.
    const isDefault = !visitor && identity !== undefined
    count(viewed, identity, isDefault ? req.headers['user-agent'] : undefined)
    return true
  }

  function identityOf(req: Request): string | undefined {
    if (visitor) {
      return guard.identity(visitor.option, 'the visit counts without a visitor', () =>
        visitor.of(req),
      )
    }
    const { ip } = req
    if (!ip) {
      guard.say(
        'no IP address',
        'a request has no IP address (a Unix socket?)',
        'the visit counts without a visitor; set "trust proxy" in Express, or say who the ' +
          'visitor is',
      )
    } else if (
      !lookedAtForwarding &&
      (req.headers['x-forwarded-for'] !== undefined || req.headers.forwarded !== undefined)
    ) {
      lookAtForwarding(req, ip)
    }
    return ip || undefined
  }

  /** At the first request that a proxy seems to have forwarded. */
  function lookAtForwarding({ app, headers, socket }: Request, ip: string): void {
    lookedAtForwarding = true
    // A site whose own `ip` is not the connection's knows of its proxy.
    if (ip !== socket.remoteAddress) return
    const reason = app?.get('trust proxy')
      ? '"trust proxy" does not name the proxy that it comes from'
      : '"trust proxy" is off'
    const set =
      'set "trust proxy" to the number of proxies in front of the site or to their ' +
      'addresses, as in app.set("trust proxy", 1), ' +
      'or say who the visitor is with the option "visitor" ("viewer" for hits)'
    logger.warnOnce(
      'forwarded',
      headers['x-forwarded-for'] !== undefined
        ? `wide-cache: X-Forwarded-For arrives, but ${reason}, so visitors behind ` +
            `a proxy who have the same user agent count as one; ${set}`
        : `wide-cache: Forwarded arrives, but ${reason}, so visitors behind a proxy ` +
            'who have the same user agent count as one; Express reads X-Forwarded-For ' +
            `only: let the proxy send that, and ${set}`,
    )
  }

  function lookAtTrust(req: Request): void {
    lookedAtTrust = true
    if (!visitor && req.app?.get('trust proxy') === true) {
      logger.warnOnce(
        'trust proxy',
        'wide-cache: "trust proxy" is true, so that anyone can pass for any number of ' +
          'visitors by sending X-Forwarded-For, unless a proxy replaces it; ' +
          'set it to the number of proxies in front of the site or to their addresses, as in ' +
          'app.set("trust proxy", 1)',
      )
    }
  }

  function watch(req: Request, res: Response): void {
    if (req.method !== 'GET') return
    if (!lookedAtTrust) lookAtTrust(req)
    // Routers rewrite the address; and once a socket is gone it knows its own only if it was asked
    // before.
    const place = callsBack ? new Mount(req) : (req.originalUrl ?? req.url)
    void req.socket.remoteAddress
    // Comes once: after `finish`, or alone when the client hangs up.
    res.on('close', () => {
      if (res === decided) return
      decided = res
      try {
        if (res.headersSent && !decide(req, res, place)) decided = undefined
      } catch (error) {
        guard.say(
          'middleware',
          `a visit could not be looked at (${describe(error)})`,
          'it is not counted',
        )
      }
    })
  }

  return () => (req, res, next) => {
    try {
      watch(req, res)
    } catch {
      // A request that is none, as some tests make them: nobody's visit.
    }
    next()
  }
}
