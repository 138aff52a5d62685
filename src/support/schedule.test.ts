import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getTasks } from 'node-cron'
import { systemClock } from './clock.js'
import { cronPeriodSeconds, schedule } from './schedule.js'

const periodOf = (line: unknown): number => cronPeriodSeconds(line, 'collect', 'a cron line')

test('a cron line has the longest wait between two of its runs as its period', () => {
  assert.equal(periodOf('*/10 * * * * *'), 10)
  assert.equal(periodOf('*/5 * * * *'), 300)
  assert.equal(periodOf('0,50 * * * * *'), 50)
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
