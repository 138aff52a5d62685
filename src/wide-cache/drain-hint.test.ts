import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { memory } from '../cache/memory.js'
import { type DrainHint, MAX_WRITERS, missingIn, publishHint, readHint } from './drain-hint.js'
import { Grid } from './grid.js'

const grid = new Grid(Buffer.alloc(16, 1), { width: 2, layerSeconds: 3 })
const id = (n: number): string => n.toString(16).padStart(32, '0')

test('a hint is read as it was published', async () => {
  const layer = fc.integer({ min: 0, max: 2 ** 40 })
  const prefixes = fc.array(fc.tuple(fc.nat().map(id), fc.integer({ min: -1, max: 2 ** 40 })))
  await fc.assert(
    fc.asyncProperty(layer, layer, layer, prefixes, async (after, to, lostTo, list) => {
      const cache = memory()
      const hint: DrainHint = { after, to, lostTo, prefixes: new Map(list) }
      await publishHint(cache, grid, hint)
      assert.deepEqual(await readHint(cache, grid), hint)
    }),
    { numRuns: 50 },
  )
})

test('a frame is missing if its layer is drained and its writer has not come so far', () => {
  const hint: DrainHint = { after: 10, to: 20, lostTo: 4, prefixes: new Map([[id(1), 5]]) }
  const missing = (writer: number, sequence: number, layer: number | undefined): boolean =>
    missingIn(hint, [{ writer: id(writer), sequence, layer }]).missing.length === 1
  assert.equal(missing(1, 5, 20), false, 'settled')
  assert.equal(missing(1, 6, 20), true, 'not settled')
  assert.equal(missing(1, 6, 3), true, 'whose writer is named, however old')
  assert.equal(missing(1, 6, 21), false, 'not drained yet')
  assert.equal(missing(1, 6, undefined), false, 'in no cell, as its writer knows')
  assert.equal(missing(2, 0, 20), true, 'of a writer of whom nothing was found')
  assert.equal(missing(2, 0, 11), true)
  assert.equal(missing(2, 0, 10), false, 'in a layer that another collector has drained')
  assert.equal(missing(2, 0, 3), true, 'in one of which a server has lost its memory')
})

test('behind a frame that is only late, the prefix says nothing', () => {
  const hint: DrainHint = { after: 10, to: 20, lostTo: 0, prefixes: new Map([[id(1), 5]]) }
  const held = (...layers: (number | undefined)[]) =>
    layers.map((layer, index) => ({ writer: id(1), sequence: 5 + index, layer }))
  const numbers = (frames: ReturnType<typeof held>): [number[], boolean] => {
    const { missing, isSure } = missingIn(hint, frames)
    return [missing.map(({ sequence }) => sequence), isSure]
  }
  assert.deepEqual(numbers(held(19, 20, 20, 21)), [[6, 7], true], 'the first is missing')
  assert.deepEqual(numbers(held(19, undefined, 20)), [[], false], 'it is in no cell yet')
  assert.deepEqual(numbers(held(19, 21, 20, 20)), [[], false], 'it is in a later layer')
  assert.deepEqual(numbers(held(19, 20, undefined, 20)), [[6, 8], true])
  assert.deepEqual(numbers(held(19, 21, 22)), [[], true], 'nothing of the drained layers is held')
})

test('a silent cache, none, and bytes that are no hint tell nothing', async () => {
  const cache = memory()
  assert.equal(await readHint(cache, grid), undefined)
  const full = { after: 1, to: 2, lostTo: 0, prefixes: new Map<string, number>() }
  for (let n = 0; n <= MAX_WRITERS; n++) full.prefixes.set(id(n), n)
  await publishHint(cache, grid, full)
  assert.equal(await readHint(cache, grid), undefined, 'more writers than a hint may name')
  for (const bytes of ['', 'x', 'a'.repeat(11), 'a'.repeat(13), 'a'.repeat(33)]) {
    await cache.set(grid.keys.hint, Buffer.from(bytes), 60)
    assert.equal(await readHint(cache, grid), undefined, bytes)
  }
  const away = {
    get: () => Promise.reject(new Error('away')),
    set: () => Promise.reject(new Error('away')),
  } as never
  await publishHint(away, grid, full)
  assert.equal(await readHint(away, grid), undefined)
})
