/** Metrics of the part `scale`, by the names in its result, where the model reads them. */
import { less, more, neutral } from '../harness/samples.js'
export const WEB = less('web CPU µs/visit')
export const OPERATIONS = less('cache operations/visit')
export const CACHE_BYTES = less('cache bytes/visit')
export const CACHE_CPU = less('memcached CPU µs/visit')
export const UNEVENNESS = less('operations of the busiest server over the average')
export const COLLECTOR_CPU = less('collector CPU µs/visit')
export const COLLECTOR_TIME = less('collector µs/visit, its waiting for SQL included')
export const STATEMENTS = less('SQL statements/1,000 visits')
export const ROWS_WRITTEN = less('SQL rows written/visit')
export const DATABASE_CPU = less('SQL server CPU µs/visit')
export const ALL_CPU = less('CPU µs/visit of all servers and processes')
export const ROWS_PER_FRAME = neutral('visits/frame')
export const MODEL_OPERATIONS = neutral('calculated over measured cache operations')
export const MODEL_BYTES = neutral('calculated over measured cache bytes')

/** CPU time of the server alone. */
export const APPEND = less('memcached CPU µs/append')
export const USABLE = more('share of memory that growing cells fill')

export const WIDE_CACHE = 'wide-cache'
export const SERVER = 'memcached'

/**
 * Cells of these sizes are filled for {@link APPEND}: hardly anything to copy, and up to
 * memcached's limit.
 */
export const CELL_BYTES = [16_000, 256_000, 1_000_000] as const

/** The bytes of one visit of the generator in a frame: length, kind, time, visitor, page. */
export const ROW_BYTES = 4 + 1 + 6 + 12 + '/forum/threads/00-000000000'.length
