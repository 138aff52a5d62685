import type { IncomingMessage } from 'node:http'
import { remembering } from '../../page-views/remembering.js'
import { readyMade } from './ready-made.js'

/** The first language of the header, without its region: `de` of `de-AT,de;q=0.9,en;q=0.8`. */
const FIRST = /^\s*([a-z]{2,3})(?![\w])/i

/**
 * A dimension: the language that the visitor's browser asks for first, without its region, such as
 * `de`. No `Accept-Language`: no value.
 *
 * @example
 * ```js
 * import { createActivity, language } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { language: language() } })
 * // …
 * await activity.close()
 * ```
 */
export function language(): (req: IncomingMessage) => string | undefined {
  const first = remembering((accepted) => FIRST.exec(accepted)?.[1]?.toLowerCase() ?? '')
  return readyMade(({ headers }) => first(headers['accept-language'] ?? '') || undefined)
}
