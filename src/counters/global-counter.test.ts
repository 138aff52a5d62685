import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GlobalCounter } from './global-counter.js'
import { globalCounterSuite } from './global-counter.suite.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { PAIRS_OF_COUNTERS } from './pairs.fixture.js'

// Much of their time is waiting.
describe('a global counter on', { concurrency: 4 }, () => {
  for (const pair of PAIRS_OF_COUNTERS) globalCounterSuite(test, pair)
})

test('a wrong option is named at creation, a wrong delta at the call', async () => {
  const local = { database: 'sqlite::memory:', cache: 'memory:' }
  for (const [options, message] of [
    [{ ...local, name: 'a'.repeat(33) }, /option "name"/],
    [{ ...local, name: 'a', shards: 1.5 }, /option "shards" is 1.5/],
    [
      { ...local, name: 'a', chanceToWrite: 1e-7 },
      /option "chanceToWrite" is 1e-7; allowed: 0, or a number from 0.000001 to 1/,
    ],
    [{ ...local, name: 'a', chanceToWrite: 1.01 }, /option "chanceToWrite"/],
    [{ ...local, name: 'a', chanceToWrite: NaN }, /option "chanceToWrite"/],
    [{ ...local, name: 'a', chanceToWrite: '1' }, /option "chanceToWrite"/],
    [{ ...local, name: 'a', cacheSeconds: 1 }, /option "cacheSeconds" is unknown/],
  ] as const) {
    assert.throws(() => new GlobalCounter(options as { name: string }), {
      code: 'ERR_WIDE_CACHE_OPTION',
      message,
    })
  }
  await new GlobalCounter({ ...local, name: 'a', chanceToWrite: 0.000_001 }).close()
  const counter = new GlobalCounter({ ...local, name: 'a' })
  for (const delta of [0, -1, 1.5, 2 ** 53]) {
    await assert.rejects(counter.increment(delta), RangeError)
  }
  await assert.rejects(counter.increment('1' as unknown as number), {
    name: 'TypeError',
    message: /option "delta" is/,
  })
  await counter.close()
})

test('an increment that is refused in SQL leaves the number in the cache', async () => {
  const cache = memory()
  const options = { name: 'a', database: 'sqlite::memory:', cache, chanceToWrite: 0.01 }
  const counter = new GlobalCounter(options)
  for (let i = 1; i <= 5; i++) assert.equal(await counter.increment(), i)
  // Beside the 1 that is persisted there would be room for it.
  await assert.rejects(counter.increment(Number.MAX_SAFE_INTEGER - 3), RangeError)
  assert.equal(await counter.get(), 5)
  assert.equal(await counter.increment(), 6)
  await counter.close()
})

test('callers that wait for an opening that fails are told of its failure', async () => {
  let opened = 0
  const cache = wrapped(memory(), {
    add: async () => {
      opened++
      return false
    },
  })
  const counter = new GlobalCounter({ name: 'a', database: 'sqlite::memory:', cache })
  await counter.migrate()
  const all = await Promise.allSettled([counter.increment(), counter.increment()])
  for (const result of all) {
    assert(result.status === 'rejected')
    assert.match(String(result.reason), /the cache does not store its value/)
  }
  assert.equal(opened, 1)
  await counter.close()
})

test('an increment that the cache loses again and again says so', async () => {
  const database = sqlite(':memory:')
  const cache = memory()
  const options = { name: 'a', database, cache }
  const counter = new GlobalCounter(options)
  const other = new GlobalCounter(options)
  assert.equal(await counter.increment(), 1)
  let losses = 0
  // Each time another process opens the next generation first.
  const losing = new GlobalCounter({
    ...options,
    cache: wrapped(cache, {
      increment: async (key) => {
        losses++
        await cache.delete(key)
        await other.increment()
        return undefined
      },
    }),
  })
  await assert.rejects(losing.increment(), { name: 'CacheError', code: 'CACHE_REFUSED' })
  assert.equal(losses, 100)
  await Promise.all([counter.close(), other.close(), losing.close()])
  await database.close()
})
