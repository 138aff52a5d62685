import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MapOfParts, mapParts } from '../collision-free-map/collision-free-map.js'
import { MAP_METRICS } from '../collision-free-map/metrics.js'
import { DATABASE_ERROR_METRICS } from '../connections/error-metrics.js'
import { type Database, DatabaseError } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { postgres } from '../database/postgres/postgres.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ExportQueue, ExportQueueIn } from '../export-queue/export-queue.js'
import { EXPORT_METRICS } from '../export-queue/metrics.js'
import type { Metric, MetricTable } from '../metrics/metric.js'
import { systemClock } from '../support/clock.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { SILENT } from '../support/logger.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'

const RUN_MS = 2_000

/** Time that a test moves on, so that the next page reads SQL anew. */
function movable() {
  const time = { aheadMs: 0 }
  const elapsed = (): number => performance.now() + time.aheadMs
  const environment: Environment = { ...systemEnvironment, clock: { ...systemClock, elapsed } }
  return { time, environment }
}

/** A database that fails while `broken.is`. */
function breakable(database: Database, broken: { is: boolean }): Database {
  return new Proxy(database, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown =>
        broken.is && property !== 'close'
          ? Promise.reject(new DatabaseError('GONE', 'unreachable', 'away', { server: 'd:3306' }))
          : Reflect.apply(value, target, args)
    },
  })
}

/** The values of a page, by the words of its tables. */
function valuesOf(page: string, ...tables: readonly MetricTable[]): Record<string, number> {
  const values: Record<string, number> = {}
  for (const [key, { name }] of tables.flatMap((table) => Object.entries(table))) {
    const found = new RegExp(`^${name}\\{name="mine"\\} (\\S+)$`, 'm').exec(page)?.[1]
    if (found !== undefined && !/seconds/.test(name)) values[key] = Number(found)
  }
  return values
}

/** The value of a metric in seconds, of which a test knows only bounds. */
function secondsOf(page: string, { name }: Metric): number {
  return Number(new RegExp(`^${name}(?:_total)?\\{name="mine"\\} (\\S+)$`, 'm').exec(page)?.[1])
}

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

for (const [where, fresh] of databases) {
  test(`${where}: a map tells what waits, what is parked, what its process did`, async () => {
    const database = await fresh()
    const { time, environment } = movable()
    const open = (id: string) =>
      new MapOfParts(
        mapParts(
          {
            name: id,
            database,
            every: false,
            logger: SILENT,
            combine(key: string, sum: number | undefined, updates: readonly number[]) {
              if (key === 'bad') throw new Error('not combined')
              return updates.reduce((a, b) => a + b, sum ?? 0)
            },
          },
          environment,
        ),
      )
    const [map, other] = [open('mine'), open('other')]
    await other.update([['bad', 1]])
    await other.process()
    await other.update([['a', 1]])
    const values = async () => {
      time.aheadMs += 11_000
      return valuesOf(await map.metrics(), MAP_METRICS.stored, MAP_METRICS.process)
    }
    await map.update([
      ['a', 1],
      ['bad', 1],
    ])
    assert.deepEqual(await values(), {
      queued: 2,
      parked: 0,
      runs: 0,
      failures: 0,
      taken: 0,
      timeouts: 0,
    })
    await map.process()
    assert.deepEqual(await values(), {
      queued: 0,
      parked: 1,
      runs: 1,
      failures: 0,
      taken: 2,
      timeouts: 0,
    })
    await Promise.all([map.close(), other.close()])
    await database.close()
  })

  test(`${where}: so does an export queue`, async () => {
    const database = await fresh()
    const { time, environment } = movable()
    const began = environment.clock.elapsed()
    let fails = true
    const open = (id: string) =>
      new ExportQueueIn<string, number>(
        {
          name: id,
          database,
          every: false,
          logger: SILENT,
          exporter() {
            time.aheadMs += RUN_MS
            if (fails) throw new Error('not exported')
          },
        },
        environment,
      )
    const [queue, other] = [open('mine'), open('other')]
    await queue.migrate()
    await other.migrate()
    await database.transaction((tx) => other.add('b', 1, tx))
    await assert.rejects(other.process())
    const values = async () => {
      time.aheadMs += 11_000
      return valuesOf(await queue.metrics(), EXPORT_METRICS.stored, EXPORT_METRICS.process)
    }
    await database.transaction((tx) => queue.add('a', 1, tx))
    const before = {
      queued: 1,
      failing: 0,
      versions: 0,
      runs: 0,
      failures: 0,
      taken: 0,
      timeouts: 0,
    }
    // An exporter that is at work has not failed.
    await database.query(
      "INSERT INTO export_queue_leases VALUES ('mine', ?, 0, 0, 0, 0, 0, NULL, NULL)",
      [Buffer.from([1])],
    )
    assert.deepEqual(await values(), before)
    await database.query("DELETE FROM export_queue_leases WHERE queue = 'mine'")
    await assert.rejects(queue.process())
    assert.deepEqual(await values(), { ...before, failing: 1, versions: 1, failures: 1 })
    fails = false
    await database.query('UPDATE export_queue_leases SET held_until = 0')
    await queue.process()
    const seconds = secondsOf(await queue.metrics(), EXPORT_METRICS.process.seconds)
    assert(seconds >= (2 * RUN_MS) / 1000, 'failed runs too')
    assert(seconds <= (environment.clock.elapsed() - began) / 1000)
    assert.deepEqual(await values(), {
      ...before,
      queued: 0,
      versions: 1,
      runs: 1,
      failures: 1,
      taken: 1,
      timeouts: 0,
    })
    await Promise.all([queue.close(), other.close()])
    await database.close()
  })
}

test('every metric is on the page; SQL is read once in 10 s; errors have a server', async () => {
  const broken = { is: false }
  const { time, environment } = movable()
  const began = environment.clock.elapsed()
  const database = breakable(sqlite(':memory:'), broken)
  const combine = (_key: string, sum: number | undefined) => sum ?? 0
  const map = new MapOfParts(
    mapParts({ name: 'mine', database, every: false, logger: SILENT, combine }, environment),
  )
  const names = (page: string) => [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  await map.migrate()
  broken.is = true
  await assert.rejects(map.process())
  const without = await map.metrics()
  assert(!without.includes('wide_cache_map_queued_updates'))
  assert(without.includes('database_errors_total{name="mine",server="d:3306"}'))
  broken.is = false
  const all = [MAP_METRICS.stored, MAP_METRICS.process].flatMap((table) => Object.values(table))
  assert.deepEqual(
    names(await map.metrics()),
    [...all, ...DATABASE_ERROR_METRICS].map(({ name }) => name),
  )
  await map.update([['a', 1]])
  time.aheadMs += 5_000
  const page = await map.metrics()
  assert.equal(valuesOf(page, MAP_METRICS.stored)['queued'], 0, 'as it was read')
  const age = secondsOf(page, MAP_METRICS.process.figuresAge)
  assert(age >= 5 && age <= (environment.clock.elapsed() - began) / 1000, String(age))
  time.aheadMs += 11_000
  assert.equal(valuesOf(await map.metrics(), MAP_METRICS.stored)['queued'], 1)
  await map.close()
  await database.close()
})

test('close() ends what instrument() has begun', async () => {
  const observing = new Set<unknown>()
  const meter = {
    createObservableCounter: () => ({}),
    createObservableGauge: () => ({}),
    addBatchObservableCallback: (callback: unknown) => void observing.add(callback),
    removeBatchObservableCallback: (callback: unknown) => void observing.delete(callback),
  }
  const queue = new ExportQueue({ name: 'mine', database: 'sqlite::memory:', exporter: () => {} })
  queue.instrument(meter)
  assert.equal(observing.size, 1)
  await queue.close()
  assert.equal(observing.size, 0)
})
