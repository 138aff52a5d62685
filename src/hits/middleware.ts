import type { BurstLogger } from '../support/logger.js'
import { onlyKnown, optionalFunction, wrongType } from '../support/options.js'
import type { Request, Response } from '../page-views/express.js'
import type { Handler } from '../page-views/handler.js'
import { describe, fieldOf, Guard, identityOf } from '../visitors/guard.js'
import { pageViews } from '../page-views/middleware.js'
import { whenReported } from '../page-views/reports.js'
import { type Count, Visitors } from '../page-views/visitors.js'
import type { ViewedItem } from './hit.js'
import type { HitsSettings } from './options.js'

/**
 * Functions that tell {@link Hits.middleware} about a page. They are called after the response.
 * They see `url`, `path`, `baseUrl`, `originalUrl` and `params` of the request as they were where
 * the middleware is mounted.
 */
export interface HitsMiddlewareOptions {
  /**
   * The item whose page this is, 1 to 255 bytes; `undefined` or an empty text: of none, and nothing
   * counts. Parameters of a route are seen only where the middleware is mounted in that route, or
   * at a path that has them. If the first 10 pages are of no item, the log
   * says so once.
   */
  item(req: Request): string | null | undefined
  /**
   * The viewer: a text, or a number such as the id of a user; only a keyed hash of it leaves the
   * process.
   * @default the IP address, by Express's "trust proxy", and the user agent
   */
  viewer?: ((req: Request) => string | number | bigint) | undefined
  /**
   * The item's author, as `viewer` says it, or whether the viewer is the author. The author's own
   * views never count. The number 7 and the text "7" are one author. `undefined`, `null`, `false`
   * or an empty text: unknown. @default no author is known, so all views may count
   */
  owner?:
    | ((req: Request, res: Response) => string | number | bigint | boolean | null | undefined)
    | undefined
}

/** Pages in a row, from the start, after which an `item` that names none is taken for a mistake. */
export const PAGES_WITHOUT_ITEM = 10

const NOT_COUNTED = 'the hit is not counted'
const COUNTED = 'the hit counts'

/**
 * The middleware that counts the views of items, by the rules of page views: see {@link pageViews}.
 * Where it meets a report of a view, that counts too.
 *
 * @throws TypeError
 */
export function hitsMiddleware(
  options: HitsMiddlewareOptions,
  { privacySignals, publicPath }: Pick<HitsSettings, 'privacySignals' | 'publicPath'>,
  count: Count<ViewedItem>,
  logger: BurstLogger,
): Handler {
  onlyKnown('hits.middleware', options, ['item', 'viewer', 'owner'])
  const { item } = options
  if (typeof item !== 'function') {
    throw wrongType(
      'item',
      item,
      'a function (req) that returns a text, or undefined where nothing is to count',
    )
  }
  const viewer = optionalFunction(
    'viewer',
    options.viewer,
    'a function (req) that returns a text or a number',
  )
  const owner = optionalFunction(
    'owner',
    options.owner,
    'a function (req, res) that returns a text, a number, a boolean or undefined',
  )
  const guard = new Guard(logger)
  let itemSeen = false
  let pagesWithoutItem = 0

  function itemOf(req: Request): string | undefined {
    const answer = guard.optionalText('item', NOT_COUNTED, () => item(req))
    if (answer === '') notePageWithoutItem()
    else if (answer !== undefined) itemSeen = true
    return answer || undefined
  }

  /** One page without an item is normal. If the first ones have none, it is taken for a mistake. */
  function notePageWithoutItem(): void {
    if (itemSeen || ++pagesWithoutItem !== PAGES_WITHOUT_ITEM) return
    guard.say(
      'no item',
      `the function given as "item" has named no item for the first ${PAGES_WITHOUT_ITEM} pages`,
      'no hits are counted; it sees the request as it is where hits.middleware() is mounted, ' +
        'so mount it in the route whose parameters ' +
        'it reads, as in app.get("/threads/:id", hits.middleware(…), …); if these pages are ' +
        'of no item, there is nothing to do',
    )
  }

  function isOwn(req: Request, res: Response, identity: string | undefined): boolean {
    if (!owner) return false
    return guard.truth('owner', COUNTED, () => {
      const answer: unknown = owner(req, res)
      const author = identityOf(answer)
      if (author !== undefined) return isViewer(author, req, identity)
      if (typeof answer === 'boolean' || answer instanceof Promise) return answer
      if (answer === undefined || answer === null || answer === '') return false
      guard.say(
        'owner',
        `the function given as "owner" returned ${describe(answer)}, not a text, a number or a ` +
          'boolean',
        COUNTED,
      )
      return false
    })
  }

  function isViewer(author: string, req: Request, identity: string | undefined): boolean {
    if (!viewer) {
      guard.say(
        'owner',
        'the function given as "owner" returned an identity, to be compared with what ' +
          '"viewer" returns, which is not given',
        COUNTED,
      )
      return false
    }
    // A viewer who asks for privacy has no identity here. It is only compared, and not kept.
    return author === (identity ?? guard.identity('viewer', COUNTED, () => viewer(req)))
  }

  const visitors = new Visitors(
    { visitor: viewer && { option: 'viewer', of: viewer }, privacySignals },
    logger,
  )
  const views = pageViews<ViewedItem>(
    {
      skip: undefined,
      visitors,
      subject(req, _target, measure) {
        const item = itemOf(req)
        return item === undefined ? undefined : { measure, item }
      },
      isOwn,
      callsBack: true,
      publicPath,
    },
    count,
    logger,
  )
  const served = views.middleware()
  return (req, res, next) => {
    if (fieldOf(req, 'method') === 'POST') whenReported(req, views.seen)
    served(req, res, next)
  }
}
