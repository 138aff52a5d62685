import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_WRITERS } from '../drain-hint.js'
import { Layers } from '../layers.js'
import { DrainedWriters } from './drained-writers.js'

function bench(layerSeconds = 3) {
  const writers = new DrainedWriters(new Layers(layerSeconds))
  return {
    writers,
    drain(from: number, to: number, found: Record<string, number> = {}) {
      writers.begin(from)
      writers.note(new Map(Object.entries(found)))
      writers.raised(to)
      const { after, prefixes } = writers.hint
      return { after, named: Object.fromEntries(prefixes) }
    },
  }
}

test('it names the writers of all layers that this process has drained, as last noted', () => {
  const { drain } = bench()
  assert.deepEqual(drain(10, 11, { a: 1, b: 4 }), { after: 10, named: { a: 1, b: 4 } })
  assert.deepEqual(drain(11, 12, { a: 2 }), { after: 10, named: { a: 2, b: 4 } })
})

test('when another process has drained meanwhile it begins anew', () => {
  const { drain } = bench()
  drain(10, 11, { a: 1 })
  assert.deepEqual(drain(13, 14, { b: 1 }), { after: 13, named: { b: 1 } })
})

test('of a writer that is named no more it does not tell that nothing has come', () => {
  const { drain } = bench(60)
  drain(10, 11, { a: 1 })
  assert.deepEqual(drain(11, 12, { b: 1 }), { after: 10, named: { a: 1, b: 1 } })
  assert.deepEqual(drain(12, 13), { after: 11, named: { b: 1 } })
  assert.deepEqual(drain(13, 14), { after: 12, named: {} })
})

test('layers longer than that name the writers of the last one', () => {
  const { drain } = bench(3600)
  assert.deepEqual(drain(10, 11, { a: 1 }), { after: 10, named: { a: 1 } })
  assert.deepEqual(drain(11, 12, { b: 1 }), { after: 11, named: { b: 1 } })
})

test('it names the thousand that came last', () => {
  const { writers, drain } = bench()
  drain(10, 11, { old: 1 })
  const many = Array.from({ length: MAX_WRITERS }, (_, n) => [`w${n}`, n])
  const { after, named } = drain(11, 12, Object.fromEntries(many) as Record<string, number>)
  assert.deepEqual([after, Object.keys(named).length, 'old' in named], [11, MAX_WRITERS, false])
  assert.equal(drain(12, 13, { one: 0, more: 0 }).after, 12)
  assert.equal(writers.hint.prefixes.size, MAX_WRITERS)
})

test('what was noted before another process has drained is forgotten', () => {
  const { writers, drain } = bench()
  writers.begin(10)
  writers.note(new Map([['a', 5]]))
  assert.deepEqual(drain(1_000, 1_001), { after: 1_000, named: {} })
})

test('what is noted before a rise that fails is named after the next', () => {
  const { writers, drain } = bench()
  writers.begin(10)
  writers.note(new Map([['a', 1]]))
  assert.deepEqual(drain(10, 11), { after: 10, named: { a: 1 } })
})
