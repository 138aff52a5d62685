/** The contenders of a request's cost, and what is measured of each. */
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import type { Metric } from '../harness/part.js'

export interface Contender {
  /** The name of a file in `bench/peers/`. */
  readonly peer: string
  readonly label: string
  /**
   * The unit of its count, which must come out exactly: each request in SQL, each request in its
   * own file or memory, or each visitor. Those without one only remember how often they tried.
   */
  readonly counts?: 'requests in SQL' | 'requests' | 'visitors'
  /** What SQL can tell. */
  readonly keeps?: 'rows, visitors, sums' | 'rows' | 'sums by page'
  /** Of `createActivity()`: when the site itself collects. */
  readonly collect?: string
}

export const NOTHING: Contender = { peer: 'nothing', label: 'no middleware' }
export const EMPTY_HOOK: Contender = { peer: 'empty-hook', label: 'an empty `finish` hook' }
/** A collector in another process brings its visits to SQL. */
export const WIDE_CACHE: Contender = {
  peer: 'wide-cache',
  label: 'wide-cache, collectors elsewhere',
  counts: 'requests in SQL',
  keeps: 'rows, visitors, sums',
}
export const COLLECTS: Contender = {
  ...WIDE_CACHE,
  label: 'wide-cache, which collects',
  collect: EVERY_THREE_SECONDS,
}
export const INSERT: Contender = {
  peer: 'insert-per-visit',
  label: 'one `INSERT` per visit',
  counts: 'requests in SQL',
  keeps: 'rows',
}
export const GET_AND_SET: Contender = {
  peer: 'get-and-set',
  label: 'get and set of an array in memcached',
  keeps: 'rows',
}
export const APPEND: Contender = {
  peer: 'append-per-visit',
  label: 'one memcached `append` per visit',
  keeps: 'rows',
}
export const REDIS: Contender = {
  peer: 'redis-list',
  label: '`RPUSH` to a Redis list',
  counts: 'requests in SQL',
  keeps: 'rows',
}
export const HASH: Contender = {
  peer: 'redis-hash',
  label: '`HINCRBY` in a Redis hash, 60 s',
  counts: 'requests in SQL',
  keeps: 'sums by page',
}
export const BUFFER: Contender = {
  peer: 'buffer',
  label: 'a buffer in the process, 10 s',
  counts: 'requests in SQL',
  keeps: 'rows',
}
/** With wide-cache's rule of what counts, its hashes and its rows. */
export const SAME_RULES: Contender = {
  peer: 'buffer-same-rules',
  label: 'a buffer by the same rules, hashes and rows, 10 s',
  counts: 'requests in SQL',
  keeps: 'rows',
}
export const UPDATES: Contender = {
  peer: 'buffer-updates',
  label: 'the same with sums, row by row',
  counts: 'requests in SQL',
  keeps: 'sums by page',
}
export const MORGAN: Contender = {
  peer: 'morgan',
  label: '`morgan` to a file',
  counts: 'requests',
}
export const PINO: Contender = {
  peer: 'pino-http',
  label: '`pino-http` to a file',
  counts: 'requests',
}
export const SESSION: Contender = {
  peer: 'express-session',
  label: '`express-session` in memory',
  counts: 'visitors',
}
export const PROMETHEUS: Contender = {
  peer: 'express-prom-bundle',
  label: '`express-prom-bundle`',
  counts: 'requests',
}
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
export const CPU: Metric = { metric: 'CPU µs/request', better: 'less' }
/** Less that of the empty hook in the same pair of processes. */
export const OVER_HOOK: Metric = { metric: 'CPU µs/request over an empty hook', better: 'less' }
/** The same of the main thread alone, which answers the requests. */
export const MAIN: Metric = {
  metric: 'CPU µs/request of the main thread over an empty hook',
  better: 'less',
}
/**
 * Requests that a second of CPU is enough for, as a share of those with the empty hook in the same
 * pair. A full core serves so many.
 */
export const THROUGHPUT: Metric = { metric: 'throughput, of an empty hook', better: 'more' }
/**
 * And until what was counted is in SQL; here the site's process is also the collector, or the
 * list's worker.
 */
export const CPU_WHOLE: Metric = {
  metric: 'CPU µs/request, with the work after it',
  better: 'less',
}
/** The same of all processes: the site, its collector, memcached, Redis and the database. */
export const IN_SQL: Metric = {
  metric: 'CPU µs/request of all processes, until in SQL',
  better: 'less',
}
export const P50: Metric = { metric: 'p50 ms', better: 'less' }
export const P99: Metric = { metric: 'p99 ms', better: 'less' }
