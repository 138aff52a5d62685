import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ring } from './ring.js'

const keys = Array.from(
  { length: 10_000 },
  (_, i) => `wc:site:${1_700_000_000 + (i >> 4)}:${i & 15}`,
)
const four = ['10.0.0.1:11211', '10.0.0.2:11211', '10.0.0.3:11211', '10.0.0.4:11211']

test('a fourth server takes about a quarter of the keys, and no other key moves', () => {
  const [before, after] = [new Ring(four.slice(0, 3)), new Ring(four)]
  const moved = keys.filter((key) => before.nameFor(key) !== after.nameFor(key))
  assert.ok(moved.length > 1500 && moved.length < 3500, `${moved.length} of 10000`)
  assert.ok(moved.every((key) => after.nameFor(key) === four[3]))
})

test('a server alone has all keys, and keeps those that a second one does not take', () => {
  const [alone, two] = [new Ring(['a:1']), new Ring(['a:1', 'b:1'])]
  assert.deepEqual(new Set(keys.map((key) => alone.nameFor(key))), new Set(['a:1']))
  const kept = keys.filter((key) => two.nameFor(key) === 'a:1').length
  assert.ok(kept > 3_500 && kept < 6_500, `${kept} of 10000`)
})

test('the order of the servers does not matter', () => {
  const [forth, back] = [new Ring(four), new Ring([...four].reverse())]
  for (const key of keys) assert.equal(forth.nameFor(key), back.nameFor(key))
})

test('keys are spread evenly', () => {
  for (const names of [
    four,
    four.slice(0, 3),
    ['a:1', 'b:1'],
    Array.from({ length: 10 }, (_, i) => `cache-${i}.example:11211`),
  ]) {
    const shares = new Map(names.map((name) => [name, 0]))
    const ring = new Ring(names)
    for (const key of keys) shares.set(ring.nameFor(key), (shares.get(ring.nameFor(key)) ?? 0) + 1)
    const even = keys.length / names.length
    for (const [name, share] of shares) {
      assert.ok(
        share > even * 0.75 && share < even * 1.25,
        `${name} has ${share}, ${even} would be even`,
      )
    }
  }
})
