import { MAX_COUNTED, processTable, type QueueMetrics } from '../buckets/bucket-metrics.js'
import type { Queryable } from '../database/database.js'
import { selectOne, sql } from '../database/sql.js'
import { counter, gauge } from '../metrics/metric.js'

/** Metrics of an export queue that are read from SQL. */
const STORED = {
  queued: gauge(
    'export_queued_entries',
    '{entry}',
    `Entries that wait to be exported; ${MAX_COUNTED} stands for more.`,
  ),
  failing: gauge('export_failing_buckets', '{bucket}', 'Buckets whose exporter failed last.'),
  versions: counter(
    'export_versions',
    '{version}',
    'Versions that entries were given, before their export.',
  ),
} as const

async function read(
  database: Pick<Queryable, 'query'>,
  queue: string,
): Promise<Record<keyof typeof STORED, number>> {
  const queued = sql`(SELECT COUNT(*) FROM (SELECT 1 FROM export_queue_entries
    WHERE queue = ${queue} LIMIT ${MAX_COUNTED}) AS waiting)`
  const failing = sql`(SELECT COUNT(*) FROM export_queue_leases
    WHERE queue = ${queue} AND failures > 0)`
  const versions = sql`(SELECT last_version FROM export_queue_versions WHERE queue = ${queue})`
  const columns = {
    queued: [Number, queued],
    failing: [Number, failing],
    versions: [Number, versions],
  } as const
  return (await selectOne(database, columns)``)!
}

export const EXPORT_METRICS = {
  stored: STORED,
  process: processTable('export', 'entries', '{entry}'),
  read,
} satisfies QueueMetrics<typeof STORED>
