import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CurrentGeneration, CURRENT_MS } from './current-generation.js'

const FIRST = { generation: 1, token: null, base: 0, reserved: 100, established: true }

test('an answer that is overtaken by a later one takes nothing back', () => {
  const current = new CurrentGeneration(FIRST, 0)
  current.renew(1_000, 300)
  current.renew(900, 200)
  assert.deepEqual([current.until, current.reserved], [1_000 + CURRENT_MS, 300])
})

test('a generation that is over is asked about before it is used again', () => {
  const current = new CurrentGeneration(FIRST, 0)
  current.renew(1_000)
  current.end()
  assert.equal(current.until, -Infinity)
})
