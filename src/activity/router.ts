import { readFileSync } from 'node:fs'
import { given, oneOf, onlyKnown } from '../support/options.js'
import { packageFile } from '../support/package-file.js'
import type { Router } from '../page-views/express.js'
import { sendTagged, sendUnavailable, tagged } from '../page-views/answers.js'
import { newRouter } from '../page-views/router.js'
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
}

/**
 * Seconds that browsers and proxies may use an answer again. Figures change with each collecting
 * period, and are as old as `statsTtlSeconds` already.
 */
const FIGURES_MAX_AGE = 10
const WIDGET_MAX_AGE = 3600

/**
 * `GET /`: the figures as JSON. `GET /widget.js`: the element `<site-activity>`. Both with ETag.
 *
 * @throws TypeError, RangeError naming the option that is wrong
 */
export function activityRouter(
  stats: () => Promise<ActivityStats>,
  statsTtlSeconds: number,
  options: ActivityRouterOptions = {},
): Router {
  onlyKnown('activity.router', options, ['cacheControl'])
  const { cacheControl = 'public' } = given(options)
  const whose = oneOf('cacheControl', cacheControl, ['public', 'private'])
  const maxAge = Math.min(FIGURES_MAX_AGE, statsTtlSeconds)
  const router = newRouter()
  const widget = tagged(widgetSource(), 'text/javascript')

  router.get('/', (_req, res, next) => {
    stats()
      .then(
        (figures) =>
          sendTagged(res, tagged(JSON.stringify(figures), 'json'), {
            'Cache-Control': `${whose}, max-age=${maxAge}`,
          }),
        () => sendUnavailable(res, 'There are no figures yet'),
      )
      .catch(next)
  })

  router.get('/widget.js', (_req, res) => {
    sendTagged(res, widget, { 'Cache-Control': `public, max-age=${WIDGET_MAX_AGE}` })
  })

  return router
}

/**
 * As it is beside this file, but for the `export {}` that tsc adds: it runs as a classic script as
 * well.
 */
function widgetSource(): string {
  return readFileSync(packageFile('activity/widget.js'), 'utf8').replace(/^export \{\};$/m, '')
}
