import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { ManualClock } from '../support/fixtures.suite.js'
import { Grid } from './grid.js'
import { MAX_AHEAD_MS, PublishedWatermark } from './published-watermark.js'

const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 1 })
const NOW = 1_700_000_000_000
const PRESENT = grid.layerAt(NOW)

/** A collector by the true time, and a writer whose clock is `behindMs` behind. */
function bench(behindMs: number) {
  const clock = new ManualClock(NOW - behindMs)
  const inner = memory()
  let asked = 0
  const cache = Object.assign(Object.create(inner), {
    get: (key: string) => (asked++, inner.get(key)),
    set: inner.set.bind(inner),
  })
  const settings = { cache, clock, drainAfterLayers: 2, collect: true, periodSeconds: 1 } as const
  const collector = new PublishedWatermark(settings)
  const writer = new PublishedWatermark(settings)
  return {
    clock,
    collected: (layer: number) => collector.publish(grid, layer),
    asked: () => asked,
    layer: () => writer.layerOf(grid, clock.now()),
  }
}

test('a writer whose clock is right asks once a second', async () => {
  const { clock, collected, asked, layer } = bench(0)
  collected(PRESENT - 2)
  for (let frames = 0; frames < 5; frames++) assert.equal(await layer(), PRESENT)
  assert.equal(asked(), 1)
  await clock.advance(1_000)
  assert.equal(await layer(), PRESENT + 1)
  assert.equal(asked(), 2)
})

test('one whose clock is behind asks for each frame, so that it follows a leap', async () => {
  const { collected, layer } = bench(20_000)
  assert.equal(await layer(), PRESENT - 20, 'nobody collects')
  collected(PRESENT - 15)
  await new Promise(setImmediate)
  assert.equal(await layer(), PRESENT - 20, 'it asks again in a second')
  const late = bench(20_000)
  late.collected(PRESENT - 15)
  assert.equal(await late.layer(), PRESENT - 13)
  late.collected(PRESENT - 2)
  assert.equal(await late.layer(), PRESENT)
})

test('a watermark that is a minute ahead of the clock is not followed', async () => {
  const { collected, layer } = bench(0)
  collected(PRESENT + MAX_AHEAD_MS / 1000)
  assert.equal(await layer(), PRESENT)
})
