import type { Logger } from '../support/logger.js'
import {
  given,
  integer,
  oneOf,
  onlyKnown,
  optionalFunction,
  wrongType,
  wrongValue,
} from '../support/options.js'
import type { Request, Response } from '../page-views/express.js'
import { measuredName } from '../page-views/measures.js'
import { pathOption } from '../page-views/router.js'
import { type TimeZone, timeZoneOption } from '../support/time-zone.js'
import { checkedDimensions, type Dimension } from './dimensions/dimensions.js'
import type { Keep } from './keep.js'
import {
  GRID_OPTIONS,
  type GridOptions,
  type GridSettings,
  gridSettings,
} from '../wide-cache/grid-options.js'

/**
 * Options of `createActivity()`. One that is `undefined` is one not given. `skip`, `visitor` and
 * `page` are asked after the response. They see `url`, `path`, `baseUrl`, `originalUrl` and
 * `params` of the request as they were where the middleware is mounted, whatever routers have done
 * with them since.
 */
export interface ActivityOptions extends GridOptions {
  /**
   * Sites that give the same name share their figures. 1 to 27 letters, digits, `_`, `.`, `-`; not
   * with `.seen`, `.bots` or `.gone` at its end. @default 'activity'
   */
  name?: string | undefined
  /**
   * Page views that the figures are of: `served`, those that the server sent to people, or `seen`,
   * those that browsers report. Both are counted, each for itself, whichever is named here.
   * @default 'served'
   */
  count?: 'served' | 'seen' | undefined
  /**
   * Seconds that the figures look back, at least `layerSeconds`.
   * @default 600, or `layerSeconds` if that is longer
   */
  windowSeconds?: number | undefined
  /**
   * Seconds that figures once read are served, by all processes, before SQL is asked again: 1 to
   * 86,400.
   * @default 2
   */
  statsTtlSeconds?: number | undefined
  /**
   * Hours that SQL keeps visits, from the window to 87,840. Visits are never kept for less than the
   * window and `cellTtlSeconds` together, because the window ends at the newest drained layer. SQL
   * has the longest time that any process has given, and every collector uses that.
   * @default 24, or the window in whole hours if that is longer
   */
  retentionHours?: number | undefined
  /**
   * Leaves out the page views for which it returns `true`, beside those that never count. Called
   * after the response.
   * @default every page view counts
   */
  skip?: ((req: Request, res: Response) => boolean) | undefined
  /**
   * Visitor: a text, or a number such as the id of a user; only a keyed hash of it
   * leaves the process. Called after the response.
   * @default the IP address, by Express's "trust proxy", and the user agent
   */
  visitor?: ((req: Request) => string | number | bigint) | undefined
  /**
   * Page that is stored, cut at 1,024 bytes. Called after the response. @default the path
   * without query
   */
  page?: ((req: Request) => string) | undefined
  /**
   * Path that a proxy in front of the site removes, such as `/app` if it asks for `/news` where
   * visitors have asked for `/app/news`. Pages are stored as visitors see them, and `originalUrl`
   * and `baseUrl` begin with it in all functions of these options. @default '', nothing is removed
   */
  publicPath?: string | undefined
  /**
   * Media types that count for bots as pages do, beside HTML: at most 16, in lower case. For people
   * HTML alone counts.
   * @default []
   * @example
   * ```js
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity({ botTypes: ['text/markdown', 'text/plain'] })
   * // …
   * await activity.close()
   * ```
   */
  botTypes?: readonly string[] | undefined
  /**
   * Properties by which visits are counted beside their pages, each a function of the request that
   * returns a short text, or `undefined` where there is no value. At most 16, with names of 1 to 32
   * letters, digits, `_`, `.`, `-`; values are cut at 255 bytes. Each is summed by itself, never
   * with another one, so no sum speaks of a person. Called after the response.
   * @default none
   * @example
   * ```js
   * import { createActivity, deviceClass, referrerHost } from 'wide-cache'
   *
   * const dimensions = { referrer: referrerHost(), device: deviceClass() }
   * const activity = createActivity({ dimensions })
   * // …
   * await activity.close()
   * ```
   */
  dimensions?: Readonly<Record<string, Dimension>> | undefined
  /**
   * Days that pages and values of dimensions are kept by the hour; totals of days stay. SQL has the
   * most that any process has given. 1 to 366. @default 8
   */
  historyDays?: number | undefined
  /**
   * Part of visits that SQL keeps: `rows`, a row for each and their sums, or `sums` alone. All
   * figures are the same. With `sums` there is nothing that `certificate()` could recount. SQL has
   * the value of the last process that gave this option, and all collectors use it. It may be
   * changed at any time: earlier visits stay as they are.
   * @default what SQL has; 'rows' if no process has said
   */
  keep?: 'rows' | 'sums' | undefined
  /**
   * Time zone whose hours and days all figures have, such as `Europe/Berlin`: a name that Intl
   * knows. The first process that records visits under the name decides, for good, also if it does
   * not give this option. For other days, use another name.
   * @default what SQL has, else 'UTC'
   */
  timeZone?: string | undefined
  /**
   * Visits with `Sec-GPC: 1` or `DNT: 1`: `anonymous` counts them without a visitor, `skip` not at
   * all, `ignore` like all others. @default 'anonymous'
   */
  privacySignals?: 'anonymous' | 'skip' | 'ignore' | undefined
}

/**
 * Options complete and checked.
 */
export interface ActivitySettings {
  readonly name: string
  /** The measure that the figures are of. */
  readonly count: 'served' | 'seen'
  readonly windowSeconds: number
  readonly statsTtlSeconds: number
  /** Time for which this process wants visits to be kept. */
  readonly keepSeconds: number
  /** The user has said how long. */
  readonly retentionGiven: boolean
  readonly skip: ((req: Request, res: Response) => boolean) | undefined
  readonly visitor: ((req: Request) => string | number | bigint) | undefined
  readonly page: ((req: Request) => string) | undefined
  readonly publicPath: string
  readonly botTypes: ReadonlySet<string>
  readonly dimensions: Readonly<Record<string, Dimension>>
  readonly historyDays: number
  /** Length of a layer of the grid, in seconds. */
  readonly layerSeconds: number
  /** Seconds after which nothing of a writer that is not heard of can come any more. */
  readonly vanishedSeconds: number
  /** Part of visits that is kept; empty: not given. */
  readonly keep: Keep | ''
  /** `undefined`: not given. */
  readonly timeZone: TimeZone | undefined
  readonly privacySignals: 'anonymous' | 'skip' | 'ignore'
  readonly logger: Logger
  readonly grid: GridSettings
}

const OWN_OPTIONS = [
  'name',
  'count',
  'windowSeconds',
  'statsTtlSeconds',
  'retentionHours',
  'skip',
  'visitor',
  'page',
  'publicPath',
  'botTypes',
  'dimensions',
  'historyDays',
  'keep',
  'timeZone',
  'privacySignals',
] as const

const DEFAULT_WINDOW_SECONDS = 600
const MAX_WINDOW_SECONDS = 30 * 24 * 3600
const MAX_HISTORY_DAYS = 366
const MAX_RETENTION_HOURS = 10 * 366 * 24
const MAX_MEDIA_TYPES = 16
const MEDIA_TYPE = /^[a-z\d][a-z\d!#$&^_.+-]{0,126}\/[a-z\d][a-z\d!#$&^_.+-]{0,126}$/

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function activitySettings(options: ActivityOptions): ActivitySettings {
  onlyKnown('createActivity', options, [...OWN_OPTIONS, ...GRID_OPTIONS])
  const {
    name = 'activity',
    count = 'served',
    windowSeconds,
    statsTtlSeconds = 2,
    retentionHours,
    skip,
    visitor,
    page,
    publicPath = '',
    botTypes = [],
    dimensions = {},
    historyDays = 8,
    keep,
    timeZone,
    privacySignals = 'anonymous',
    ...gridOptions
  } = given(options)
  const checkedName = measuredName('name', name)
  const grid = gridSettings(gridOptions)
  const { layerSeconds, vanishedSeconds, logger } = grid

  const window = integer(
    'windowSeconds',
    windowSeconds ?? Math.max(DEFAULT_WINDOW_SECONDS, layerSeconds),
    layerSeconds,
    MAX_WINDOW_SECONDS,
    'seconds',
  )
  const leastHours = Math.ceil(window / 3600)
  const hours = integer(
    'retentionHours',
    retentionHours ?? Math.max(24, leastHours),
    leastHours,
    MAX_RETENTION_HOURS,
    `hours (at least the window of ${window} s)`,
  )

  return Object.freeze({
    name: checkedName,
    count: oneOf('count', count, ['served', 'seen']),
    windowSeconds: window,
    statsTtlSeconds: integer('statsTtlSeconds', statsTtlSeconds, 1, 86_400, 'seconds'),
    // The window ends at `asOf`, and what it holds may come as late as cells live.
    keepSeconds: Math.max(hours * 3600, window + vanishedSeconds),
    retentionGiven: retentionHours !== undefined,
    skip: optionalFunction(
      'skip',
      skip,
      'a function (req, res) that returns true for what does not count',
    ),
    visitor: optionalFunction(
      'visitor',
      visitor,
      'a function (req) that returns a string or a number',
    ),
    page: optionalFunction('page', page, 'a function (req) that returns a string'),
    publicPath: pathOption('publicPath', publicPath),
    botTypes: mediaTypes('botTypes', botTypes),
    dimensions: checkedDimensions(dimensions),
    historyDays: integer('historyDays', historyDays, 1, MAX_HISTORY_DAYS, 'days'),
    layerSeconds,
    vanishedSeconds,
    keep: keep === undefined ? '' : oneOf('keep', keep, ['rows', 'sums']),
    timeZone: timeZone === undefined ? undefined : timeZoneOption(timeZone),
    privacySignals: oneOf('privacySignals', privacySignals, ['anonymous', 'skip', 'ignore']),
    logger,
    grid,
  })
}

function mediaTypes(option: string, given: unknown): ReadonlySet<string> {
  const allowed =
    `an array of at most ${MAX_MEDIA_TYPES} types in lower case, ` + 'such as "text/markdown"'
  if (!Array.isArray(given)) throw wrongType(option, given, allowed)
  if (given.length > MAX_MEDIA_TYPES) throw wrongValue(option, given, allowed)
  for (const one of given as readonly unknown[]) {
    if (typeof one !== 'string' || !MEDIA_TYPE.test(one)) throw wrongValue(option, one, allowed)
  }
  return new Set(given as readonly string[])
}
