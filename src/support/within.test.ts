import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, flushPromises } from './manual-clock.fixture.js'
import { answerWithin, within } from './within.js'

test('work that takes too long rejects, and its timer does not stay', async () => {
  const clock = new ManualClock(0)
  const late = answerWithin(clock, 1_000, () => new Promise(() => undefined))
  const rejected = assert.rejects(late, {
    name: 'TimedOutError',
    message: 'no answer within 1 s',
  })
  await clock.advance(1_000)
  await rejected
  assert.equal(await answerWithin(clock, 1_000, async () => 7), 7)
  await flushPromises()
  assert.equal(clock.pending, 0)
})

test('a promise is waited for until it ends, in whatever way, or the time is over', async () => {
  const clock = new ManualClock(0)
  await within(1_000, Promise.resolve(), clock)
  await within(1_000, Promise.reject(new Error('away')), clock)
  await flushPromises()
  assert.equal(clock.pending, 0)
  let over = false
  const waiting = within(1_000, new Promise(() => undefined), clock).then(() => (over = true))
  await clock.advance(999)
  assert(!over)
  await clock.advance(1)
  await waiting
  await within(1, new Promise(() => undefined))
})
