/**
 * The dashboard's routes. All but unknown paths ask {@link gate} first; what they answer is JSON
 * for the page, CSV for people, and the files of the page itself.
 */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, systemClock } from '../support/clock.js'
import { messageOf } from '../support/errors.js'
import type { BurstLogger } from '../support/logger.js'
import {
  sendJson,
  sendTagged,
  sendText,
  sendUnavailable,
  type Tagged,
} from '../page-views/answers.js'
import type { Request } from '../page-views/express.js'
import { type Handler, type Received, targetOf } from '../page-views/handler.js'
import { type Answer, type Route, router } from '../page-views/router.js'
import { asset, servedAssets } from './assets.js'
import { gate } from './authorize.js'
import { type Download, historyDownload, subjectDownload, topDownload } from './downloads.js'
import { list, spanFigures } from './figures.js'
import { setHeaders } from './headers.js'
import { type DashboardOptions, dashboardSettings } from './options.js'
import { dimensionOf, historyQuery, QueryError, SUBJECT_PARAMETERS, topQuery } from './query.js'
import { spanQuery } from './span.js'
import { subjectFigures, subjectHistory, subjectOf } from './subject.js'
import { MAX_VALUES } from '../support/periods.js'
import { answerWithin, shared } from '../support/shared.js'
import type { DashboardSource } from './source.js'

/** Longest wait for an answer of the source. Without one, the panel has no figures this time. */
const TIMEOUT_MS = 10_000
/** The same for what is asked every 2 s: the answer says what is wrong, and is not to wait. */
const NOW_TIMEOUT_MS = 3_000
/** Time for which all tabs share one answer that costs the same for each. */
const NOW_MS = 1_000
const LEDGER_MS = 5_000
const HITS_MS = 10_000
const HITS_SHOWN = 100
/** Values of each dimension that the page begins with. */
const LISTED = 10

/**
 * The dashboard of `source`, for any mount path.
 *
 * @throws TypeError naming the option that is wrong, its value and what is allowed
 */
export function dashboardRouter(
  source: DashboardSource,
  options: DashboardOptions,
  logger: BurstLogger,
  clock: Clock = systemClock,
): Handler {
  const settings = dashboardSettings(options)
  const verdictOn = gate(settings.authorize, logger, clock)
  const refused = asset('refused.html')
  const notSetUp = asset('not-set-up.html')

  /** The figures, or `null` where there are none; the log says why, once in a burst. */
  async function figures<T>(
    what: string,
    work: () => Promise<T>,
    timeoutMs = TIMEOUT_MS,
  ): Promise<T | null> {
    try {
      return await answerWithin(clock, timeoutMs, work)
    } catch (error) {
      logger.warn(
        `dashboard ${what}`,
        `wide-cache: the dashboard has no figures for "${what}" at the moment: ${messageOf(error)}`,
      )
      return null
    }
  }

  const time = (): string => new Date(clock.now()).toISOString()

  /** What is on its way begins where the overview ends. */
  const now = shared(clock, NOW_MS, async () => {
    const overview = await figures('overview', () => source.overview(), NOW_TIMEOUT_MS)
    const live =
      overview && (await figures('live', () => source.live(overview.asOf), NOW_TIMEOUT_MS))
    return { overview, live }
  })
  const ledger = shared(clock, LEDGER_MS, () =>
    figures('ledger', async () => ({ asOf: time(), ...(await source.ledger()) }), NOW_TIMEOUT_MS),
  )
  const hits = shared(clock, HITS_MS, () =>
    Promise.all(
      settings.hits.map(async (one) => ({
        name: one.name,
        asOf: time(),
        items: await figures('hits', () => one.top(HITS_SHOWN)),
      })),
    ),
  )

  const routes = new Map<string, Answer>()
  for (const [path, file] of servedAssets()) {
    routes.set(path, (req, res) => {
      if (path === '/' && redirected(req, res)) return
      setHeaders(res, 'private, no-cache')
      sendTagged(res, file)
    })
  }
  routes.set('/now.json', async (_req, res) => {
    const [panels, books] = await Promise.all([now(), ledger()])
    const shown = { ...panels, ledger: books }
    sendPanel(res, {
      name: source.name,
      dimensions: source.dimensions,
      time: time(),
      trouble: source.advice() ?? troubleOf(shown) ?? null,
      ...shown,
    })
  })
  routes.set('/hits.json', async (_req, res) => sendPanel(res, await hits()))
  routes.set('/figures.json', async (req, res) => {
    const at = clock.now()
    const { span, query } = spanQuery(req.url ?? '/', at, ['dimension'])
    const dimension = query.get('dimension')
    if (dimension !== null) {
      const known = dimensionOf(dimension, source.dimensions)
      const asked = { dimension: known, n: MAX_VALUES, now: at }
      return sendPanel(res, { span, lists: [await list(source, span, asked, figures)] })
    }
    const [sums, ...lists] = await Promise.all([
      spanFigures(source, span, figures),
      ...source.dimensions.map((one) =>
        list(source, span, { dimension: one, n: LISTED, now: at }, figures),
      ),
    ])
    sendPanel(res, { ...sums, lists })
  })
  routes.set('/item.json', async (req, res) => {
    const at = clock.now()
    const { span, query } = spanQuery(req.url ?? '/', at, SUBJECT_PARAMETERS)
    const subject = subjectOf(query, source.dimensions, settings.hits)
    if (!subject) throw new QueryError('value', null, 'a value, with "dimension" or "hits"')
    sendPanel(res, await subjectFigures(source, subject, span, at, figures))
  })
  routes.set('/history.json', async (req, res) => {
    const { query, range } = historyQuery(req.url ?? '/', clock.now())
    const subject = subjectOf(query, source.dimensions, settings.hits)
    const work = () =>
      subject
        ? subjectHistory(source, subject, range, clock.now())
        : (source.history(range) as Promise<unknown>)
    sendFigures(res, await figures('history', work))
  })
  routes.set('/top.json', async (req, res) => {
    const { dimension, ...range } = topQuery(req.url ?? '/', clock.now(), source.dimensions)
    sendFigures(res, await figures('top', () => source.top(dimension, range)))
  })
  routes.set('/history.csv', (req, res) => {
    const { query, range } = historyQuery(req.url ?? '/', clock.now())
    const subject = subjectOf(query, source.dimensions, settings.hits)
    const download = subject
      ? subjectDownload(source.name, range, () =>
          subjectHistory(source, subject, range, clock.now()),
        )
      : historyDownload(source, range)
    return sendDownload(req, res, download)
  })
  routes.set('/top.csv', (req, res) =>
    sendDownload(
      req,
      res,
      topDownload(source, topQuery(req.url ?? '/', clock.now(), source.dimensions)),
    ),
  )

  /** Streams a file. The first piece decides between 200 and 503; a later failure cuts it off. */
  async function sendDownload(
    req: IncomingMessage,
    res: ServerResponse,
    download: Download,
  ): Promise<void> {
    const { fileName, text } = download
    const first =
      req.method === 'HEAD' ? { value: undefined } : await figures('csv', () => text.next())
    if (!first) return sendFigures(res, null)
    if (res.headersSent) return
    setHeaders(res, 'no-store')
    res.setHeader('Content-Disposition', `attachment; filename="${fileName}"`)
    res.setHeader('Content-Type', 'text/csv; charset=utf-8')
    res.statusCode = 200
    if (first.value === undefined) return void res.end()
    try {
      await pipeline(Readable.from(continued(first.value, text)), res)
    } catch (error) {
      // The client has hung up, or the source has failed; the client sees a file that breaks off.
      if (res.destroyed && isAbort(error)) return
      logger.warn(
        'dashboard csv',
        `wide-cache: a download from the dashboard was cut off: ${messageOf(error)}`,
      )
    }
  }

  async function answer(path: string, panel: Answer, ...[req, res, next]: Parameters<Answer>) {
    // Typed as Express's for the site's own function.
    const verdict = await verdictOn(req as Request)
    // A timeout of the site's own may have answered meanwhile.
    if (res.headersSent) return
    if (verdict !== 'allowed') return refuse(res, path, verdict === 'refused' ? refused : notSetUp)
    try {
      await panel(req, res, next)
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      // A query is checked before anything is awaited, so nothing has been sent yet.
      const { parameter, value, allowed } = error
      setHeaders(res, 'no-store')
      sendJson(res, { error: error.message, parameter, value, allowed }, 400)
    }
  }

  return router(
    settings.mountPath,
    new Map<string, Route>(
      Array.from(routes, ([path, panel]) => [
        path,
        { GET: (...asked) => answer(path, panel, ...asked) },
      ]),
    ),
  )
}

/** What is wrong with figures for which the source gives no reason, and what to do. */
function troubleOf({
  overview,
  live,
  ledger,
}: Readonly<Record<string, unknown>> & {
  readonly overview: { readonly stale: boolean } | null
}): string | undefined {
  if (!overview || !live || !ledger) {
    return 'Some figures cannot be read: the log of this process says why.'
  }
  if (!overview.stale) return undefined
  return (
    'The figures are older than they should be: see whether a collector runs and can write to ' +
    "the database, and whether the database's clock is right."
  )
}

/**
 * Redirects the mount path to itself with a slash, because the page names its files relatively. The
 * target is relative, too: a proxy may have taken a part of the path away.
 */
function redirected(req: Received, res: ServerResponse): boolean {
  const [path = '', query] = targetOf(req).split(/\?(.*)/s)
  if (path.endsWith('/')) return false
  setHeaders(res, 'no-store')
  const last = path.slice(path.lastIndexOf('/') + 1)
  const target = `./${last}/${query === undefined ? '' : `?${query}`}`
  // What a header cannot hold, though a client may have sent it.
  res.setHeader('Location', target.replace(/[^!-~]/g, encodeURIComponent))
  sendText(res, 'text/plain; charset=utf-8', 'The page is at the path with a slash.', 302)
  return true
}

function refuse(res: ServerResponse, path: string, page: Tagged): void {
  setHeaders(res, 'no-store')
  if (path === '/') sendText(res, page.type, page.body, 403)
  else sendJson(res, { error: 'This request may not see the dashboard' }, 403)
}

function sendPanel(res: ServerResponse, value: unknown): void {
  if (res.headersSent) return
  setHeaders(res, 'no-store')
  sendJson(res, value)
}

function sendFigures(res: ServerResponse, value: unknown): void {
  if (value !== null) return sendPanel(res, value)
  if (res.headersSent) return
  setHeaders(res, 'no-store')
  sendUnavailable(res, 'There are no figures at the moment')
}

async function* continued(
  first: string,
  rest: AsyncGenerator<string, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  yield first
  yield* rest
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
