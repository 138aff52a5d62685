import { MAX_COUNTED, processTable, type QueueMetrics } from '../buckets/bucket-metrics.js'
import type { Queryable } from '../database/database.js'
import { selectOne, sql } from '../database/sql.js'
import { gauge } from '../metrics/metric.js'

/** Metrics of a map that are read from SQL. */
const STORED = {
  queued: gauge(
    'map_queued_updates',
    '{update}',
    `Updates that wait to be combined; ${MAX_COUNTED} stands for more.`,
  ),
  parked: gauge(
    'map_parked_updates',
    '{update}',
    'Updates that could not be combined and were set aside.',
  ),
} as const

async function read(
  database: Pick<Queryable, 'query'>,
  map: string,
): Promise<Record<keyof typeof STORED, number>> {
  const queued = sql`(SELECT COUNT(*) FROM (SELECT 1 FROM collision_free_map_queue
    WHERE map = ${map} LIMIT ${MAX_COUNTED}) AS waiting)`
  const parked = sql`(SELECT COUNT(*) FROM collision_free_map_parked WHERE map = ${map})`
  return (await selectOne(database, { queued: [Number, queued], parked: [Number, parked] })``)!
}

export const MAP_METRICS = {
  stored: STORED,
  process: processTable('map', 'updates', '{update}'),
  read,
} satisfies QueueMetrics<typeof STORED>
