/**
 * Reads the state of a name from SQL, for operators: what became of its rows, how far its grids are
 * drained, the last collecting run, and the contents of the quarantine. Uses four small statements,
 * which take no lock and change nothing.
 */
import type { Queryable } from '../../database/database.js'
import { execute, numberOrNull, select, type Selected, selectOne } from '../../database/sql.js'
import type { MetricTable } from '../../metrics/metric.js'
import { Layers } from '../layers.js'
import { isHeld, ownerText, type Run, SHARED } from '../ledger/grid-record.js'
import { type LedgerSums, outstandingIn, readLedgerSums } from '../ledger/sums.js'
import { type NameSettings, readNameSettings } from '../ledger/name-settings.js'

/**
 * Sums of all rows. `issued` is the sum of `committed`, `dropped`, `lost`, `quarantined`,
 * `outstanding` and `owed`.
 */
export interface LedgerTotals extends LedgerSums {
  /** Rows of writers heard of lately that are on their way, now. */
  readonly outstanding: number
}

/** A grid of a name. Times are milliseconds since the Unix epoch, by the database's clock. */
export interface GridFigures {
  /** Columns. */
  readonly width: number
  /** Seconds a layer lasts. */
  readonly layerSeconds: number
  /**
   * Id of the process that has the grid in its memory (`memory:`), in the text of a UUID. The
   * process may have ended. `null`: the grid is in a shared cache.
   */
  readonly privateTo: string | null
  /** The newest drained layer. */
  readonly watermark: number
  /** The end of that layer. */
  readonly drainedTo: number
  /**
   * Age of the moment up to which SQL has all rows of the grid, in milliseconds; never negative.
   * That moment is the end of the newest drained layer, or later where younger layers are read
   * early. Before the first run has ended, at most about the age of the grid.
   */
  readonly lagMs: number
  /** Layers that have ended and are not drained. */
  readonly layersWaiting: number
  /** Moment at which the watermark last rose. */
  readonly movedAt: number
  /**
   * Moment at which a process last entered or used the grid, or a frame was found in it; 0: the
   * grid was in the memory of a process that has closed.
   */
  readonly usedAt: number
  /** Period of the collectors, in seconds; `null`: none ever came. */
  readonly periodSeconds: number | null
  /** Whether a collector is at work, or has ended without giving its lease back. */
  readonly isLeased: boolean
  /** The last collecting run that succeeded; of all grids of a cache together. */
  readonly run: Run | null
}

/** Contents of the quarantine. */
export interface QuarantineFigures {
  /** Frames whose rows SQL refused. */
  readonly frames: number
  /** Their rows. */
  readonly rows: number
  /** Pieces of bytes that are no frame. */
  readonly unreadable: number
  /** Arrival of the oldest of both, in milliseconds since the Unix epoch; `null`: it is empty. */
  readonly oldestAt: number | null
}

/** State of a name in SQL at one moment. Plain data: it may be cached as JSON. */
export interface NameState {
  readonly name: string
  /** The database's clock when it was read, in milliseconds since the Unix epoch. */
  readonly readAt: number
  readonly settings: NameSettings
  readonly ledger: LedgerTotals
  /**
   * The grids of `settings.gridName`: those in shared caches, then private ones; of each kind the
   * last used first. At most 100.
   */
  readonly grids: readonly GridFigures[]
  readonly quarantine: QuarantineFigures
}

/** The state of a name, and what its kind adds. */
export interface StateWithAdded extends NameState {
  /** By the keys of the metrics of the settings. */
  readonly added: Readonly<Record<string, number>>
}

/** Metrics that a kind of rows adds to those of its name. */
export interface AddedMetrics {
  readonly table: MetricTable
  /** Reads the values, by the keys of the table. */
  read(queryable: Queryable, name: string): Promise<Readonly<Record<string, number>>>
}

/**
 * Most grids that are read. Each start of a process with a grid of its own (`memory:`) leaves a row
 * for 30 days.
 */
const MAX_GRIDS = 100

/** Returns all names that processes have used in this database, sorted. */
export async function recordedNames(queryable: Queryable): Promise<string[]> {
  const { rows } = await execute(queryable)`SELECT name FROM wide_cache_names ORDER BY name`
  return rows.map((row) => String(row['name']))
}

/**
 * Reads the state of a name; `undefined`: no process has used it. Makes no tables.
 *
 * @param now the database's clock
 * @throws DatabaseError
 */
export async function readNameState(
  queryable: Queryable,
  name: string,
  now: number,
): Promise<NameState | undefined> {
  const settings = await readNameSettings(queryable, name)
  if (!settings) return undefined
  const sums = await readLedgerSums(queryable, name, now)
  return {
    name,
    readAt: now,
    settings,
    ledger: { ...sums, outstanding: outstandingIn(sums) },
    grids: await readGrids(queryable, settings.gridName, now),
    quarantine: await readQuarantine(queryable, name),
  }
}

async function readGrids(
  queryable: Queryable,
  gridName: string,
  now: number,
): Promise<readonly GridFigures[]> {
  const grids = await select(queryable, GRID)`FROM wide_cache_grids WHERE name = ${gridName}
    ORDER BY CASE WHEN private_to = ${SHARED} THEN 0 ELSE 1 END, used_at DESC, id
    LIMIT ${MAX_GRIDS}`
  return grids.map((grid) => gridFigures(grid, now))
}

/** Returns the figures of a row of `wide_cache_grids` at `now`. */
function gridFigures(grid: Selected<typeof GRID>, now: number): GridFigures {
  const { completeTo, leaseUntil, runAt: at, runRows: rows, runMs: ms, ...figures } = grid
  const { watermark, movedAt } = figures
  const layers = new Layers(figures.layerSeconds)
  const run = at === null ? null : { at, rows, ms }
  // A new grid has its watermark before its time, and nothing older than itself.
  const drained = run ? watermark : Math.max(watermark, layers.at(movedAt) - 1)
  return {
    ...figures,
    drainedTo: layers.endOf(watermark),
    // A database clock that was ahead leaves a watermark in the future.
    lagMs: Math.max(0, now - Math.max(layers.endOf(drained), completeTo)),
    layersWaiting: Math.max(0, layers.at(now) - 1 - drained),
    isLeased: isHeld(leaseUntil, now),
    run,
  }
}

const GRID = {
  width: Number,
  layerSeconds: Number,
  privateTo: ownerText,
  watermark: Number,
  completeTo: Number,
  movedAt: Number,
  usedAt: Number,
  leaseUntil: Number,
  periodSeconds: numberOrNull,
  runAt: numberOrNull,
  runRows: Number,
  runMs: Number,
}

async function readQuarantine(queryable: Queryable, name: string): Promise<QuarantineFigures> {
  const found = await selectOne(queryable, {
    frames: [Number, 'SUM(CASE WHEN piece = 0 AND writer IS NOT NULL THEN 1 ELSE 0 END)'],
    rowSum: [Number, 'SUM(row_count)'],
    unreadablePieces: [Number, 'SUM(CASE WHEN writer IS NULL THEN 1 ELSE 0 END)'],
    oldestAt: [numberOrNull, 'MIN(created_at)'],
  })`FROM wide_cache_quarantine WHERE name = ${name}`
  const { frames, rowSum: rows, unreadablePieces: unreadable, oldestAt } = found!
  return { frames, rows, unreadable, oldestAt }
}
