import { BROWSER_MAP, getParser } from 'bowser'
import type { IncomingMessage } from 'node:http'
import { remembering } from '../../page-views/remembering.js'
import { readyMade } from './ready-made.js'

/** What is no name of the list may be any text. */
const NAMES = new Set(Object.values(BROWSER_MAP))

/** A brand of client hints: of Brave, whose user agent is Chrome's, and of what it is made of. */
const BRAND = /"([^"]*)";/g
const CHROMIUM = 'Chromium'

/**
 * A dimension: the name of the browser, without its version, such as `Firefox`. The client hints
 * that browsers send over HTTPS decide (`Sec-CH-UA`), where they name one, else the user agent. One
 * that the package bowser does not know: no value.
 *
 * @example
 * ```js
 * import { browser, createActivity } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { browser: browser() } })
 * // …
 * await activity.close()
 * ```
 */
export function browser(): (req: IncomingMessage) => string | undefined {
  const byBrands = remembering(nameOfBrands)
  const byUserAgent = remembering(nameOf)
  return readyMade(({ headers }) => {
    const brands = headers['sec-ch-ua']
    const name = typeof brands === 'string' ? byBrands(brands) : ''
    return name || byUserAgent(headers['user-agent'] ?? '') || undefined
  })
}

function nameOfBrands(brands: string): string {
  for (const [, brand = ''] of brands.matchAll(BRAND)) {
    if (brand !== CHROMIUM && NAMES.has(brand)) return brand
  }
  return ''
}

function nameOf(userAgent: string): string {
  const name = userAgent && getParser(userAgent, true).getBrowserName()
  return NAMES.has(name) ? name : ''
}
