import { MAX_COUNTED, processTable } from '../buckets/bucket-metrics.js'
import type { Queryable } from '../database/database.js'
import { gauge } from '../metrics/metric.js'

/** Metrics of a map that are read from SQL. */
export const MAP_METRICS = {
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

export const MAP_PROCESS_METRICS = processTable('map', 'updates', '{update}')

/** @throws DatabaseError */
export async function readMapFigures(
  database: Pick<Queryable, 'query'>,
  map: string,
): Promise<Record<keyof typeof MAP_METRICS, number>> {
  const {
    rows: [row],
  } = await database.query(
    'SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM collision_free_map_queue WHERE map = ? ' +
      `LIMIT ${MAX_COUNTED}) AS waiting) AS queued, ` +
      '(SELECT COUNT(*) FROM collision_free_map_parked WHERE map = ?) AS parked',
    [map, map],
  )
  return { queued: Number(row?.['queued']), parked: Number(row?.['parked']) }
}
