import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { ClockWatch } from './clock-watch.js'

/** Three clocks, each of which a test may move alone; the database takes `delay` to answer. */
function bench() {
  const time = { elapsed: 5_000, wall: 1_000_000, database: 1_000_000, delay: 0 }
  const log = keptLog()
  const clock = {
    now: () => time.wall,
    elapsed: () => time.elapsed,
    after: () => ({ cancel() {} }),
  }
  const watch = new ClockWatch(clock, new BurstLogger(log, () => time.elapsed))
  const pass = (ms: number): void => {
    for (const name of ['elapsed', 'wall', 'database'] as const) time[name] += ms
  }
  return {
    time,
    log,
    watch,
    pass,
    read: () =>
      watch.now({
        now: async () => {
          const said = time.database
          pass(time.delay)
          return said
        },
      }),
  }
}

test("it reads the database's clock, and knows for how long the clocks have agreed", async () => {
  const { watch, read, pass, log } = bench()
  assert.deepEqual([watch.steadyMs, watch.agreedMs], [0, 0])
  assert.equal(await read(), 1_000_000)
  assert.deepEqual([watch.steadyMs, watch.agreedMs], [0, 0])
  pass(60_000)
  assert.equal(await read(), 1_060_000)
  pass(30_000)
  assert.deepEqual([watch.steadyMs, watch.agreedMs], [60_000, 60_000], 'up to the last reading')
  await read()
  assert.deepEqual([watch.steadyMs, watch.agreedMs, log.lines], [90_000, 90_000, []])
})

test("a step of the database's clock, either way, ends both and is logged", async () => {
  for (const [step, said] of [
    [7_200_000, /the database's clock stepped by 7200 s/],
    [-3_000, /the database's clock stepped by -3 s/],
  ] as const) {
    const { time, watch, read, pass, log } = bench()
    await read()
    pass(60_000)
    time.database += step
    await read()
    assert.deepEqual([watch.steadyMs, watch.agreedMs], [0, 0])
    assert.match(log.lines[0]!, said)
    pass(10_000)
    await read()
    assert.equal(watch.steadyMs, 10_000)
  }
})

test("a step of the process's clock ends the agreement only", async () => {
  for (const step of [-600_000, 599_000, 2_000, -2_000]) {
    const { time, watch, read, pass, log } = bench()
    await read()
    pass(60_000)
    time.wall += step
    await read()
    assert.deepEqual([watch.steadyMs, watch.agreedMs], [60_000, 0], String(step))
    assert.deepEqual(log.lines.length, 1)
    assert.match(log.lines[0]!, new RegExp(`this process's clock stepped by ${step / 1000} s`))
    pass(10_000)
    await read()
    assert.deepEqual([watch.steadyMs, watch.agreedMs, log.lines.length], [70_000, 10_000, 1])
  }
})

test('clocks that are more than ten minutes apart never agree, however steady', async () => {
  for (const [apart, agreed] of [
    [600_000, 50_000],
    [600_001, 0],
    [-600_000, 50_000],
    [-600_001, 0],
  ] as const) {
    const { time, watch, read, pass, log } = bench()
    time.database += apart
    await read()
    pass(50_000)
    await read()
    assert.deepEqual([watch.steadyMs, watch.agreedMs], [50_000, agreed], String(apart))
    assert.equal(log.lines.length, agreed > 0 ? 0 : 1)
    if (agreed === 0) {
      assert.match(
        log.lines[0]!,
        apart > 0 ? /is 600 s ahead of this process's/ : /is 600 s behind this process's/,
      )
    }
  }
})

test('a slow answer and a little drift are no steps', async () => {
  const { time, watch, read, pass, log } = bench()
  time.delay = 4_000
  await read()
  pass(10_000)
  await read()
  time.delay = 0
  pass(1_000_000)
  time.database += 1_900
  time.wall -= 1_900
  await read()
  assert.deepEqual([log.lines, watch.steadyMs, watch.agreedMs], [[], 1_014_000, 1_014_000])
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
