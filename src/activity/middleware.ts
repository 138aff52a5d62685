import type { BurstLogger } from '../support/logger.js'
import type { Request, RequestHandler } from '../page-views/express.js'
import { Guard } from '../visitors/guard.js'
import { type Count, pageViews } from '../page-views/middleware.js'
import type { ActivitySettings } from './options.js'
import { pageOf, pathOf } from './page.js'

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
  const pageOption = (req: Request): string | undefined =>
    page && guard.text('page', 'the path is taken', () => page(req))
  return pageViews(
    {
      ...others,
      visitor: visitor && { option: 'visitor', of: visitor },
      subject: (req, target) => pageOf(pageOption(req) ?? pathOf(target)),
      callsBack,
    },
    count,
    logger,
  )
}
