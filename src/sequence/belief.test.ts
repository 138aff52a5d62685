import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Belief, BELIEF_MS } from './belief.js'

const FIRST = { generation: 1, token: null, base: 0, reserved: 100, established: true }

test('an answer that is overtaken by a later one takes nothing back', () => {
  const belief = new Belief(FIRST, 0)
  belief.renew(1_000, 300)
  belief.renew(900, 200)
  assert.deepEqual([belief.until, belief.reserved], [1_000 + BELIEF_MS, 300])
})
