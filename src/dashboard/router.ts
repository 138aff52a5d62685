/**
 * The dashboard's routes. All but unknown paths ask {@link gate} first. The answers are JSON for
 * the page, CSV for people, and the files of the page itself.
 */
import type { ServerResponse } from 'node:http'
import type { Calendar } from '../support/calendar.js'
import { type Clock, systemClock } from '../support/clock.js'
import { messageOf } from '../support/errors.js'
import type { BurstLogger } from '../support/logger.js'
import { sendJson, sendTagged } from '../page-views/answers.js'
import type { Request } from '../page-views/express.js'
import type { Handler, Received } from '../page-views/handler.js'
import { type Route, router } from '../page-views/router.js'
import { asset, pageOf, type Sees, servedAssets } from './assets.js'
import { gate } from './authorize.js'
import { type Asked, firstDayOf, list, spanFigures, totalsOf } from './figures.js'
import { setHeaders } from './headers.js'
import { hitsList } from './hits.js'
import { type DashboardOptions, dashboardSettings } from './options.js'
import { listsOf } from './lists.js'
import { countOf, listName, QueryError, SUBJECT_PARAMETERS } from './query.js'
import { csvOf, fileName, historyTable, shownTable, topTable } from './rows.js'
import { type Span, spanQuery } from './span.js'
import { subjectFigures, subjectOf } from './subject.js'
import { MAX_TOP_VALUES } from '../support/periods.js'
import { shared } from '../support/shared.js'
import { answerWithin } from '../support/within.js'
import { packed, redirected, refuse, sendFigures, sendFile, sendPanel } from './sending.js'
import type { LiveActivity } from './site-figures.js'
import type { DashboardSource } from './source.js'
import { weekHours } from './times.js'

/** Longest wait for an answer of the source. Without one, the panel has no figures this time. */
const TIMEOUT_MS = 10_000
/** The same for what is asked every 2 s: the answer says what is wrong, and is not to wait. */
const NOW_TIMEOUT_MS = 3_000
/** Time for which all tabs share one answer that costs the same for each. */
const NOW_MS = 1_000
const LEDGER_MS = 5_000
const CERTIFICATES_MS = 60_000
const CERTIFIED_DAYS = 30
/** Values of each dimension that the page begins with. */
const LISTED = 10

type Panel = (req: Received, res: ServerResponse, sees: Sees) => void | Promise<void>
const OPERATION = ['/operation.json']
const HIDDEN: Readonly<Record<Sees, readonly string[]>> = {
  allowed: [],
  figures: OPERATION,
  // Strangers get the days that the page offers, and no long list of hours.
  totals: [
    ...OPERATION,
    '/item.json',
    '/times.json',
    ...['history', 'top'].flatMap((file) => [`/${file}.json`, `/${file}.csv`]),
  ],
}

/**
 * The dashboard of `source`, for any mount path.
 *
 * @throws TypeError
 */
export function dashboardRouter(
  source: DashboardSource,
  options: DashboardOptions,
  logger: BurstLogger,
  clock: Clock = systemClock,
): Handler {
  const settings = dashboardSettings(options)
  const verdictOn = gate(settings.authorize, logger, clock)
  const totals = totalsOf(source)
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

  /** Reads the overview, and the cells from its end on. */
  const now = shared(clock, NOW_MS, async () => {
    const overview = await figures('overview', () => source.overview(), NOW_TIMEOUT_MS)
    const live =
      overview && (await figures('live', () => source.live(overview.asOf), NOW_TIMEOUT_MS))
    return { overview, live }
  })
  const ledger = shared(clock, LEDGER_MS, () =>
    figures('ledger', async () => ({ asOf: time(), ...(await source.ledger()) }), NOW_TIMEOUT_MS),
  )
  const days = shared(clock, CERTIFICATES_MS, () =>
    figures('certificates', () => source.certificates(CERTIFIED_DAYS)),
  )

  const firstDay = () => figures('the first day', firstDayOf(source))
  /** Without an answer of the database there are no figures, whatever their days. */
  const calendarNow = (): Promise<Calendar> =>
    answerWithin(clock, NOW_TIMEOUT_MS, () => source.calendar.read()).catch(
      () => source.calendar.current,
    )
  const spanAt = async ({ url = '/' }: Received, now: number, others: readonly string[]) => {
    const calendar = await calendarNow()
    return { calendar, ...(await spanQuery(url, others, { now, calendar, firstDay })) }
  }
  const hitsIn = (span: Span, asked: Asked) =>
    Promise.all(settings.hits.map((one) => hitsList(one, span, asked, figures)))

  const routes = new Map<string, Panel>()
  const { first, later } = listsOf(source.dimensions)
  const lists = first.length + settings.hits.length
  const pages = {
    allowed: pageOf('allowed', lists),
    figures: pageOf('figures', lists),
    totals: pageOf('totals', 0),
  }
  routes.set('/', (req, res, sees) => {
    if (redirected(req, res)) return
    setHeaders(res, 'private, no-cache')
    sendTagged(res, pages[sees])
  })
  for (const [path, file] of servedAssets()) {
    routes.set(path, (_req, res) => {
      setHeaders(res, 'private, max-age=31536000, immutable')
      sendTagged(res, file)
    })
  }
  routes.set('/now.json', async (_req, res, sees) => {
    const all = sees === 'allowed'
    const [{ overview, live }, books] = await Promise.all([now(), all ? ledger() : null])
    const shown = { overview, live: live && withoutLayers(live), ledger: books }
    const trouble = all ? (source.advice() ?? troubleOf(shown)) : ageOf(overview)
    sendPanel(res, {
      name: source.name,
      sees,
      time: time(),
      trouble: trouble ?? null,
      ...shown,
      ...(sees === 'totals' && { live: null }),
    })
  })
  routes.set('/operation.json', async (_req, res) => {
    const [{ live }, certificates, collectors] = await Promise.all([
      now(),
      days(),
      figures('collectors', () => source.collectors(), NOW_TIMEOUT_MS),
    ])
    const { reasons } = source.health()
    sendPanel(res, { time: time(), live, certificates, collectors, reasons })
  })
  routes.set('/hits.json', async (req, res) => {
    const at = clock.now()
    const { span, query, calendar } = await spanAt(req, at, ['n'])
    sendPanel(res, await hitsIn(span, { n: countOf(query.get('n')), now: at, calendar }))
  })
  routes.set('/figures.json', async (req, res, sees) => {
    const dimensions = sees === 'totals' ? [] : source.dimensions
    const at = clock.now()
    const { span, query, calendar } = await spanAt(req, at, ['dimension'])
    const dimension = query.get('dimension')
    if (dimension !== null) {
      const known = listName(dimension, dimensions)
      const asked = { dimension: known, n: MAX_TOP_VALUES, now: at, calendar }
      const lists = [await list(source, span, asked, figures)]
      return sendPanel(res, packed({ span, lists }))
    }
    const [sums, hits, ...lists] = await Promise.all([
      spanFigures(sees === 'totals' ? totals : source, span, calendar, figures),
      hitsIn(span, { n: LISTED, now: at, calendar }),
      ...(sees === 'totals' ? [] : first).map((one) =>
        list(source, span, { dimension: one, n: LISTED, now: at, calendar }, figures),
      ),
    ])
    sendPanel(res, packed({ ...sums, lists, hits, later: sees === 'totals' ? [] : later }))
  })
  routes.set('/item.json', async (req, res) => {
    const at = clock.now()
    const { span, query, calendar } = await spanAt(req, at, SUBJECT_PARAMETERS)
    const subject = subjectOf(query, source.dimensions, settings.hits)
    if (!subject) throw new QueryError('value', null, 'a value, with "dimension" or "hits"')
    sendPanel(res, await subjectFigures(source, subject, span, { now: at, calendar }, figures))
  })
  routes.set('/times.json', async (req, res) => {
    const at = clock.now()
    const { span, calendar } = await spanAt(req, at, [])
    const hours = await weekHours(source, span, { now: at, calendar }, figures)
    sendFigures(res, hours && { span, ...hours })
  })
  for (const [what, tableOf] of Object.entries({
    history: historyTable,
    top: topTable,
    shown: shownTable,
  })) {
    const asked = async ({ url = '/' }: Received, sees: Sees) => {
      const dimensions = sees === 'totals' ? [] : source.dimensions
      const shown = sees === 'totals' ? totals : source
      const { hits } = settings
      const calendar = await calendarNow()
      const tables = { source, totals: shown, dimensions, hits, firstDay, calendar }
      return { ...(await tableOf(tables, url, clock.now())), calendar }
    }
    routes.set(`/${what}.json`, async (req, res, sees) => {
      const { span, read } = await asked(req, sees)
      const rows = await figures(what, read)
      sendFigures(res, rows && { ...(span && { span }), ...rows })
    })
    routes.set(`/${what}.csv`, async (req, res, sees) => {
      const table = await asked(req, sees)
      const name = fileName(source.name, table, table.calendar)
      if (req.method === 'HEAD') return sendFile(res, name, '')
      const rows = await figures(what, table.read)
      sendFile(res, name, rows && csvOf(table, rows.figures))
    })
  }

  async function answer(path: string, panel: Panel, req: Received, res: ServerResponse) {
    // Typed as Express's for the site's own function.
    const verdict = settings.shared ? 'totals' : await verdictOn(req as Request)
    // A timeout of the site's own may have answered meanwhile.
    if (res.headersSent) return
    if (verdict === 'not set up') return refuse(res, path, notSetUp)
    if (verdict === 'refused' || HIDDEN[verdict].includes(path)) return refuse(res, path, refused)
    try {
      await panel(req, res, verdict)
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      if (res.headersSent) return
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
        { GET: (req, res) => answer(path, panel, req, res) },
      ]),
    ),
  )
}

/** The tail without the layers, which only the operation shows. */
function withoutLayers({ layers, ...live }: LiveActivity) {
  return { ...live, pageViews: layers.reduce((sum, { pageViews }) => sum + pageViews, 0) }
}

function ageOf(overview: { readonly stale: boolean } | null): string | undefined {
  return overview?.stale ? 'The figures are older than they should be.' : undefined
}

/** Returns a problem of the figures for which the source gives no reason, and what to do. */
function troubleOf({
  overview,
  live,
  ledger,
}: Readonly<Record<string, unknown>> & {
  readonly overview: { readonly stale: boolean; readonly unread?: true } | null
}): string | undefined {
  if (!overview || !live || !ledger) {
    return 'Some figures cannot be read: the log of this process says why.'
  }
  if (!overview.stale) return undefined
  if (overview.unread) return 'The figures are old: the database takes long to answer.'
  return (
    'The figures are older than they should be: see whether a collector runs and can write to ' +
    "the database, and whether the database's clock is right."
  )
}
