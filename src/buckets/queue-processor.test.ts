import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from '../../test/servers/wrapped.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ExportQueueIn } from '../export-queue/export-queue.js'
import { systemEnvironment } from '../support/environment.js'
import { DAY_MS } from '../support/clock.js'
import { SILENT } from '../support/logger.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'

const EVERY_MS = 100
const SLOW_MS = 5_000

test('close() resolves when the run under way has ended and its lease is given back', async () => {
  const clock = new ManualClock(0)
  const database = sqlite(':memory:')
  const steps: string[] = []
  let [begin, end] = [(): void => undefined, (): void => undefined]
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const queue = new ExportQueueIn<string, number>(
    {
      name: 'queue',
      database,
      every: EVERY_MS,
      logger: SILENT,
      async exporter() {
        steps.push('exports')
        begin()
        await new Promise<void>((resolve) => (end = resolve))
        steps.push('has exported')
      },
    },
    { ...systemEnvironment, clock },
  )
  const observing = new Set<unknown>()
  queue.instrument({
    createObservableCounter: () => ({}),
    createObservableGauge: () => ({}),
    addBatchObservableCallback: (callback: unknown) => void observing.add(callback),
    removeBatchObservableCallback: (callback: unknown) => void observing.delete(callback),
  })
  await queue.migrate()
  await database.transaction((tx) => queue.add('key', 1, tx))
  await clock.advance(EVERY_MS)
  await begun
  assert.equal(observing.size, 1)
  const closed = queue.close().then(() => steps.push('is closed'))
  await flushPromises()
  assert.equal(observing.size, 0, 'who observes asks no database that is about to be closed')
  end()
  await closed
  assert.deepEqual(steps, ['exports', 'has exported', 'is closed'])
  const { rows } = await database.query('SELECT lease_owner, lease_until FROM export_queues')
  assert.deepEqual(rows, [{ lease_owner: null, lease_until: 0 }])
  const left = await database.query('SELECT id FROM export_queue_entries')
  assert.deepEqual(left.rows, [])
  await database.close()
})

test('a lease that another process takes while this one asks for it is left to it', async () => {
  const clock = new ManualClock(0)
  const database = sqlite(':memory:')
  let [now, isAsking, asked] = [1_000_000, false, 0]
  const other = Buffer.alloc(16, 1)
  const queue = new ExportQueueIn<string, number>(
    {
      name: 'queue',
      database: wrapped(database, {
        now: async () => now,
        async query(sql, values) {
          if (isAsking && sql.startsWith('SELECT lease_owner')) {
            asked++
            // Since this process came, a millisecond has passed.
            now += 1
            await database.query('UPDATE export_queues SET lease_owner = ?, lease_until = ?', [
              other,
              now + leaseMs,
            ])
          }
          return database.query(sql, values)
        },
      }),
      every: EVERY_MS,
      logger: SILENT,
      exporter: () => undefined,
    },
    { ...systemEnvironment, clock },
  )
  const lease = async () => {
    const { rows } = await database.query('SELECT lease_owner, lease_until FROM export_queues')
    return rows[0]!
  }
  await queue.migrate()
  await clock.advance(EVERY_MS)
  await eventually('it has the lease', async () => Number((await lease())['lease_until']) > 0)
  const leaseMs = Number((await lease())['lease_until']) - now
  isAsking = true
  while (asked < 3) {
    await clock.advance(EVERY_MS)
    await flushPromises()
  }
  await queue.close()
  assert.deepEqual((await lease())['lease_owner'], other)
  await database.close()
})

test('while a call never settles the other entries come, and log and metric say so', async () => {
  const clock = new ManualClock(0)
  const database = sqlite(':memory:')
  const [came, logger] = [new Set<string>(), keptLog()]
  let reason: unknown
  const queue = new ExportQueueIn<string, number>(
    {
      name: 'queue',
      database,
      buckets: 1000,
      every: EVERY_MS,
      timeoutMs: DAY_MS,
      logger,
      async exporter(entries, { signal }) {
        if (entries.some(({ key }) => key === 'bad')) {
          signal.addEventListener('abort', () => (reason = signal.reason))
          await new Promise(() => undefined)
        }
        for (const { key } of entries) came.add(key)
      },
    },
    { ...systemEnvironment, clock },
  )
  await queue.migrate()
  const add = (...keys: string[]) =>
    database.transaction(async (tx) => {
      for (const key of keys) await queue.add(key, 1, tx)
    })
  const others = Array.from({ length: 59 }, (_, i) => `k${i}`)
  await add('bad', ...others)
  const until = (count: number) =>
    eventually(`${count} entries`, async () => {
      await clock.advance(EVERY_MS)
      return came.size >= count
    })
  await until(59)
  await add('later')
  await until(60)
  assert.deepEqual([...came].toSorted(), [...others, 'later'].toSorted())
  await clock.advance(SLOW_MS)
  assert.deepEqual(logger.lines, [
    'wide-cache: the exporter of the export queue "queue" has been running for 5 s; other ' +
      'buckets go on, and the call fails after 86400 s (option "timeoutMs")',
  ])
  const [, seconds] = /_export_call_seconds\{name="queue"\} (\S+)/.exec(await queue.metrics()) ?? []
  assert(Number(seconds) >= SLOW_MS / 1000 && Number(seconds) <= clock.elapsed() / 1000, seconds)
  await queue.close()
  assert.equal(Object(reason).code, 'CLOSED')
  const { rows } = await database.query('SELECT lease_owner, lease_until FROM export_queues')
  assert.deepEqual(rows, [{ lease_owner: null, lease_until: 0 }])
  await database.close()
})

for (const [what, fails, times] of [
  ['once where that succeeds', false, 1],
  ['again by close() where that fails', true, 2],
] as const) {
  test(`a run that is left gives its lease back, ${what}`, async () => {
    const clock = new ManualClock(0)
    const database = sqlite(':memory:')
    let given = 0
    const queue = new ExportQueueIn<string, number>(
      {
        name: 'queue',
        database: wrapped(database, {
          query(sql, values) {
            const isGiven = sql.includes('SET lease_owner = NULL')
            if (isGiven && ++given === 1 && fails) return Promise.reject(new Error('away'))
            return database.query(sql, values)
          },
        }),
        every: EVERY_MS,
        timeoutMs: DAY_MS,
        logger: SILENT,
        exporter: () => new Promise(() => undefined),
      },
      { ...systemEnvironment, clock },
    )
    await queue.migrate()
    await database.transaction((tx) => queue.add('key', 1, tx))
    await eventually('the run is left', async () => {
      if (given === 0) await clock.advance(EVERY_MS)
      return given > 0
    })
    await queue.close()
    assert.equal(given, times)
    const { rows } = await database.query('SELECT lease_owner, lease_until FROM export_queues')
    assert.deepEqual(rows, [{ lease_owner: null, lease_until: 0 }])
    await database.close()
  })
}
