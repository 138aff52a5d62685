import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import type { Database } from '../database/database.js'
import type { Logger } from '../support/logger.js'
import { given, integer, loggerOf, wrongValue } from '../support/options.js'
import { cronPeriodSeconds } from '../support/schedule.js'

/** Options of the grid and its timing, the same for activity, hits and WideCache. */
export interface GridOptions {
  /**
   * The cache that holds the grid. @default the environment variable WIDE_CACHE_SERVERS,
   * MEMCACHE_SERVERS or REDIS_URL, else `memory:`
   */
  cache?: string | Cache | undefined
  /**
   * The database the rows go to. @default the environment variable WIDE_CACHE_DATABASE_URL or
   * DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /**
   * Columns of a layer, 1 to 1,000. The more columns, the fewer writers share a cell.
   * @default 15
   */
  width?: number | undefined
  /** Seconds a layer lasts, 1 to 3,600. @default 3 */
  layerSeconds?: number | undefined
  /**
   * Age of a layer when it is drained, in layers, 2 to 1,000. Frames are in flight when their layer
   * ends. @default 2; 3 with `layerSeconds: 1`
   */
  drainAfterLayers?: number | undefined
  /**
   * Longest time from the first row of a frame until it is sent, in milliseconds, from 1 to 10,000.
   * A frame of 16 rows or more is sent once it is 50 ms old. At most half of the time from the end
   * of a layer until it is drained, which is `(drainAfterLayers - 1) * layerSeconds`.
   * @default 500
   */
  flushMs?: number | undefined
  /**
   * Moments at which this process collects: a cron line in UTC, with or without seconds, such as
   * `"*\/10 * * * * *"`. A process that is given a line stays alive until `close()`. `false`: this
   * process does not collect. @default each `layerSeconds` up to 3, else `"*\/3 * * * * *"`
   */
  collect?: string | false | undefined
  /**
   * Seconds that a cell lives in the cache, 10 to 2,592,000 (30 days). The frames of a killed
   * process wait for a collector for as long. A living process waits only for `confirmSeconds`, and
   * then commits its frames itself. @default 3600
   */
  cellTtlSeconds?: number | undefined
  /**
   * Seconds a frame may stay unconfirmed before its writer commits it directly: at least the drain
   * age, the collecting period and 15 s.
   * @default 60, or more where the layers or the collecting period are long
   */
  confirmSeconds?: number | undefined
  /**
   * Bytes at which a frame is sent at once, 1,024 to 524,288. A row must fit in one frame.
   * @default 65536
   */
  maxFrameBytes?: number | undefined
  /**
   * Bytes of frames a process holds until they are confirmed, 1 MiB to 1 GiB: 1,048,576 to
   * 1,073,741,824. @default 33554432 (32 MiB)
   */
  maxOutboxBytes?: number | undefined
  /** Milliseconds `close()` may take to write its rows to SQL, 100 to 600,000. @default 5000 */
  closeTimeoutMs?: number | undefined
  /** Receives information, warnings and errors. @default `console` */
  logger?: Logger | undefined
}

/** Names of {@link GridOptions}, for code that passes them on. */
export const GRID_OPTIONS = [
  'cache',
  'database',
  'width',
  'layerSeconds',
  'drainAfterLayers',
  'flushMs',
  'collect',
  'cellTtlSeconds',
  'confirmSeconds',
  'maxFrameBytes',
  'maxOutboxBytes',
  'closeTimeoutMs',
  'logger',
] as const

/** {@link GridOptions} complete and checked, but for the cache and the database, as given. */
export interface GridSettings extends Pick<GridOptions, 'cache' | 'database'> {
  readonly width: number
  readonly layerSeconds: number
  readonly drainAfterLayers: number
  readonly flushMs: number
  readonly collect: string | false
  /** Whether it stays alive to collect: its cron line was given. */
  readonly staysToCollect: boolean
  readonly cellTtlSeconds: number
  readonly confirmSeconds: number
  /**
   * Seconds after which living writers have committed the frames that no collector has brought to
   * SQL.
   */
  readonly directSeconds: number
  /** Seconds between the runs of this process's collector, or the assumed ones of others. */
  readonly periodSeconds: number
  /**
   * Seconds after which nothing can come any more from a writer that SQL has not heard of: neither
   * from its cells nor from the writer itself.
   */
  readonly vanishedSeconds: number
  readonly maxFrameBytes: number
  readonly maxOutboxBytes: number
  readonly closeTimeoutMs: number
  readonly logger: Logger
}

const DEFAULTS = {
  width: 15,
  layerSeconds: 3,
  flushMs: 500,
  cellTtlSeconds: 3600,
  maxFrameBytes: 64 * 1024,
  maxOutboxBytes: 32 * 1024 * 1024,
  closeTimeoutMs: 5000,
  logger: console,
}

const LEAST_DEFAULT_CONFIRM_SECONDS = 60

/** Longest time between two runs by default. */
const MAX_DEFAULT_PERIOD_SECONDS = 3

const COLLECT_ALLOWED =
  'a cron line such as "*/10 * * * * *" (every 10 seconds), or false; left out, it is every ' +
  `${MAX_DEFAULT_PERIOD_SECONDS} seconds, or each layer where layers are shorter`

/** Period of the collectors elsewhere, as assumed by a process that does not collect itself. */
const DEFAULT_PERIOD_SECONDS = 10

/**
 * Time that a frame may need to reach SQL beside the drain age and the collecting period, before
 * its writer commits it itself.
 */
export const CONFIRM_MARGIN_SECONDS = 15

const MAX_FLUSH_MS = 10_000

/** Longest `confirmSeconds`: a frame may take as long to reach SQL as a cell lives. */
const MAX_CONFIRM_SECONDS = MAX_TTL_SECONDS + CONFIRM_MARGIN_SECONDS

/**
 * Checks the options of a grid and fills in what is not given. @throws TypeError, RangeError naming
 * the option.
 */
export function gridSettings(options: GridOptions): GridSettings {
  const wanted = { ...DEFAULTS, ...given(options) }
  const layerSeconds = integer('layerSeconds', wanted.layerSeconds, 1, 3600, 'seconds')
  const { collect = defaultLine(layerSeconds), drainAfterLayers = layerSeconds === 1 ? 3 : 2 } =
    wanted
  const periodSeconds = collect === false ? DEFAULT_PERIOD_SECONDS : collectPeriodSeconds(collect)
  const timing = {
    layerSeconds,
    drainAfterLayers: integer(
      'drainAfterLayers',
      drainAfterLayers,
      2,
      1000,
      'layers (with 1, frames in flight would arrive too late)',
    ),
    collect,
    periodSeconds,
    cellTtlSeconds: integer(
      'cellTtlSeconds',
      wanted.cellTtlSeconds,
      10,
      MAX_TTL_SECONDS,
      'seconds (30 days: memcached reads more as a date)',
    ),
  }
  const drainAge = drainAgeOf(timing)
  const confirmSeconds = confirmSecondsOf(wanted.confirmSeconds, drainAge, periodSeconds)
  const directSeconds = confirmSeconds + CONFIRM_MARGIN_SECONDS
  return Object.freeze({
    cache: wanted.cache,
    database: wanted.database,
    ...timing,
    staysToCollect: typeof wanted.collect === 'string',
    width: integer('width', wanted.width, 1, 1000, 'columns'),
    flushMs: integer('flushMs', wanted.flushMs, 1, ...longestFlush(timing)),
    confirmSeconds,
    directSeconds,
    vanishedSeconds: Math.max(timing.cellTtlSeconds, directSeconds),
    maxFrameBytes: integer('maxFrameBytes', wanted.maxFrameBytes, 1024, 512 * 1024, 'bytes'),
    maxOutboxBytes: integer(
      'maxOutboxBytes',
      wanted.maxOutboxBytes,
      1024 * 1024,
      1024 * 1024 * 1024,
      'bytes',
    ),
    closeTimeoutMs: integer('closeTimeoutMs', wanted.closeTimeoutMs, 100, 600_000, 'milliseconds'),
    logger: loggerOf('logger', wanted.logger),
  })
}

/** Returns the longest `flushMs`, and its unit with the reason. */
function longestFlush({
  drainAfterLayers,
  layerSeconds,
}: Pick<GridSettings, 'drainAfterLayers' | 'layerSeconds'>): [ms: number, unit: string] {
  const half = ((drainAfterLayers - 1) * layerSeconds * 1000) / 2
  return [
    Math.min(half, MAX_FLUSH_MS),
    'milliseconds (half of the time from the end of a layer until it is drained)',
  ]
}

/** Returns the cron line of a process that collects without having been given one. */
export function defaultLine(layerSeconds: number): string {
  const seconds = Math.min(layerSeconds, MAX_DEFAULT_PERIOD_SECONDS)
  return seconds === 1 ? '* * * * * *' : `*/${seconds} * * * * *`
}

/**
 * Returns the longest wait between two moments of a cron line for `collect`, in seconds. @throws
 * TypeError, RangeError
 */
export function collectPeriodSeconds(line: unknown): number {
  return cronPeriodSeconds(line, 'collect', COLLECT_ALLOWED)
}

/**
 * Returns the drain age, in seconds. @throws RangeError if a cell may expire before it is drained
 */
function drainAgeOf({
  layerSeconds,
  drainAfterLayers,
  collect,
  periodSeconds,
  cellTtlSeconds,
}: Pick<
  GridSettings,
  'layerSeconds' | 'drainAfterLayers' | 'collect' | 'periodSeconds' | 'cellTtlSeconds'
>): number {
  const drainAge = (drainAfterLayers + 1) * layerSeconds
  if (drainAge + periodSeconds <= cellTtlSeconds) return drainAge
  const allowed =
    `(drainAfterLayers ${drainAfterLayers} + 1) x layerSeconds ${layerSeconds} ` +
    `+ the collecting period of ${periodSeconds} s together within cellTtlSeconds ` +
    `${cellTtlSeconds}: a cell must be drained while it lives`
  throw periodSeconds > drainAge
    ? wrongValue('collect', collect, allowed)
    : wrongValue('layerSeconds', layerSeconds, allowed)
}

/** @throws TypeError, RangeError */
function confirmSecondsOf(
  wanted: number | undefined,
  drainAge: number,
  periodSeconds: number,
): number {
  const least = drainAge + periodSeconds + CONFIRM_MARGIN_SECONDS
  return integer(
    'confirmSeconds',
    wanted ?? Math.max(LEAST_DEFAULT_CONFIRM_SECONDS, least),
    least,
    MAX_CONFIRM_SECONDS,
    `seconds (at least the drain age of ${drainAge} s, the collecting period of ` +
      `${periodSeconds} s and ${CONFIRM_MARGIN_SECONDS} s)`,
  )
}
