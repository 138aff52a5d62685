/**
 * A queue that tells other systems what a transaction has committed.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { BucketsDifferError } from '../buckets/buckets.js'
export {
  type ExportEntry,
  ExportQueue,
  type ExportQueueOptions,
  type RunSql,
} from './export-queue.js'
export type { MetricsMeter } from '../metrics/open-telemetry.js'
export { joinMetrics, type MetricsSource } from '../metrics/prometheus.js'
