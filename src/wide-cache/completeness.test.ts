import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { Completeness } from './completeness.js'
import { EngineRecorder, type Incoming } from './engine-recorder.js'
import { openEngine, openRows } from './row-recorder.fixture.js'

const NOW = 1_700_000_000_000

test('rows recorded while SQL is asked are not claimed to be there', async () => {
  const clock = new ManualClock(NOW)
  const completeness = new Completeness({
    settings: {
      name: 'test',
      readTtlSeconds: 2,
      collectorRemedy: '',
    },
    clock,
    logger: new BurstLogger(SILENT, clock.elapsed),
    database: { migrate: async () => undefined },
    reading: {
      async query() {
        // What is drained while this is asked may be newer than the question.
        await clock.advance(10_000)
        const row = { layer_seconds: 1, watermark: NOW / 1_000 + 5, complete_to: 0 }
        return { rows: [{ ...row, direct_seconds: 75, direct_to: 0, missing_since: null }] }
      },
    } as never,
    watch: {
      now: async () => clock.now(),
      get estimate() {
        return clock.now()
      },
    } as never,
  })
  assert.equal((await completeness.read()).asOf, NOW)
})

/** A shared cache that answers like `current()`, or rejects while there is none. */
function mortal(current: () => Cache | undefined, initial: Cache): Cache {
  return new Proxy(initial, {
    get(target, property) {
      if (property === 'scope') return 'shared'
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]): Promise<unknown> => {
        const cache = current()
        if (!cache) throw new CacheError('CACHE_UNREACHABLE', 'dead')
        return Reflect.apply(value, cache, args)
      }
    },
  })
}

test('figures do not go back when the cache dies with what it holds', async () => {
  const clock = new ManualClock(NOW)
  const living = memory({ now: clock.now })
  let cache: Cache | undefined = living
  const real = sqlite(':memory:')
  const clocked = { now: async () => clock.now() }
  const wide = openRows<unknown, number>(
    {
      name: 'steady',
      cache: mortal(() => cache, living),
      database: wrappedDatabase(real, clocked, () => clocked),
      collect: false,
      logger: SILENT,
      commit: async () => {},
      read: async (_, { asOf }) => (asOf - NOW) / 1_000,
      readTtlSeconds: 1,
    },
    { ...systemEnvironment, clock },
  )
  const told: number[] = []
  for (let halves = 0; halves < 80; halves++) {
    if (halves === 50) cache = undefined
    wide.append('row')
    await clock.advance(500)
    // Answers come from another thread.
    for (let answers = 0; answers < 40; answers++) {
      await real.query('SELECT 1')
      await flushPromises()
    }
    if (halves % 6 === 1) await wide.drain().catch(() => undefined)
    if (halves % 2 === 1) told.push(await wide.read())
  }
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  )
  assert(told.at(-1)! > 20, told.join(' '))
  await wide.close()
  await real.close()
})

/** Processes with a cache of their own each, on one database whose clock the test moves. */
function alone({ isShared = false } = {}) {
  const clock = new ManualClock(NOW)
  const database = wrappedDatabase(sqlite(':memory:'), { now: async () => clock.now() }, () => ({
    now: async () => clock.now(),
  }))
  const open = () => {
    const cache = memory({ now: clock.now })
    const options = {
      name: 'alone',
      cache: isShared ? mortal(() => cache, cache) : cache,
      database,
      collect: false as const,
      logger: SILENT,
      commit: async () => {},
      read: async (_: unknown, { asOf }: { asOf: number }) => asOf - NOW,
    }
    return { cache, ...openEngine<unknown, number>(options, { ...systemEnvironment, clock }) }
  }
  return { clock, database, open }
}

test('with a private cache, figures have all of the past once all is drained', async () => {
  const { clock, database, open } = alone()
  const { wide } = open()
  const told: number[] = []
  for (const ms of [500, 1, 2]) {
    wide.append('row')
    await wide.flush()
    await clock.advance(ms)
    await wide.drain({ all: true })
    told.push(await wide.read())
  }
  assert.deepEqual(told, [500, 501, 503])
  await wide.close()
  await database.close()
})

test('figures end before the oldest row that the process holds, open, placed or lost', async () => {
  for (const held of ['open', 'lost'] as const) {
    const { clock, database, open } = alone()
    const { wide, cache } = open()
    await clock.advance(100)
    wide.append('first')
    if (held === 'lost') await wide.flush()
    await clock.advance(100)
    wide.append('second')
    // The cells of what has been flushed.
    if (held === 'lost') cache.getMany = async () => new Map<string, Buffer>()
    await wide.drain({ all: true })
    assert.equal(await wide.read(), 100, held)
    await wide.close()
    await database.close()
  }
})

test('figures do not go on while rows wait to be recorded', async () => {
  class Waiting extends EngineRecorder<unknown> {}
  const incoming = { isWaiting: true, forwarded: async () => {}, end: async () => {} }
  const { clock, database, open } = alone()
  const { wide, engines } = open()
  const waiting = new Waiting(engines, incoming satisfies Incoming)
  await waiting.migrate()
  await clock.advance(100)
  await waiting.drain({ all: true })
  assert((await wide.read()) <= 0)
  incoming.isWaiting = false
  await waiting.drain({ all: true })
  assert.equal(await wide.read(), 100)
  await wide.close()
  await database.close()
})

test('figures end where another process has drained, or others may place rows', async () => {
  const two = alone()
  const [one, other] = [two.open().wide, two.open().wide]
  for (const wide of [one, other]) wide.append('row')
  await Promise.all([one.flush(), other.flush()])
  await two.clock.advance(100)
  await one.drain({ all: true })
  assert((await one.read()) <= 0)
  await other.drain({ all: true })
  await one.drain({ all: true })
  assert.equal(await one.read(), 100)
  await Promise.all([one.close(), other.close()])
  const shared = alone({ isShared: true })
  const { wide } = shared.open()
  wide.append('row')
  await wide.flush()
  await shared.clock.advance(100)
  await wide.drain({ all: true })
  assert((await wide.read()) <= 0)
  await wide.close()
  await Promise.all([two.database.close(), shared.database.close()])
})
