import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DrainHint, MAX_WRITERS } from '../drain-hint.js'
import { Layers } from '../layers.js'
import { DrainedWriters } from './drained-writers.js'

function bench(layerSeconds = 3) {
  const writers = new DrainedWriters(new Layers(layerSeconds))
  return {
    writers,
    async drain(
      from: number,
      to: number,
      found: Record<string, number> = {},
      published?: DrainHint,
    ) {
      await writers.begin(from, async () => published)
      writers.note(new Map(Object.entries(found)))
      writers.raised(to)
      const { after, prefixes } = writers.hint(0)
      return { after, named: Object.fromEntries(prefixes) }
    },
  }
}

test('it names the writers of all layers that this process has drained', async () => {
  const { drain } = bench()
  assert.deepEqual(await drain(10, 11, { a: 1, b: 4 }), { after: 10, named: { a: 1, b: 4 } })
  assert.deepEqual(await drain(11, 12, { a: 2 }), { after: 10, named: { a: 2, b: 4 } })
})

test('when another process has drained meanwhile it begins anew', async () => {
  const { drain } = bench()
  await drain(10, 11, { a: 1 })
  assert.deepEqual(await drain(13, 14, { b: 1 }), { after: 13, named: { b: 1 } })
})

test('it goes on where the hint of the other process ends, and by no older one', async () => {
  const { drain } = bench()
  await drain(10, 11, { a: 1 })
  const hint = { after: 11, to: 13, lostTo: 0, prefixes: new Map([['c', 7]]) }
  assert.deepEqual(await drain(13, 14, { b: 1 }, hint), { after: 11, named: { c: 7, b: 1 } })
  assert.deepEqual(await drain(15, 16, { b: 2 }, hint), { after: 15, named: { b: 2 } })
})

test('of a writer that is named no more it does not tell that nothing has come', async () => {
  const { drain } = bench(60)
  await drain(10, 11, { a: 1 })
  assert.deepEqual(await drain(11, 12, { b: 1 }), { after: 10, named: { a: 1, b: 1 } })
  assert.deepEqual(await drain(12, 13), { after: 11, named: { b: 1 } })
  assert.deepEqual(await drain(13, 14), { after: 12, named: {} })
})

test('layers longer than that name the writers of the last one', async () => {
  const { drain } = bench(3600)
  assert.deepEqual(await drain(10, 11, { a: 1 }), { after: 10, named: { a: 1 } })
  assert.deepEqual(await drain(11, 12, { b: 1 }), { after: 11, named: { b: 1 } })
})

test('it names the thousand that came last', async () => {
  const { writers, drain } = bench()
  await drain(10, 11, { old: 1 })
  const many = Array.from({ length: MAX_WRITERS }, (_, n) => [`w${n}`, n])
  const { after, named } = await drain(11, 12, Object.fromEntries(many) as Record<string, number>)
  assert.deepEqual([after, Object.keys(named).length, 'old' in named], [11, MAX_WRITERS, false])
  assert.equal((await drain(12, 13, { one: 0, more: 0 })).after, 12)
  assert.equal(writers.hint(0).prefixes.size, MAX_WRITERS)
})

test('what was noted before another process has drained is forgotten', async () => {
  const { writers, drain } = bench()
  await writers.begin(10, async () => undefined)
  writers.note(new Map([['a', 5]]))
  assert.deepEqual(await drain(1_000, 1_001), { after: 1_000, named: {} })
})

test('what is noted before a rise that fails is named after the next', async () => {
  const { writers, drain } = bench()
  await writers.begin(10, async () => undefined)
  writers.note(new Map([['a', 1]]))
  assert.deepEqual(await drain(10, 11), { after: 10, named: { a: 1 } })
})
