/** In which order a run asks for the lease, drains, does chores and gives the lease back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCronOnVirtualTime, wallRead } from '../../../test/simulated-world/cron.js'
import { DatabaseError } from '../../database/database.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { flushPromises, ManualClock } from '../../support/manual-clock.fixture.js'
import { Collector } from './collector.js'
import { newReport } from './drain-report.js'
import type { DrainOptions } from './name-drain.js'

runCronOnVirtualTime()

const NOW = 1_700_000_040_000
const EACH_SECOND = ['* * * * * *', 1] as const
const EACH_MINUTE = ['0 * * * * *', 60] as const

/** A collector whose drains and recounts end when told, after what they wait for. */
function bench([line, periodSeconds]: readonly [string, number], random = 0) {
  const manual = new ManualClock(NOW)
  const clock = {
    now: () => wallRead(manual.now()),
    elapsed: manual.elapsed,
    after: manual.after.bind(manual),
  }
  const done: string[] = []
  const drains: DrainOptions[] = []
  /** Whether the runs that ended have failed. */
  const ended: boolean[] = []
  const world = {
    isAway: false,
    isLeaseFree: true,
    draining: Promise.resolve(),
    recounting: Promise.resolve(),
  }
  const log = keptLog()
  let recountsAt = -Infinity
  const chores = {
    isDue: () => clock.elapsed() >= recountsAt,
    async run() {
      recountsAt = clock.elapsed() + 10_000
      done.push('recounts')
      await world.recounting
      done.push('has recounted')
    },
  }
  const collector = new Collector(
    {
      settings: { name: 'test' },
      chores,
      clock,
      environment: { clock, random: () => random, newId: () => Buffer.alloc(16) },
      logger: new BurstLogger(log, clock.elapsed),
      database: {
        async migrate() {
          if (world.isAway) throw new Error('away')
        },
        query: async () => ({ rows: [], affectedRows: 0 }),
      } as never,
      record: {
        grid: undefined,
        isFree: () => world.isLeaseFree,
        async lease() {
          done.push('asks for the lease')
          return world.isLeaseFree
        },
        async release() {
          done.push('gives it back')
        },
      } as never,
      watch: {
        now: async () => clock.now(),
        recent: async () => clock.now(),
        estimate: undefined,
      } as never,
      published: {} as never,
      heartbeat: async () => void done.push('compares marks'),
      nameDrain: { msToNextLayer: () => Infinity },
      turns: {
        async drain(options: DrainOptions) {
          drains.push(options)
          done.push('drains')
          await world.draining
          return newReport()
        },
        standBy: () => void done.push('stands by'),
        ended: (failed: boolean) => void ended.push(failed),
      } as never,
    },
    line,
    periodSeconds,
  )
  return { clock: manual, world, done, drains, ended, log, collector }
}

/** A promise that ends when told. */
function pending() {
  let [end, fail] = [(): void => undefined, (): void => undefined]
  const promise = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = () => reject(new Error('away'))
  })
  return { promise, end, fail }
}

test('the collectors of several names begin at moments of their own', async () => {
  const all = [0, 0.5, 0.99].map((random) => bench(EACH_MINUTE, random))
  const begun = () => all.map(({ done }) => done.length > 0)
  const passes = (ms: number) => Promise.all(all.map(({ clock }) => clock.advance(ms)))
  await passes(60_025)
  assert.deepEqual(begun(), [true, false, false])
  await passes(30)
  assert.deepEqual(begun(), [true, true, false])
  await passes(30)
  assert.deepEqual(begun(), [true, true, true])
  for (const { collector } of all) await collector.end()
})

test('a run far from the next drains, recounts, and then gives the lease back', async () => {
  const { clock, world, done, collector } = bench(EACH_MINUTE)
  const [draining, recounting] = [pending(), pending()]
  world.draining = draining.promise
  world.recounting = recounting.promise
  await clock.advance(61_000)
  assert.deepEqual(done, ['asks for the lease', 'drains'])
  draining.end()
  await clock.advance(1_000)
  assert.deepEqual(done.splice(0), ['asks for the lease', 'drains', 'recounts'])
  recounting.end()
  await clock.advance(1_000)
  assert.deepEqual(done.splice(0), ['has recounted', 'gives it back'])
  await collector.end()
  assert.deepEqual(done, [])
})

test('a run far from the next that fails gives the lease back, and recounts nothing', async () => {
  const { clock, world, done, log, collector } = bench(EACH_MINUTE)
  const draining = pending()
  world.draining = draining.promise
  await clock.advance(61_000)
  draining.fail()
  await clock.advance(1_000)
  assert.deepEqual(done, ['asks for the lease', 'drains', 'gives it back'])
  assert.match(log.lines.join(), /collecting "test" failed and will be retried: away/)
  await collector.end()
})

test('where another process has the lease, a failed run is not said to go on', async () => {
  const { clock, world, log, collector } = bench(EACH_SECOND)
  world.draining = Promise.reject(new Error('away'))
  world.draining.catch(() => undefined)
  await clock.advance(1_500)
  world.isLeaseFree = false
  await clock.advance(40_000)
  assert.deepEqual(log.lines, [
    'wide-cache: collecting "test" failed and will be retried: away',
    'wide-cache: another process collects "test" now',
  ])
  await collector.end()
})

test('a run whose database commits nothing any more leaves the work to others', async () => {
  const { clock, world, log, collector } = bench(EACH_MINUTE)
  world.draining = Promise.reject(
    new DatabaseError('DATABASE_TRANSACTION_LOST', 'usage', 'a procedure has committed'),
  )
  world.draining.catch(() => undefined)
  await clock.advance(61_000)
  assert.deepEqual(log.lines, [
    'wide-cache: collecting "test" failed and is left to other processes: ' +
      'a procedure has committed',
  ])
  await collector.end()
})

test('a run continues one of the same lease that has not failed', async () => {
  const { clock, world, drains, collector } = bench(EACH_SECOND)
  await clock.advance(2_500)
  assert.deepEqual(drains.splice(0), [{ continues: false }, { continues: true }])
  const draining = pending()
  world.draining = draining.promise
  await clock.advance(1_000)
  draining.fail()
  await flushPromises()
  world.draining = Promise.resolve()
  await clock.advance(7_000)
  assert.deepEqual(drains, [{ continues: true }, { continues: false }, { continues: true }])
  await collector.end()
})

test('a collector that ends during its chores waits for them, and begins no run', async () => {
  const { clock, world, done, collector } = bench(EACH_SECOND)
  const recounting = pending()
  world.recounting = recounting.promise
  await clock.advance(1_500)
  assert.deepEqual(done.splice(0), ['asks for the lease', 'drains', 'recounts'])
  let isEnded = false
  const ending = collector.end().then(() => (isEnded = true))
  await clock.advance(5_000)
  assert.deepEqual([done, isEnded], [[], false])
  recounting.end()
  await ending
  assert.deepEqual(done, ['has recounted', 'gives it back'])
})

test('a collector that ends during a drain waits for it, and begins no chores', async () => {
  const { clock, world, done, collector } = bench(EACH_SECOND)
  const draining = pending()
  world.draining = draining.promise
  await clock.advance(1_500)
  let isEnded = false
  const ending = collector.end().then(() => (isEnded = true))
  await clock.advance(5_000)
  assert.deepEqual([done.splice(0), isEnded], [['asks for the lease', 'drains'], false])
  draining.end()
  await ending
  assert.deepEqual(done, ['gives it back'])
})

test('a collector that ends is not said to fail by what it did not wait for', async () => {
  const { clock, world, log, collector } = bench(EACH_SECOND)
  const draining = pending()
  world.draining = draining.promise
  await clock.advance(1_500)
  const ending = collector.end()
  draining.fail()
  await ending
  assert.deepEqual(log.lines, [])
})

test('a run far from the next that gets no lease compares marks, and drains nothing', async () => {
  const { clock, world, done, ended, collector } = bench(EACH_MINUTE)
  world.isLeaseFree = false
  await clock.advance(61_000)
  assert.deepEqual(done, ['asks for the lease', 'stands by', 'compares marks'])
  assert.deepEqual(ended, [false])
  await collector.end()
})

test('a run that cannot migrate asks for no lease, and gives none back', async () => {
  const { clock, world, done, ended, collector } = bench(EACH_MINUTE)
  world.isAway = true
  await clock.advance(61_000)
  await collector.end()
  assert.deepEqual([done, ended], [[], [true]])
})

test('a run counts as failed while the last chores have failed, and not any more', async () => {
  const { clock, world, ended, collector } = bench(EACH_MINUTE)
  const recounting = pending()
  world.recounting = recounting.promise
  await clock.advance(61_000)
  recounting.fail()
  await flushPromises()
  // When the chores fail, and when their run ends.
  assert.deepEqual(ended.splice(0), [true, true])
  world.recounting = Promise.resolve()
  await clock.advance(60_000)
  assert.deepEqual(ended, [false])
  await collector.end()
})

test('a collector that is stopped while locks stop its run leaves no timer', async () => {
  const { clock, world, collector } = bench(EACH_MINUTE)
  let meet = (_: Error): void => undefined
  world.draining = new Promise((_, reject) => (meet = reject))
  await clock.advance(61_000)
  collector.stop()
  meet(new DatabaseError('ER_LOCK_DEADLOCK', 'lock', 'a deadlock'))
  await collector.end()
  await flushPromises()
  assert.equal(clock.pending, 0)
})

test('a collector that is stopped before a run begins leaves no timer', async () => {
  const { clock, done, collector } = bench(EACH_MINUTE)
  await clock.advance(60_010)
  assert.equal(clock.pending, 1)
  collector.stop()
  assert.equal(clock.pending, 0)
  await collector.end()
  await clock.advance(61_000)
  assert.deepEqual(done, [])
})
