import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../support/clock.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { BatchedCounts, MAX_REMEMBERED } from './batched-counts.js'

test('SQL is asked once a second, counted from the questions, not from the answers', async () => {
  const clock = new ManualClock(0)
  const asked: number[] = []
  const began = clock.elapsed()
  const counts = new BatchedCounts(
    async (items) => {
      asked.push(clock.elapsed() - began)
      await sleep(clock, 600)
      return new Map(items.map((item) => [item, 7]))
    },
    clock,
    0,
  )
  const first = counts.read('a')
  await clock.advance(600)
  assert.equal(await first, 7)
  const second = counts.read('a')
  await clock.advance(1_000)
  assert.equal(await second, 7)
  const third = counts.read('a')
  await clock.advance(1_000)
  assert.equal(await third, 7)
  assert.deepEqual(asked, [0, 1_000, 2_000])
})

test('of too many counts the one that was asked for longest ago is forgotten', async () => {
  const clock = new ManualClock(0)
  const asked = new Map<string, number>()
  const keptMs = 100_000
  const counts = new BatchedCounts(
    async (items) => {
      for (const item of items) asked.set(item, (asked.get(item) ?? 0) + 1)
      return new Map()
    },
    clock,
    keptMs,
  )
  const read = async (...items: readonly string[]) => {
    const all = Promise.all(items.map((item) => counts.read(item)))
    await clock.advance(20_000)
    await all
  }
  const others = Array.from({ length: MAX_REMEMBERED - 1 }, (_, at) => `other ${at}`)
  await read('popular', ...others)
  await clock.advance(keptMs)
  // It is asked for again, and by now the others are the oldest.
  await read('popular')
  await read('new')
  await read('popular', 'new')
  assert.deepEqual([asked.get('popular'), asked.get('new')], [2, 1])
})
