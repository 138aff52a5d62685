import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../database/database.js'
import { systemEnvironment } from '../support/environment.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { unlocked } from './unlocked.js'

const conflict = new DatabaseError('TEST', 'lock', 'it is locked')

/** The moments at which work that takes `ms` is tried, while locks are always in the way. */
async function triedAt(ms: number, random: number): Promise<number[]> {
  const clock = new ManualClock(0)
  const began = clock.elapsed()
  const moments: number[] = []
  const failed = assert.rejects(
    unlocked({ ...systemEnvironment, clock, random: () => random }, async () => {
      moments.push(clock.elapsed() - began)
      if (ms > 0) await new Promise<void>((resolve) => void clock.after(ms, resolve))
      throw conflict
    }),
    conflict,
  )
  await clock.advance(60_000)
  await failed
  assert.equal(clock.pending, 0)
  return moments
}

test('work that locks stop is tried eight times, each time after a longer wait', async () => {
  assert.deepEqual(await triedAt(0, 0.5), [0, 10, 30, 70, 150, 310, 630, 1_130])
  assert.deepEqual(await triedAt(0, 0), [0, 5, 15, 35, 75, 155, 315, 565])
})

test('work that waits long for locks is not tried after five seconds', async () => {
  assert.deepEqual(await triedAt(2_000, 0.5), [0, 2_010, 4_030])
})
