import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemEnvironment } from '../../support/environment.js'
import { flushPromises, ManualClock } from '../../support/manual-clock.fixture.js'
import { newReport } from './drain-report.js'
import { DrainTurns } from './drain-turns.js'

/** Drains that end when told. */
function bench() {
  const clock = new ManualClock(0)
  const running: { done: () => void; fail: () => void }[] = []
  const turns = new DrainTurns(
    { ...systemEnvironment, clock },
    {
      drain: () =>
        new Promise((resolve, reject) => {
          running.push({ done: () => resolve(newReport()), fail: () => reject(new Error('away')) })
        }),
    },
  )
  return { clock, turns, running }
}

test('drains of a process come one after the other, also after one that fails', async () => {
  const { turns, running } = bench()
  const first = turns.drain({})
  const others = [turns.drain({}), turns.drain({})]
  await flushPromises()
  assert.equal(running.length, 1)
  running[0]!.fail()
  await assert.rejects(first, /away/)
  await flushPromises()
  assert.equal(running.length, 2)
  running[1]!.done()
  await others[0]
  await flushPromises()
  assert.equal(running.length, 3)
  running[2]!.done()
  await others[1]
  assert.deepEqual([turns.figures.drains, turns.figures.failures], [2, 1])
})

test('drains fail from the first that fails on, until one succeeds', async () => {
  const { clock, turns, running } = bench()
  const drain = async (how: 'done' | 'fail'): Promise<void> => {
    const drained = turns.drain({}).catch(() => undefined)
    await flushPromises()
    running.at(-1)![how]()
    await drained
  }
  await drain('fail')
  await clock.advance(1_000)
  await drain('fail')
  await clock.advance(1_000)
  assert.equal(turns.failingMs, 2_000)
  await drain('done')
  assert.equal(turns.failingMs, undefined)
})
