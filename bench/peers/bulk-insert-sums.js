// The limit of whoever sums up what a page is to show: the same INSERTs, and in their transactions the views of each
// layer and the newest layer of each visitor. No grid, no ledger.
import { open as openInserts, ROWS_A_STATEMENT } from './bulk-insert.js'

const LAYER_MS = 3_000

export const open = (options) => openInserts(options, async (connection, visits, name) => {
  const views = new Map()
  const newest = new Map()
  // In the order of time: the last one is the newest. A visitor's visits share one Buffer.
  for (const { time, visitor } of visits) {
    const layer = Math.floor(time / LAYER_MS)
    views.set(layer, (views.get(layer) ?? 0) + 1)
    newest.set(visitor, layer)
  }
  const layers = [...views].map(([layer, count]) => [name, layer, count])
  await connection.query('INSERT INTO activity_layers (name, layer, views) VALUES ? ON DUPLICATE KEY UPDATE views = views + VALUES(views)', [layers])
  const visitors = [...newest].sort(([a], [b]) => a.compare(b)).map(([visitor, layer]) => [name, visitor, layer])
  for (let from = 0; from < visitors.length; from += ROWS_A_STATEMENT) {
    await connection.query(
      'INSERT INTO activity_visitors (name, visitor, last_layer) VALUES ? ON DUPLICATE KEY UPDATE last_layer = GREATEST(last_layer, VALUES(last_layer))',
      [visitors.slice(from, from + ROWS_A_STATEMENT)])
  }
})
