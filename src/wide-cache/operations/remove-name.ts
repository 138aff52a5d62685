import type { Cache } from '../../cache/cache.js'
import type { Database } from '../../database/database.js'
import { bytes, execute, raw, select } from '../../database/sql.js'
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
  const columns = { id: bytes, width: Number, layerSeconds: Number }
  const grids = await select(database, columns)`FROM wide_cache_grids WHERE name = ${name}`
  for (const { id, ...geometry } of grids) await removeCells(cache, new Grid(id, geometry), now)
  // The name itself last: while it is there, the rest is found again.
  for (const table of ['quarantine', 'ranges', 'writers', 'grids', 'names']) {
    await execute(database)`DELETE FROM wide_cache_${raw(table)} WHERE name = ${name}`
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
