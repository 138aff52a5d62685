import type { IncomingMessage } from 'node:http'
import { onlyKnown, wrongType } from '../../support/options.js'
import type { Received } from '../../page-views/handler.js'
import { hostOf } from '../../page-views/host.js'
import { Memo } from '../../page-views/memo.js'
import { readyMade } from './ready-made.js'

/** Options of {@link referrerHost}. */
export interface ReferrerHostOptions {
  /** Hosts of the site itself, beside the one that the request names. @default [] */
  ownHosts?: readonly string[] | undefined
}

/** The value of visits from the site's own pages. No host can be equal to it. */
export const INTERNAL = '(internal)'

/** What Chrome on Android sends for visits from an app: the name of its package. */
const APP = /^android-app:\/\/([\w.]+)(?:[/?#]|$)/i
const WEB = /^https?:\/\//i
/** A name in the DNS, or an IPv6 address. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])$/

/** Characters of a `Referer` that are looked at. A host name has at most 253. */
const MAX_LOOKED_AT = 512

/** Referrers remembered: reading an address takes two microseconds. */
const REMEMBERED = 500

/**
 * A dimension: the host that a visit comes from, without `www.`, such as `news.example.org`; an
 * Android app by its package, such as `com.google.android.gm`; `(internal)` for those from the
 * site's own pages, and none without a `Referer`. Paths and queries of other sites are not
 * stored.
 *
 * @throws TypeError
 * @example
 * ```js
 * import { createActivity, referrerHost } from 'wide-cache'
 *
 * const referrer = referrerHost({ ownHosts: ['www.example.com'] })
 * const activity = createActivity({ dimensions: { referrer } })
 * // …
 * await activity.close()
 * ```
 */
export function referrerHost(
  options: ReferrerHostOptions = {},
): (req: IncomingMessage) => string | undefined {
  return readyMade(referringHosts('referrerHost', options))
}

/**
 * Returns a function that reads the host that a request comes from, as {@link referrerHost} does.
 *
 * @param what the function that got the options
 * @throws TypeError
 */
export function referringHosts(
  what: string,
  options: ReferrerHostOptions,
): (req: Received) => string | undefined {
  onlyKnown(what, options, ['ownHosts'])
  const { ownHosts = [] } = options
  if (!Array.isArray(ownHosts) || !ownHosts.every((host) => typeof host === 'string')) {
    throw wrongType('ownHosts', ownHosts, 'an array of host names')
  }
  const own = new Set(ownHosts.map((host) => withoutWww(host.toLowerCase())))
  const hosts = new Memo(REMEMBERED, (referrer) => referringHost(referrer) ?? '')
  return (req) => {
    const { referer } = req.headers
    if (!referer) return undefined
    const host = hosts.get(referer.slice(0, MAX_LOOKED_AT))
    if (host === '') return undefined
    const asked = hostOf(req)
    const isOwn = own.has(host) || (asked !== undefined && host === withoutWww(asked.name))
    return isOwn ? INTERNAL : host
  }
}

/** Returns the host of a `Referer` as URLs and the DNS write it; `undefined`: it has none. */
function referringHost(referrer: string): string | undefined {
  const app = APP.exec(referrer)?.[1]
  if (app !== undefined) return app.toLowerCase()
  if (!WEB.test(referrer) || !URL.canParse(referrer)) return undefined
  const host = new URL(referrer).hostname.replace(/\.$/, '')
  return HOST.test(host) ? withoutWww(host) : undefined
}

/** `www.` is the same site to people. */
function withoutWww(host: string): string {
  return host.replace(/^www\.(?=.*\.)/, '')
}
