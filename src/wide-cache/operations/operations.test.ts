import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cache, CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { type Database, DatabaseError } from '../../database/database.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import type { InstrumentCallback, MetricsMeter } from '../../metrics/open-telemetry.js'
import { joinMetrics } from '../../metrics/prometheus.js'
import { systemClock } from '../../support/clock.js'
import { type Environment, systemEnvironment } from '../../support/environment.js'
import { eventually } from '../../support/eventually.fixture.js'
import { SILENT } from '../../support/logger.js'
import { flushPromises } from '../../support/manual-clock.fixture.js'
import type { WideCacheOptions } from '../options.js'
import { collectableOf } from '../commands.js'
import { placeOf } from '../cached-read.js'
import { openRows, type OwnSettings } from '../row-recorder.fixture.js'
import { NAME_METRICS, PROCESS_METRICS } from './metrics.js'
import { WIDE_CACHE_METRICS } from './operations.js'

const MINUTE_MS = 60_000

/** A cache that fails while `broken` says so, and that processes share unless it is `private`. */
function cacheOf(broken: Broken, scope: Cache['scope'], now: () => number): Cache {
  return new Proxy(memory({ now }), {
    get(target, property) {
      if (property === 'scope') return scope
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (broken.cache && property !== 'close') {
          return Promise.reject(new CacheError('CACHE_TIMEOUT', 'silent', { server: 'c:11211' }))
        }
        const isFigures = property === 'get' && String(args[0]).endsWith(placeOf('test', 'state'))
        if (isFigures && broken.figures !== undefined) {
          return Promise.resolve(Buffer.from(broken.figures))
        }
        return Reflect.apply(value, target, args)
      }
    },
  })
}

/** Failures of the servers; `figures`: text that the cache has instead of the figures. */
interface Broken {
  cache: boolean
  database: boolean
  figures?: string
}

/** A database and a cache that several wide caches share; the time and the servers are a test's. */
async function bench(scope: Cache['scope'] = 'shared') {
  const broken: Broken = { cache: false, database: false }
  const world = { aheadMs: 0, queries: 0, slowMs: 0 }
  const real = sqlite(':memory:')
  await real.query('CREATE TABLE taken (row TEXT NOT NULL)')
  const database: Database = new Proxy(real, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        world.queries++
        if (broken.database && property !== 'close') {
          const message = 'mysql://user:secret@d:3306 is away'
          return Promise.reject(
            new DatabaseError('GONE', 'unreachable', message, { server: 'd:3306' }),
          )
        }
        if (property === 'now') return real.now().then((now) => now + world.aheadMs)
        world.aheadMs += world.slowMs
        return Reflect.apply(value, target, args)
      }
    },
  })
  const environment: Environment = {
    ...systemEnvironment,
    clock: {
      ...systemClock,
      now: () => Date.now() + world.aheadMs,
      elapsed: () => performance.now() + world.aheadMs,
    },
  }
  const cache = cacheOf(broken, scope, environment.clock.elapsed)
  const open = (options: Partial<WideCacheOptions<string>> = {}, own: OwnSettings = {}) =>
    openRows<string>(
      {
        name: 'test',
        cache,
        database,
        collect: false,
        logger: SILENT,
        closeTimeoutMs: 300,
        async commit(rows, tx) {
          if (rows.includes('refused')) throw new Error('secret row')
          for (const row of rows) await tx.query('INSERT INTO taken (row) VALUES (?)', [row])
        },
        ...options,
      },
      environment,
      own,
    )
  return { open, broken, world, real }
}

/** The values of a page, by their series. */
function valuesOf(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

const series = ({ name }: { name: string }): string => `${name}{name="test"}`

test('totals come from SQL alone, and are the same from every process', async () => {
  const { open } = await bench()
  const [one, other] = [open(), open()]
  for (const row of ['a', 'b', 'refused']) one.append(row)
  await one.flush()
  other.append('c')
  await other.flush()
  await one.drain({ all: true })
  one.append('not in SQL yet')
  const [page, otherPage] = [valuesOf(await one.metrics()), valuesOf(await other.metrics())]
  const ofName = Object.values(NAME_METRICS).map(series)
  for (const key of ofName.filter((key) => !/lag|age/.test(key))) {
    assert.equal(page.get(key), otherPage.get(key), key)
  }
  const value = (metric: { name: string }) => page.get(series(metric))
  assert.deepEqual(
    [NAME_METRICS.issued, NAME_METRICS.committed, NAME_METRICS.quarantined].map(value),
    [4, 1, 3],
  )
  assert.deepEqual([NAME_METRICS.quarantineFrames, NAME_METRICS.writers].map(value), [1, 2])
  assert.equal(value(PROCESS_METRICS.issued), 4)
  assert.equal(otherPage.get(series(PROCESS_METRICS.issued)), 1)
  assert(value(PROCESS_METRICS.drainSeconds)! > 0)
  assert(value(PROCESS_METRICS.drainBusySeconds)! > 0)
  await Promise.all([one.close(), other.close()])
})

test('every metric has a value, of a site where all has happened', async () => {
  const { open, broken, world } = await bench()
  const wide = open({ collect: '* * * * * *' })
  wide.append('a')
  await wide.flush()
  broken.cache = broken.database = true
  wide.append('b')
  await assert.rejects(wide.flush())
  broken.cache = broken.database = false
  await wide.drain({ all: true })
  for (let page = ''; !page.includes('wide_cache_last_run_rows{');) {
    await delay(100)
    world.aheadMs += 11_000
    page = await wide.metrics()
  }
  const page = await wide.metrics()
  assert.deepEqual(
    [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
    WIDE_CACHE_METRICS.map(({ name, type }) => [name, type]),
  )
  const values = valuesOf(page)
  assert(values.get('wide_cache_process_cache_errors_total{name="test",server="c:11211"}')! > 0)
  assert(values.get('wide_cache_process_database_errors_total{name="test",server="d:3306"}')! > 0)
  assert(!/secret|user/.test(page), 'no credential, no row')
  await wide.close()
})

test('what a vanished writer owes is a gauge, until it is decided', async () => {
  const { open, world, real } = await bench()
  const wide = open()
  wide.append('a')
  await wide.flush()
  await wide.drain({ all: true })
  const all = async () => {
    world.aheadMs += 11_000
    const values = valuesOf(await wide.metrics())
    return ['outstanding', 'owed', 'lost', 'issued'].map((of) =>
      values.get(series(NAME_METRICS[of as keyof typeof NAME_METRICS])),
    )
  }
  await real.query('UPDATE wide_cache_writers SET issued = issued + 9')
  assert.deepEqual(await all(), [9, 0, 0, 10])
  await real.query('UPDATE wide_cache_writers SET last_seen = last_seen - 3600000')
  assert.deepEqual(await all(), [0, 9, 0, 10])
  await real.query('UPDATE wide_cache_writers SET lost = 9')
  assert.deepEqual(await all(), [0, 0, 9, 10])
  await wide.close()
})

test('many scrapes of many processes cost one reading of SQL in 10 s', async () => {
  const { open, world } = await bench()
  const all = [open(), open(), open()]
  await Promise.all(all.map((wide) => wide.migrate()))
  const before = world.queries
  for (let scrape = 0; scrape < 20; scrape++) await joinMetrics(...all)
  const reading = world.queries - before
  assert(reading > 0 && reading <= 8, `${reading} statements`)
  world.aheadMs += 2_000
  await joinMetrics(...all)
  assert.equal(world.queries - before, reading)
  await Promise.all(all.map((wide) => wide.close()))
})

test('while SQL is away the last figures are served, their age and the lag grow', async () => {
  const { open, broken, world } = await bench()
  const wide = open()
  wide.append('a')
  await wide.flush()
  await wide.drain({ all: true })
  const before = valuesOf(await wide.metrics())
  broken.database = true
  world.aheadMs += 30_000
  const after = valuesOf(await wide.metrics())
  const committed = series(NAME_METRICS.committed)
  assert.deepEqual([before.get(committed), after.get(committed)], [1, 1])
  for (const metric of [NAME_METRICS.lag, PROCESS_METRICS.figuresAge]) {
    const grown = after.get(series(metric))! - before.get(series(metric))!
    assert(grown >= 30 && grown < 40, `${metric.name} has grown by ${grown} s`)
  }
  broken.database = false
  await wide.close()
})

test('figures that SQL was slow to tell are as old as the question', async () => {
  const { open, world } = await bench()
  const wide = open()
  await wide.drain()
  world.slowMs = 5_000
  const page = valuesOf(await wide.metrics())
  assert(page.get(series(PROCESS_METRICS.figuresAge))! >= 5)
  world.slowMs = 0
  await wide.close()
})

test('a process that has not reached SQL tells of itself alone', async () => {
  const { open, broken } = await bench()
  broken.database = true
  const wide = open()
  wide.append('a')
  const page = await wide.metrics()
  assert.equal(valuesOf(page).get(series(PROCESS_METRICS.issued)), 1)
  assert(!page.includes('wide_cache_committed_total'))
  assert(!page.includes('figures_age'))
  assert.deepEqual((await collectableOf(wide)!.collectingTroubles()).length, 1)
  broken.database = false
  await wide.close()
})

test('what somebody else has put into the cache is no figure', async () => {
  const { open, broken } = await bench()
  const wide = open()
  wide.append('a')
  await wide.flush()
  await wide.drain({ all: true })
  await wide.metrics()
  const whole = {
    ledger: {},
    quarantine: {},
    grids: [{ privateTo: null }],
  }
  for (const state of [
    null,
    7,
    {},
    { ...whole, grids: 3 },
    { ...whole, grids: [null] },
    { ...whole, ledger: null },
    { ...whole, ledger: { issued: '1\nevil_total 1' } },
    { ...whole, quarantine: { frames: 0 }, ledger: { issued: 1 }, grids: [], added: null },
  ]) {
    broken.figures = JSON.stringify({ key: 'read:test:state', figures: state, readAt: 9e15 })
    const other = open()
    assert.doesNotMatch(await other.metrics(), /evil|undefined|null|NaN/)
    other.health()
    await collectableOf(other)!.collectingTroubles()
    await other.close()
  }
  await wide.close()
})

test('with memory: each process tells the lag of its own grid', async () => {
  const { open, real } = await bench('private')
  const [ended, wide] = [open(), open()]
  await Promise.all([ended.migrate(), wide.migrate()])
  await ended.close()
  await wide.drain()
  await real.query(
    'UPDATE wide_cache_grids SET watermark = 0 WHERE watermark < ' +
      '(SELECT MAX(watermark) FROM wide_cache_grids)',
  )
  const values = valuesOf(await wide.metrics())
  assert.equal(values.get(series(NAME_METRICS.grids)), 1)
  assert(values.get(series(NAME_METRICS.lag))! < 60)
  await wide.close()
})

test('trouble has a reason, and never makes a site not ready', async () => {
  const { open, broken, world } = await bench()
  const wide = open()
  wide.append('a')
  await wide.flush()
  await wide.drain({ all: true })
  await wide.drain()
  const health = async () => {
    wide.health()
    await flushPromises()
    await wide.metrics()
    return wide.health()
  }
  assert.deepEqual(await health(), { live: true, ready: true, reasons: [] })
  assert.deepEqual(await collectableOf(wide)!.collectingTroubles(), [])
  broken.cache = broken.database = true
  wide.append('b')
  wide.append('x'.repeat(70_000))
  await assert.rejects(wide.flush())
  await assert.rejects(wide.drain())
  world.aheadMs += 2 * MINUTE_MS - 1_000
  const { reasons, ...state } = await health()
  assert.deepEqual(state, { live: true, ready: true })
  // 119 s, and what the calls have taken.
  assert.deepEqual(
    reasons.map((reason) => reason.replace(/\b1\d\d s\b/, 'long')),
    [
      'the database has failed for long',
      'the cache server c:11211 failed within the last minute',
      'a frame has not been confirmed for long; this process holds it',
      'collecting has failed for long',
    ],
  )
  wide.append('x'.repeat(70_000))
  assert(wide.health().reasons.includes('rows were dropped within the last minute'))
  broken.cache = broken.database = false
  world.aheadMs += MINUTE_MS
  await wide.metrics()
  assert.match(
    (await collectableOf(wide)!.collectingTroubles()).join(),
    /^collecting lags 1[78]\d s behind$/,
  )
  await wide.drain()
  world.aheadMs += 11_000
  assert.deepEqual(await collectableOf(wide)!.collectingTroubles(), [])
  await wide.close()
  assert.deepEqual(wide.health(), {
    live: true,
    ready: false,
    reasons: ['it has been closed by close()'],
  })
})

test('a run that fails after its drain is a reason, until one succeeds', async () => {
  const { open, world } = await bench()
  let fails = true
  const wide = open(
    { collect: '* * * * * *' },
    {
      afterRun: () => (fails ? Promise.reject(new Error('denied')) : Promise.resolve()),
    },
  )
  const failing = () => wide.health().reasons.find((reason) => /has failed/.test(reason))
  await eventually('a run has failed', () => failing() !== undefined)
  world.aheadMs += 5_000
  assert.match(failing()!, /^collecting has failed for \d+ s$/)
  fails = false
  await eventually('a run has succeeded', () => failing() === undefined)
  await wide.close()
})

test('a meter observes all metrics in one reading, until close()', async () => {
  const { open } = await bench()
  const wide = open()
  await wide.migrate()
  const names: string[] = []
  const callbacks = new Set<InstrumentCallback>()
  const meter: MetricsMeter = {
    createObservableCounter: (name) => ({ index: names.push(name) }),
    createObservableGauge: (name) => ({ index: names.push(name) }),
    addBatchObservableCallback: (callback) => void callbacks.add(callback),
    removeBatchObservableCallback: (callback) => void callbacks.delete(callback),
  }
  wide.instrument(meter)
  assert.equal(names.length, WIDE_CACHE_METRICS.length)
  assert.equal(new Set(names).size, names.length)
  const observed: number[] = []
  for (const callback of callbacks) {
    await callback({ observe: (_, value) => void observed.push(value) })
  }
  assert(observed.length > 20)
  await wide.close()
  assert.equal(callbacks.size, 0)
})
