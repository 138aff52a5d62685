import { readFileSync } from 'node:fs'
import { etagOf } from '../support/etag.js'
import { packageFile } from '../support/package-file.js'
import type { Router } from '../page-views/express.js'
import { newRouter } from '../page-views/router.js'
import type { ActivityStats } from './stats.js'

/**
 * Seconds that browsers and proxies may use an answer again. Figures change with each collecting
 * period, and are as old as `statsTtlSeconds` already.
 */
const FIGURES_MAX_AGE = 10
const WIDGET_MAX_AGE = 3600

/** Seconds after which it is worth asking again where there are no figures yet. */
const RETRY_AFTER = 5

/**
 * `GET /`: the figures as JSON. `GET /widget.js`: the element `<site-activity>`. Both with ETag.
 */
export function activityRouter(
  stats: () => Promise<ActivityStats>,
  statsTtlSeconds: number,
): Router {
  const router = newRouter()
  const widget = widgetSource()
  const widgetTag = etagOf(widget)
  const cacheControl = `public, max-age=${Math.min(FIGURES_MAX_AGE, statsTtlSeconds)}`

  router.get('/', (_req, res, next) => {
    stats()
      .then(
        (figures) => {
          // A timeout of the site's own may have answered meanwhile.
          if (res.headersSent) return
          const body = JSON.stringify(figures)
          // Express answers 304 by the ETag set here; its own may be switched off.
          res
            .set({
              'Cache-Control': cacheControl,
              ETag: etagOf(body),
              'X-Content-Type-Options': 'nosniff',
            })
            .type('json')
            .send(body)
        },
        () => {
          if (res.headersSent) return
          res
            .status(503)
            .set({ 'Cache-Control': 'no-store', 'Retry-After': String(RETRY_AFTER) })
            .json({ error: 'There are no figures yet' })
        },
      )
      .catch(next)
  })

  router.get('/widget.js', (_req, res) => {
    res.set({
      'Cache-Control': `public, max-age=${WIDGET_MAX_AGE}`,
      ETag: widgetTag,
      'X-Content-Type-Options': 'nosniff',
    })
    res.type('text/javascript').send(widget)
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
