import type { IncomingMessage } from 'node:http'
import type { BurstLogger } from '../support/logger.js'
import type { Request, Response } from '../page-views/express.js'
import { type Handler, targetOf } from '../page-views/handler.js'
import { Guard } from '../visitors/guard.js'
import { type Measure, sentMeasure } from '../page-views/measures.js'
import { pageViews } from '../page-views/middleware.js'
import type { Report } from '../page-views/reports.js'
import { type Count, Visitors } from '../page-views/visitors.js'
import { valuesOf } from './dimensions/dimensions.js'
import { isReadyMade } from './dimensions/ready-made.js'
import type { ActivitySettings } from './options.js'
import { pageOf, pageOfTarget } from './page.js'

/** Page and values that a page view counts for, and the measure. */
export interface ViewedPage {
  readonly measure: Measure
  readonly page: string
  /** Packed. */
  readonly dimensions: string | undefined
}

/** Functions that make page views of requests. */
export interface RequestViews {
  /** The middleware: the page is what the option `page` says, else the path. */
  readonly middleware: () => Handler
  /** Counts a view that a request tells of, of `page` if that is given. */
  readonly record: (req: IncomingMessage, page: string | undefined) => void
  /** Counts a view that a browser has reported, as the request that would have asked for it. */
  readonly seen: Report
}

/**
 * Makes the middleware and `record(req)`, which share the rules by which visitors are identified,
 * and ask for the values of the option `dimensions`.
 */
export function requestViews(
  settings: Pick<ActivitySettings, 'skip' | 'visitor' | 'page' | 'dimensions' | 'privacySignals'>,
  count: Count<ViewedPage>,
  logger: BurstLogger,
): RequestViews {
  const { skip, page, visitor, dimensions, privacySignals } = settings
  const guard = new Guard(logger)
  const asked = Object.values(dimensions)
  const callsBack =
    Boolean(skip ?? visitor) ||
    ![...(page ? [page] : []), ...asked].every((one) => isReadyMade(one))
  const values = asked.length > 0 ? valuesOf(dimensions, guard) : undefined
  const pageOption = (req: Request): string | undefined =>
    page && guard.text('page', 'the path is taken', () => page(req))
  const visitors = new Visitors(
    { visitor: visitor && { option: 'visitor', of: visitor }, privacySignals },
    logger,
  )
  const viewed = (
    req: Request,
    pageName: string | undefined,
    target: string,
    measure: Measure,
  ): ViewedPage => ({
    measure,
    page: pageOf(pageName ?? pageOption(req) ?? pageOfTarget(target)),
    dimensions: values?.(req),
  })
  const middleware = pageViews(
    {
      skip,
      visitors,
      subject: (req, target, isBot) => viewed(req, undefined, target, sentMeasure(isBot)),
      callsBack,
    },
    count,
    logger,
  )
  return {
    middleware,
    record(received, page) {
      // Typed as Express's for the site's own functions, whatever framework it is.
      const req = received as Request
      visitors.record(req, undefined, (identity, userAgent, isBot) =>
        count(viewed(req, page, targetOf(req), sentMeasure(isBot)), identity, userAgent),
      )
    },
    seen(received, answered) {
      const [req, res] = [received as Request, answered as Response]
      if (skip && guard.truth('skip', 'the visit counts', () => skip(req, res))) return
      visitors.record(req, undefined, (identity, userAgent, isBot) => {
        if (!isBot) count(viewed(req, undefined, targetOf(req), 'seen'), identity, userAgent)
      })
    },
  }
}
