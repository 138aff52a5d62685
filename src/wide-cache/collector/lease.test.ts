import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import type { Run } from '../ledger/grid-record.js'
import { Lease } from './lease.js'

const NOW = 1_700_000_000_000
const RUN: Run = { at: NOW, rows: 3, ms: 20 }

/** A lease that SQL gives, after `answerMs`, unless it is away. */
function bench() {
  const clock = new ManualClock(NOW)
  /** `isKept`: the cache shows that a collector is there. */
  const world = { isAway: false, isOurs: true, isKept: true, isOnly: true, answerMs: 0 }
  /** The requests to SQL, each with the run that it records. */
  const asked: [what: 'asks' | 'gives back', run: Run | undefined][] = []
  const answer = async (): Promise<void> => {
    await clock.advance(world.answerMs)
    if (world.isAway) throw new Error('away')
  }
  const record = {
    lastRun: undefined as Run | undefined,
    grid: {},
    get isRenewedByRaise() {
      return world.isOnly
    },
    isFree: () => !world.isKept,
    async lease(_: unknown, _now: number, _period: number, run?: Run) {
      asked.push(['asks', run])
      await answer()
      return world.isOurs
    },
    async release(_: unknown, run?: Run) {
      asked.push(['gives back', run])
      await answer()
    },
  }
  const lease = new Lease(
    {
      clock,
      record: record as never,
      watch: { recent: async () => clock.now() } as never,
      database: {} as never,
      published: { isKept: async () => world.isKept, withdraw: async () => undefined } as never,
      heartbeat: async () => undefined,
    },
    1,
  )
  return { clock, world, asked, lease, record }
}

test('a lease is renewed 10 s after SQL was asked, however long its answer took', async () => {
  const { clock, world, asked, lease } = bench()
  world.answerMs = 4_000
  assert(await lease.take())
  await clock.advance(5_999)
  assert(await lease.take())
  assert.equal(asked.length, 1)
  await clock.advance(1)
  assert(await lease.take())
  assert.equal(asked.length, 2)
})

test('a run is recorded with the next renewal, once, and again if that had no answer', async () => {
  const { clock, world, asked, lease } = bench()
  await lease.take()
  lease.note(RUN, undefined)
  await clock.advance(10_000)
  world.isAway = true
  await assert.rejects(lease.take(), /away/)
  world.isAway = false
  await lease.take()
  await clock.advance(10_000)
  await lease.take()
  assert.deepEqual(asked, [
    ['asks', undefined],
    ['asks', RUN],
    ['asks', RUN],
    ['asks', undefined],
  ])
})

test('a lease that is given back records the run before it, once', async () => {
  const { asked, lease } = bench()
  await lease.take()
  lease.note(RUN, undefined)
  for (let again = 0; again < 2; again++) await lease.release()
  // Another process may have recorded a newer one.
  assert.deepEqual(asked.slice(1), [
    ['gives back', RUN],
    ['gives back', undefined],
  ])
})

test('a run that raises the watermark renews the lease, if that is of the only grid', async () => {
  const { clock, world, asked, lease, record } = bench()
  let runs = 0
  for (let at = 0; at < 60; at += 3) {
    await lease.take()
    if (record.lastRun === RUN) runs++
    lease.note(RUN, clock.elapsed())
    await clock.advance(3_000)
  }
  assert.equal(asked.length, 1)
  assert(runs > 4, 'the rises record runs')
  world.isOnly = false
  lease.note(RUN, clock.elapsed())
  await clock.advance(10_000)
  assert(await lease.take())
  assert.equal(asked.length, 2)
  world.isOnly = true
  lease.note(RUN, clock.elapsed())
  for (let at = 0; at < 10; at++) {
    await clock.advance(1_000)
    await lease.take()
    lease.note(RUN, undefined)
  }
  assert.equal(asked.length, 3, 'nothing was raised for 10 s')
  lease.doubt()
  lease.note(RUN, clock.elapsed())
  await lease.take()
  assert.equal(asked.length, 4, 'it was not known to be held')
})

test('a lease whose return had no answer is given back at the end, with its run', async () => {
  const { world, asked, lease } = bench()
  await lease.take()
  lease.note(RUN, undefined)
  world.isAway = true
  await assert.rejects(lease.release(), /away/)
  world.isAway = false
  await lease.end()
  await lease.end()
  assert.deepEqual(asked, [
    ['asks', undefined],
    ['gives back', RUN],
    ['gives back', RUN],
  ])
})

test('a process whose run has failed asks for the lease before the next one', async () => {
  const { asked, lease } = bench()
  await lease.take()
  assert(lease.isOurs)
  lease.doubt()
  assert(!lease.isOurs)
  assert(await lease.take())
  assert.equal(asked.length, 2)
})

test('a process that loses the lease asks for it once more before it only looks', async () => {
  const { clock, world, asked, lease } = bench()
  const take = async (): Promise<boolean> => {
    await clock.advance(15_000)
    return lease.take()
  }
  world.isOurs = false
  for (let looks = 0; looks < 3; looks++) assert(!(await take()))
  assert.deepEqual([asked.length, lease.isOthers], [1, true])
  world.isKept = false
  world.isOurs = true
  assert(await take())
  world.isKept = true
  world.isOurs = false
  assert(!(await take()))
  assert.deepEqual([asked.length, lease.isOthers], [3, false])
  for (let looks = 0; looks < 3; looks++) assert(!(await take()))
  assert.deepEqual([asked.length, lease.isOthers], [4, true])
})
