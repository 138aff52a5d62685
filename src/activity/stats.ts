import type { Queryable } from '../database/database.js'
import type { ReadContext } from '../wide-cache/options.js'

/** What went on in the window: all visits newer than `asOf - windowSeconds`. */
export interface ActivityStats {
  readonly windowSeconds: number
  /** Page views. */
  readonly pageViews: number
  /** Different visitors among them, as far as they may be told apart. */
  readonly visitors: number
  /** The end of the newest slice of time that has been collected, in ISO 8601. */
  readonly asOf: string
}

/**
 * Reads the figures from the sums: one row a layer, one a visitor, however many visits there were. One
 * statement, so that both figures are of one moment.
 */
export async function readStats(database: Queryable, { name, layerSeconds, watermark }: ReadContext, windowSeconds: number): Promise<ActivityStats> {
  const before = watermark - windowSeconds / layerSeconds
  const { rows } = await database.query(
    'SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_layers WHERE name = ? AND layer > ?) AS page_views,' +
      ' (SELECT COUNT(*) FROM activity_visitors WHERE name = ? AND last_layer > ?) AS visitors',
    [name, before, name, before])
  return {
    windowSeconds,
    // A sum is a DECIMAL in MySQL, which comes as a string.
    pageViews: Number(rows[0]?.['page_views']),
    visitors: Number(rows[0]?.['visitors']),
    asOf: new Date((watermark + 1) * layerSeconds * 1000).toISOString(),
  }
}
