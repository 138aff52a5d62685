import type { Queryable, SqlValue } from '../database/database.js'
import { execute, raw, sql } from '../database/sql.js'
import { ENTRY_LIVES_MS } from './joining.js'
import { LEAP_MS } from './ledger/grid-record.js'
import { Layers } from './layers.js'

/** A grid that frames have been placed in lately, as SQL knows it. */
export interface UsedGrid {
  readonly layers: Layers
  /** The newest drained layer. */
  readonly watermark: number
  /**
   * All rows recorded before this moment are in SQL, though their layers may not be drained; in
   * milliseconds since the Unix epoch.
   */
  readonly completeTo: number
  /**
   * The watermark has leapt lately from this moment: rows recorded since may still be with writers
   * that SQL has not heard of for long. `undefined`: it has not.
   */
  readonly leaptFrom: number | undefined
  /** Period of its collectors in seconds, and age of a layer when they drain it, in layers. */
  readonly periodSeconds: number
  readonly drainAfterLayers: number
}

/** State in SQL of the rows that are on their way to it. Moments are milliseconds. */
export interface UsedGrids {
  readonly grids: readonly UsedGrid[]
  /**
   * Time of the oldest row that may be missing of the writers whose later frames have come, or of
   * the processes that have just begun; `undefined`: none is missing.
   */
  readonly missingSince: number | undefined
  /** Time within which a living writer has committed what no collector has brought to SQL. */
  readonly directMs: number
  /** The moment before which writers are proven to have done so; see `proveWritable`. */
  readonly directTo: number
}

/**
 * Time for which a grid counts beyond `directSeconds`: a process that has rested for less than a
 * minute places a frame at once, and records its use of the grid each half minute.
 */
const UNRECORDED_USE_MS = 90_000

/**
 * Longest time from the reading of the database's clock until the grids are read. The watermark may
 * leap in between. A leap that is noted later was noted while the clock was ahead.
 */
const LONGEST_READ_MS = 60_000

/** Timing of a grid whose first collector is yet to come. */
const NO_COLLECTOR = { periodSeconds: 10, drainAfterLayers: 2 }

/**
 * Reads the grids of a name whose rows may be on their way, by the longest `directSeconds` of its
 * processes, and the grid that was used last. Includes private grids of other processes.
 *
 * Also reads whether a frame of a writer is missing though a later one has come: it waits in its
 * process, or in another layer, or the cache has lost it. A writer that SQL has not heard of for
 * `directSeconds` brings nothing more. Rows of a process that is joining may be missing, too.
 *
 * While SQL takes no writes it hears of nobody: the time counts up to the newest drained moment, or
 * to the last proof. A watermark that has leapt over such a time counts as it was, for a while.
 */
export async function readUsedGrids(
  queryable: Queryable,
  name: string,
  now: number,
): Promise<UsedGrids> {
  const hasLeapt = sql`leapt_at BETWEEN ${now - LEAP_MS} AND ${now + LONGEST_READ_MS}`
  // A proof of a moment that is yet to come was given while the clock was ahead.
  const proven = sql`SELECT name, grid_name, direct_seconds,
    CASE WHEN direct_to <= ${now} THEN direct_to ELSE 0 END AS direct_to
    FROM wide_cache_names WHERE name = ${name}`
  const unrecorded = raw(String(UNRECORDED_USE_MS))
  const { rows } = await execute(queryable)`
    SELECT layer_seconds, watermark, complete_to, period_seconds, drain_after_layers,
    CASE WHEN ${hasLeapt} THEN leapt_from END AS leapt_from,
    n.direct_seconds, n.direct_to, (SELECT MIN(w.floor_at) FROM wide_cache_ranges AS r
    JOIN wide_cache_writers AS w ON w.name = r.name AND w.writer = r.writer
    WHERE r.name = n.name AND r.first_sequence > w.floor AND w.last_seen >= n.direct_to
    AND w.last_seen >= d.drained_to - 1000 * n.direct_seconds) AS missing_since,
    (SELECT MIN(since) FROM wide_cache_joining AS j WHERE j.name = n.grid_name
    AND j.seen_at BETWEEN ${now - ENTRY_LIVES_MS} AND ${now + LONGEST_READ_MS}) AS joining_since
    FROM (${proven}) AS n JOIN wide_cache_grids AS g ON g.name = n.grid_name
    CROSS JOIN (SELECT MAX(CASE WHEN ${hasLeapt} AND leapt_from <= ${now} THEN leapt_from
    WHEN 1000 * layer_seconds * (watermark + 1) <= ${now}
    THEN 1000 * layer_seconds * (watermark + 1) ELSE 0 END) AS drained_to,
    MAX(used_at) AS used_at FROM wide_cache_grids
    WHERE name = (SELECT grid_name FROM wide_cache_names WHERE name = ${name})) AS d
    WHERE ((g.used_at >= n.direct_to - ${unrecorded}
    AND g.used_at >= d.drained_to - ${unrecorded} - 1000 * n.direct_seconds)
    OR g.used_at = d.used_at) ORDER BY g.id`
  return {
    grids: rows.map((row) => ({
      layers: new Layers(Number(row['layer_seconds'])),
      watermark: Number(row['watermark']),
      completeTo: Number(row['complete_to']),
      leaptFrom: momentIn(row['leapt_from']),
      periodSeconds: Number(row['period_seconds'] ?? NO_COLLECTOR.periodSeconds),
      drainAfterLayers: Number(row['drain_after_layers'] ?? NO_COLLECTOR.drainAfterLayers),
    })),
    missingSince: earliest(rows[0]?.['missing_since'], rows[0]?.['joining_since']),
    directMs: 1000 * Number(rows[0]?.['direct_seconds'] ?? 0),
    directTo: Number(rows[0]?.['direct_to'] ?? 0),
  }
}

function earliest(...values: readonly (SqlValue | undefined)[]): number | undefined {
  const moments = values.map(momentIn).filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

function momentIn(value: SqlValue | undefined): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}
