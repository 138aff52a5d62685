import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GridKeys } from './grid-keys.js'

test('every cell and every watermark has a key of its own, also between grids', () => {
  const all = new Set<string>()
  for (const byte of [0, 1, 17]) {
    const keys = new GridKeys(Buffer.alloc(16, byte))
    for (let layer = 0; layer < 20; layer++) {
      for (let column = 0; column < 20; column++) all.add(keys.cell(layer, column))
    }
    all.add(keys.watermark)
  }
  assert.equal(all.size, 3 * 401)
})
