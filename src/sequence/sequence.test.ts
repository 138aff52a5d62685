import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALL } from '../../test/scale.js'
import { PATIENT } from '../../test/servers/memcached.js'
import { sharedMemcached, sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { memcached } from '../cache/memcached/memcached.js'
import { memory } from '../cache/memory.js'
import type { Cache } from '../cache/cache.js'
import type { Database } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { postgres } from '../database/postgres/postgres.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemClock } from '../support/clock.js'
import { countingProxy } from '../support/counting-proxy.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { Callers, MAX_WAITING } from './callers.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { type Pair, sequenceSuite } from './sequence.suite.js'
import { Sequence } from './sequence.js'

function pair(cache: Cache, database: Database): Pair {
  return {
    cache,
    database,
    close: async () => void (await Promise.all([cache.close(), database.close()])),
  }
}

// Most of their time is waiting.
describe('a sequence on', { concurrency: 4 }, () => {
  sequenceSuite('memcached and MariaDB', {
    test,
    cached: true,
    open: async () =>
      pair(memcached(await sharedMemcached(), PATIENT), mysql(await sharedMysqlUrl())),
  })
  if (ALL) {
    sequenceSuite('memcached and PostgreSQL', {
      test,
      cached: true,
      open: async () =>
        pair(memcached(await sharedMemcached(), PATIENT), postgres(await sharedPostgresUrl())),
    })
  }
  sequenceSuite('memory and SQLite', {
    test,
    cached: false,
    open: async () => pair(memory(), sqlite(':memory:')),
  })
  sequenceSuite('a shared cache and SQLite', {
    test,
    cached: true,
    open: async () => pair(new FaultyCache(memory(), undefined, 'shared'), sqlite(':memory:')),
  })
})

test('wrong options are refused by name', () => {
  const right = { name: 'orders', cache: 'memory:', database: 'sqlite::memory:' }
  assert.throws(() => new Sequence({ ...right, name: 'a name' }), {
    name: 'RangeError',
    message: /option "name" is "a name"; allowed/,
  })
  // @ts-expect-error no name
  assert.throws(() => new Sequence({}), { name: 'TypeError', message: /option "name"/ })
  for (const block of [0, -1, 1.5, 1_000_000_001]) {
    assert.throws(() => new Sequence({ ...right, block }), {
      name: 'RangeError',
      message: /option "block" is .*; allowed: a whole number from 1 to 1000000000 numbers$/,
    })
  }
  for (const start of [0, -5, 1.5, 2 ** 53]) {
    assert.throws(() => new Sequence({ ...right, start }), {
      name: 'RangeError',
      message: /option "start" is .*; allowed: a whole number from 1 to 9007199254740991$/,
    })
  }
  assert.throws(() => new Sequence({ ...right, cache: 'http://host' }), {
    name: 'RangeError',
    message: /option "cache"/,
  })
  assert.throws(() => new Sequence({ ...right, database: 'mongodb://host' }), {
    name: 'RangeError',
    message: /option "database"/,
  })
  // @ts-expect-error no such option
  assert.throws(() => new Sequence({ ...right, blocks: 5 }), {
    name: 'TypeError',
    message: /option "blocks" is unknown/,
  })
  // @ts-expect-error no logger
  assert.throws(() => new Sequence({ ...right, logger: {} }), {
    name: 'TypeError',
    message: /option "logger"/,
  })
})

test('migrate() makes the tables', async () => {
  const database = sqlite(':memory:')
  const sequence = new Sequence({ name: 'orders', cache: 'memory:', database })
  await sequence.migrate()
  assert.deepEqual((await database.query('SELECT * FROM sequence_generations')).rows, [])
  await sequence.close()
  await database.close()
})

test('close() closes what the sequence has opened', async () => {
  const unused = new Sequence({ name: 'orders', cache: 'memory:', database: 'sqlite::memory:' })
  await unused.close()
  await assert.rejects(unused.migrate(), { code: 'CLOSED' })
  const proxy = await countingProxy(await sharedMemcached())
  const sequence = new Sequence({
    name: `closing-${process.pid}`,
    cache: `memcached://${proxy.address}`,
    database: 'sqlite::memory:',
  })
  // The first numbers come from SQL.
  for (let i = 1; proxy.open() === 0; i++) assert.equal(await sequence.next(), i)
  await sequence.close()
  await eventually('all connections end', () => proxy.open() === 0)
  assert.equal(proxy.open(), 0)
  await proxy.close()
})

test('what waits is bounded', async () => {
  const callers = new Callers('test', 100, systemClock)
  const waiting = Promise.allSettled(Array.from({ length: MAX_WAITING }, () => callers.join()))
  await assert.rejects(callers.join(), {
    name: 'SequenceError',
    code: 'SEQUENCE_QUEUE_FULL',
    message: /100000 callers wait for a number of sequence "test"/,
  })
  callers.close()
  await waiting
})
