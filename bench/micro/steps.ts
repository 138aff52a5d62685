/**
 * The steps of a visit on the request path, each on the function that does it, and the whole of
 * them.
 */
import { Buffer } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { requestViews, type ViewedPage } from '../../src/activity/middleware.js'
import { activitySettings } from '../../src/activity/options.js'
import { pageOf } from '../../src/activity/page.js'
import { pathOf } from '../../src/page-views/path.js'
import { Visitors } from '../../src/page-views/visitors.js'
import { checkHeaders, reportOf } from '../../src/activity/seen-report.js'
import { requestOf } from '../../src/activity/seen-route.js'
import { type Visit, visitCodec } from '../../src/activity/visit.js'
import { type Activity, createActivity, WideCache } from '../../src/index.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { BurstLogger, SILENT } from '../../src/support/logger.js'
import { Pseudonymizer } from '../../src/visitors/pseudonymizer.js'
import { pageViews } from '../../src/page-views/middleware.js'
import { asksForPrivacy, Bots, Exchanges } from '../../src/page-views/exchange.js'
import type { Codec } from '../../src/support/codec.js'
import { HEADER_BYTES } from '../../src/wide-cache/frame.js'
import type { Bench } from '../harness/part.js'
import { DIMENSIONS, type RequestTraits, type Visiting, visits } from './requests.js'
import { noDatabase, takesAll } from './stubs.js'
import { UTC_DAYS } from '../../src/support/utc-days.fixture.js'

/** Switch of the measurement: only the work between `on` and `off` is measured. */
export interface Meter {
  on(): void
  off(): void
}

export interface Step {
  readonly name: string
  /**
   * `step`: one of those that make up the whole; `whole`; `beside`: another sort of request, or
   * part of a step.
   */
  readonly role: 'step' | 'whole' | 'beside'
  /** Makes what one run is given. */
  prepare(): Prepared
  run(prepared: Prepared, meter: Meter): void
}

export interface Prepared extends Visiting, Visit {
  readonly ip: string
  readonly userAgent: string
}

const next = (): void => {}
const VISITOR = Buffer.alloc(12, 7)
/** Size of one row that the requests make. */
const ROW_BYTES = 50
const REPORT = Buffer.from('{"page":"/threads/7-why-counting-visits-is-dear","referrer":""}')
const GOOGLE = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** A codec that does nothing: what is left of `append` is the frame. */
const nothingToEncode: Codec<Visit> = {
  encode: (_row, target, offset) => (offset + ROW_BYTES > target.length ? -1 : offset + ROW_BYTES),
  decode() {
    throw new Error('nobody reads here')
  },
}

/** The whole of requests that have values of all dimensions, counted with and without these. */
export const WITH_DIMENSIONS = 'the whole, with all ready-made dimensions'
export const WITHOUT_DIMENSIONS = 'the same requests, without dimensions'

/** Holder of the results, so that no compiler removes unused work. */
export const held: { result: unknown } = { result: undefined }

export async function steps(bench: Bench): Promise<Step[]> {
  const { clock } = systemEnvironment
  const grid = {
    cache: takesAll,
    database: noDatabase,
    collect: false,
    confirmSeconds: 3600,
    closeTimeoutMs: 100,
    logger: SILENT,
  } as const
  const logger = new BurstLogger(SILENT, () => clock.elapsed())
  const hook = pageViews(
    {
      skip: undefined,
      visitors: new Visitors({ visitor: undefined, privacySignals: 'anonymous' }, logger),
      subject: (_req, target) => target,
      callsBack: false,
      publicPath: '',
    },
    () => {},
    logger,
  ).middleware()
  const robots = new Bots()
  const exchanges = new Exchanges(robots)
  const salts = {
    calendar: UTC_DAYS,
    cache: takesAll,
    secret: async () => Buffer.alloc(32),
    clock,
    logger,
  }
  const pseudonymizer = new Pseudonymizer({
    ...salts,
    name: 'micro',
    forward: (_time, visitor) => void (held.result = visitor),
  })
  const commit = async (): Promise<void> => {}
  const frames = new WideCache<Visit>({ ...grid, name: 'frames', codec: nothingToEncode, commit })
  const open = Buffer.alloc(64 * 1024)
  const reports = new WideCache<Visit>({ ...grid, name: 'reports', codec: visitCodec, commit })
  const reporters = new Pseudonymizer<ViewedPage>({
    ...salts,
    name: 'reports',
    forward: (time, visitor, { page }) => reports.append({ time, visitor, page }),
  })
  const { seen } = requestViews(
    activitySettings(grid),
    (viewed, ip, userAgent) => reporters.pseudonymize(viewed, ip, userAgent),
    logger,
  )
  const activity = createActivity({ ...grid, name: 'whole' })
  const dimensional = createActivity({
    ...grid,
    name: 'dimensional',
    dimensions: DIMENSIONS,
  })
  bench.after(async () => {
    pseudonymizer.close()
    reporters.close()
    await Promise.all([activity, dimensional, frames, reports].map((one) => one.close()))
  })
  // Until the day's salt has come.
  await turn()

  const pseudonymize = (from: RequestTraits): Run => [
    sent(from),
    measured(({ ip, page, userAgent }) => pseudonymizer.pseudonymize(page, ip, userAgent)),
  ]
  const address = (from: RequestTraits): Run => [sent(from), measured(({ req }) => req.ip)]
  const event = measured(({ res }) => res.emit('close'))
  const all = wholeOf(activity)
  const whole = (from: RequestTraits, run = all): Run => [arrived(from), run]
  const isPage = ({ req, res }: Prepared): boolean =>
    exchanges.verdictOf(req, res, '/') === 'page' &&
    !robots.isBot(req.headers) &&
    !asksForPrivacy(req.headers)
  const report = ({ req, res }: Prepared): void => {
    checkHeaders(req)
    seen(requestOf(reportOf(REPORT), req, ''), res)
  }
  return [
    ...named('step', {
      hook: [arrived(), measured(({ req, res }) => hook(req, res, next))],
      event: [sent({}, ({ res }) => res.on('close', () => res.headersSent)), event],
      filter: [sent(), measured(isPage)],
      address: address({}),
      visitor: pseudonymize({}),
      page: [sent(), measured(({ req }) => pageOf(pathOf(req.originalUrl)))],
      encode: [sent(), measured((visit) => visitCodec.encode(visit, open, HEADER_BYTES))],
      frame: [sent(), measured((visit) => frames.append(visit))],
    }),
    ...named('whole', { 'the whole': whole({}) }),
    ...named('beside', {
      [WITH_DIMENSIONS]: whole({ dimensions: true }, wholeOf(dimensional)),
      [WITHOUT_DIMENSIONS]: whole({ dimensions: true }),
      'the whole, a new visitor': whole({ newVisitors: true }),
      'the whole, behind a proxy': whole({ proxies: 1 }),
      'the whole, a bot': whole({ userAgent: GOOGLE }),
      'the whole, no page': whole({ type: 'json' }),
      'a report of a seen view, from its bytes on': [arrived(), measured(report)],
      'visitor, hashed for the first time': pseudonymize({ newVisitors: true }),
      'address, behind a proxy': address({ proxies: 1 }),
      "address, by the socket's own word": [
        sent(),
        measured(({ req }) => req.socket.remoteAddress),
      ],
      "event without a listener: Node's own": [sent(), event],
    }),
  ]
}

type Run = [prepare: Step['prepare'], run: Step['run']]

function named(role: Step['role'], steps: Readonly<Record<string, Run>>): Step[] {
  return Object.entries(steps).map(([name, [prepare, run]]) => ({ name, role, prepare, run }))
}

function wholeOf(activity: Activity): Step['run'] {
  const middleware = activity.middleware()
  return ({ req, res, answer }, meter) => {
    meter.on()
    middleware(req, res, next)
    meter.off()
    answer()
    meter.on()
    res.emit('close')
    meter.off()
  }
}

function measured(work: (prepared: Prepared) => unknown): Step['run'] {
  return (prepared, meter) => {
    meter.on()
    const result = work(prepared)
    meter.off()
    held.result = result
  }
}

function arrived(traits?: RequestTraits): () => Prepared {
  const make = visits(traits)
  return () => {
    const visiting = make()
    const { req } = visiting
    return {
      ...visiting,
      ip: req.socket.remoteAddress!,
      userAgent: req.headers['user-agent']!,
      time: Date.now(),
      visitor: VISITOR,
      page: pathOf(req.originalUrl),
    }
  }
}

function sent(traits?: RequestTraits, before?: (visiting: Visiting) => unknown): () => Prepared {
  const prepare = arrived(traits)
  return () => {
    const prepared = prepare()
    before?.(prepared)
    prepared.answer()
    return prepared
  }
}
