import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, flushPromises } from './manual-clock.fixture.js'
import { answerWithin, shared } from './shared.js'

test('calls share one answer while it is fetched, and for its time', async () => {
  const clock = new ManualClock(0)
  let calls = 0
  const finish: ((value: number) => void)[] = []
  const ask = shared(clock, 1_000, () => {
    calls++
    return new Promise<number>((resolve) => finish.push(resolve))
  })
  const both = [ask(), ask()]
  await flushPromises()
  assert.equal(calls, 1)
  await clock.advance(5_000)
  both.push(ask())
  finish[0]!(1)
  assert.deepEqual(await Promise.all(both), [1, 1, 1])
  assert.equal(calls, 1, 'a slow answer is not asked for again')
  const next = ask()
  await flushPromises()
  finish[1]!(2)
  assert.equal(await next, 2)
  await clock.advance(999)
  assert.equal(await ask(), 2)
  assert.equal(calls, 2)
})

test('a failure is not kept', async () => {
  const clock = new ManualClock(0)
  let fails = true
  const ask = shared(clock, 1_000, async () => {
    if (fails) throw new Error('away')
    return 'there'
  })
  await assert.rejects(ask(), /away/)
  fails = false
  assert.equal(await ask(), 'there')
})

test('work that takes too long rejects, and its timer does not stay', async () => {
  const clock = new ManualClock(0)
  const late = answerWithin(clock, 1_000, () => new Promise(() => undefined))
  const rejected = assert.rejects(late, { name: 'TimedOutError' })
  await clock.advance(1_000)
  await rejected
  assert.equal(await answerWithin(clock, 1_000, async () => 7), 7)
  await flushPromises()
  assert.equal(clock.pending, 0)
})
