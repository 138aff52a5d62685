import type { ServerResponse } from 'node:http'
import type { Clock } from '../support/clock.js'
import { given, integer, onlyKnown, wrongType, wrongValue } from '../support/options.js'
import { JSON_TYPE, sendTagged, sendUnavailable, tagged } from '../page-views/answers.js'
import type { Handler } from '../page-views/handler.js'
import { below, pathOption } from '../page-views/router.js'
import { badgeOf } from './badge.js'
import { BatchedCounts } from './batched-counts.js'
import { isItem } from './hit.js'

/** Options of {@link Hits.router}. */
export interface HitsRouterOptions {
  /**
   * Items that everyone may know the counts of: a list, or a function that says so of an item.
   * Requests for others go on to the site's next handler.
   */
  allow: readonly string[] | ((item: string) => boolean | Promise<boolean>)
  /** Text before the number in a badge, 1 to 50 characters. @default 'views' */
  label?: string | undefined
  /** Seconds that a count is used again, here and in browsers: 1 to 86,400. @default 60 */
  cacheSeconds?: number | undefined
  /**
   * Path that the router lies at, for servers that leave it in `req.url`, as `node:http` and
   * Fastify do: `/hits`.
   * @default '', because Express takes it away
   */
  mountPath?: string | undefined
}

const MAX_LABEL = 50
const DEFAULT_CACHE_SECONDS = 60
const MAX_CACHE_SECONDS = 86_400

/** An item in an address: each of its 255 bytes may be percent-encoded. */
const PATH = /^\/([^/]{1,765})\.(svg|json)$/

/** Nothing in a badge may load or run anything, even if it is opened as a page. */
const BADGE_POLICY = "default-src 'none'; sandbox"

/**
 * `GET /<item>.svg`: a badge. `GET /<item>.json`: the count. Both with ETag.
 *
 * @throws TypeError, RangeError
 */
export function hitsRouter(
  options: HitsRouterOptions,
  counts: (items: readonly string[]) => Promise<ReadonlyMap<string, number>>,
  clock: Clock,
): Handler {
  onlyKnown('hits.router', options, ['allow', 'label', 'cacheSeconds', 'mountPath'])
  const {
    allow,
    label = 'views',
    cacheSeconds = DEFAULT_CACHE_SECONDS,
    mountPath = '',
  } = given(options)
  const allows = allowsOf(allow)
  const text = labelOf(label)
  const seconds = integer('cacheSeconds', cacheSeconds, 1, MAX_CACHE_SECONDS, 'seconds')
  const batched = new BatchedCounts(counts, clock, seconds * 1000)
  return below(pathOption('mountPath', mountPath), (path, method) => {
    const asked = method === 'GET' ? askedOf(path) : undefined
    if (!asked) return undefined
    const { item, type } = asked
    return async (_req, res, next) => {
      if (!(await allows(item))) return next()
      const hits = await batched.read(item).catch(() => undefined)
      if (hits === undefined) return sendUnavailable(res, 'The counts cannot be read now')
      if (type === 'svg') send(res, 'image/svg+xml; charset=utf-8', badgeOf(text, hits), seconds)
      else send(res, JSON_TYPE, JSON.stringify({ item, hits }), seconds)
    }
  })
}

function allowsOf(allow: unknown): (item: string) => boolean | Promise<boolean> {
  const allowed = 'an array of items, or a function (item) that returns true or false'
  if (typeof allow === 'function') return async (item) => (await allow(item)) === true
  if (!Array.isArray(allow) || !allow.every((item) => typeof item === 'string')) {
    throw wrongType('allow', allow, allowed)
  }
  const items = new Set(allow)
  return (item) => items.has(item)
}

function labelOf(label: unknown): string {
  const allowed = `a text of 1 to ${MAX_LABEL} characters`
  if (typeof label !== 'string') throw wrongType('label', label, allowed)
  if (label === '' || label.length > MAX_LABEL) throw wrongValue('label', label, allowed)
  return label
}

interface Asked {
  readonly item: string
  readonly type: string
}

/** `undefined`: the path names no item, as with broken percent-encoding; then the site answers. */
function askedOf(path: string): Asked | undefined {
  const [, encoded, type] = PATH.exec(path) ?? []
  if (encoded === undefined || type === undefined) return undefined
  try {
    const item = decodeURIComponent(encoded)
    return isItem(item) ? { item, type } : undefined
  } catch {
    return undefined
  }
}

function send(res: ServerResponse, type: string, body: string, seconds: number): void {
  sendTagged(res, tagged(body, type), {
    'Cache-Control': `public, max-age=${seconds}`,
    'Content-Security-Policy': BADGE_POLICY,
    // Pages of other sites show badges too. Helmet's default, `same-origin`, would forbid it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  })
}
