/**
 * Site activity and hits, the wide cache that both are built on, and the caches and databases.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import './support/package-file.js'

export type { Activity, RecordedView, RecordedVisit } from './activity/activity.js'
export { createActivity } from './activity/site-activity.js'
export type { ActivityCertificate, CertifiedLedger } from './activity/certificate.js'
export { campaign } from './activity/dimensions/campaign.js'
export { country } from './activity/dimensions/country.js'
export { deviceClass } from './activity/dimensions/device-class.js'
export type { Dimension } from './activity/dimensions/dimensions.js'
export { referrerHost, type ReferrerHostOptions } from './activity/dimensions/referrer-host.js'
export { section } from './activity/dimensions/section.js'
export { source, type Source } from './activity/dimensions/source.js'
export { lenientPath } from './activity/lenient-path.js'
export type { Period } from './support/calendar.js'
export type { HistoryPeriod, Moment } from './support/periods.js'
export type { ActivityOptions } from './activity/options.js'
export type { HistoryQuery, TopQuery, ValueHistoryQuery } from './activity/ranges.js'
export type { ActivityRouterOptions } from './activity/router.js'
export type { ActivityStats } from './activity/stats.js'
export { type Cache, CacheError, type CacheErrorCode } from './cache/cache.js'
export { memcached, type MemcachedOptions } from './cache/memcached/memcached.js'
export { memory, type MemoryOptions } from './cache/memory.js'
export type { RedisClient } from './cache/redis/client.js'
export { redis, type RedisClientOptions, type RedisOptions } from './cache/redis/redis.js'
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
} from './database/database.js'
export type { Authorize, DashboardOptions } from './dashboard/options.js'
export type { DashboardHits } from './dashboard/source.js'
export type {
  ActivityPeriod,
  LiveActivity,
  LiveActivityLayer,
  LivePage,
  OtherViews,
  ValuePeriod,
  ValueViews,
} from './dashboard/site-figures.js'
export { type DatabaseHost, mysql, type MysqlOptions } from './database/mysql/mysql.js'
export { postgres, type PostgresOptions } from './database/postgres/postgres.js'
export { sqlite } from './database/sqlite/sqlite.js'
export type {
  HitParties,
  Hits,
  HitsHistoryOptions,
  HitsHistoryQuery,
  HitsTopOptions,
  HitsTopQuery,
} from './hits/hits.js'
export { createHits } from './hits/item-hits.js'
export type { HitsPeriod } from './hits/read-history.js'
export type { HitsMiddlewareOptions } from './hits/middleware.js'
export type { HitsOptions } from './hits/options.js'
export type { HitsRouterOptions } from './hits/router.js'
export type { MetricsMeter } from './metrics/open-telemetry.js'
export { joinMetrics, type MetricsSource } from './metrics/prometheus.js'
export type { Handler, Next, ServerAnswer, ServerRequest } from './page-views/handler.js'
export { ClosedError } from './support/closed-error.js'
export type { Logger } from './support/logger.js'
export type { Codec } from './support/codec.js'
export { jsonCodec } from './support/exact-json.js'
export type { DrainReport } from './wide-cache/collector/drain-report.js'
export type { CommitContext, ReadContext, RetentionContext } from './wide-cache/contexts.js'
export type { WideCacheOptions } from './wide-cache/options.js'
export type { LedgerReport } from './wide-cache/ledger/report.js'
export type { Health } from './wide-cache/operations/health.js'
export { KindDiffersError } from './wide-cache/ledger/name-settings.js'
export { WideCache } from './wide-cache/wide-cache.js'
export type { CloseReport } from './wide-cache/writer/closing.js'
export type { LiveCell } from './wide-cache/live.js'
