import type { Queryable } from '../database/database.js'
import type { ReadContext } from '../wide-cache/options.js'

/** What went on in the window: all visits since `asOf - windowSeconds` that have been committed. */
export interface ActivityStats {
  /** Length of the window, in seconds. */
  readonly windowSeconds: number
  /** Page views. */
  readonly pageViews: number
  /** Different visitors among them, as far as they may be told apart. */
  readonly visitors: number
  /** The moment up to which all has been collected, in ISO 8601. */
  readonly asOf: string
  /** The figures are older than they should be: no collector comes. */
  readonly stale: boolean
}

/**
 * Reads the figures from the sums: one row a second, one a visitor, however many visits there were.
 * One statement, so that both figures are of one moment.
 */
export async function readStats(
  database: Queryable,
  { name, asOf, stale }: ReadContext,
  windowSeconds: number,
): Promise<ActivityStats> {
  const from = Math.floor(asOf / 1000) - windowSeconds
  const { rows } = await database.query(
    'SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_seconds ' +
      'WHERE name = ? AND second >= ?) AS page_views, ' +
      '(SELECT COUNT(*) FROM activity_visitors WHERE name = ? AND last_second >= ?) AS visitors',
    [name, from, name, from],
  )
  return {
    windowSeconds,
    // A sum is a DECIMAL in MySQL, which comes as a string.
    pageViews: Number(rows[0]?.['page_views']),
    visitors: Number(rows[0]?.['visitors']),
    asOf: new Date(asOf).toISOString(),
    stale,
  }
}
