import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Grid } from './grid.js'

test('a layer is a slice of time', () => {
  const grid = new Grid(Buffer.alloc(16), { width: 15, layerSeconds: 3 })
  assert.equal(grid.layerAt(0), 0)
  assert.equal(grid.layerAt(2_999), 0)
  assert.equal(grid.layerAt(3_000), 1)
  assert.equal(grid.layersIn(3600), 1200)
  assert.equal(grid.endOf(1), 6_000)
})

test('every cell and every list of marks has a key of its own, also between grids', () => {
  const keys = new Set<string>()
  for (const byte of [0, 1, 17]) {
    const grid = new Grid(Buffer.alloc(16, byte), { width: 3, layerSeconds: 3 })
    for (let layer = 0; layer < 20; layer++) {
      for (let column = 0; column < 20; column++) keys.add(grid.cellKey(layer, column))
    }
    keys.add(grid.marksKey)
  }
  assert.equal(keys.size, 3 * 401)
})
