import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../support/clock.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { BatchedCounts } from './batched-counts.js'

test('SQL is asked once a second, counted from the questions, not from the answers', async () => {
  const clock = new ManualClock(0)
  const asked: number[] = []
  const counts = new BatchedCounts(
    async (items) => {
      asked.push(clock.elapsed())
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
  assert.deepEqual(asked, [0, 1_000])
})
