import type { IncomingMessage } from 'node:http'
import { targetOf } from '../page-views/handler.js'
import { readyMade } from './dimensions/ready-made.js'
import { pageOfTarget } from './page.js'

/** What is percent-encoded, or capital letters. */
const CAPITALS = /%[0-9A-F]{2}|[A-Z]+/g

/**
 * A value for the option `page`: the path in lower case and without a slash at its end, so that
 * `/about`, `/about/` and `/About` are one page. For sites whose router takes them for one, as
 * Express does by default.
 *
 * @example
 * ```js
 * import { createActivity, lenientPath } from 'wide-cache'
 *
 * const activity = createActivity({ page: lenientPath })
 * // …
 * await activity.close()
 * ```
 */
export function lenientPath(req: IncomingMessage): string {
  const path = pageOfTarget(targetOf(req))
  const lower = path.replace(CAPITALS, (text) => (text.startsWith('%') ? text : text.toLowerCase()))
  let end = lower.length
  while (end > 1 && lower[end - 1] === '/') end--
  return lower.slice(0, end)
}
readyMade(lenientPath)
