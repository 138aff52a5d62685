import type { IncomingMessage } from 'node:http'
import { targetOf } from '../../page-views/handler.js'
import { pageOfTarget } from '../page.js'
import { readyMade } from './ready-made.js'

/**
 * A dimension: the section of the site that a page is in, by the first part of its path, such as
 * `/blog/` for `/blog/2026/spring`. Pages without a further part, such as `/` and `/about`, are in
 * none. The dashboard lists the pages under a section.
 *
 * @example
 * ```js
 * import { createActivity, section } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { section: section() } })
 * // …
 * await activity.close()
 * ```
 */
export function section(): (req: IncomingMessage) => string | undefined {
  return readyMade((req) => {
    const path = pageOfTarget(targetOf(req))
    const end = path.indexOf('/', 1)
    return path.startsWith('/') && end > 1 ? path.slice(0, end + 1) : undefined
  })
}
