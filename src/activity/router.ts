import { readFileSync } from 'node:fs'
import { given, oneOf, onlyKnown } from '../support/options.js'
import { packageFile } from '../support/package-file.js'
import { JSON_TYPE, sendTagged, sendUnavailable, tagged } from '../page-views/answers.js'
import type { Handler } from '../page-views/handler.js'
import { type Answer, mountPathOf, type Route, router } from '../page-views/router.js'
import type { ActivityStats } from './stats.js'

/** Options of {@link Activity.router}. */
export interface ActivityRouterOptions {
  /**
   * Caches that may keep the figures of `GET /` for some seconds. `public`: browsers, and proxies
   * and CDNs, which then answer other people with them. `private`: browsers only, for figures
   * behind a login.
   * @default 'public'
   */
  cacheControl?: 'public' | 'private' | undefined
  /**
   * Path that the router lies at, for servers that leave it in `req.url`, as `node:http` and
   * Fastify do: `/activity`.
   * @default '', because Express takes it away
   */
  mountPath?: string | undefined
}

/**
 * Seconds that browsers and proxies may use an answer again. Figures change with each collecting
 * period, and are as old as `statsTtlSeconds` already.
 */
const FIGURES_MAX_AGE = 10
const WIDGET_HEADERS = { 'Cache-Control': 'public, max-age=3600' }

/**
 * `GET /`: the figures as JSON. `GET /widget.js`: the element `<site-activity>`. Both with ETag.
 *
 * @throws TypeError, RangeError naming the option that is wrong
 */
export function activityRouter(
  stats: () => Promise<ActivityStats>,
  statsTtlSeconds: number,
  options: ActivityRouterOptions = {},
): Handler {
  onlyKnown('activity.router', options, ['cacheControl', 'mountPath'])
  const { cacheControl = 'public', mountPath = '' } = given(options)
  const whose = oneOf('cacheControl', cacheControl, ['public', 'private'])
  const maxAge = Math.min(FIGURES_MAX_AGE, statsTtlSeconds)
  const widget = tagged(widgetSource(), 'text/javascript; charset=utf-8')
  const figures: Answer = async (_req, res) => {
    const answer = await stats().catch(() => undefined)
    if (!answer) return sendUnavailable(res, 'There are no figures yet')
    sendTagged(res, tagged(JSON.stringify(answer), JSON_TYPE), {
      'Cache-Control': `${whose}, max-age=${maxAge}`,
    })
  }
  return router(
    mountPathOf(mountPath),
    new Map<string, Route>([
      ['/', { GET: figures }],
      ['/widget.js', { GET: (_req, res) => sendTagged(res, widget, WIDGET_HEADERS) }],
    ]),
  )
}

/**
 * As it is beside this file, but for the `export {}` that tsc adds: it runs as a classic script as
 * well.
 */
function widgetSource(): string {
  return readFileSync(packageFile('activity/widget.js'), 'utf8').replace(/^export \{\};$/m, '')
}
