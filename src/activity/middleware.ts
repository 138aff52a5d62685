import type { BurstLogger } from '../support/logger.js'
import type { Request } from '../page-views/express.js'
import { type ServerRequest, targetOf } from '../page-views/handler.js'
import { Guard } from '../visitors/guard.js'
import { type Measure, sentMeasure } from '../page-views/measures.js'
import { type PageViews, pageViews } from '../page-views/middleware.js'
import { Mount } from '../page-views/mount.js'
import { type Count, Visitors } from '../page-views/visitors.js'
import { botValuesOf } from './dimensions/bots.js'
import { valuesOf } from './dimensions/dimensions.js'
import { goneValueOf } from './dimensions/gone.js'
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

/** Functions that count page views. The page is what the option `page` says, else the path. */
export interface RequestViews extends PageViews {
  /** Counts a view that a request tells of, of `page` if that is given. */
  readonly record: (req: ServerRequest, page: string | undefined) => void
}

/** Values of both, packed. */
function joined(one: string | undefined, other: string): string {
  return one === undefined ? other : one + other
}

/**
 * Makes the middleware and `record(req)`, which share the rules by which visitors are identified,
 * and ask for the values of the option `dimensions`.
 */
export function requestViews(
  settings: Pick<
    ActivitySettings,
    'skip' | 'visitor' | 'page' | 'dimensions' | 'privacySignals' | 'publicPath' | 'botTypes'
  >,
  count: Count<ViewedPage>,
  logger: BurstLogger,
): RequestViews {
  const { skip, page, visitor, dimensions, privacySignals, publicPath, botTypes } = settings
  const guard = new Guard(logger)
  const asked = Object.values(dimensions)
  const callsBack =
    Boolean(skip ?? visitor) ||
    ![...(page ? [page] : []), ...asked].every((one) => isReadyMade(one))
  const values = asked.length > 0 ? valuesOf(dimensions, guard) : undefined
  const botValues = botValuesOf()
  const goneValue = goneValueOf()
  const pageOption = (req: Request): string | undefined =>
    page && guard.text('page', 'the path is taken', () => page(req))
  const visitors = new Visitors(
    { visitor: visitor && { option: 'visitor', of: visitor }, privacySignals },
    logger,
  )
  const viewed = (req: Request, target: string, measure: Measure, pageName?: string): ViewedPage =>
    measure === 'gone'
      ? { measure, page: pageOf(goneValue(req, target)), dimensions: undefined }
      : {
          measure,
          page: pageOf(pageName ?? pageOption(req) ?? pageOfTarget(target)),
          dimensions: measure === 'bots' ? joined(values?.(req), botValues(req)) : values?.(req),
        }
  return {
    ...pageViews(
      { skip, visitors, subject: viewed, callsBack, publicPath, botTypes, countsGone: true },
      count,
      logger,
    ),
    record(received, page) {
      // Typed as Express's for the site's own functions, whatever framework it is.
      const req = received as Request
      visitors.record(req, undefined, (identity, userAgent, isBot) => {
        const view = new Mount(req, publicPath).during(req, () =>
          viewed(req, targetOf(req), sentMeasure(isBot), page),
        )
        count(view, identity, userAgent)
      })
    },
  }
}
