import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { wrapped, wrappedDatabase } from '../../test/servers/wrapped.js'
import { type Cache } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { GlobalCounter } from './global-counter.js'

const MAX = Number.MAX_SAFE_INTEGER
const LARGE = 2 ** 33
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/^SELECT value FROM global_counter_shards/, 'lock shards'],
  [/^SELECT COALESCE\(MAX/, 'read the persisted value'],
  [/^SELECT c\.generation/, 'read the generation'],
  [/^UPDATE global_counters SET generation/, 'enter the generation'],
  [/^UPDATE global_counter_shards/, 'persist'],
]

/** A counter's servers, and a process of it whose steps are noted. */
function bench() {
  const cache = memory()
  const database = sqlite(':memory:')
  const steps: string[] = []
  const note = (sql: string): void => {
    const named = NAMED.find(([pattern]) => pattern.test(sql))
    if (named) steps.push(named[1])
  }
  /** Notes a step when it has been answered, a turn later. */
  const noted = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    try {
      const answer = await work()
      await turn()
      return answer
    } finally {
      steps.push(step)
    }
  }
  const ports: { readonly cache: Cache; readonly database: Database } = {
    cache: wrapped(cache, {
      increment: (...given) => noted('increment', () => cache.increment(...given)),
      get: (...given) => noted('get', () => cache.get(...given)),
      delete: (...given) => noted('delete', () => cache.delete(...given)),
      add: (...given) => noted('add', () => cache.add(...given)),
    }),
    database: wrappedDatabase(
      database,
      {
        query: (sql, values) => (note(sql), database.query(sql, values)),
        transaction: (work) => {
          steps.push('begin')
          return database.transaction((tx) =>
            work(wrapped(tx, { query: (sql, values) => (note(sql), tx.query(sql, values)) })),
          )
        },
      },
      () => ({}),
    ),
  }
  const open = (through: typeof ports, chanceToWrite = 1): GlobalCounter =>
    new GlobalCounter({ name: 'law', shards: 1, chanceToWrite, ...through })
  /** Steps since the last call. */
  const taken = (): string[] => steps.splice(0)
  return {
    taken,
    ports,
    open,
    counter: open(ports),
    other: open({ cache, database }),
    close: () => database.close(),
  }
}

test('a generation is read behind the locks, and ends before the next begins', async () => {
  const { counter, taken, close } = bench()
  await counter.increment()
  // Only now does it remember the generation.
  await counter.increment()
  taken()
  assert.equal(await counter.increment(LARGE), 2 + LARGE)
  const steps = taken()
  assert.deepEqual(steps.slice(steps.indexOf('begin')), [
    'begin',
    'read the generation',
    'lock shards',
    'get',
    'delete',
    'add',
    'enter the generation',
  ])
  // It knows the new generation, and asks the cache of it.
  assert.equal(await counter.increment(), 3 + LARGE)
  assert.deepEqual(taken(), ['read the generation', 'increment', 'persist'])
  await close()
})

test('a number past 2^53-1 is out of the cache before SQL is asked', async () => {
  const { counter, other, taken, close } = bench()
  await other.increment(MAX - 5)
  await counter.migrate()
  taken()
  await assert.rejects(counter.increment(10), RangeError)
  assert.deepEqual(taken(), [
    'read the generation',
    'increment',
    'delete',
    'read the persisted value',
  ])
  assert.equal(await counter.increment(2), MAX - 3)
  await close()
})

test('callers of one process that find no generation open one, in one transaction', async () => {
  const { counter, taken, close } = bench()
  await counter.migrate()
  taken()
  assert.deepEqual(await Promise.all([counter.increment(), counter.increment()]), [1, 2])
  assert.equal(taken().filter((step) => step === 'begin').length, 1)
  await close()
})

test('a large increment asks SQL for the generation, though it knows another one', async () => {
  const { counter, other, taken, close } = bench()
  await counter.increment()
  await counter.increment()
  assert.equal(await other.increment(LARGE), 2 + LARGE)
  taken()
  assert.equal(await counter.increment(LARGE), 2 + 2 * LARGE)
  assert.equal(taken().filter((step) => step === 'begin').length, 1)
  await close()
})

/** `ports` whose first number to be persisted waits until it may be. */
function persistingLate(ports: { readonly cache: Cache; readonly database: Database }) {
  let persists = (): void => undefined
  const persisting = new Promise<void>((resolve) => (persists = resolve))
  let mayPersist = (): void => undefined
  const permitted = new Promise<void>((resolve) => (mayPersist = resolve))
  const { database } = ports
  const late = wrapped(database, {
    async query(sql, values) {
      if (sql.startsWith('UPDATE global_counter_shards')) {
        persists()
        await permitted
      }
      return database.query(sql, values)
    },
  })
  return { ports: { ...ports, database: late }, persisting, mayPersist }
}

test('an answer that comes late takes back nothing that the process knows', async () => {
  const { ports, open, other, close } = bench()
  await other.increment(MAX - 10)
  const late = persistingLate(ports)
  // Of two numbers the even one is persisted.
  const counter = open(late.ports, 0.5)
  const first = counter.increment()
  await late.persisting
  assert.equal(await counter.increment(), MAX - 8)
  late.mayPersist()
  assert.equal(await first, MAX - 9)
  await assert.rejects(counter.increment(9), RangeError)
  assert.equal(await counter.increment(), MAX - 7)
  await close()
})

test('callers that learn one after the other that a generation is over ask once', async () => {
  const { ports, open, other, taken, close } = bench()
  await other.increment()
  // The cache keeps the number of the generation that ends.
  const keeping = wrapped(ports.cache, { delete: async () => true })
  const late = persistingLate(ports)
  const counter = open(late.ports)
  assert.equal(await counter.get(), 1)
  await open({ ...ports, cache: keeping }).increment(LARGE)
  taken()
  const first = counter.increment()
  await late.persisting
  const second = counter.increment()
  let steps: string[] = []
  while (steps.filter((step) => step === 'increment').length < 2) {
    await turn()
    steps = [...steps, ...taken()]
  }
  await turn()
  late.mayPersist()
  assert.deepEqual(await Promise.all([first, second]), [2 + LARGE, 3 + LARGE])
  assert.equal(taken().filter((step) => step === 'read the generation').length, 1)
  await close()
})

test('increments that share a question to the cache are 2^32 together at most', async () => {
  const { ports, open, close } = bench()
  const deltas: number[] = []
  const cache = wrapped(ports.cache, {
    increment: (key, delta = 1) => (deltas.push(delta), ports.cache.increment(key, delta)),
  })
  const counter = open({ ...ports, cache })
  for (let opening = 0; opening < 2; opening++) await counter.increment()
  deltas.length = 0
  const values = await Promise.all(
    [LARGE / 4, LARGE / 4, LARGE / 4, 1, LARGE / 2].map((delta) => counter.increment(delta)),
  )
  assert.deepEqual(deltas, [LARGE / 2, LARGE / 4 + 1, LARGE / 2])
  assert.deepEqual(
    values.map((value) => value - 2),
    [LARGE / 4, LARGE / 2, (3 * LARGE) / 4, (3 * LARGE) / 4 + 1, (5 * LARGE) / 4 + 1],
  )
  await close()
})

test('a counter keeps its rows, though a process wants fewer of them', async () => {
  const { ports, open, other, close } = bench()
  await new GlobalCounter({ name: 'law', shards: 5, ...ports }).increment()
  // Each opens a generation.
  await open(ports).increment(LARGE)
  await other.increment(LARGE)
  const { rows } = await ports.database.query('SELECT shards FROM global_counters')
  assert.deepEqual(rows, [{ shards: 5 }])
  await close()
})
