import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/fast-check.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { DAY_MS, HOUR_MS } from '../../support/clock.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { wrapped } from '../../../test/servers/wrapped.js'
import { enterName } from './name-settings.js'
import { SAFE_PACE, SafeClock } from './safe-clock.js'

const START = 1_700_000_000_000
const MINUTE_MS = 60_000

/** A name in SQL whose time a test moves, with the database's clock and the collectors' alike. */
async function bench() {
  const real = sqlite(':memory:')
  await real.migrate()
  /** `answerMs`: the time that each answer of SQL takes. */
  const time = { passed: 0, wrong: 0, answerMs: 0 }
  const now = (): number => START + time.passed + time.wrong
  const database = wrapped(real, {
    now: async () => now(),
    async query(...statement) {
      const result = await real.query(...statement)
      time.passed += time.answerMs
      return result
    },
  })
  const enter = () =>
    enterName(database, {
      name: 'test',
      kind: 'rows',
      cellTtlSeconds: 60,
      directSeconds: 75,
      vanishedSeconds: 75,
      nameSettings: {},
    })
  await enter()
  const log = keptLog()
  /** A collector's own view of it. Returns a look at it, which tells how far it is ahead. */
  const collector = (periodSeconds = 1) => {
    const elapsed = (): number => time.passed
    const safe = new SafeClock({
      settings: { name: 'test', periodSeconds },
      clock: { now, elapsed, after: () => ({ cancel() {} }) },
      logger: new BurstLogger(log, elapsed),
    })
    return async () => (await safe.follow(database, now())) - START - time.passed
  }
  /** Lets time pass while a collector looks each minute. Returns how far it was ahead at most. */
  const minutes = async (count: number, look: () => Promise<number>): Promise<number> => {
    let most = -Infinity
    for (let minute = 0; minute < count; minute++) {
      time.passed += MINUTE_MS
      most = Math.max(most, await look())
    }
    return most
  }
  return { real, database, enter, time, log, collector, minutes }
}

test("the safe clock is the database's as long as nothing is wrong", async () => {
  const { real, collector, minutes, log } = await bench()
  const look = collector()
  assert.equal(await look(), 0)
  assert.equal(await minutes(100, look), 0)
  assert.deepEqual(log.lines, [])
  await real.close()
})

test('a clock that is a day ahead for ten minutes gains half an hour, and then none', async () => {
  const { real, time, collector, minutes } = await bench()
  const look = collector()
  await minutes(3, look)
  time.wrong = 26 * HOUR_MS
  assert.equal(await minutes(10, look), 30 * MINUTE_MS)
  time.wrong = 0
  assert.equal(await look(), 0, 'it is never ahead of the database')
  await minutes(1, look)
  time.wrong = 26 * HOUR_MS
  assert.equal(await look(), 0, 'nor keeps what it had gained')
  await real.close()
})

test('a week of rest is made up in less than two and a half days, and the log tells', async () => {
  const { real, time, collector, minutes, log } = await bench()
  const before = collector()
  await minutes(2, before)
  time.passed += 7 * DAY_MS
  const look = collector()
  assert.equal(await look(), -7 * DAY_MS)
  await minutes((2.2 * DAY_MS) / MINUTE_MS, look)
  assert((await look()) < 0)
  await minutes((0.3 * DAY_MS) / MINUTE_MS, look)
  assert.equal(await look(), 0)
  assert.deepEqual(log.lines, [
    'wide-cache: no collector of "test" has run for 168 h, or the database\'s clock was wrong; ' +
      'the closing of days and the removal of old rows are late by as much, and catch up within ' +
      '56 h',
  ])
  await real.close()
})

test('a collector that was suspended for a day gains no more than for two minutes', async () => {
  const { real, time, collector, minutes } = await bench()
  const look = collector()
  await minutes(2, look)
  time.passed += DAY_MS
  time.wrong = 100 * DAY_MS
  assert.equal(await look(), -DAY_MS + 2 * SAFE_PACE * MINUTE_MS)
  await real.close()
})

test('a collector gains nothing for the time in which it waited for the value', async () => {
  const { real, time, collector } = await bench()
  const look = collector()
  time.wrong = 100 * DAY_MS
  time.answerMs = MINUTE_MS
  await look()
  time.answerMs = 0
  time.passed += MINUTE_MS
  assert.equal(await look(), (SAFE_PACE - 2) * MINUTE_MS)
  await real.close()
})

test('a database that begins in 1970 for a minute costs no more than a day', async () => {
  const { real, time, collector, minutes } = await bench()
  const look = collector()
  await minutes(2, look)
  time.wrong = -START
  assert.equal(await minutes(1, look), -START)
  time.wrong = 0
  assert((await look()) > -DAY_MS)
  await minutes((8 * HOUR_MS) / MINUTE_MS, look)
  assert.equal(await look(), 0)
  await real.close()
})

test('a name that was entered by a clock a year ahead has a safe clock within a day', async () => {
  const { real, enter, time, collector, minutes } = await bench()
  await real.query('DELETE FROM wide_cache_names')
  time.wrong = 365 * DAY_MS
  await enter()
  time.wrong = 0
  const look = collector()
  await minutes(DAY_MS / MINUTE_MS, look)
  time.wrong = 365 * DAY_MS
  assert((await minutes(1, look)) <= 3 * MINUTE_MS)
  await real.close()
})

test('while the name has no row, nothing has aged', async () => {
  const { real, time, collector, log } = await bench()
  await real.query('DELETE FROM wide_cache_names')
  const look = collector()
  for (let looks = 0; looks < 3; looks++) {
    time.passed += MINUTE_MS
    assert.equal(await look(), -START - time.passed)
  }
  assert.deepEqual(log.lines, [])
  await real.close()
})

test('eight processes that take turns at the runs of a cron line keep up with time', async () => {
  const { real, time, collector } = await bench()
  const looks = Array.from({ length: 8 }, () => collector(3600))
  let late = 0
  // By turns is the worst order: each finds that others have changed it.
  for (let run = 0; run < 200; run++) {
    time.passed += HOUR_MS
    late = await looks[run % 8]!()
    assert(late >= -16 * HOUR_MS, `${late / HOUR_MS} h after ${run} runs`)
  }
  await real.close()
})

test('law: however many collectors look, they gain four seconds a second at most', async () => {
  const { real, time, collector } = await bench()
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          who: fc.integer({ min: 0, max: 3 }),
          ms: fc.integer({ min: 0, max: 4 * MINUTE_MS }),
          wrong: fc.constantFrom(0, 0, HOUR_MS, 40 * DAY_MS, -HOUR_MS, -40 * DAY_MS),
        }),
        { maxLength: 40 },
      ),
      async (steps) => {
        time.wrong = 0
        await real.query('UPDATE wide_cache_names SET safe_at = ?', [START + time.passed])
        const looks = Array.from({ length: 4 }, () => collector())
        // A look counts all the time since the last one that moved the safe clock.
        let [wrongMs, uncountedMs] = [0, 0]
        const safeAt = async () => (await real.query('SELECT safe_at FROM wide_cache_names')).rows
        let before = await safeAt()
        for (const { who, ms, wrong } of steps) {
          time.passed += ms
          uncountedMs += ms
          if (time.wrong > 0 || wrong > 0) {
            wrongMs += uncountedMs
            uncountedMs = 0
          }
          time.wrong = wrong
          const ahead = await looks[who]!()
          const now = await safeAt()
          if (now[0]?.['safe_at'] !== before[0]?.['safe_at']) uncountedMs = 0
          before = now
          assert(ahead <= (SAFE_PACE - 1) * wrongMs, `${ahead} ms ahead after ${wrongMs} ms`)
          assert(ahead <= Math.max(0, wrong) || wrong < 0, 'nor of the database')
          assert(wrong >= 0 || ahead <= wrong)
        }
      },
    ),
    { numRuns: 60 },
  )
  await real.close()
})
