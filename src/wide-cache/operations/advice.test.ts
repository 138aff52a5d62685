import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCounts } from '../../connections/counting.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { adviceOf } from './advice.js'
import type { Vitals } from './health.js'

const HEALTHY = { unconfirmedMs: 0, droppedAgoMs: Infinity } as Vitals['writer']

/** What is advised, with errors that the test makes. */
function scene() {
  const clock = new ManualClock(0)
  const [cacheErrors, databaseErrors] = [new ErrorCounts(clock), new ErrorCounts(clock)]
  const advice = (vitals: Partial<Vitals> = {}): string | undefined =>
    adviceOf({
      writer: HEALTHY,
      cacheErrors,
      databaseErrors,
      clockTrouble: undefined,
      drainsFailingMs: undefined,
      lagMs: 6_000,
      directSeconds: 75,
      ...vitals,
    })
  return { clock, cacheErrors, databaseErrors, advice }
}

test('nothing is advised while nothing is wrong', () => {
  assert.equal(scene().advice(), undefined)
  assert.equal(scene().advice({ lagMs: undefined }), undefined)
})

test('what follows from an outage is not named beside it', async () => {
  const { clock, cacheErrors, databaseErrors, advice } = scene()
  const follows = {
    lagMs: 100_000,
    drainsFailingMs: 60_000,
    writer: { ...HEALTHY, unconfirmedMs: 100_000 },
  }
  databaseErrors.failed('db:3306')
  assert.match(String(advice(follows)), /^The database does not take visits from the collector: /)
  await clock.advance(3_000)
  assert.match(String(advice(follows)), /^The database does not answer: start it, /)
  cacheErrors.failed('cache-1:11211')
  assert.match(
    String(advice(follows)),
    /^The database and the cache server cache-1:11211 do not answer: start them, /,
  )
  databaseErrors.succeeded()
  cacheErrors.failed('cache-2:11211')
  assert.match(
    String(advice()),
    /^The cache servers cache-1:11211, cache-2:11211 failed: start them, .* cannot use them; /,
  )
  await clock.advance(10_001)
  assert.equal(advice(), undefined)
})

test('a database that takes no visits, a collector that is away, and a wrong clock', () => {
  const { advice } = scene()
  const writer = { ...HEALTHY, unconfirmedMs: 75_001 }
  const lagMs = 75_001
  const clockTrouble = "the clock of this host (web-1) is 12 s behind the database's"
  for (const [vitals, begin] of [
    [{ drainsFailingMs: 0, writer, lagMs, clockTrouble }, /^The database .* from the collector: /],
    [{ writer, lagMs, clockTrouble }, /^The database does not take visits from this process: /],
    [
      { lagMs, clockTrouble },
      /^No collector keeps up: run one, or see in its log what stops it\.$/,
    ],
    [{ clockTrouble }, /^The clock of this host \(web-1\) is 12 s .*: correct the wrong clock\.$/],
  ] as const) {
    assert.match(String(advice(vitals)), begin)
  }
  const longest = { writer: { ...HEALTHY, unconfirmedMs: 75_000 }, lagMs: 75_000 }
  assert.equal(advice(longest), undefined, 'as long as it may take')
})

test('the sentence does not change while its cause stays', async () => {
  const { clock, databaseErrors, advice } = scene()
  databaseErrors.failed('db:3306')
  await clock.advance(5_000)
  const before = advice()
  await clock.advance(5_000)
  assert.equal(advice(), before)
})
