/** Metrics of the part `scale`, by the names in its result, where the model reads them. */
export const WEB = { metric: 'web CPU µs/visit', better: 'less' } as const
export const OPERATIONS = { metric: 'cache operations/visit', better: 'less' } as const
export const CACHE_BYTES = { metric: 'cache bytes/visit', better: 'less' } as const
export const CACHE_CPU = { metric: 'memcached CPU µs/visit', better: 'less' } as const
export const UNEVENNESS = {
  metric: 'operations of the busiest server over the average',
  better: 'less',
} as const
export const COLLECTOR_CPU = { metric: 'collector CPU µs/visit', better: 'less' } as const
export const COLLECTOR_TIME = {
  metric: 'collector µs/visit, its waiting for SQL included',
  better: 'less',
} as const
export const STATEMENTS = { metric: 'SQL statements/1,000 visits', better: 'less' } as const
export const ROWS_WRITTEN = { metric: 'SQL rows written/visit', better: 'less' } as const
export const DATABASE_CPU = { metric: 'SQL server CPU µs/visit', better: 'less' } as const
export const ALL_CPU = {
  metric: 'CPU µs/visit of all servers and processes',
  better: 'less',
} as const
export const ROWS_PER_FRAME = { metric: 'visits/frame', better: null } as const
export const MODEL_OPERATIONS = {
  metric: 'calculated over measured cache operations',
  better: null,
} as const
export const MODEL_BYTES = { metric: 'calculated over measured cache bytes', better: null } as const

/** CPU time of the server alone. */
export const APPEND = { metric: 'memcached CPU µs/append', better: 'less' } as const
export const USABLE = { metric: 'share of memory that growing cells fill', better: 'more' } as const

export const WIDE_CACHE = 'wide-cache'
export const SERVER = 'memcached'

/**
 * Cells of these sizes are filled for {@link APPEND}: hardly anything to copy, and up to
 * memcached's limit.
 */
export const CELL_BYTES = [16_000, 256_000, 1_000_000] as const

/** The bytes of one visit of the generator in a frame: length, kind, time, visitor, page. */
export const ROW_BYTES = 4 + 1 + 6 + 12 + '/forum/threads/00-000000000'.length
