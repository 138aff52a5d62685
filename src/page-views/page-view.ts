/**
 * The rule of what counts as a page view: a whole page that was sent to a person who went to it. It
 * is a pure function of a small record of request and response, so that it can judge a line of a
 * log, too. The table "What counts as a page view" of docs/activity-reference.md has the whole
 * rule; a test runs each of its rows.
 */

/** Names of the request headers that the rule reads. A log needs the same. */
export const RULE_HEADERS = [
  'accept',
  'hx-boosted',
  'hx-request',
  'purpose',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-purpose',
  'turbo-frame',
  'x-alpine-request',
  'x-moz',
  'x-pjax',
  'x-purpose',
  'x-requested-with',
  'x-sec-purpose',
  'x-turbo-request-id',
  'x-up-fail-target',
  'x-up-target',
  'x-up-version',
] as const

/** Request headers that the rule reads, by their names in lower case. */
export type RuleHeaders = {
  readonly [Name in (typeof RULE_HEADERS)[number]]?: string | string[] | undefined
}

/**
 * A request and its response, as the rule looks at them. Fields that are dear to find may be
 * getters: the rule reads each only where it makes a difference.
 */
export interface Exchange {
  readonly method: string | undefined
  readonly headers: RuleHeaders
  readonly status: number
  /** `Content-Type` of the response; `undefined`: there is none, as in Express's 304. */
  readonly type: string | undefined
  /** `Content-Disposition` of the response. */
  readonly disposition: string | undefined
  /**
   * Whether the target is known to lead to something other than a page, by its extension or an
   * earlier response. Read for a 304 only.
   */
  readonly isNoPage: boolean
  /** Whether the user agent is a bot's. */
  readonly isBot: boolean
  /** Whether the response is of a type that counts for bots. Read for what is no HTML only. */
  readonly isForBots: boolean
}

/**
 * `page`: it counts. Otherwise the first reason why not: the method; a redirect, or an error; a
 * response without content, or with a range of it; no HTML; a part of a page, or a frame in it; or
 * a page that is fetched in advance, and may never be seen.
 */
export type Verdict = 'page' | 'method' | 'status' | 'content' | 'type' | 'part' | 'in advance'

/** Decides about a response. */
export function verdictOf(exchange: Exchange): Verdict {
  const { method, status } = exchange
  if (method !== 'GET') return 'method'
  if (status < 200 || (status >= 300 && status !== 304)) return 'status'
  // No content, a form to be cleared, and a range.
  if (status >= 204 && status <= 206) return 'content'
  if (!isHtml(exchange)) return exchange.isForBots && exchange.isBot ? 'page' : 'type'
  // Looked at once, and not for a picture or a script: each look at a request is dear.
  const { headers } = exchange
  if (!isWhole(headers, exchange)) return 'part'
  return isInAdvance(headers) ? 'in advance' : 'page'
}

/** Status codes of an address that leads to nothing. */
const GONE = [404, 410]

/** Tells whether a person went to a page that is not there. */
export function isGone(exchange: Exchange): boolean {
  const { headers } = exchange
  if (!GONE.includes(exchange.status) || exchange.method !== 'GET') return false
  return isWhole(headers, exchange) && !isInAdvance(headers) && !exchange.isBot
}

const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i
const ACCEPTS_HTML = /\btext\/html\b/i
const ATTACHMENT = /^\s*attachment\s*(?:;|$)/i

/** Tells whether the response is a page to look at, or 304 for one that the browser had. */
function isHtml(exchange: Exchange): boolean {
  const { type } = exchange
  if (type !== undefined) {
    if (!HTML.test(type)) return false
    const { disposition } = exchange
    return disposition === undefined || !ATTACHMENT.test(disposition)
  }
  // Express removes the type from a 304, so what the browser asked for must tell. It asks the same
  // for a picture that is opened in a tab.
  return exchange.status === 304 && asksForHtml(exchange.headers) && !exchange.isNoPage
}

/** Tells whether a request names HTML among what it accepts. Each navigation of a browser does. */
export function asksForHtml({ accept }: RuleHeaders): boolean {
  return typeof accept === 'string' && ACCEPTS_HTML.test(accept)
}

/** Values of `X-Requested-With` of a script. An app names itself there when it shows a page. */
const SCRIPT = 'xmlhttprequest'
const SWUP = 'swup'

/** Tells whether a library says that it fetches the page that the visitor goes to. */
function navigates(headers: RuleHeaders): boolean {
  return (
    headers['hx-boosted'] !== undefined ||
    headers['x-pjax'] !== undefined ||
    headers['x-turbo-request-id'] !== undefined ||
    headers['x-requested-with'] === SWUP ||
    // Unpoly goes to a page if it replaces what a failure would replace, too: the main element.
    (headers['x-up-target'] !== undefined && headers['x-up-target'] === headers['x-up-fail-target'])
  )
}

/** Tells whether a library says that it fetches a part, where it does not say that it navigates. */
function fetchesAPart(headers: RuleHeaders): boolean {
  return (
    headers['hx-request'] !== undefined ||
    headers['x-alpine-request'] !== undefined ||
    headers['x-up-version'] !== undefined
  )
}

/**
 * Tells whether the request is for a whole page that the visitor goes to, and not for a part of
 * one, for a frame in it, or for what a script reads. Browsers say what they fetch on HTTPS and
 * localhost only. Elsewhere the request must ask for HTML by name; bots often do not.
 */
function isWhole(headers: RuleHeaders, exchange: Exchange): boolean {
  const dest = headers['sec-fetch-dest']
  const isFrame = headers['turbo-frame'] !== undefined
  if (dest === 'document') return !isFrame
  // A frame, an object, a picture.
  if (dest !== undefined && dest !== 'empty') return false
  if (isFrame) return false
  if (navigates(headers)) return true
  if (fetchesAPart(headers)) return false
  // A service worker fetches the page of a navigation. A link with `download` accepts anything.
  if (dest === 'empty') return headers['sec-fetch-mode'] === 'navigate' && asksForHtml(headers)
  const requestedWith = headers['x-requested-with']
  if (typeof requestedWith === 'string' && requestedWith.toLowerCase() === SCRIPT) return false
  return asksForHtml(headers) || exchange.isBot
}

const ADVANCE = /\b(?:prefetch|prerender|preview)\b/i

/** Each is looked at, since a proxy or an app may send several. */
function isInAdvance(headers: RuleHeaders): boolean {
  return (
    // Today's browsers.
    saysAdvance(headers['sec-purpose']) ||
    // Chrome and Safari before.
    saysAdvance(headers['purpose']) ||
    // Facebook's app.
    saysAdvance(headers['x-purpose']) ||
    // Firefox before.
    saysAdvance(headers['x-moz']) ||
    // Turbo, since a script may not set `Sec-` headers.
    saysAdvance(headers['x-sec-purpose'])
  )
}

function saysAdvance(purpose: string | string[] | undefined): boolean {
  return typeof purpose === 'string' && ADVANCE.test(purpose)
}
