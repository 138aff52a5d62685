/**
 * A map that many processes update without waiting for each other.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export {
  BucketsDifferError,
  type Change,
  CollisionFreeMap,
  type CollisionFreeMapOptions,
  type RunSql,
} from './collision-free-map.js'
export type { MetricsMeter } from '../metrics/open-telemetry.js'
export { joinMetrics, type MetricsSource } from '../metrics/prometheus.js'
