import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { ageOf, type Known, LastKnown } from './last-known.js'

function bench() {
  const clock = new ManualClock(0)
  const world: { read: () => Promise<Known<string> | undefined> } = {
    read: async () => undefined,
  }
  return { clock, world, last: new LastKnown(clock, () => world.read()) }
}

test('the last figures are kept while a read fails, and their age is known', async () => {
  const { clock, world, last } = bench()
  world.read = () => Promise.reject(new Error('away'))
  assert.equal(await last.get(), undefined)
  world.read = async () => ({ figures: 'first', at: clock.elapsed() })
  assert.equal((await last.get())?.figures, 'first')
  world.read = () => Promise.reject(new Error('away'))
  await clock.advance(5_000)
  const known = await last.get()
  assert.equal(known?.figures, 'first')
  assert.equal(ageOf(known, clock.elapsed()), 5_000)
  assert.equal(last.known, known)
})

test('a read that hangs is waited for 3 s', async () => {
  const { clock, world, last } = bench()
  world.read = () => new Promise(() => undefined)
  const answer = last.get()
  let answered = false
  void answer.then(() => (answered = true))
  await clock.advance(2_999)
  assert(!answered)
  await clock.advance(1)
  assert.equal(await answer, undefined)
})

test('older figures than those known are refused for a minute', async () => {
  const { clock, world, last } = bench()
  await clock.advance(100_000)
  world.read = async () => ({ figures: 'new', at: 100_000 })
  await last.get()
  world.read = async () => ({ figures: 'of a cache that was away', at: 40_000 })
  await clock.advance(59_999)
  assert.equal((await last.get())?.figures, 'new')
  await clock.advance(1)
  assert.equal((await last.get())?.figures, 'of a cache that was away')
})

test('the minute begins anew with each read that returns the same figures', async () => {
  const { clock, world, last } = bench()
  await clock.advance(100_000)
  const same = { figures: 'new', at: 100_000 }
  world.read = async () => same
  await last.get()
  await clock.advance(59_999)
  await last.get()
  world.read = async () => ({ figures: 'of a cache that was away', at: 40_000 })
  await clock.advance(59_999)
  assert.equal((await last.get())?.figures, 'new')
  await clock.advance(1)
  assert.equal((await last.get())?.figures, 'of a cache that was away')
})
