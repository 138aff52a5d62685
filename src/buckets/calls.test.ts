import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemEnvironment } from '../support/environment.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { Calls } from './calls.js'

const TIMEOUT_MS = 60_000
const NEVER = new AbortController().signal

function world() {
  const clock = new ManualClock(0)
  const log = keptLog()
  const calls = new Calls({
    what: 'exporter of the export queue "prices"',
    timeoutMs: TIMEOUT_MS,
    environment: { ...systemEnvironment, clock },
    logger: new BurstLogger(log, clock.elapsed),
  })
  return { clock, log, calls }
}

test('a call that ends leaves nothing behind: no timer, no line, no figure', async () => {
  const { clock, log, calls } = world()
  assert.equal(await calls.run(() => 1, NEVER), 1)
  await assert.rejects(
    calls.run(() => {
      throw new Error('synchronous')
    }, NEVER),
    /synchronous/,
  )
  assert.equal(clock.pending, 0)
  assert.deepEqual([log.lines, calls.longestMs, calls.timeouts], [[], 0, 0])
})

test('a call is slow after 5 s, for those who ask about calls since before it', async () => {
  const { clock, log, calls } = world()
  const since = clock.elapsed()
  const call = calls.run(() => new Promise(() => undefined), NEVER)
  await clock.advance(4_999)
  assert.deepEqual([calls.hasSlow(0), log.lines], [false, []])
  await clock.advance(1)
  assert.deepEqual(
    [calls.hasSlow(0), calls.hasSlow(since), calls.hasSlow(since + 1)],
    [true, true, false],
  )
  assert.equal(calls.longestMs, 5_000)
  assert.equal(log.lines.length, 1)
  calls.end()
  await assert.rejects(call, { code: 'CLOSED', message: /exporter of the export queue "prices"/ })
  assert.deepEqual([calls.hasSlow(0), clock.pending], [false, 0])
})

test('a call that is given up may end as it likes', async () => {
  const { clock, calls } = world()
  let [fail, signal] = [(): void => undefined, NEVER]
  const call = calls.run((given) => {
    signal = given
    return new Promise((_, reject) => (fail = () => reject(new Error('late'))))
  }, NEVER)
  const failed = assert.rejects(call, { code: 'ERR_WIDE_CACHE_TIMEOUT' })
  await clock.advance(TIMEOUT_MS - 1)
  assert(!signal.aborted)
  await clock.advance(1)
  await failed
  assert(signal.aborted)
  fail()
  await flushPromises()
  assert.deepEqual([calls.timeouts, calls.longestMs], [1, 0])
})

test('the oldest call under way is the longest, and close() gives up each', async () => {
  const { clock, calls } = world()
  const reasons: unknown[] = []
  const call = () =>
    calls
      .run(() => new Promise(() => undefined), NEVER)
      .catch((error: unknown) =>
        reasons.push(error instanceof Error && 'code' in error && error.code),
      )
  const ended = [call()]
  await clock.advance(1_000)
  ended.push(call())
  await clock.advance(500)
  assert.equal(calls.longestMs, 1_500)
  calls.end()
  await Promise.all(ended)
  assert.deepEqual([reasons, calls.longestMs], [['CLOSED', 'CLOSED'], 0])
})
