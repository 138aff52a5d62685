import { readFileSync } from 'node:fs'
import type { BurstLogger } from '../support/logger.js'
import { given, oneOf, onlyKnown } from '../support/options.js'
import { packageFile } from '../support/package-file.js'
import { JSON_TYPE, sendTagged, sendUnavailable, tagged } from '../page-views/answers.js'
import type { Handler } from '../page-views/handler.js'
import type { Report } from '../page-views/reports.js'
import { type Answer, pathOption, type Route, router } from '../page-views/router.js'
import { seenRoute } from './seen-route.js'
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
const SCRIPT_HEADERS = { 'Cache-Control': 'public, max-age=3600' }

/** Sources of the answers of the router. */
export interface RouterParts {
  readonly stats: () => Promise<ActivityStats>
  readonly statsTtlSeconds: number
  readonly seen: Report
  readonly logger: BurstLogger
  /** The path that a proxy in front of the site removes. */
  readonly publicPath: string
}

/**
 * `GET /`: the figures as JSON. `GET /widget.js`: the element `<site-activity>`. `GET /seen.js`:
 * the script that reports views to `POST /seen`. All that is sent has an ETag.
 *
 * @throws TypeError, RangeError
 */
export function activityRouter(
  { stats, statsTtlSeconds, seen, publicPath, logger }: RouterParts,
  options: ActivityRouterOptions = {},
): Handler {
  onlyKnown('activity.router', options, ['cacheControl', 'mountPath'])
  const { cacheControl = 'public', mountPath = '' } = given(options)
  const whose = oneOf('cacheControl', cacheControl, ['public', 'private'])
  const maxAge = Math.min(FIGURES_MAX_AGE, statsTtlSeconds)
  const figures: Answer = async (_req, res) => {
    const answer = await stats().catch(() => undefined)
    if (!answer) return sendUnavailable(res, 'There are no figures yet')
    sendTagged(res, tagged(JSON.stringify(answer), JSON_TYPE), {
      'Cache-Control': `${whose}, max-age=${maxAge}`,
    })
  }
  return router(
    pathOption('mountPath', mountPath),
    new Map<string, Route>([
      ['/', { GET: figures }],
      ['/widget.js', { GET: script('widget.js', publicPath) }],
      ['/seen.js', { GET: script('seen.js') }],
      ['/seen', { POST: seenRoute(seen, publicPath, logger) }],
    ]),
  )
}

/**
 * Sends a script as it is beside this file, but for the address that the widget asks by default,
 * and the `export {}` that tsc adds: the widget runs as a classic script as well.
 */
function script(name: string, publicPath = ''): Answer {
  const source = readFileSync(packageFile(`activity/${name}`), 'utf8')
    .replace(/^export \{\};$/m, '')
    .replace("'/activity'", () => JSON.stringify(`${publicPath}/activity`))
  const sent = tagged(source, 'text/javascript; charset=utf-8')
  return (_req, res) => sendTagged(res, sent, SCRIPT_HEADERS)
}
