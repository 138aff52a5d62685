/**
 * What counts as a page view: a page that was sent to a person. Looked at after the response, by what was
 * really sent.
 */
import type { Request, Response } from 'express'
import { isbot } from 'isbot'
import { Memo } from './memo.js'

const HTML = /^\s*text\/html\s*(?:;|$)/i
const HTML_IN_HEAD = /^content-type:\s*text\/html\s*(?:;|$)/im
const ACCEPTS_HTML = /\btext\/html\b/i

/** The response to a GET is a page: HTML with a status below 300, or 304 for a page that the browser had. */
export function isPage(req: Request, res: Response): boolean {
  const { statusCode } = res
  if (statusCode >= 300 && statusCode !== 304) return false
  const type = res.getHeader('content-type')
  if (typeof type === 'string') return HTML.test(type)
  // Not kept where writeHead() was given all headers at once; then only the head as it was sent tells.
  if ('_header' in res && typeof res._header === 'string' && HTML_IN_HEAD.test(res._header)) return true
  // Express removes the type from a 304, so that what the browser has asked for must tell.
  return statusCode === 304 && ACCEPTS_HTML.test(req.headers.accept ?? '')
}

/** The browser asks in advance (prefetch, prerender), for a page that may never be seen. */
export function isPrefetch(req: Request): boolean {
  const purpose = req.headers['sec-purpose']
  return typeof purpose === 'string' && /\bprefetch\b|\bprerender\b/i.test(purpose)
}

/** The visitor asks not to be followed: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(req: Request): boolean {
  return req.headers['sec-gpc'] === '1' || req.headers['dnt'] === '1'
}

/** User agents remembered. */
const REMEMBERED = 5_000

/** Characters of a user agent that are looked at. A longer one is not remembered. */
const MAX_USER_AGENT = 512

/** Tells bots by their user agents, each looked at once. */
export class Bots {
  readonly #bots = new Memo(REMEMBERED, isbot)

  isBot(req: Request): boolean {
    const userAgent = req.headers['user-agent'] ?? ''
    return userAgent.length <= MAX_USER_AGENT ? this.#bots.get(userAgent) : isbot(userAgent.slice(0, MAX_USER_AGENT))
  }
}
