import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, flushPromises } from './manual-clock.fixture.js'
import { shared } from './shared.js'

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

test('an answer under way is joined for a time, and then asked for anew', async () => {
  const clock = new ManualClock(0)
  const finish: ((value: number) => void)[] = []
  const ask = shared(
    clock,
    1_000,
    () => new Promise<number>((resolve) => finish.push(resolve)),
    2_000,
  )
  const first = ask()
  await clock.advance(1_999)
  assert.equal(ask(), first)
  await clock.advance(1)
  const second = ask()
  assert.notEqual(second, first)
  finish[0]!(1)
  assert.equal(await first, 1)
  assert.equal(ask(), second, 'the newer question stays')
  finish[1]!(2)
  assert.equal(await second, 2)
  await clock.advance(999)
  assert.equal(ask(), second)
  await clock.advance(1)
  assert.notEqual(ask(), second)
})

test('an answer that is used for no time is shared only while it is under way', async () => {
  const ask = shared(new ManualClock(0), 0, () => Promise.resolve(1))
  const first = ask()
  assert.equal(ask(), first)
  await first
  assert.notEqual(ask(), first)
})

test('an answer that turned out wrong is forgotten, and a newer one stays', async () => {
  let asked = 0
  const ask = shared(new ManualClock(0), 1_000, async () => ++asked)
  const first = ask()
  ask.forget(first)
  const second = ask()
  ask.forget(first)
  assert.equal(ask(), second)
  ask.forget()
  assert.equal(await ask(), 3)
})

test('a failure is not kept, and takes no newer answer along', async () => {
  let fail: (error: Error) => void = () => undefined
  const failing = new Promise<number>((_, reject) => (fail = reject))
  const answers = [failing, Promise.resolve(2)]
  const ask = shared(new ManualClock(0), 1_000, () => answers.shift()!)
  const first = ask()
  ask.forget()
  const second = ask()
  fail(new Error('away'))
  await assert.rejects(first, /away/)
  assert.equal(ask(), second)
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
