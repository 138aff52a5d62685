import type { IncomingMessage } from 'node:http'
import { Memo } from '../../page-views/memo.js'
import { readyMade } from './ready-made.js'

/** Characters of a user agent that are looked at. A longer one is not remembered. */
const MAX_LOOKED_AT = 512

/** User agents remembered. */
const REMEMBERED = 5_000

const TABLET = /\b(?:iPad|Tablet|PlayBook|Silk)\b|\bAndroid\b(?!.*\bMobile\b)/
const PHONE = /\b(?:Mobi|Mobile|iPhone|iPod|Phone)\b|\bOpera Mini\b/

/**
 * A dimension: `phone`, `tablet` or `desktop`. The client hints that browsers send by themselves
 * decide (`Sec-CH-UA-Mobile`, `Sec-CH-UA-Platform`); without them the user agent does, in which an
 * iPad can pass for a desktop. No user agent: no value.
 *
 * @example
 * ```js
 * import { createActivity, deviceClass } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { device: deviceClass() } })
 * // …
 * await activity.close()
 * ```
 */
export function deviceClass(): (
  req: IncomingMessage,
) => 'phone' | 'tablet' | 'desktop' | undefined {
  const classes = new Memo(REMEMBERED, classOf)
  return readyMade(({ headers }) => {
    const isMobile = headers['sec-ch-ua-mobile']
    if (isMobile === '?1') return 'phone'
    // Android on a large screen says that it is not mobile.
    if (isMobile === '?0') {
      return headers['sec-ch-ua-platform'] === '"Android"' ? 'tablet' : 'desktop'
    }
    const userAgent = headers['user-agent']
    if (!userAgent) return undefined
    return userAgent.length <= MAX_LOOKED_AT
      ? classes.get(userAgent)
      : classOf(userAgent.slice(0, MAX_LOOKED_AT))
  })
}

function classOf(userAgent: string): 'phone' | 'tablet' | 'desktop' {
  if (TABLET.test(userAgent)) return 'tablet'
  return PHONE.test(userAgent) ? 'phone' : 'desktop'
}
