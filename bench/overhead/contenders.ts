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

const contender = (peer: string, label: string, counts?: Contender['counts']): Contender => ({
  peer,
  label,
  counts,
})

const inSql = (peer: string, label: string, keeps: Contender['keeps'] = 'rows'): Contender => ({
  ...contender(peer, label, 'requests in SQL'),
  keeps,
})

/** It only remembers how often it tried. */
const inCells = (peer: string, label: string): Contender => ({ peer, label, keeps: 'rows' })

const ALL = 'rows, visitors, sums'
const SUMS = 'sums by page'

export const NOTHING = contender('nothing', 'no middleware')
export const EMPTY_HOOK = contender('empty-hook', 'an empty `finish` hook')
/** A collector in another process brings its visits to SQL. */
export const WIDE_CACHE = inSql('wide-cache', 'wide-cache, collectors elsewhere', ALL)
export const COLLECTS: Contender = {
  ...WIDE_CACHE,
  label: 'wide-cache, which collects',
  collect: EVERY_THREE_SECONDS,
}
export const INSERT = inSql('insert-per-visit', 'one `INSERT` per visit')
export const GET_AND_SET = inCells('get-and-set', 'get and set of an array in memcached')
export const APPEND = inCells('append-per-visit', 'one memcached `append` per visit')
export const REDIS = inSql('redis-list', '`RPUSH` to a Redis list')
export const HASH = inSql('redis-hash', '`HINCRBY` in a Redis hash, 60 s', SUMS)
export const BUFFER = inSql('buffer', 'a buffer in the process, 10 s')
/** With wide-cache's rule of what counts, its hashes and its rows. */
export const SAME_RULES = inSql(
  'buffer-same-rules',
  'a buffer by the same rules, hashes and rows, 10 s',
)
export const UPDATES = inSql('buffer-updates', 'the same with sums, row by row', SUMS)
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
