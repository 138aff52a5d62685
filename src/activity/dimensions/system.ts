import { getParser, OS_MAP } from 'bowser'
import type { IncomingMessage } from 'node:http'
import { remembering } from '../../page-views/remembering.js'
import { readyMade } from './ready-made.js'

const NAMES = new Set(Object.values(OS_MAP))

/** Names by the client hint of browsers, which is a text in quotation marks. */
const BY_HINT: ReadonlyMap<unknown, string> = new Map([
  ['"Chromium OS"', 'Chrome OS'],
  ...Array.from(NAMES, (name) => [`"${name}"`, name] as const),
])

/**
 * A dimension: the name of the operating system, without its version, such as `Windows`. The client
 * hint that browsers send over HTTPS decides (`Sec-CH-UA-Platform`), without it the user agent, in
 * which an iPad can pass for a Mac. One that the package bowser does not know: no value.
 *
 * @example
 * ```js
 * import { createActivity, system } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { system: system() } })
 * // …
 * await activity.close()
 * ```
 */
export function system(): (req: IncomingMessage) => string | undefined {
  const byUserAgent = remembering(nameOf)
  return readyMade(({ headers }) => {
    const name = BY_HINT.get(headers['sec-ch-ua-platform'])
    return name ?? (byUserAgent(headers['user-agent'] ?? '') || undefined)
  })
}

function nameOf(userAgent: string): string {
  const name = userAgent && getParser(userAgent, true).getOSName()
  return NAMES.has(name) ? name : ''
}
