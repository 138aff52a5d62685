import type { Cache } from '../../cache/cache.js'
import type { Database } from '../../database/database.js'
import { Grid } from '../grid.js'

/**
 * Seconds before and after now: cells of layers in this time are removed. Clocks may differ by the
 * latter.
 */
const SECONDS_BACK = 300
const SECONDS_AHEAD = 30

/**
 * Removes all that SQL and the database's part of a cache have of a temporary name, whose grids
 * have few columns. No process may use the name any more. Cells that the cache keeps end with their
 * TTL.
 */
export async function removeName(database: Database, cache: Cache, name: string): Promise<void> {
  const now = await database.now()
  const { rows } = await database.query(
    'SELECT id, width, layer_seconds FROM wide_cache_grids WHERE name = ?',
    [name],
  )
  for (const row of rows) {
    const id = row['id']
    if (!Buffer.isBuffer(id)) throw new TypeError('wide-cache: a grid id that is not binary')
    const geometry = { width: Number(row['width']), layerSeconds: Number(row['layer_seconds']) }
    await removeCells(cache, new Grid(id, geometry), now)
  }
  // The name itself last: while it is there, the rest is found again.
  for (const table of ['quarantine', 'ranges', 'writers', 'grids', 'names']) {
    await database.query(`DELETE FROM wide_cache_${table} WHERE name = ?`, [name])
  }
}

async function removeCells(cache: Cache, grid: Grid, now: number): Promise<void> {
  const keys = [grid.keys.watermark, grid.keys.hint]
  const last = grid.layers.at(now + SECONDS_AHEAD * 1000)
  for (let layer = grid.layers.at(now - SECONDS_BACK * 1000); layer <= last; layer++) {
    for (let column = 0; column < grid.width; column++) keys.push(grid.keys.cell(layer, column))
  }
  await Promise.allSettled(keys.map((key) => cache.delete(key)))
}
