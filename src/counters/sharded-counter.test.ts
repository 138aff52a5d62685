import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { wrapped, wrappedDatabase } from '../../test/servers/wrapped.js'
import { PAIRS_OF_ANY_CACHE } from './pairs.fixture.js'
import { ShardedCounter, ShardedCounterIn } from './sharded-counter.js'
import { shardedCounterSuite } from './sharded-counter.suite.js'
import { share } from './shards.js'

// Much of their time is waiting.
describe('a sharded counter on', { concurrency: 4 }, () => {
  for (const pair of PAIRS_OF_ANY_CACHE) shardedCounterSuite(test, pair)
})

test('shares add up to the whole, and no share of a part is beyond the share of 2^53-1', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 1000 }), (total, count) => {
      let sum = 0
      for (let shard = 0; shard < count; shard++) {
        sum += share(total, count, shard)
        assert(Math.abs(share(total, count, shard)) <= share(Number.MAX_SAFE_INTEGER, count, shard))
      }
      assert.equal(sum, total)
    }),
  )
})

test('a wrong option is named at creation, a wrong delta at the call', async () => {
  const local = { database: 'sqlite::memory:', cache: 'memory:' }
  for (const [options, message] of [
    [{ ...local, name: 'a b' }, /option "name" is "a b"/],
    [{ ...local }, /option "name" is undefined/],
    [
      { ...local, name: 'a', shards: 0 },
      /option "shards" is 0; allowed: a whole number from 1 to 1000/,
    ],
    [{ ...local, name: 'a', shards: 1001 }, /option "shards"/],
    [{ ...local, name: 'a', cacheSeconds: 0 }, /option "cacheSeconds" is 0/],
    [{ ...local, name: 'a', cacheSeconds: 2_592_001 }, /option "cacheSeconds"/],
    [{ ...local, name: 'a', cacheSecs: 1 }, /option "cacheSecs" is unknown/],
    [{ cache: 'memory:', name: 'a', database: 'nosql:x' }, /option "database"/],
    [{ database: 'sqlite::memory:', name: 'a', cache: 'redis:x' }, /option "cache"/],
  ] as const) {
    assert.throws(() => new ShardedCounter(options as { name: string }), {
      code: 'ERR_WIDE_CACHE_OPTION',
      message,
    })
  }
  const counter = new ShardedCounter({ ...local, name: 'a', shards: undefined })
  for (const delta of [1.5, NaN, 2 ** 53]) {
    await assert.rejects(counter.increment(delta), RangeError)
  }
  await assert.rejects(counter.increment('1' as unknown as number), {
    name: 'TypeError',
    message: /option "delta" is/,
  })
  await assert.rejects(counter.increaseShards(0), RangeError)
  await assert.rejects(counter.increaseShards(1001), RangeError)
  await assert.rejects(counter.get({ exakt: true } as object), TypeError)
  await counter.close()
})

test('after it has added shards a process needs no look at the row of the counter', async () => {
  const database = sqlite(':memory:')
  await new ShardedCounter({ name: 'a', database, cache: 'memory:', shards: 1 }).increment()
  const asked: string[] = []
  const counting = wrappedDatabase(
    database,
    { query: (sql, values) => (asked.push(sql), database.query(sql, values)) },
    (tx) => ({ query: (sql, values) => (asked.push(sql), tx.query(sql, values)) }),
  )
  // It counts in the first shard, which is there.
  const environment = { ...systemEnvironment, random: () => 0 }
  const counter = new ShardedCounterIn(
    { name: 'a', database: counting, cache: 'memory:', shards: 1 },
    environment,
  )
  await counter.increaseShards(2)
  asked.length = 0
  await counter.increment()
  assert(asked.length > 0)
  assert.deepEqual(
    asked.filter((sql) => /sharded_counters\b/.test(sql)),
    [],
  )
  await counter.close()
  await database.close()
})

test('a process that hears of new shards goes the long way once', async () => {
  const database = sqlite(':memory:')
  let longWays = 0
  const counting = wrappedDatabase(database, {}, (tx) => ({
    query: (sql, values) => {
      if (/FROM sharded_counters\b/.test(sql)) longWays++
      return tx.query(sql, values)
    },
  }))
  // It counts in the first shard.
  const environment = { ...systemEnvironment, random: () => 0 }
  const options = { name: 'a', cache: 'memory:', shards: 1 }
  const counter = new ShardedCounterIn({ ...options, database: counting }, environment)
  await counter.increment()
  await new ShardedCounter({ ...options, database }).increaseShards(2)
  longWays = 0
  for (let i = 0; i < 3; i++) await counter.increment()
  assert.equal(longWays, 1)
  assert.equal(await counter.get({ exact: true }), 4)
  await counter.close()
  await database.close()
})

test('an increment that a try has refused, and a later one has counted, resolves', async () => {
  const database = sqlite(':memory:')
  const options = { name: 'a', cache: 'memory:', shards: 1 }
  const other = new ShardedCounter({ ...options, database })
  const locked = new DatabaseError('ER_LOCK_DEADLOCK', 'lock', 'deadlock')
  let tries = 0
  const conflicting = wrapped(database, {
    async transaction(work) {
      if (tries++ > 0) return database.transaction(work)
      const undone = database.transaction(async (tx) => {
        await work(tx)
        throw locked
      })
      await assert.rejects(undone, locked)
      // By the next try there is room for both.
      await other.increment(-100)
      throw locked
    },
  })
  const counter = new ShardedCounter({ ...options, database: conflicting })
  tries = 1
  await counter.increment(Number.MAX_SAFE_INTEGER - 5)
  tries = 0
  await Promise.all([counter.increment(3), counter.increment(5)])
  assert(tries > 1)
  assert.equal(await other.get({ exact: true }), Number.MAX_SAFE_INTEGER - 97)
  await counter.close()
  await other.close()
  await database.close()
})
