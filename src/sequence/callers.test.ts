import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock, flushPromises } from '../support/manual-clock.fixture.js'
import { Callers, PATIENCE_MS } from './callers.js'

/** Collects the outcomes of calls: a number, an error's code or name, or nothing yet. */
function outcomes(calls: readonly Promise<number>[]): (number | string | undefined)[] {
  const all: (number | string | undefined)[] = calls.map(() => undefined)
  for (const [i, call] of calls.entries()) {
    call.then(
      (number) => {
        all[i] = number
      },
      (error: Error & { code?: string }) => {
        all[i] = error.code ?? error.name
      },
    )
  }
  return all
}

test('as many share an operation as a block has numbers, but from 100 to 1,000', async () => {
  for (const [block, batch] of [
    [1, 100],
    [100, 100],
    [101, 101],
    [1_000, 1_000],
    [5_000, 1_000],
  ] as const) {
    const callers = new Callers('test', block, new ManualClock(0))
    const all = outcomes(Array.from({ length: 1_200 }, () => callers.join()))
    assert.equal(callers.batch().length, batch)
    callers.answer(callers.batch(), 1, batch)
    await flushPromises()
    assert.equal(all[batch - 1], batch)
    assert.equal(all[batch], undefined)
    assert.equal(callers.batch().length, Math.min(batch, 1_200 - batch))
    callers.close()
  }
})

test('numbers come in the order of the calls; the others reject at the end', async () => {
  const callers = new Callers('test', 1, new ManualClock(0))
  const calls = Array.from({ length: 4 }, () => callers.join())
  const all = outcomes(calls)
  callers.answer(callers.batch().slice(0, 3), 7, 2)
  await flushPromises()
  assert.deepEqual(all, [7, 8, 'RangeError', undefined])
  await assert.rejects(calls[2]!, /sequence "test" has reached its last number, 9007199254740991/)
  callers.close()
  await flushPromises()
  assert.equal(all[3], 'CLOSED')
})

test('each call gives up ten seconds after it came, with the last failure', async () => {
  const clock = new ManualClock(0)
  const callers = new Callers('test', 1, clock)
  const calls = [callers.join()]
  await clock.advance(4_000)
  calls.push(callers.join())
  const all = outcomes(calls)
  await clock.advance(PATIENCE_MS - 4_001)
  assert.deepEqual(all, [undefined, undefined])
  callers.failure = new Error('the cache is silent')
  await clock.advance(1)
  assert.deepEqual(all, ['SEQUENCE_UNANSWERED', undefined])
  await assert.rejects(calls[0]!, {
    message:
      'wide-cache: sequence "test" got no number within 10 s: the cache is silent. ' +
      'Retry; the number in flight may be skipped',
    cause: callers.failure,
  })
  await clock.advance(3_999)
  assert.equal(all[1], undefined)
  callers.failure = undefined
  await clock.advance(1)
  assert.equal(all[1], 'SEQUENCE_UNANSWERED')
  await assert.rejects(calls[1]!, /within 10 s\. Retry/)
  assert.equal(clock.pending, 0, 'with nobody waiting no timer runs')
})

test('a call that gives up leaves the queue; the others keep their places', async () => {
  const clock = new ManualClock(0)
  const callers = new Callers('test', 1, clock)
  assert.equal(callers.waiting(), false)
  const all = outcomes([callers.join(), callers.join()])
  await clock.advance(1_000)
  all.push(...outcomes([callers.join()]))
  const late = callers.join()
  assert.equal(callers.waiting(), true)
  await clock.advance(PATIENCE_MS - 1_000)
  assert.equal(callers.batch().length, 4)
  assert.equal(callers.waiting(), true)
  assert.equal(callers.batch().length, 2)
  callers.answer(callers.batch(), 5, 2)
  assert.equal(await late, 6)
  assert.equal(callers.waiting(), false)
  callers.join().catch(() => undefined)
  await clock.advance(2 * PATIENCE_MS)
  assert.equal(callers.waiting(), false)
  assert.equal(callers.batch().length, 0)
})

test('close() rejects those who wait and stops the timer', async () => {
  const clock = new ManualClock(0)
  const callers = new Callers('test', 1, clock)
  const all = outcomes([callers.join()])
  assert.equal(clock.pending, 1)
  callers.close()
  await flushPromises()
  assert.deepEqual([all, clock.pending], [['CLOSED'], 0])
})

test('one timer watches all who wait, and those who come when none waits any more', async () => {
  const clock = new ManualClock(0)
  const callers = new Callers('test', 1, clock)
  for (let round = 0; round < 2; round++) {
    const all = outcomes([callers.join(), callers.join()])
    assert.equal(clock.pending, 1)
    await clock.advance(PATIENCE_MS)
    assert.deepEqual(all, ['SEQUENCE_UNANSWERED', 'SEQUENCE_UNANSWERED'])
    assert.equal(clock.pending, 0)
    callers.waiting()
  }
})
