import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Grid } from './grid.js'

test('a layer is a slice of time', () => {
  const grid = new Grid('test', 15, 3)
  assert.equal(grid.layerAt(0), 0)
  assert.equal(grid.layerAt(2_999), 0)
  assert.equal(grid.layerAt(3_000), 1)
  assert.equal(grid.layersIn(3600), 1200)
})

test('every cell and every writer has a key of its own, also between grids', () => {
  const keys = new Set<string>()
  for (const name of ['a', 'b', 'a.1']) {
    const grid = new Grid(name, 3, 3)
    for (let layer = 0; layer < 20; layer++) for (let column = 0; column < 20; column++) keys.add(grid.cellKey(layer, column))
    keys.add(grid.prefixKey('0'.repeat(32)))
  }
  assert.equal(keys.size, 3 * 401)
})
