/** Collectors that keep their lease: how soon they collect, what they cost, who follows them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { type Database, DatabaseError } from '../../database/database.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { SILENT } from '../../support/logger.js'
import { runCronOnVirtualTime } from '../../../test/simulated-world/cron.js'
import { Random } from '../../../test/simulated-world/random.js'
import { SimulatedCache } from '../../../test/simulated-world/simulated-cache.js'
import { SimulatedCacheServer } from '../../../test/simulated-world/simulated-cache-server.js'
import { SimulatedDatabase } from '../../../test/simulated-world/simulated-database.js'
import { SimulatedDatabaseServer } from '../../../test/simulated-world/simulated-database-server.js'
import { SimulatedProcess } from '../../../test/simulated-world/simulated-process.js'
import { SimulatedTransaction } from '../../../test/simulated-world/simulated-transaction.js'
import { World } from '../../../test/simulated-world/world.js'
import type { Reading } from '../../metrics/metric.js'
import type { WideCacheOptions } from '../options.js'
import { openEngine, type OwnSettings } from '../row-recorder.fixture.js'
import type { RowRecorder } from '../wide-cache.js'

runCronOnVirtualTime()

const ALERTS = new URL('../../../deploy/prometheus/alerts.yml', import.meta.url)
const NO_FAULTS = {
  requestLost: 0,
  replyLost: 0,
  delayed: 0,
  duplicated: 0,
  refusesAtOnce: true,
  statementFails: 0,
  orphaned: 0,
  commitUnknown: 0,
  packetBytes: Infinity,
}

/** Wraps a database: `sent` gets each of its statements, BEGIN and COMMIT too. */
function counting(database: Database, sent: (sql: string) => void): Database {
  return Object.assign(Object.create(database) as Database, {
    dialect: database.dialect,
    maxStatementBytes: database.maxStatementBytes,
    query: (sql: string, values?: []) => {
      sent(sql)
      return database.query(sql, values)
    },
    now: () => {
      sent('SELECT NOW')
      return database.now()
    },
    transaction: <T>(work: Parameters<typeof database.transaction<T>>[0]) => {
      sent('BEGIN')
      return database
        .transaction<T>((tx) =>
          work({
            ...tx,
            query: (sql, values) => {
              sent(sql)
              return tx.query(sql, values)
            },
            now: () => {
              sent('SELECT NOW')
              return tx.now()
            },
          }),
        )
        .finally(() => sent('COMMIT'))
    },
  })
}

/** Returns the cache key and the value of the published watermark. */
function published(memcached: SimulatedCacheServer): { key: string; watermark: number } {
  const [entry] = [...memcached.items].filter(([key]) => key.endsWith(':watermark'))
  assert(entry)
  return { key: entry[0], watermark: Number(entry[1].value.toString()) }
}

type AfterRun = Pick<OwnSettings, 'afterRun'>
type Site = ReturnType<typeof site>

/** A site whose time is simulated, and where nothing fails. */
function site() {
  const random = new Random(7)
  const world = new World(7, random, false)
  world.faulty = false
  const server = new SimulatedDatabaseServer(world, 'wide-cache', NO_FAULTS)
  const memcached = new SimulatedCacheServer('memcached', world)
  const counts = { sql: new Map<string, number>(), reads: 0 }
  const taken: { readonly row: unknown; readonly at: number }[] = []
  const processes: SimulatedProcess[] = []
  const start = (
    { afterRun, ...options }: Partial<WideCacheOptions<unknown>> & AfterRun = {},
    skew = 0,
    cacheServer = memcached,
  ) => {
    const process = new SimulatedProcess(world, processes.length + 1, { skew })
    processes.push(process)
    const errors = { CacheError, DatabaseError }
    class CountedCache extends SimulatedCache {
      override get(key: string) {
        counts.reads++
        return super.get(key)
      }
      override getMany(...args: Parameters<SimulatedCache['getMany']>) {
        counts.reads++
        return super.getMany(...args)
      }
    }
    const begin = () => new SimulatedTransaction(process.name)
    const database = new SimulatedDatabase(process, {
      server,
      begin,
      errors,
      maxStatementBytes: 1e6,
    })
    const { wide, engine } = openEngine<unknown>(
      {
        name: 'test',
        cache: new CountedCache(process, [cacheServer], NO_FAULTS, errors),
        database: counting(database, (sql) => {
          const start = sql.slice(0, 60)
          counts.sql.set(start, (counts.sql.get(start) ?? 0) + 1)
        }),
        logger: SILENT,
        commit: async (rows) => {
          for (const row of rows) taken.push({ row, at: world.now })
        },
        ...options,
      },
      process.environment,
      { afterRun },
    )
    return { process, wide, engine }
  }
  /** The watermark in SQL, as the age of the newest drained layer in seconds. */
  const lag = (): number => {
    const [row] = server.look('SELECT watermark, layer_seconds FROM wide_cache_grids')
    const end = (Number(row!['watermark']) + 1) * Number(row!['layer_seconds'])
    return server.clock.now / 1000 - end
  }
  const end = (): void => {
    for (const process of processes) process.alive = false
    server.close()
  }
  return { world, server, memcached, counts, taken, start, lag, end }
}

test('16 idle processes send two statements and two cache reads a second at most', async (t) => {
  const { world, counts, start, lag, end } = site()
  for (let i = 0; i < 16; i++) start({ removeOld: async () => undefined })
  // Until what is old is removed, too.
  await world.pass(660_000)
  counts.sql.clear()
  counts.reads = 0
  let worst = 0
  for (let second = 0; second < 300; second++) {
    await world.pass(1_000)
    worst = Math.max(worst, lag())
  }
  const statements = [...counts.sql.values()].reduce((sum, count) => sum + count, 0)
  t.diagnostic(`${statements / 300} statements and ${counts.reads / 300} reads a second`)
  const shown = JSON.stringify([...counts.sql], undefined, 1)
  assert(statements / 300 <= 2, `${statements / 300} statements a second: ${shown}`)
  assert(counts.reads / 300 <= 2, `${counts.reads / 300} cache reads a second`)
  assert(statements > 100 && counts.reads > 100, 'a run every three seconds')
  assert(worst < 6.5, `drained up to ${worst} s ago`)
  end()
})

for (const [layerSeconds, least, most] of [
  [3, 3_000, 6_000],
  [1, 2_000, 3_000],
] as const) {
  test(`layers of ${layerSeconds} s: a row is in SQL ${least} to ${most} ms later`, async () => {
    const { world, taken, start, end } = site()
    const { wide } = start({ layerSeconds })
    start({ layerSeconds })
    await world.pass(5_000)
    const delays: number[] = []
    for (let i = 0; i < 100; i++) {
      const at = world.now
      wide.append(i)
      await world.pass(most + 300)
      assert.equal(taken.at(-1)!.row, i, `not after ${most + 300} ms`)
      delays.push(taken.at(-1)!.at - at)
    }
    assert(Math.min(...delays) > least - 100, `after ${Math.min(...delays)} ms`)
    end()
  })
}

for (const aheadMs of [-5_990, -500, -10, 0, 10, 990, 30_000]) {
  test(`a collector whose wall clock is ${aheadMs} ms ahead loses no layer by that`, async () => {
    const { world, taken, start, end } = site()
    start({}, aheadMs)
    const { wide } = start({ collect: false })
    await world.pass(5_000)
    for (let i = 0; i < 60; i++) {
      wide.append(i)
      await world.pass(6_130)
      assert.equal(taken.at(-1)?.row, i, 'not after 6.13 s')
    }
    end()
  })
}

test('runs far from each other ask for the lease, and leave it to others after each', async () => {
  const { world, server, counts, taken, start, end } = site()
  const wides = [start({ collect: '*/30 * * * * *' }), start({ collect: '*/30 * * * * *' })]
  await world.pass(61_000 - (server.clock.now % 30_000))
  for (const { wide } of wides) wide.append('row')
  await world.pass(28_000)
  assert.equal(taken.length, 0, 'between the moments of the line nothing is collected')
  for (let i = 0; i < 4; i++) {
    counts.sql.clear()
    await world.pass(30_000)
    assert.equal(taken.length, 2)
    const [grid] = server.look('SELECT lease_until, run_at FROM wide_cache_grids')
    assert.equal(Number(grid!['lease_until']), 0)
    assert(Number(grid!['run_at']) > server.clock.now - 31_000, 'the run is recorded')
  }
  end()
})

test('while SQL is away its collector asks every 5 s, and one on standby every 15 s', async () => {
  const { world, server, counts, start, end } = site()
  for (let i = 0; i < 5; i++) start()
  await world.pass(120_000)
  server.goAway(200_000)
  await world.pass(20_000)
  counts.sql.clear()
  await world.pass(120_000)
  const asked = [...counts.sql.values()].reduce((sum, count) => sum + count, 0)
  // Each process also looks once a minute whose the keys in the cache are.
  assert(asked <= 120 / 5 + 4 * (120 / 15) + 5 * (120 / 60), `${asked} statements`)
  assert(asked > 120 / 15 + 4 * (120 / 15), `${asked} statements`)
  end()
})

test("a run that others' locks stop is tried again after half a second", async () => {
  const { world, server, start, end } = site()
  const tries: number[] = []
  const { wide } = start({
    collect: '*/10 * * * * *',
    async commit() {
      tries.push(world.now)
      if (tries.length <= 4) throw new DatabaseError('DATABASE_LOCKED', 'lock', 'a deadlock')
    },
  })
  await world.pass(20_000 - (server.clock.now % 10_000))
  wide.append('row')
  await world.pass(19_000)
  assert.equal(tries.length, 5)
  for (let i = 1; i < tries.length; i++) {
    const ms = tries[i]! - tries[i - 1]!
    assert(ms >= 500 && ms < 600, `${ms} ms`)
  }
  end()
})

for (const seconds of [30, 90]) {
  test(`drains go on beside a removal of ${seconds} s, and one runs at a time`, async () => {
    const { world, taken, start, end } = site()
    let removals = 0
    let ended = 0
    let most = 0
    const { wide } = start({
      async removeOld() {
        most = Math.max(most, ++removals - ended)
        await new Promise<void>((resolve) => void world.after(seconds * 1_000, resolve))
        ended++
        return true
      },
    })
    for (let i = 0; removals < 4; i++) {
      wide.append(i)
      await world.pass(6_100)
      assert.equal(taken.at(-1)?.row, i, 'not after 6.1 s')
      assert(i < 100, `${removals} removals`)
    }
    assert.equal(most, 1)
    end()
  })
}

for (const [apart, collect, expected] of [
  ['3 s', '*/3 * * * * *', 5],
  ['30 s', '*/30 * * * * *', 2],
] as const) {
  test(`afterRun is called ${expected} times a minute if runs are ${apart} apart`, async () => {
    const { world, server, start, end } = site()
    const calls: number[] = []
    start({ collect, afterRun: async () => void calls.push(world.now) })
    await world.pass(60_000 - (server.clock.now % 30_000))
    calls.length = 0
    await world.pass(60_000)
    assert.equal(calls.length, expected)
    for (let i = 1; i < calls.length; i++) {
      const ms = calls[i]! - calls[i - 1]!
      assert(ms >= 10_000, `${ms} ms`)
    }
    end()
  })
}

test('the shipped alert on slow runs sees them all the time that it asks for', async () => {
  const alert = readFileSync(ALERTS, 'utf8').split('- alert: WideCacheCollectorTooSlow')[1]
  const [, metric, least, minutes] =
    /expr: max by \(name\) \((\w+)\) > (\d+)\s+for: (\d+)m/.exec(alert!) ?? []
  const { world, start, end } = site()
  const { wide, engine } = start({
    commit: () => new Promise((resolve) => void world.after((Number(least) + 1) * 1_000, resolve)),
  })
  const seconds = async (): Promise<number | undefined> => {
    let page: readonly Reading[] = []
    void engine.operations.readings().then((readings) => (page = readings))
    wide.append('row')
    await world.pass(15_000)
    return page.find((reading) => reading.metric.name === metric)?.samples[0]?.value
  }
  while ((await seconds()) === undefined) assert(world.now < 120_000, `no ${metric}`)
  for (let scrape = 0; scrape < Number(minutes) * 4; scrape++) {
    assert((await seconds())! > Number(least), `scrape ${scrape}`)
  }
  end()
})

for (const [how, within] of [
  ['is killed', 40_000],
  ['closes', 21_000],
] as const) {
  test(`a collector that ${how} is followed within ${within / 1000} s`, async () => {
    const { world, start, lag, end } = site()
    const all = [start()]
    await world.pass(5_000)
    for (let i = 0; i < 3; i++) all.push(start())
    for (const { process, wide } of all) {
      await world.pass(70_000)
      assert(lag() < 7, `${process.name} begins with ${lag()} s`)
      if (how === 'closes') void wide.close()
      else process.kill(how)
      if (process === all.at(-1)!.process) break
      await world.pass(within)
      assert(lag() < 7, `${process.name} ${how}, and the lag is ${lag()} s`)
    }
    end()
  })
}

test('a process with a cache of its own is told so within a minute and a half', async () => {
  const { world, start, end } = site()
  start()
  await world.pass(5_000)
  const log = keptLog()
  start({ logger: log }, 0, new SimulatedCacheServer('memcached of another machine', world))
  await world.pass(90_000)
  assert.equal(log.matching(/use another cache than this process/).length, 1)
  end()
})

test('one that commits nothing any more leaves collecting to others', async () => {
  const { world, taken, start, lag, end } = site()
  const { wide } = start({
    commit: () => {
      throw new DatabaseError('DATABASE_TRANSACTION_LOST', 'usage', 'a procedure has committed')
    },
  })
  await world.pass(5_000)
  wide.append('row')
  await world.pass(5_000)
  assert.equal(taken.length, 0)
  start()
  await world.pass(41_000)
  assert.deepEqual(
    taken.map(({ row }) => row),
    ['row'],
  )
  assert(lag() < 7, `the lag is ${lag()} s`)
  end()
})

test('marks of two grids come to SQL, though each rises in runs of its own', async () => {
  const { world, server, start, end } = site()
  start({ layerSeconds: 11, cellTtlSeconds: 3_600 })
  start({ layerSeconds: 10, cellTtlSeconds: 3_600 })
  const marks = () =>
    server
      .look('SELECT HEX(mark) AS mark FROM wide_cache_grids ORDER BY layer_seconds')
      .map(({ mark }) => mark)
  await world.pass(60_000)
  for (let seconds = 0; seconds < 600; seconds += 30) {
    const before = marks()
    await world.pass(30_000)
    const after = marks()
    assert.equal(after.length, 2)
    for (const index of [0, 1]) assert.notEqual(after[index], before[index], `${seconds} s`)
  }
  end()
})

test('a collector of long layers keeps its lease, and runs once a layer', async () => {
  const { world, counts, start, lag, end } = site()
  for (let i = 0; i < 4; i++) start({ layerSeconds: 60, cellTtlSeconds: 3_600 })
  await world.pass(600_000)
  counts.sql.clear()
  let worst = 0
  for (let second = 0; second < 600; second++) {
    await world.pass(1_000)
    worst = Math.max(worst, lag())
  }
  const raises = counts.sql.get(
    'UPDATE wide_cache_grids SET watermark = ?, leapt_from = CASE WHEN'.slice(0, 60),
  )
  assert.equal(raises, 10)
  assert(worst < 182, `drained up to ${worst} s ago`)
  end()
})

/** Returns the seconds between the moment up to which all is in SQL and now. */
async function ageOf({ world, server }: Site, wide: RowRecorder<unknown>): Promise<number> {
  let asOf: number | undefined
  void wide.read().then((read) => (asOf = read as number))
  await world.pass(1_000)
  assert(asOf !== undefined, 'read() answers within a second')
  return (server.clock.now - asOf) / 1000
}

const asOfAlone = async (_: unknown, { asOf }: { asOf: number }): Promise<number> => asOf

for (const layerSeconds of [2, 30, 600]) {
  test(`layers of ${layerSeconds} s that one process tried make no figures older`, async () => {
    const here = site()
    const { world, taken, start, end } = here
    const { wide } = start({ read: asOfAlone })
    await world.pass(100_000)
    const usual = await ageOf(here, wide)
    const tried = start({ layerSeconds, cellTtlSeconds: 7_200, collect: false })
    await world.pass(1_000)
    for (let i = 0; i < 5; i++) tried.wide.append(i)
    await world.pass(4_000)
    if (layerSeconds === 30) tried.process.kill('is killed')
    else void tried.wide.close()
    await world.pass(30_000)
    for (let i = 0; i < 20; i++) {
      const age = await ageOf(here, wide)
      assert(age < usual + 2.5, `${age} s instead of ${usual} s`)
      await world.pass(777)
    }
    assert.equal(taken.length, 5)
    end()
  })
}

test('rows of a process with long layers are in SQL before figures say so', async () => {
  const here = site()
  const { world, taken, start, end } = here
  const { wide } = start({ read: asOfAlone })
  const long = start({ layerSeconds: 600, cellTtlSeconds: 7_200, collect: false })
  await world.pass(100_000)
  for (let i = 0; i < 100; i++) {
    const at = world.now
    long.wide.append(i)
    for (let asked = 0; asked < 5; asked++) {
      const age = await ageOf(here, wide)
      const isIn = taken.some(({ row }) => row === i)
      assert(isIn || world.now - age * 1000 < at, `figures of ${age} s ago miss row ${i}`)
    }
  }
  assert(taken.length >= 98, `${taken.length} rows`)
  end()
})

for (const behind of [2_500, 30_000]) {
  test(`collectors bring the frames of a writer ${behind} ms behind`, async () => {
    const { world, taken, start, end } = site()
    start()
    const { wide } = start({ collect: false }, -behind)
    await world.pass(10_000)
    for (let i = 0; i < 100; i++) {
      wide.append(i)
      await world.pass(777)
    }
    await world.pass(4_000)
    assert.deepEqual(
      taken.map(({ row }) => row),
      Array.from({ length: 100 }, (_, i) => i),
    )
    end()
  })
}

test('the next collector finds frames below a watermark that a wrong clock raised', async () => {
  const { world, server, memcached, taken, start, end } = site()
  const writer = start({ collect: false })
  const first = start()
  await world.pass(5_000)
  server.clock.set(30_000)
  await world.pass(11_000)
  first.process.kill('is killed')
  server.clock.set(0)
  // The cache has lost what would have led the writer.
  memcached.items.delete(published(memcached).key)
  writer.wide.append('found')
  await world.pass(1_000)
  writer.process.kill('is killed')
  await world.pass(60_000)
  assert.deepEqual(taken, [])
  start()
  await world.pass(5_000)
  assert.deepEqual(
    taken.map(({ row }) => row),
    ['found'],
  )
  end()
})

test('a collector that was away when the clock went back finds what lies below', async () => {
  const { world, server, memcached, taken, start, end } = site()
  const writer = start({ collect: false })
  start()
  writer.wide.append('first')
  await world.pass(5_000)
  server.clock.set(20_000)
  await world.pass(11_000)
  server.awayUntil = Infinity
  server.clock.set(0)
  memcached.items.delete(published(memcached).key)
  writer.wide.append('found')
  await world.pass(1_000)
  writer.process.kill('is killed')
  await world.pass(40_000)
  server.awayUntil = 0
  await world.pass(20_000)
  assert.deepEqual(
    taken.map(({ row }) => row),
    ['first', 'found'],
  )
  end()
})

test('drain({ all: true }) and the live view find what was placed ahead', async () => {
  const { world, memcached, taken, start, end } = site()
  const first = start()
  await world.pass(5_000)
  first.process.kill('is killed')
  const { key, watermark } = published(memcached)
  memcached.store(key, Buffer.from(String(watermark + 16)), 1_000)
  const { wide, engine } = start({ collect: false }, -2_500)
  wide.append('ahead')
  await world.pass(1_000)
  const live: unknown[] = []
  void engine.readLive(world.now, (row) => live.push(row))
  await world.pass(1_000)
  assert.deepEqual(live, ['ahead'])
  void wide.drain({ all: true })
  await world.pass(1_000)
  assert.deepEqual(
    taken.map(({ row }) => row),
    ['ahead'],
  )
  end()
})

test('the live view of a process whose clock is behind has what others have placed', async () => {
  const { world, start, end } = site()
  const { wide } = start()
  await world.pass(5_000)
  const { engine } = start({ collect: false }, -30_000)
  await world.pass(5_000)
  const since = world.now
  wide.append('row')
  await world.pass(1_000)
  const live: unknown[] = []
  void engine.readLive(since, (row) => live.push(row))
  await world.pass(1_000)
  assert.deepEqual(live, ['row'])
  end()
})

test('a process that closes begins no run any more, though its rows wait for SQL', async () => {
  const { world, taken, start, lag, end } = site()
  // It stores no frame, so that no run waits for the row.
  const small = { itemLimit: 150, serverBytes: Infinity, refusesWhenFull: true }
  const { wide } = start(
    {
      closeTimeoutMs: 30_000,
      async commit(rows) {
        if (world.now < 30_000) throw new DatabaseError('DATABASE_LOCKED', 'lock', 'a lock')
        for (const row of rows) taken.push({ row, at: world.now })
      },
    },
    0,
    new SimulatedCacheServer('small', world, small),
  )
  await world.pass(10_000)
  assert(lag() < 7)
  wide.append('x'.repeat(200))
  void wide.close()
  await world.pass(15_000)
  assert.deepEqual([taken.length, Math.floor(lag()) >= 15], [0, true])
  await world.pass(15_000)
  assert.equal(taken.length, 1)
  end()
})

const LATE: [what: string, value: (watermark: number) => string, delayMs: number][] = [
  ['48 s ahead', (watermark) => String(watermark + 16), 67_000],
  ['far ahead', () => '999999999999', 7_000],
  ['far behind', () => '3', 7_000],
  ['no number', () => 'WCF\x01', 7_000],
  ['too long', () => '1'.repeat(400), 7_000],
]
for (const [what, value, delayMs] of LATE) {
  test(`a published watermark that is ${what} delays frames by a minute at most`, async () => {
    const { world, memcached, taken, start, end } = site()
    const { wide } = start({ confirmSeconds: 200 })
    await world.pass(5_000)
    const { key, watermark } = published(memcached)
    for (let i = 0; i < 20; i++) {
      memcached.store(key, Buffer.from(value(watermark)), 1_000)
      wide.append(i)
      await world.pass(500)
    }
    await world.pass(delayMs)
    assert.equal(taken.length, 20)
    end()
  })
}
