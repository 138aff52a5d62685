/** One page of all sites of a database: each request sees those that it may see. */
import { asset, fileOfPage, servedAssets } from '../dashboard/assets.js'
import { gate } from '../dashboard/authorize.js'
import { setHeaders } from '../dashboard/headers.js'
import { redirected, refuse, sendFigures } from '../dashboard/sending.js'
import { sendTagged } from '../page-views/answers.js'
import type { Request } from '../page-views/express.js'
import type { ServerResponse } from 'node:http'
import type { Handler, Received } from '../page-views/handler.js'
import { pathOption, type Route, router } from '../page-views/router.js'
import { messageOf } from '../support/errors.js'
import { onlyKnown, optionalFunction, wrongType } from '../support/options.js'
import { shared } from '../support/shared.js'
import type { Activity } from './activity.js'
import { readOverview } from './overview-figures.js'
import { type OverviewSite, SiteActivity } from './site-activity.js'

/** Options of {@link overview}. One that is `undefined` is one not given. */
export interface OverviewOptions {
  /**
   * Whether a request may see the activity of this name: `true` or `false`, or a promise of one.
   * Anything else, an error and a rejection refuse.
   *
   * @default nobody, but for a developer on the machine itself
   */
  authorize?: ((req: Request, name: string) => boolean | Promise<boolean>) | undefined
  /**
   * Path that the overview lies at, for servers that leave it in `req.url`, as `node:http` and
   * Fastify do: `/admin/sites`.
   * @default '', because Express takes it away
   */
  mountPath?: string | undefined
}

const MAX_SITES = 1_000
/** Time for which an answer serves all who ask. */
const SHARED_MS = 5_000

/**
 * A page with the figures of several activities in one database, a row for each: the page views of
 * the last ten minutes, and of the last seven whole days beside the seven before. The first
 * activity's database is asked, by two statements. Each request sees the names for which
 * `authorize` returns `true`.
 *
 * @throws TypeError, RangeError naming what is wrong
 *
 * @example
 * ```js
 * import express from 'express'
 * import { createActivity, overview } from 'wide-cache'
 *
 * const activities = ['blog', 'shop'].map((name) => createActivity({ name }))
 * const app = express()
 * const authorize = (req, name) => req.get('x-team') === name
 * app.use('/admin/sites', overview(activities, { authorize }))
 * app.listen(3000)
 * ```
 */
export function overview(activities: readonly Activity[], options: OverviewOptions = {}): Handler {
  onlyKnown('overview', options, ['authorize', 'mountPath'])
  const authorize = optionalFunction(
    'authorize',
    options.authorize,
    'a function of the request and a name that returns true or false, or a promise of one',
  )
  const sites = sitesOf(activities)
  const { run, clock, logger } = sites[0]!
  const gates = sites.map((site) => ({
    ...site,
    verdictOn: gate(authorize && ((req) => authorize(req, site.name)), logger, clock),
  }))
  const measures = sites.map(({ measure }) => measure)
  const read = shared(clock, SHARED_MS, () =>
    run((database) => readOverview(database, measures, clock.now())).catch((error: unknown) => {
      logger.warn(
        'overview',
        `wide-cache: the overview has no figures at the moment: ${messageOf(error)}`,
      )
      return null
    }),
  )

  const panels = new Map<string, Panel>()
  const [page, refused, notSetUp] = [
    fileOfPage('overview.html'),
    asset('refused.html'),
    asset('not-set-up.html'),
  ]
  panels.set('/', (req, res) => {
    if (redirected(req, res)) return
    setHeaders(res, 'private, no-cache')
    sendTagged(res, page)
  })
  panels.set('/sites.json', async (_req, res, seen) => {
    const figures = await read()
    const shown = figures?.filter(({ name }) => seen.has(name))
    sendFigures(res, shown?.map((one) => ({ ...one, name: seen.get(one.name) })) ?? null)
  })
  for (const [path, file] of servedAssets()) {
    panels.set(path, (_req, res) => {
      setHeaders(res, 'private, max-age=31536000, immutable')
      sendTagged(res, file)
    })
  }

  async function answer(path: string, panel: Panel, req: Received, res: ServerResponse) {
    const asked = gates.map(async (one) => ({
      ...one,
      // Typed as Express's for the site's own function.
      verdict: await one.verdictOn(req as Request),
    }))
    const verdicts = await Promise.all(asked)
    if (res.headersSent) return
    const seen = verdicts.filter(({ verdict }) => verdict === 'allowed')
    if (seen.length > 0) {
      return panel(req, res, new Map(seen.map(({ measure, name }) => [measure, name])))
    }
    refuse(res, path, verdicts[0]?.verdict === 'not set up' ? notSetUp : refused)
  }

  return router(
    pathOption('mountPath', options.mountPath ?? ''),
    new Map<string, Route>(
      Array.from(panels, ([path, panel]) => [
        path,
        { GET: (req, res) => answer(path, panel, req, res) },
      ]),
    ),
  )
}

/** Answers a request that may see the names of these measures. */
type Panel = (
  req: Received,
  res: ServerResponse,
  seen: ReadonlyMap<string, string>,
) => void | Promise<void>

/** @throws TypeError */
function sitesOf(activities: readonly Activity[]): OverviewSite[] {
  const allowed = `an array of 1 to ${MAX_SITES} activities, as createActivity() makes them`
  const given: readonly unknown[] = Array.isArray(activities) ? activities : []
  const sites = given.flatMap((one) => SiteActivity.siteOf(one) ?? [])
  const areAll = sites.length === given.length && sites.length > 0 && sites.length <= MAX_SITES
  if (areAll) return sites
  throw wrongType('activities', activities, allowed)
}
