/** A wide cache of texts for the laws of orders: what it commits stands in a table. */
import type { Transaction } from '../../src/database/database.js'
import type { Orders, Ports } from '../simulated-world/explorer.js'
import type { WideCacheOptions } from '../../src/wide-cache/options.js'
import { openRows } from '../../src/wide-cache/row-recorder.fixture.js'
import type { RowRecorder } from '../../src/wide-cache/wide-cache.js'
import { SILENT } from '../../src/support/logger.js'

export const NAME = 'law'
export const LAYER_MS = 1_000

/** A row that `commit` refuses. */
export const REFUSED = 'refused'

/** Commits rows to the table. */
export async function commitTexts(rows: readonly string[], tx: Transaction): Promise<void> {
  if (rows.includes(REFUSED)) throw new TypeError('a row that is refused')
  for (const row of rows) await tx.query('INSERT INTO committed VALUES (?)', [row])
}

/** Opens a wide cache on an actor's ports. Its grid has one column, so that all frames meet. */
export function openWideCache(
  { cache, database, environment }: Ports,
  options: Partial<WideCacheOptions<string>> = {},
): RowRecorder<string> {
  return openRows<string>(
    {
      name: NAME,
      cache,
      database,
      width: 1,
      layerSeconds: LAYER_MS / 1000,
      drainAfterLayers: 2,
      collect: false,
      logger: SILENT,
      commit: commitTexts,
      ...options,
    },
    environment,
  )
}

/** Makes the table of a database, or empties it. */
export function emptyTable(orders: Orders, database = ''): void {
  orders.look('CREATE TABLE IF NOT EXISTS committed (row TEXT)', [], database)
  orders.look('DELETE FROM committed', [], database)
}

/** Returns the committed rows. */
export function committed(orders: Orders, database = ''): unknown[] {
  return orders.look('SELECT row FROM committed ORDER BY row', [], database).map(({ row }) => row)
}
