import type { IncomingMessage } from 'node:http'
import { wrongType, wrongValue } from '../../support/options.js'
import { readyMade } from './ready-made.js'

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
const TWO_LETTERS = /^[A-Za-z]{2}$/

/** Code that a CDN sends for an unknown country (ISO 3166 leaves it to users). */
const UNKNOWN = 'XX'

/**
 * A dimension: the country of a visit, two capital letters, as the CDN in front of the site says it
 * in a header. Anyone can send that header to a site that has no such CDN in front of it.
 *
 * @param header its name: `cf-ipcountry` (Cloudflare), `cloudfront-viewer-country`,
 *   `x-vercel-ip-country`, `fastly-geo-country` …
 * @throws TypeError, RangeError if `header` is no name of a header
 * @example
 * ```js
 * import { country, createActivity } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { country: country('cf-ipcountry') } })
 * // …
 * await activity.close()
 * ```
 */
export function country(header: string): (req: IncomingMessage) => string | undefined {
  const allowed = 'the name of a header, such as cf-ipcountry'
  if (typeof header !== 'string') throw wrongType('header', header, allowed)
  if (!HEADER_NAME.test(header)) throw wrongValue('header', header, allowed)
  const name = header.toLowerCase()
  return readyMade(({ headers }) => {
    const said = headers[name]
    if (typeof said !== 'string' || !TWO_LETTERS.test(said)) return undefined
    const code = said.toUpperCase()
    return code === UNKNOWN ? undefined : code
  })
}
