/**
 * The write-behind buffer alone, without activity, hits and dashboard: rows of the site's own, the
 * caches and the databases.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { type Cache, CacheError, type CacheErrorCode } from '../cache/cache.js'
export { memcached, type MemcachedOptions } from '../cache/memcached/memcached.js'
export { memory, type MemoryOptions } from '../cache/memory.js'
export type { RedisClient } from '../cache/redis/client.js'
export { redis, type RedisClientOptions, type RedisOptions } from '../cache/redis/redis.js'
export {
  type Database,
  DatabaseError,
  type DatabaseErrorCategory,
  type Dialect,
  type Queryable,
  type QueryResult,
  type SqlRow,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
export { type DatabaseHost, mysql, type MysqlOptions } from '../database/mysql/mysql.js'
export { postgres, type PostgresOptions } from '../database/postgres/postgres.js'
export { sqlite } from '../database/sqlite/sqlite.js'
export type { MetricsMeter } from '../metrics/open-telemetry.js'
export { joinMetrics, type MetricsSource } from '../metrics/prometheus.js'
export { ClosedError } from '../support/closed-error.js'
export type { Codec } from '../support/codec.js'
export { jsonCodec } from '../support/exact-json.js'
export type { Logger } from '../support/logger.js'
export type { DrainReport } from './collector/drain-report.js'
export type { CommitContext, ReadContext, RetentionContext } from './contexts.js'
export { KindDiffersError } from './ledger/name-settings.js'
export type { LedgerReport } from './ledger/report.js'
export type { LiveCell } from './live.js'
export type { Health } from './operations/health.js'
export type { WideCacheOptions } from './options.js'
export { WideCache } from './wide-cache.js'
export type { CloseReport } from './writer/closing.js'
