/** The contenders of a request's cost, and what is measured of each. */
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import { less, more } from '../harness/samples.js'

export interface Contender {
  /** The name of a file in `bench/peers/`. */
  readonly peer: string
  readonly label: string
  /**
   * The unit of its count, which must come out exactly: each request in SQL, each request in its
   * own file or memory, or each visitor. Those without one only remember how often they tried.
   */
  readonly counts?: 'requests in SQL' | 'requests' | 'visitors' | undefined
  /** What SQL can tell. */
  readonly keeps?: 'rows, visitors, sums' | 'rows' | 'sums by page' | undefined
  /** Of `createActivity()`: when the site itself collects. */
  readonly collect?: string
}

const contender = (
  peer: string,
  label: string,
  counts?: Contender['counts'],
  keeps?: Contender['keeps'],
): Contender => ({ peer, label, counts, keeps })

const IN_TABLES = 'requests in SQL'

export const NOTHING = contender('nothing', 'no middleware')
export const EMPTY_HOOK = contender('empty-hook', 'an empty `finish` hook')
/** A collector in another process brings its visits to SQL. */
export const WIDE_CACHE = contender(
  'wide-cache',
  'wide-cache, collectors elsewhere',
  IN_TABLES,
  'rows, visitors, sums',
)
export const COLLECTS: Contender = {
  ...WIDE_CACHE,
  label: 'wide-cache, which collects',
  collect: EVERY_THREE_SECONDS,
}
export const INSERT = contender('insert-per-visit', 'one `INSERT` per visit', IN_TABLES, 'rows')
export const GET_AND_SET = contender(
  'get-and-set',
  'get and set of an array in memcached',
  undefined,
  'rows',
)
export const APPEND = contender(
  'append-per-visit',
  'one memcached `append` per visit',
  undefined,
  'rows',
)
export const REDIS = contender('redis-list', '`RPUSH` to a Redis list', IN_TABLES, 'rows')
export const HASH = contender(
  'redis-hash',
  '`HINCRBY` in a Redis hash, 60 s',
  IN_TABLES,
  'sums by page',
)
export const BUFFER = contender('buffer', 'a buffer in the process, 10 s', IN_TABLES, 'rows')
/** With wide-cache's rule of what counts, its hashes and its rows. */
export const SAME_RULES = contender(
  'buffer-same-rules',
  'a buffer by the same rules, hashes and rows, 10 s',
  IN_TABLES,
  'rows',
)
export const UPDATES = contender(
  'buffer-updates',
  'the same with sums, row by row',
  IN_TABLES,
  'sums by page',
)
const MORGAN = contender('morgan', '`morgan` to a file', 'requests')
const PINO = contender('pino-http', '`pino-http` to a file', 'requests')
const SESSION = contender('express-session', '`express-session` in memory', 'visitors')
const PROMETHEUS = contender('express-prom-bundle', '`express-prom-bundle`', 'requests')
/** Middleware that sites have anyway. */
export const ACCEPTED = [MORGAN, PINO, SESSION, PROMETHEUS]
export const CONTENDERS = [
  NOTHING,
  EMPTY_HOOK,
  WIDE_CACHE,
  COLLECTS,
  INSERT,
  GET_AND_SET,
  APPEND,
  REDIS,
  HASH,
  BUFFER,
  SAME_RULES,
  UPDATES,
  ...ACCEPTED,
]

/** Those that are measured at low rates. */
export const AT_RATES = [EMPTY_HOOK, WIDE_CACHE, COLLECTS, INSERT, SAME_RULES]
/** Those that are measured on a page that takes some time itself. */
export const ON_A_PAGE = [NOTHING, EMPTY_HOOK, WIDE_CACHE, COLLECTS, INSERT]

/**
 * CPU time of the site's process, until all is done that the requests have begun: sent to a server,
 * written to a file.
 */
export const CPU = less('CPU µs/request')
/** Less that of the empty hook in the same pair of processes. */
export const OVER_HOOK = less('CPU µs/request over an empty hook')
/** The same of the main thread alone, which answers the requests. */
export const MAIN = less('CPU µs/request of the main thread over an empty hook')
/**
 * Requests that a second of CPU is enough for, as a share of those with the empty hook in the same
 * pair. A full core serves so many.
 */
export const THROUGHPUT = more('throughput, of an empty hook')
/**
 * And until what was counted is in SQL; here the site's process is also the collector, or the
 * list's worker.
 */
export const CPU_WHOLE = less('CPU µs/request, with the work after it')
/** The same of all processes: the site, its collector, memcached, Redis and the database. */
export const IN_SQL = less('CPU µs/request of all processes, until in SQL')
