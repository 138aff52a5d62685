import type { BurstLogger } from '../support/logger.js'
import type { Request } from '../page-views/express.js'
import type { Handler } from '../page-views/handler.js'
import { Guard } from '../visitors/guard.js'
import { type Count, pageViews } from '../page-views/middleware.js'
import { pathOf } from '../page-views/path.js'
import { Visitors } from '../page-views/visitors.js'
import { valuesOf } from './dimensions/dimensions.js'
import { isReadyMade } from './dimensions/ready-made.js'
import type { ActivitySettings } from './options.js'
import { pageOf } from './page.js'

/** Page and values that a page view counts for. */
export interface ViewedPage {
  readonly page: string
  /** Packed. */
  readonly dimensions: string | undefined
}

/**
 * Makes the middleware that counts page views, each with the page that the option `page` or its
 * path says, and with its values of the option `dimensions`.
 */
export function activityMiddleware(
  settings: Pick<
    ActivitySettings,
    'skip' | 'visitor' | 'page' | 'dimensions' | 'bots' | 'privacySignals'
  >,
  count: Count<ViewedPage>,
  logger: BurstLogger,
): () => Handler {
  const { skip, page, visitor, dimensions, bots, privacySignals } = settings
  const guard = new Guard(logger)
  const asked = Object.values(dimensions)
  const callsBack =
    Boolean(skip ?? visitor ?? page) || !asked.every((dimension) => isReadyMade(dimension))
  const values = asked.length > 0 ? valuesOf(dimensions, guard) : undefined
  const pageOption = (req: Request): string | undefined =>
    page && guard.text('page', 'the path is taken', () => page(req))
  const visitors = new Visitors(
    { visitor: visitor && { option: 'visitor', of: visitor }, bots, privacySignals },
    logger,
  )
  return pageViews(
    {
      skip,
      visitors,
      subject: (req, target) => ({
        page: pageOf(pageOption(req) ?? pathOf(target)),
        dimensions: values?.(req),
      }),
      callsBack,
    },
    count,
    logger,
  )
}
