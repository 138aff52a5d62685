import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { Grid } from './grid.js'
import { MAX_AHEAD_MS, PublishedWatermark } from './published-watermark.js'

const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 1 })
const NOW = 1_700_000_000_000
const PRESENT = grid.layers.at(NOW)

/** A collector by the true time, and a writer whose clock is `behindMs` behind. */
function bench(behindMs: number) {
  const clock = new ManualClock(NOW - behindMs)
  const cache = memory()
  const settings = {
    cache,
    clock,
    drainAfterLayers: 2,
    periodSeconds: 1,
  } as const
  const collector = new PublishedWatermark(settings)
  const writer = new PublishedWatermark(settings)
  return {
    clock,
    collected: (layer: number) => void collector.publish(cache, grid, layer),
    layer: async () => {
      await writer.refresh(grid, 100)
      return writer.layerOf(grid, clock.now())
    },
    hasPassed: (layer: number) => writer.hasPassed(layer),
    ends: () => collector.withdraw(grid),
    loses: () => cache.delete(grid.keys.watermark),
    isKept: () => writer.isKept(grid),
  }
}

test('a frame is placed where the clock of its writer says, if that is right', async () => {
  const { clock, collected, layer } = bench(0)
  assert.equal(await layer(), PRESENT, 'nobody collects')
  collected(PRESENT - 2)
  assert.equal(await layer(), PRESENT)
  await clock.advance(1_000)
  assert.equal(await layer(), PRESENT + 1)
})

test('a writer whose clock is behind follows each leap of the watermark', async () => {
  const { collected, layer } = bench(20_000)
  assert.equal(await layer(), PRESENT - 20, 'nobody collects')
  collected(PRESENT - 22)
  assert.equal(await layer(), PRESENT - 20, 'nothing tells that the clock is behind')
  collected(PRESENT - 2)
  assert.equal(await layer(), PRESENT)
})

test('a writer sees that a layer was passed', async () => {
  const { collected, layer, hasPassed } = bench(20_000)
  assert(!hasPassed(PRESENT), 'nobody collects')
  collected(PRESENT - 2)
  await layer()
  assert(hasPassed(PRESENT - 2))
  assert(!hasPassed(PRESENT - 1))
})

test('the watermark of a collector that has ended is followed, and others may begin', async () => {
  const { collected, layer, ends, isKept } = bench(20_000)
  await ends()
  assert(!(await isKept()), 'nobody collects')
  assert.equal(await layer(), PRESENT - 20)
  collected(PRESENT - 2)
  assert(await isKept())
  await ends()
  assert(!(await isKept()))
  assert.equal(await layer(), PRESENT)
})

test('a collector of two grids leaves to each what it has published there', async () => {
  const cache = memory()
  const settings = { drainAfterLayers: 2, periodSeconds: 1 } as const
  const collector = new PublishedWatermark({ ...settings, cache, clock: new ManualClock(NOW) })
  const other = new Grid(Buffer.alloc(16, 2), { width: 1, layerSeconds: 60 })
  await collector.publish(cache, grid, 1_000)
  await collector.publish(cache, other, 10)
  await collector.withdraw(grid)
  assert.equal(String(await cache.get(grid.keys.watermark)), '1000 ended')
})

test('a watermark that the cache has lost is neither followed nor taken for passed', async () => {
  const { collected, loses, layer, hasPassed } = bench(20_000)
  collected(PRESENT - 2)
  assert.equal(await layer(), PRESENT)
  await loses()
  assert.equal(await layer(), PRESENT - 20)
  assert(!hasPassed(PRESENT - 2))
})

test('a collector that ends leaves the newest watermark, though the cache was slow', async () => {
  const cache = memory()
  const clock = new ManualClock(NOW)
  const collector = new PublishedWatermark({ cache, clock, drainAfterLayers: 2, periodSeconds: 1 })
  await collector.publish(cache, grid, PRESENT - 3)
  const { set } = cache
  Object.assign(cache, { set: () => new Promise(() => undefined) })
  void collector.publish(cache, grid, PRESENT - 2)
  Object.assign(cache, { set })
  await collector.withdraw(grid)
  assert.equal(String(await cache.get(grid.keys.watermark)), `${PRESENT - 2} ended`)
})

test('a watermark that is a minute ahead of the clock is not followed', async () => {
  const { collected, layer } = bench(0)
  collected(PRESENT + MAX_AHEAD_MS / 1000)
  assert.equal(await layer(), PRESENT)
})

test('a cache that does not answer is waited for as long as asked, and no longer', async () => {
  const cache = memory()
  const clock = new ManualClock(NOW - 20_000)
  const writer = new PublishedWatermark({ cache, clock, drainAfterLayers: 2, periodSeconds: 1 })
  await writer.publish(cache, grid, PRESENT - 2)
  await writer.refresh(grid, 100)
  Object.assign(cache, { get: () => new Promise(() => undefined) })
  let isOver = false
  void writer.refresh(grid, 100).then(() => (isOver = true))
  await clock.advance(99)
  assert(!isOver)
  await clock.advance(1)
  assert(isOver)
  assert.equal(writer.layerOf(grid, clock.now()), PRESENT)
})
