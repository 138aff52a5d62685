import type { IncomingMessage } from 'node:http'
import { onlyKnown, wrongType } from '../../support/options.js'
import type { Received } from '../../page-views/handler.js'
import { readyMade } from './ready-made.js'

/** Options of {@link referrerHost}. */
export interface ReferrerHostOptions {
  /** Hosts of the site itself, beside the one that the request names. @default [] */
  ownHosts?: readonly string[] | undefined
}

/** The value of visits from the site's own pages. No host can be equal to it. */
export const INTERNAL = '(internal)'

/**
 * The host of an absolute address, without user name and port. Browsers send a host with other
 * letters in this form, too. Anything else is forged.
 */
const HOST = /^https?:\/\/(?:[^/?#@]*@)?([\w.-]+|\[[0-9a-f:.]+\])(?::\d*)?(?:[/?#]|$)/i

/** Characters of a `Referer` that are looked at. A host name has at most 253. */
const MAX_LOOKED_AT = 512

/**
 * A dimension: the host that a visit comes from, such as `news.example.org`; `(internal)` for those
 * from the site's own pages, and none without a `Referer`. Paths and queries of other sites are not
 * stored.
 *
 * @throws TypeError naming the option that is wrong
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
  onlyKnown('referrerHost', options, ['ownHosts'])
  const { ownHosts = [] } = options
  if (!Array.isArray(ownHosts) || !ownHosts.every((host) => typeof host === 'string')) {
    throw wrongType('ownHosts', ownHosts, 'an array of host names')
  }
  const own = new Set(ownHosts.map((host) => host.toLowerCase()))
  return readyMade((req) => {
    const referrer = req.headers.referer
    const host = referrer && HOST.exec(referrer.slice(0, MAX_LOOKED_AT))?.[1]?.toLowerCase()
    if (!host) return undefined
    return own.has(host) || host === hostOf(req)?.toLowerCase() ? INTERNAL : host
  })
}

/**
 * Computes `req.hostname`. Express looks up settings for it, which takes longer than the rest.
 * Other servers may not have it.
 */
function hostOf(req: Received): string | undefined {
  const { host, 'x-forwarded-host': forwardedHost } = req.headers
  if (host === undefined) return req.hostname
  const said = forwardedHost === undefined ? undefined : req.hostname
  if (said !== undefined) return said
  const portAt = host.indexOf(':', host.startsWith('[') ? host.indexOf(']') : 0)
  return portAt === -1 ? host : host.slice(0, portAt)
}
