/** Failures of the database and the cache of one process, as metrics. */
import { counter, type Metric, type Reading } from '../metrics/metric.js'
import type { ErrorCounts } from './counting.js'

/** With the label `server`, which is `host:port`. */
const CACHE_ERRORS = counter(
  'process_cache_errors',
  '{error}',
  'Cache operations that got no usable answer.',
)
const DATABASE_ERRORS = counter(
  'process_database_errors',
  '{error}',
  'Statements and transactions that failed, except for conflicts and refused rows.',
)
const CONFLICTS = counter(
  'process_database_conflicts',
  '{conflict}',
  'Transactions that met locks of others. They are retried.',
)

export const CACHE_ERROR_METRICS: readonly Metric[] = [CACHE_ERRORS]
export const DATABASE_ERROR_METRICS: readonly Metric[] = [DATABASE_ERRORS, CONFLICTS]

export function cacheErrorReading(name: string, errors: ErrorCounts): Reading {
  return byServer(CACHE_ERRORS, name, errors)
}

export function databaseErrorReadings(name: string, errors: ErrorCounts): Reading[] {
  return [
    byServer(DATABASE_ERRORS, name, errors),
    { metric: CONFLICTS, samples: [{ labels: { name }, value: errors.conflicts }] },
  ]
}

function byServer(metric: Metric, name: string, errors: ErrorCounts): Reading {
  const samples = [...errors.byServer].map(([server, value]) => ({
    labels: { name, server },
    value,
  }))
  return { metric, samples }
}
