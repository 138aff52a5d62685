import type { Logger } from '../support/logger.js'
import { given, integer, oneOf, onlyKnown } from '../support/options.js'
import { type TimeZone, timeZoneOption } from '../support/time-zone.js'
import { measuredName } from '../page-views/measures.js'
import { pathOption } from '../page-views/router.js'
import {
  GRID_OPTIONS,
  type GridOptions,
  type GridSettings,
  gridSettings,
} from '../wide-cache/grid-options.js'

/** Options of `createHits()`. One that is `undefined` is one not given. */
export interface HitsOptions extends GridOptions {
  /**
   * Name of what is counted, such as `threads`: processes that give the same name count together. 1
   * to 22 letters, digits, `_`, `.`, `-`; not with `.seen`, `.bots` or `.gone` at its end.
   */
  name: string
  /**
   * Hits that the figures are of: `served`, of pages that the server sent to people, or `seen`, of
   * pages that browsers report. Both are counted, each for itself, whichever is named here.
   * @default 'served'
   */
  count?: 'served' | 'seen' | undefined
  /**
   * Seconds of a window, 1 to 86,400. A viewer counts once in each for an item, in all processes.
   * Windows are counted from the start of a day, and end with it, because viewers get other hashes
   * then; 86,400 is the day. SQL has the last one that a process has given, and all processes use
   * it.
   * @default what other processes have given, else 1800
   */
  repeatSeconds?: number | undefined
  /**
   * Time zone whose hours and days all figures have, as the option of `createActivity()`. Give both
   * the same. @default what SQL has, else 'UTC'
   */
  timeZone?: string | undefined
  /**
   * Treatment of requests with `Sec-GPC: 1` or `DNT: 1`: `anonymous` counts each of them, without a
   * viewer, `skip` none, `ignore` like all others. @default 'anonymous'
   */
  privacySignals?: 'anonymous' | 'skip' | 'ignore' | undefined
  /**
   * Path that a proxy in front of the site removes, as the option of `createActivity()`. `item`,
   * `viewer` and `owner` see it before `originalUrl` and `baseUrl`.
   * @default '', nothing is removed
   */
  publicPath?: string | undefined
}

/**
 * Options complete and checked.
 */
export interface HitsSettings {
  readonly name: string
  /** The name of the grid. */
  readonly gridName: string
  /** The measure that the figures are of. */
  readonly count: 'served' | 'seen'
  /** 0: not given. */
  readonly repeatSeconds: number
  /** Time for which this process keeps a viewing, in seconds after the window has begun. */
  readonly keepSeconds: number
  /** `undefined`: not given. */
  readonly timeZone: TimeZone | undefined
  readonly privacySignals: 'anonymous' | 'skip' | 'ignore'
  readonly publicPath: string
  readonly logger: Logger
  readonly grid: GridSettings
}

const OWN_OPTIONS = [
  'name',
  'count',
  'repeatSeconds',
  'timeZone',
  'privacySignals',
  'publicPath',
] as const

/** So that an activity of the same name has a grid of its own. */
export const GRID_NAME_START = 'hits.'

export const DEFAULT_REPEAT_SECONDS = 1_800
const MAX_REPEAT_SECONDS = 86_400

/** Least time after a window in which SQL still recognizes repeats from it. */
const MIN_KEEP_SECONDS = 2 * 86_400

/** Checks the name of hits. @throws TypeError, RangeError */
export function hitsName(name: unknown): string {
  return measuredName('name', name, GRID_NAME_START)
}

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function hitsSettings(options: HitsOptions): HitsSettings {
  onlyKnown('createHits', options, [...OWN_OPTIONS, ...GRID_OPTIONS])
  const {
    name: givenName,
    count = 'served',
    repeatSeconds: seconds,
    timeZone,
    privacySignals = 'anonymous',
    publicPath = '',
    ...gridOptions
  } = given(options)
  const name = hitsName(givenName)
  const gridName = GRID_NAME_START + name
  const grid = gridSettings(gridOptions)
  const { vanishedSeconds, logger } = grid
  const repeatSeconds =
    seconds === undefined ? 0 : integer('repeatSeconds', seconds, 1, MAX_REPEAT_SECONDS, 'seconds')
  return Object.freeze({
    name,
    gridName,
    count: oneOf('count', count, ['served', 'seen']),
    repeatSeconds,
    keepSeconds:
      (repeatSeconds || DEFAULT_REPEAT_SECONDS) + Math.max(MIN_KEEP_SECONDS, vanishedSeconds),
    timeZone: timeZone === undefined ? undefined : timeZoneOption(timeZone),
    privacySignals: oneOf('privacySignals', privacySignals, ['anonymous', 'skip', 'ignore']),
    publicPath: pathOption('publicPath', publicPath),
    logger,
    grid,
  })
}
