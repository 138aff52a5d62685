import type { Queryable } from '../database/database.js'
import { MISSING_SINCE } from '../wide-cache/ledger/sums.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import { sliceOf } from './sums.js'

/** Figures of the window: the `windowSeconds` whole seconds up to that of `asOf`. */
export interface ActivityStats {
  /** Length of the window, in seconds. */
  readonly windowSeconds: number
  /** Page views. */
  readonly pageViews: number
  /**
   * Visitors last seen since the window began, as far as they may be told apart; at most as many as
   * page views. Exact unless somebody has come after `asOf`: a visitor who was last seen before the
   * window ended, and comes again, still counts.
   */
  readonly visitors: number
  /** The moment up to which all has been collected, in ISO 8601. */
  readonly asOf: string
  /**
   * `asOf` is longer ago than it should be: no collector comes, a row is missing for long, or the
   * database's clock has been ahead.
   */
  readonly stale: boolean
  /** Page views of the window that are certain: those in SQL, the same number as `pageViews`. */
  readonly lower: number
  /**
   * `lower`, and all rows that the ledger knows to be missing from processes seen since the window
   * began: on their way, in quarantine, dropped or lost. Equal to `lower` on a healthy site. When a
   * process drops or loses rows, all that it ever has are in `upper`, for the length of the window.
   * It cannot include what SQL does not know. Such are visits that a living process holds while
   * neither cache nor SQL takes them. Visits of a killed process are such too, if their frame never
   * left it, or if the cache lost its last frames.
   */
  readonly upper: number
}

/**
 * Reads the figures from the sums: one row a second, one a visitor, one a writer that has been seen
 * since the window began, however many visits there were. One statement, so that all figures are of
 * one moment.
 */
export async function readStats(
  database: Queryable,
  { name, asOf, stale }: Pick<ReadContext, 'name' | 'asOf' | 'stale'>,
  windowSeconds: number,
): Promise<ActivityStats> {
  const end = Math.floor(asOf / 1000)
  const from = end - windowSeconds
  const slice = sliceOf(from)
  const { rows } = await database.query(
    'SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_seconds ' +
      'WHERE name = ? AND second >= ? AND second < ?) AS page_views, ' +
      // Only the slice in which the window begins is looked through for seconds.
      '(SELECT COUNT(*) FROM activity_visitors WHERE name = ? AND last_slice > ?) + ' +
      '(SELECT COUNT(*) FROM activity_visitors WHERE name = ? AND last_slice = ? AND ' +
      'last_second >= ?) AS visitors, ' +
      `(${MISSING_SINCE}) AS missing`,
    [name, from, end, name, slice, name, slice, from, from * 1000, name, from * 1000],
  )
  // A sum over 2^53-1 comes as a bigint.
  const pageViews = Number(rows[0]?.['page_views'])
  return {
    windowSeconds,
    pageViews,
    visitors: Math.min(pageViews, Number(rows[0]?.['visitors'])),
    asOf: new Date(asOf).toISOString(),
    stale,
    lower: pageViews,
    upper: pageViews + Number(rows[0]?.['missing']),
  }
}
