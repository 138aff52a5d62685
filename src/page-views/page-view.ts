/**
 * The rule of what counts as a page view: a page that was sent to a person. It is applied after the
 * response, to what was really sent. The table "What counts as a page view" of
 * docs/activity-reference.md has the whole rule; a test runs each of its rows.
 */
import type { Request, Response } from './express.js'
import { isbot } from 'isbot'
import { Memo } from './memo.js'

const HTML = /^\s*text\/html\s*(?:;|$)/i
const HTML_IN_HEAD = /^content-type:\s*text\/html\s*(?:;|$)/im
const ACCEPTS_HTML = /\btext\/html\b/i

/**
 * The response to a GET is a page: HTML with a status below 300, but no range of it (206), or 304
 * for a page that the browser had.
 */
export function isPage(req: Request, res: Response): boolean {
  const { statusCode } = res
  if ((statusCode >= 300 && statusCode !== 304) || statusCode === 206) return false
  const type = res.getHeader('content-type')
  if (typeof type === 'string') return HTML.test(type)
  // Not kept where writeHead() was given all headers at once; then only the head as it was sent
  // tells.
  if ('_header' in res && typeof res._header === 'string' && HTML_IN_HEAD.test(res._header)) {
    return true
  }
  // Express removes the type from a 304, so that what the browser has asked for must tell.
  return statusCode === 304 && ACCEPTS_HTML.test(req.headers.accept ?? '')
}

/**
 * The request is for a whole page, not for a part of one or for a frame in it. Where the browser
 * says what it fetches, that decides; browsers say it on HTTPS and localhost only.
 */
export function isWhole({ headers }: Request): boolean {
  const boosted = headers['hx-boosted'] !== undefined
  // htmx asks for a part of a page, unless it replaces a navigation; Turbo for a frame.
  if ((headers['hx-request'] !== undefined && !boosted) || headers['turbo-frame'] !== undefined) {
    return false
  }
  const fetched = headers['sec-fetch-dest']
  if (fetched === undefined || fetched === 'document') return true
  // A service worker, or a script such as Turbo, that fetches the page of a navigation. htmx
  // accepts anything then.
  return fetched === 'empty' && (boosted || ACCEPTS_HTML.test(headers.accept ?? ''))
}

const IN_ADVANCE = /\b(?:prefetch|prerender|preview)\b/i

/** The browser asks in advance (prefetch, prerender), for a page that may never be seen. */
export function isPrefetch({ headers }: Request): boolean {
  // Of today's browsers; of Chrome and Safari before; of Firefox before; of Turbo, since a script
  // may not set `Sec-` headers.
  const purpose =
    headers['sec-purpose'] ?? headers['purpose'] ?? headers['x-moz'] ?? headers['x-sec-purpose']
  return typeof purpose === 'string' && IN_ADVANCE.test(purpose)
}

/** The visitor asks not to be followed: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(req: Request): boolean {
  return req.headers['sec-gpc'] === '1' || req.headers['dnt'] === '1'
}

/** User agents remembered. */
const REMEMBERED = 5_000

/** Characters of a user agent that are looked at. A longer one is not remembered. */
const MAX_USER_AGENT = 512

/**
 * Tells bots by their user agents, each looked at once. Browsers always have one, so an empty one
 * is a bot's.
 */
export class Bots {
  readonly #bots = new Memo(REMEMBERED, isbot)

  isBot(req: Request): boolean {
    const userAgent = req.headers['user-agent']
    if (!userAgent) return true
    return userAgent.length <= MAX_USER_AGENT
      ? this.#bots.get(userAgent)
      : isbot(userAgent.slice(0, MAX_USER_AGENT))
  }
}
