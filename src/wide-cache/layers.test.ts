import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Layers } from './layers.js'

test('a layer is a slice of time', () => {
  const layers = new Layers(3)
  assert.equal(layers.at(0), 0)
  assert.equal(layers.at(2_999), 0)
  assert.equal(layers.at(3_000), 1)
  assert.equal(layers.countIn(3600), 1200)
  assert.equal(layers.endOf(1), 6_000)
})
