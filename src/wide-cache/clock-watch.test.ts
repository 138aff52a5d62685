import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { ClockWatch } from './clock-watch.js'

/** Three clocks, each of which a test may move alone; the database takes `delay` to answer. */
function bench() {
  const time = { elapsed: 5_000, wall: 1_000_000, database: 1_000_000, delay: 0 }
  const log = keptLog()
  let onRead = () => {}
  const pass = (ms: number): void => {
    for (const name of ['elapsed', 'wall', 'database'] as const) time[name] += ms
  }
  const reading = (name: 'elapsed' | 'wall') => () => {
    const said = time[name]
    onRead()
    return said
  }
  const clock = {
    now: reading('wall'),
    elapsed: reading('elapsed'),
    after: () => ({ cancel() {} }),
  }
  const watch = new ClockWatch(clock, new BurstLogger(log, () => time.elapsed))
  return {
    time,
    log,
    watch,
    pass,
    /** Lets the process stand still for `ms` after the reading of a clock with the number `nth`. */
    pauseAfter: (nth: number, ms: number): void => {
      let readings = 0
      onRead = () => {
        if (readings++ === nth) pass(ms)
      }
    },
    sleep: (ms: number): void => {
      time.wall += ms
      time.database += ms
    },
    read: (meanwhile = () => {}) =>
      watch.now({
        now: async () => {
          const said = time.database
          pass(time.delay)
          meanwhile()
          return said
        },
      }),
  }
}

test('moments are whole milliseconds, whatever the monotonic clock says', async () => {
  const { read, time, watch } = bench()
  await read()
  time.elapsed += 0.7
  time.wall += 0.7
  const recent = await watch.recent({ now: () => Promise.reject(new Error('it is recent')) })
  assert.deepEqual([recent, watch.clock.now()], [1_000_000, 1_000_000])
})

test("it reads the database's clock, and says nothing as long as the clocks agree", async () => {
  const { read, pass, log } = bench()
  assert.equal(await read(), 1_000_000)
  pass(60_000)
  assert.equal(await read(), 1_060_000)
  assert.deepEqual(log.lines, [])
})

test("a step of the database's clock, either way, is logged once", async () => {
  for (const [step, said] of [
    [7_200_000, /the database's clock stepped by 7200 s; .* removal of old rows follows slowly/],
    [-2_000, /the database's clock stepped by -2 s/],
  ] as const) {
    const { time, read, pass, log } = bench()
    await read()
    for (let readings = 0; readings < 3; readings++) {
      pass(10_000)
      if (readings === 0) time.database += step
      await read()
    }
    assert.equal(log.matching(/stepped/).length, 1)
    assert.equal(log.matching(said).length, 1)
  }
})

test("a step of the process's clock is logged once, and no step of the database's", async () => {
  for (const step of [-600_000, 599_000, 2_000, -2_000]) {
    const { time, read, pass, log } = bench()
    await read()
    pass(60_000)
    time.wall += step
    await read()
    const stepped = new RegExp(`this process's clock stepped by ${step / 1000} s`)
    assert.equal(log.matching(stepped).length, 1)
    pass(10_000)
    await read()
    assert.equal(log.lines.length, Math.abs(step) > 3_000 ? 2 : 1)
  }
})

test('where both clocks leap, the host may have slept, and the log says so', async () => {
  for (const [wall, database, said] of [
    [7_200_000, 7_200_000, /: this host slept, or the .* clocks stepped by 7200 s/],
    [7_200_000, 3_600_000, /: the database's clock stepped by 3600 s/],
    [-7_200_000, -7_200_000, /: the database's clock stepped by -7200 s/],
  ] as const) {
    const { time, read, pass, log } = bench()
    await read()
    pass(60_000)
    time.wall += wall
    time.database += database
    await read()
    assert.match(
      log.lines.find((line) => /stepped/.test(line))!,
      said,
    )
  }
})

test('clocks over three seconds apart are told of once, with size and host', async () => {
  for (const [apart, said] of [
    [3_001, `the clock of this host (${hostname()}) is 3 s behind the database's`],
    [-3_600_000, `the clock of this host (${hostname()}) is 3600 s ahead of the database's`],
  ] as const) {
    const { time, watch, read, pass, log } = bench()
    assert.equal(watch.trouble, undefined)
    time.database += apart
    for (let i = 0; i < 10; i++) {
      await read()
      pass(10_000)
    }
    assert.equal(watch.trouble, said)
    assert.equal(log.lines.length, 1)
    assert(log.lines[0]!.includes(`${said}; this process records by the database's clock`))
    time.wall = time.database
    await read()
    assert.equal(watch.trouble, undefined)
    assert(log.lines.some((line) => /clocks of this host and the database agree again/.test(line)))
  }
})

test('clocks that a slow answer cannot tell apart are not told of', async () => {
  const { time, watch, read, log } = bench()
  time.delay = 7_000
  time.database += 3_000
  await read()
  assert.deepEqual([watch.differenceMs, log.lines], [0, []])
  time.database += 1
  await read()
  assert.equal(watch.differenceMs, 0)
  time.delay = 0
  await read()
  assert.equal(watch.differenceMs, 3_001)
})

test("what is recorded has the database's time, once that is known", async () => {
  const { time, watch, read, pass } = bench()
  assert.equal(watch.clock.now(), time.wall)
  time.database -= 3_600_000
  await read()
  assert.equal(watch.clock.now(), time.database)
  pass(7_000.7)
  assert.equal(watch.clock.now(), Math.floor(time.database))
  time.wall -= 50_000
  assert.equal(watch.clock.now(), Math.floor(time.database), 'whatever this host says')
})

test('a machine that has slept records the time that has passed', async () => {
  const { time, watch, read, pass } = bench()
  await read()
  pass(1_000)
  time.wall += 28_800_000
  time.database += 28_800_000
  assert.equal(watch.clock.now(), time.database)
})

test('an answer that a machine gets after it has slept is not compared', async () => {
  const { time, watch, read, pass, sleep, log } = bench()
  await read()
  pass(2_000)
  let slept = 0
  await read(() => sleep(slept++ === 0 ? 3_600_000 : 0))
  assert.equal(watch.clock.now(), time.database)
  await read()
  assert.equal(watch.clock.now(), time.database)
  assert.deepEqual(log.matching(/the clock of this host/), [])
})

test('a host whose clock is set right has not slept', async () => {
  for (const apart of [-3_600_000, -10_000]) {
    const { time, watch, read, pass } = bench()
    time.wall += apart
    await read()
    pass(1_000)
    time.wall -= apart
    assert.equal(watch.clock.now(), time.database)
  }
})

test('after a leap of the wall clock no reading is recent', async () => {
  const { time, watch, pass } = bench()
  let asked = 0
  const queryable = { now: async () => (asked++, time.database) }
  await watch.recent(queryable)
  await watch.recent(queryable)
  assert.equal(asked, 1)
  pass(1_000)
  time.wall += 3_001
  await watch.recent(queryable)
  assert.equal(asked, 2)
  await watch.recent(queryable)
  assert.equal(asked, 2)
})

test('a process that stands still between two clocks has not slept', async () => {
  for (let nth = 0; nth < 6; nth++) {
    const { time, watch, pass, pauseAfter } = bench()
    let asked = 0
    const queryable = { now: async () => (asked++, time.database) }
    pauseAfter(nth, 4_000)
    await watch.now(queryable)
    assert.equal(asked, 1, `the pause after reading ${nth} of now()`)
    pass(1_000)
    pauseAfter(nth, 4_000)
    await watch.recent(queryable)
    assert.equal(asked, 1, `the pause after reading ${nth} of recent()`)
  }
})

test('an answer that comes late does not set the clock back', async () => {
  const { time, watch, read, pass } = bench()
  await read()
  pass(8_000)
  time.delay = 4_000
  await read()
  assert(Math.abs(watch.clock.now() - time.database) <= 0.001 * 12_000 + 1)
  assert(watch.clock.now() <= time.database, 'nor ahead')
  // What a late answer has hidden, the next one shows.
  time.database -= 2_500
  await read()
  time.delay = 0
  await read()
  assert.equal(watch.clock.now(), time.database)
  // A step back is a step, however late the answer.
  time.delay = 4_000
  time.database -= 60_000
  await read()
  assert.equal(watch.clock.now(), time.database - time.delay)
})

test('a slow answer and a little drift are no steps', async () => {
  const { time, read, pass, log } = bench()
  time.delay = 4_000
  await read()
  pass(10_000)
  await read()
  time.delay = 0
  pass(1_000_000)
  time.database += 1_400
  time.wall -= 1_400
  await read()
  assert.deepEqual(log.lines, [])
})

test('an answer that another one has overtaken is not compared', async () => {
  const { time, watch, pass, log } = bench()
  let late = (): void => undefined
  const waiting = watch.now({
    now: () =>
      new Promise((resolve) => {
        const said = time.database
        late = () => resolve(said)
      }),
  })
  pass(60_000)
  await watch.now({ now: async () => time.database })
  late()
  await waiting
  assert.equal(watch.estimate, time.database)
  pass(1_000)
  await watch.now({ now: async () => time.database })
  assert.deepEqual(log.lines, [])
})
