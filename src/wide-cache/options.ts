import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import type { Database, Queryable, Transaction } from '../database/database.js'
import type { Logger } from '../support/logger.js'
import {
  given,
  integer,
  loggerOf,
  nameOf,
  onlyKnown,
  optionalFunction,
  wrongType,
  wrongValue,
} from '../support/options.js'
import { type Codec, jsonCodec } from './codec.js'
import { cronPeriodSeconds } from './schedule.js'

/** What a `commit` procedure is told beside its rows. */
export interface CommitContext {
  /** The database's clock at this transaction, in milliseconds since the Unix epoch. */
  readonly now: number
  readonly name: string
}

/** What a `read` procedure is told. */
export interface ReadContext {
  readonly name: string
  /**
   * The moment up to which all is in SQL, in milliseconds since the Unix epoch; never ahead of the
   * database's clock.
   */
  readonly asOf: number
  /** That moment is longer ago than it would be if collectors came as often as they should. */
  readonly stale: boolean
}

/** What a `removeOld` procedure is told. */
export interface RetentionContext {
  /** The database's clock, in milliseconds since the Unix epoch. */
  readonly now: number
  readonly name: string
}

type RemoveOld = (database: Database, context: RetentionContext) => Promise<boolean | void>

/** The grid and its timing: what every use of the wide cache shares. */
export interface GridOptions {
  /**
   * The cache that holds the grid. @default the environment variable WIDE_CACHE_SERVERS or
   * MEMCACHE_SERVERS, else `memory:`
   */
  cache?: string | Cache | undefined
  /**
   * The database the rows go to. @default the environment variable WIDE_CACHE_DATABASE_URL or
   * DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /** Columns a layer: the more, the fewer writers share a cell. @default 15 */
  width?: number | undefined
  /** Seconds a layer lasts. @default 3 */
  layerSeconds?: number | undefined
  /** How many layers old a layer is when it is drained. @default 2 */
  drainAfterLayers?: number | undefined
  /** Milliseconds from the first row of a frame until it is sent. @default 50 */
  flushMs?: number | undefined
  /**
   * When to collect, as a cron line with seconds; `false`: this process does not collect. @default
   * '*\/10 * * * * *'
   */
  collect?: string | false | undefined
  /**
   * Seconds a cell lives in the cache: the longest a collector may be away without the writers'
   * help. @default 3600
   */
  cellTtlSeconds?: number | undefined
  /**
   * Seconds a frame may stay unconfirmed before its writer commits it straight to SQL.
   * @default 60, or more where the layers or the collecting period are long
   */
  confirmSeconds?: number | undefined
  /** Bytes at which a frame is sent at once; a row must fit in one. @default 65536 */
  maxFrameBytes?: number | undefined
  /** Bytes of frames a process holds until they are confirmed. @default 33554432 (32 MiB) */
  maxOutboxBytes?: number | undefined
  /** Milliseconds `close()` may take to bring what it holds to SQL. @default 5000 */
  closeTimeoutMs?: number | undefined
  /** @default console */
  logger?: Logger | undefined
}

/** Options of a {@link WideCache}. */
export interface WideCacheOptions<Row, Figures = unknown> extends GridOptions {
  /**
   * The name that processes share: what they record is one. 1 to 32 letters, digits, `_`, `.`, `-`.
   */
  name: string
  /**
   * What the rows are. The first process of a name records it in SQL, and one that gives another is
   * refused with a `KindDiffersError`. A codec that cannot read the rows of the old one needs
   * another kind, and so another name. 1 to 32 letters, digits, `_`, `.`, `-`; not `activity` or
   * `hits`. @default 'rows'
   */
  kind?: string | undefined
  /** How a row becomes bytes. @default JSON */
  codec?: Codec<Row> | undefined
  /**
   * Brings rows to their tables, inside the transaction that enters their frames in the ledger:
   * each row is handed over in exactly one transaction that commits. It may run again after a
   * rollback, so it must do nothing outside `tx`. An error about the rows themselves (thrown, or a
   * database error of kind `data`) sends, after three tries alone, their frame to quarantine.
   */
  commit(rows: Row[], tx: Transaction, context: CommitContext): Promise<void>
  /**
   * The most rows of one `commit()`, 1,000 to 100,000: more are quicker when many wait, if
   * `commit()` cuts them into statements that the database takes. @default 2000
   */
  maxCommitRows?: number | undefined
  /**
   * Reads back what `read()` returns (JSON): asked at most once in `readTtlSeconds` over all
   * processes.
   */
  read?: ((database: Queryable, context: ReadContext) => Promise<Figures>) | undefined
  /** Seconds that what was read is served from the cache. @default 30 */
  readTtlSeconds?: number | undefined
  /**
   * Removes what is old; called by the collector about once a minute, so it should take seconds
   * only. If it resolves with `true` there is more to remove, and it is called again with the next
   * collecting run.
   */
  removeOld?: RemoveOld | undefined
}

/** Options complete and checked. After this there are no defaults anywhere. */
export interface Settings<Row, Figures> {
  readonly name: string
  readonly kind: string
  readonly width: number
  readonly layerSeconds: number
  readonly drainAfterLayers: number
  readonly flushMs: number
  readonly collect: string | false
  readonly cellTtlSeconds: number
  readonly confirmSeconds: number
  /**
   * Seconds after which living writers have committed by themselves what no collector has brought.
   */
  readonly directSeconds: number
  /** How often this process's collector comes, or those elsewhere are taken to. */
  readonly periodSeconds: number
  /**
   * Seconds after which nothing of a writer that is not heard of can come any more, from its cells
   * or from itself.
   */
  readonly vanishedSeconds: number
  readonly maxFrameBytes: number
  readonly maxOutboxBytes: number
  readonly closeTimeoutMs: number
  readonly logger: Logger
  readonly codec: Codec<Row>
  readonly commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>
  readonly maxCommitRows: number
  readonly read: ((database: Queryable, context: ReadContext) => Promise<Figures>) | undefined
  readonly readTtlSeconds: number
  readonly removeOld: RemoveOld | undefined
}

/** The names of {@link GridOptions}, for those who pass them on. */
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

/**
 * Room a frame's way needs beside the drain age and the collecting period before its writer grows
 * impatient.
 */
const CONFIRM_MARGIN_SECONDS = 15

/** The way to SQL may be as long as a cell lives. */
const MAX_CONFIRM_SECONDS = MAX_TTL_SECONDS + CONFIRM_MARGIN_SECONDS

const DEFAULT_KIND = 'rows'

/** Kinds of the package itself, which the command `wide-cache collect` collects. */
export const PACKAGE_KINDS: readonly string[] = ['activity', 'hits']

const DEFAULT_COLLECT = '*/10 * * * * *'

/** How often collectors elsewhere are taken to run, by a process that does not collect itself. */
const DEFAULT_PERIOD_SECONDS = 10

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError naming the option.
 */
export function settingsOf<Row, Figures>(
  options: WideCacheOptions<Row, Figures>,
): Settings<Row, Figures> {
  onlyKnown('WideCache', options, [
    'name',
    'kind',
    'codec',
    'commit',
    'maxCommitRows',
    'read',
    'readTtlSeconds',
    'removeOld',
    ...GRID_OPTIONS,
  ])
  const {
    kind = DEFAULT_KIND,
    codec = jsonCodec<Row>(),
    logger = console,
    cellTtlSeconds: ttl = 3600,
    drainAfterLayers: layers = 2,
    layerSeconds: seconds = 3,
    collect = DEFAULT_COLLECT,
    width = 15,
    flushMs = 50,
    maxFrameBytes = 64 * 1024,
    maxOutboxBytes = 32 * 1024 * 1024,
    closeTimeoutMs = 5000,
    readTtlSeconds = 30,
    maxCommitRows = 2_000,
    ...rest
  } = given(options)
  if (typeof rest.commit !== 'function') {
    throw wrongType('commit', rest.commit, 'a function (rows, tx) that writes the rows within tx')
  }
  if (
    typeof codec !== 'object' ||
    codec === null ||
    typeof codec.encode !== 'function' ||
    typeof codec.decode !== 'function'
  ) {
    throw wrongType('codec', codec, 'an object with encode(row, target, offset) and decode(bytes)')
  }
  const cellTtlSeconds = integer(
    'cellTtlSeconds',
    ttl,
    10,
    MAX_TTL_SECONDS,
    'seconds (30 days: memcached reads more as a date)',
  )
  const drainAfterLayers = integer('drainAfterLayers', layers, 1, 1000)
  const layerSeconds = integer('layerSeconds', seconds, 1, 3600, 'seconds')
  const drainAge = (drainAfterLayers + 1) * layerSeconds
  const period = collect === false ? DEFAULT_PERIOD_SECONDS : cronPeriodSeconds(collect)
  if (drainAge + period > cellTtlSeconds) {
    const terms =
      `(drainAfterLayers ${drainAfterLayers} + 1) x layerSeconds ${layerSeconds} ` +
      `+ the collecting period of ${period} s together within cellTtlSeconds ` +
      `${cellTtlSeconds}: a cell must be drained while it lives`
    throw period > drainAge
      ? wrongValue('collect', collect, terms)
      : wrongValue('layerSeconds', layerSeconds, terms)
  }
  const leastConfirm = drainAge + period + CONFIRM_MARGIN_SECONDS
  const { confirmSeconds: confirm = Math.max(60, leastConfirm) } = rest
  const confirmSeconds = integer(
    'confirmSeconds',
    confirm,
    leastConfirm,
    MAX_CONFIRM_SECONDS,
    `seconds (at least the drain age of ${drainAge} s, the collecting period of ${period} s ` +
      `and ${CONFIRM_MARGIN_SECONDS} s)`,
  )
  return Object.freeze({
    name: nameOf('name', rest.name),
    kind: kindOf(kind),
    width: integer('width', width, 1, 1000, 'columns'),
    layerSeconds,
    drainAfterLayers,
    flushMs: integer('flushMs', flushMs, 1, 10_000, 'milliseconds'),
    collect,
    cellTtlSeconds,
    confirmSeconds,
    directSeconds: confirmSeconds + CONFIRM_MARGIN_SECONDS,
    periodSeconds: period,
    vanishedSeconds: Math.max(cellTtlSeconds, confirmSeconds + CONFIRM_MARGIN_SECONDS),
    maxFrameBytes: integer('maxFrameBytes', maxFrameBytes, 1024, 512 * 1024, 'bytes'),
    maxOutboxBytes: integer(
      'maxOutboxBytes',
      maxOutboxBytes,
      1024 * 1024,
      1024 * 1024 * 1024,
      'bytes',
    ),
    closeTimeoutMs: integer('closeTimeoutMs', closeTimeoutMs, 100, 600_000, 'milliseconds'),
    logger: loggerOf('logger', logger),
    codec,
    commit: rest.commit,
    maxCommitRows: integer('maxCommitRows', maxCommitRows, 1_000, 100_000, 'rows'),
    read: optionalFunction('read', rest.read, 'a function (database, context)'),
    readTtlSeconds: integer('readTtlSeconds', readTtlSeconds, 1, 86_400, 'seconds'),
    removeOld: optionalFunction('removeOld', rest.removeOld, 'a function (database, context)'),
  })
}

function kindOf(value: unknown): string {
  const kind = nameOf('kind', value)
  if (PACKAGE_KINDS.includes(kind)) {
    throw wrongValue(
      'kind',
      kind,
      `another word: ${PACKAGE_KINDS.join(' and ')} are what createActivity() and createHits() record`,
    )
  }
  return kind
}
