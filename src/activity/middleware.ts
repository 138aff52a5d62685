import type { BurstLogger } from '../support/logger.js'
import type { RequestHandler } from '../page-views/express.js'
import { Guard } from '../visitors/guard.js'
import { pageViews } from '../page-views/middleware.js'
import type { ActivitySettings } from './options.js'
import { pageOf, pathOf } from './page.js'

/**
 * Takes what is to be counted. `identity` and `userAgent` are who the visitor is, not yet hashed.
 */
export type Count = (
  identity: string | undefined,
  page: string,
  userAgent: string | undefined,
) => void

/**
 * Makes the middleware that counts page views, each with the page that the option `page` or its
 * path says.
 */
export function activityMiddleware(
  settings: Pick<ActivitySettings, 'skip' | 'visitor' | 'page' | 'bots' | 'privacySignals'>,
  count: Count,
  logger: BurstLogger,
): () => RequestHandler {
  const { page, visitor, ...others } = settings
  const guard = new Guard(logger)
  const callsBack = Boolean(others.skip ?? visitor ?? page)
  return pageViews(
    { ...others, visitor: visitor && { option: 'visitor', of: visitor }, callsBack },
    (req, _res, target, identity, userAgent) => {
      const path = page ? guard.text('page', 'the path is taken', () => page(req)) : undefined
      count(identity, pageOf(path ?? pathOf(target)), userAgent)
    },
    logger,
  )
}
