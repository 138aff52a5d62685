import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { Recent } from './recent.js'

function bench() {
  const clock = new ManualClock(0)
  const world = { asked: 0, fails: false }
  const recent = new Recent(clock, 1_000, async () => {
    world.asked++
    if (world.fails) throw new Error('away')
    return world.asked
  })
  return { clock, world, recent }
}

test('an answer serves all callers for its time, counted from the question', async () => {
  const { clock, recent } = bench()
  assert.equal(recent.get(), recent.get())
  assert.equal(await recent.get(), 1)
  await clock.advance(999)
  assert.equal(await recent.get(), 1)
  await clock.advance(1)
  assert.equal(await recent.get(), 2)
})

test('a failed answer is not kept', async () => {
  const { world, recent } = bench()
  world.fails = true
  await assert.rejects(recent.get(), /away/)
  world.fails = false
  assert.equal(await recent.get(), 2)
})

test('an answer that turned out wrong is forgotten, and a newer one stays', async () => {
  const { recent } = bench()
  const first = recent.get()
  recent.forget(first)
  const second = recent.get()
  recent.forget(first)
  assert.equal(recent.get(), second)
  recent.forget()
  assert.equal(await recent.get(), 3)
})
