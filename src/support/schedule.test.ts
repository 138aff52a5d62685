import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getTasks } from 'node-cron'
import { runCronOnVirtualTime, wallRead } from '../../test/simulated-world/cron.js'
import { DAY_MS, systemClock } from './clock.js'
import { ManualClock } from './manual-clock.fixture.js'
import { cronPeriodSeconds, schedule } from './schedule.js'

const periodOf = (line: unknown): number => cronPeriodSeconds(line, 'collect', 'a cron line')

test('a cron line has the longest wait between two of its runs as its period', () => {
  assert.equal(periodOf('*/10 * * * * *'), 10)
  assert.equal(periodOf('*/5 * * * *'), 300)
  assert.equal(periodOf('0,50 * * * * *'), 50)
})

test('the hours of a line are in UTC, in every time zone of the machine', async () => {
  runCronOnVirtualTime()
  const clock = new ManualClock(Date.parse('2026-05-17T00:00:00Z'))
  const runs: string[] = []
  const work = async () => runs.push(new Date(clock.now()).toISOString())
  const virtual = {
    now: () => wallRead(clock.now()),
    elapsed: clock.elapsed,
    after: clock.after.bind(clock),
  }
  const started = schedule('0 30 13 * * *', work, virtual)
  await clock.advance(2 * DAY_MS)
  started.stop()
  assert.deepEqual(runs, ['2026-05-17T13:30:00.000Z', '2026-05-18T13:30:00.000Z'])
})

test('however far a moment is, no timer is longer than a minute', async () => {
  runCronOnVirtualTime()
  const clock = new ManualClock(Date.parse('2026-05-17T00:00:00Z'))
  // Node takes one of over 24 days for one of a millisecond.
  const waits: number[] = []
  const started = schedule('0 0 1 1 *', () => assert.fail('it is May'), {
    now: () => wallRead(clock.now()),
    elapsed: clock.elapsed,
    after: (ms, work) => (waits.push(ms), clock.after(ms, work)),
  })
  await clock.advance(180_000)
  started.stop()
  assert.deepEqual([waits, clock.pending], [[60_000, 60_000, 60_000, 60_000], 0])
})

test('a moment for which a timer is early comes once', async () => {
  runCronOnVirtualTime()
  const clock = new ManualClock(Date.parse('2026-05-17T00:00:00.500Z'))
  let runs = 0
  const started = schedule('* * * * * *', async () => runs++, {
    now: () => wallRead(clock.now()),
    elapsed: clock.elapsed,
    after: (ms, work) => clock.after(ms > 1 ? ms - 1 : ms, work),
  })
  await clock.advance(10_000)
  started.stop()
  assert.equal(runs, 10)
})

test('a wall clock that is set back while work runs delays no later run', async () => {
  runCronOnVirtualTime()
  const clock = new ManualClock(Date.parse('2026-05-17T00:00:00Z'))
  let behind = 0
  const runs: number[] = []
  const work = async (): Promise<void> => {
    runs.push(clock.elapsed())
    if (runs.length === 2) behind = 3_600_000
  }
  const started = schedule('*/3 * * * * *', work, {
    now: () => wallRead(clock.now() - behind),
    elapsed: clock.elapsed,
    after: clock.after.bind(clock),
  })
  await clock.advance(15_000)
  started.stop()
  const waits = runs.slice(1).map((at, n) => at - runs[n]!)
  assert.deepEqual(waits, [3_000, 3_000, 3_000, 3_000])
})

test('nothing of a line stays with node-cron', () => {
  const before = getTasks().size
  periodOf('*/10 * * * * *')
  const started = schedule('*/10 * * * * *', async () => undefined, systemClock)
  assert.equal(getTasks().size, before + 1)
  started.stop()
  assert.equal(getTasks().size, before)
})

test('a line that is none is refused by the name of the option', () => {
  assert.throws(() => periodOf('every minute'), {
    name: 'RangeError',
    message: /option "collect" is "every minute"; allowed: a cron line$/,
  })
  assert.throws(() => periodOf(10), {
    name: 'TypeError',
    message: /option "collect" is 10; allowed: a cron line$/,
  })
})

test('scheduled work runs, never beside itself, and stops', async () => {
  let runs = 0
  let beside = 0
  let most = 0
  let twice = (): void => undefined
  const hasRunTwice = new Promise<void>((resolve) => {
    twice = resolve
  })
  const scheduled = schedule(
    '* * * * * *',
    async () => {
      runs++
      most = Math.max(most, ++beside)
      await new Promise((done) => setTimeout(done, 1300))
      beside--
      if (runs === 2) twice()
    },
    systemClock,
  )
  // The schedule itself must not keep a process alive; this test does.
  const alive = setInterval(() => undefined, 1000)
  await hasRunTwice
  scheduled.stop()
  const before = runs
  await new Promise((done) => setTimeout(done, 1500))
  clearInterval(alive)
  assert.equal(most, 1)
  assert.equal(runs, before)
})
