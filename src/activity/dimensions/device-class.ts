import type { IncomingMessage } from 'node:http'
import { remembering } from '../../page-views/remembering.js'
import { readyMade } from './ready-made.js'

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
  const byUserAgent = remembering(classOf)
  return readyMade(({ headers }) => {
    const isMobile = headers['sec-ch-ua-mobile']
    if (isMobile === '?1') return 'phone'
    // Android on a large screen says that it is not mobile.
    if (isMobile === '?0') {
      return headers['sec-ch-ua-platform'] === '"Android"' ? 'tablet' : 'desktop'
    }
    const userAgent = headers['user-agent']
    return userAgent ? byUserAgent(userAgent) : undefined
  })
}

function classOf(userAgent: string): 'phone' | 'tablet' | 'desktop' {
  if (TABLET.test(userAgent)) return 'tablet'
  return PHONE.test(userAgent) ? 'phone' : 'desktop'
}
