import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { memory } from '../cache/memory.js'
import { type Database, DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { CountingCache, CountingDatabase, isCounting } from './counting.js'

/** A port whose methods reject with `failure.error`, if there is one. */
function failing<P extends object>(port: P, failure: { error?: Error | undefined }): P {
  return new Proxy(port, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown =>
        failure.error && property !== 'close'
          ? Promise.reject(failure.error)
          : Reflect.apply(value, target, args)
    },
  })
}

function database() {
  const failure: { error?: Error | undefined } = {}
  const clock = new ManualClock(0)
  const real: Database = failing(sqlite(':memory:'), failure)
  return { failure, clock, counting: CountingDatabase.of(real, clock) }
}

const refused = (category: DatabaseError['category'], server?: string): DatabaseError =>
  new DatabaseError('CODE', category, 'broken', { server })

test('failures are counted by server, by every method', async () => {
  const { failure, counting } = database()
  await counting.migrate(['wide-cache'])
  await counting.query('SELECT 1')
  assert.deepEqual([...counting.errors.byServer], [])
  failure.error = refused('unreachable', 'a:3306')
  await assert.rejects(counting.query('SELECT 1'), failure.error)
  await assert.rejects(counting.now(), failure.error)
  failure.error = refused('capacity', 'b:3306')
  await assert.rejects(
    counting.transaction(async () => 1),
    failure.error,
  )
  failure.error = refused('usage')
  await assert.rejects(counting.migrate(), failure.error)
  assert.deepEqual(
    [...counting.errors.byServer],
    [
      ['a:3306', 2],
      ['b:3306', 1],
      ['sqlite', 1],
    ],
  )
  await counting.close()
})

test('locks of others are conflicts; refused rows and a closed database no failures', async () => {
  const { failure, counting } = database()
  for (const category of ['lock', 'lock', 'data'] as const) {
    failure.error = refused(category)
    await assert.rejects(counting.query('SELECT 1'), failure.error)
  }
  failure.error = undefined
  await counting.close()
  await assert.rejects(counting.query('SELECT 1'), { code: 'DATABASE_CLOSED' })
  await assert.rejects(
    counting.transaction(() => Promise.reject(new Error('of the caller'))),
    /closed|of the caller/,
  )
  const { errors } = counting
  assert.deepEqual([errors.conflicts, [...errors.byServer], errors.failingMs], [2, [], undefined])
})

test('it is known since when a database fails, until it answers', async () => {
  const { failure, clock, counting } = database()
  failure.error = refused('unreachable')
  await assert.rejects(counting.now())
  await clock.advance(5_000)
  await assert.rejects(counting.now())
  assert.equal(counting.errors.failingMs, 5_000)
  failure.error = refused('data')
  await assert.rejects(counting.now())
  assert.equal(counting.errors.failingMs, undefined, 'it has answered')
  failure.error = refused('unreachable')
  await assert.rejects(counting.now())
  await clock.advance(60_000)
  assert.equal(counting.errors.failingMs, 60_000)
  await clock.advance(1)
  assert.equal(counting.errors.failingMs, undefined, 'one that nobody asks tells nothing')
  await counting.close()
})

test('a database counts once, however often it is asked to', async () => {
  const { counting, clock } = database()
  assert.equal(CountingDatabase.of(counting, clock), counting)
  assert(isCounting(counting) && !isCounting('sqlite::memory:'))
  assert.equal(counting.dialect, 'sqlite')
  assert(counting.maxStatementBytes > 0)
  await counting.close()
})

test('a cache does the same, and counts each key that a server has not answered', async () => {
  const failure: { error?: Error | undefined } = {}
  const clock = new ManualClock(0)
  const real: Cache = failing(memory(), failure)
  const counting = new CountingCache(real, clock)
  assert.equal(counting.scope, 'private')
  assert.equal(counting.neverGoesBack, true)
  const mayGoBack = wrapped(memory(), { neverGoesBack: false })
  assert.equal(new CountingCache(mayGoBack, clock).neverGoesBack, false)
  const value = Buffer.from('1')
  await counting.set('a', value, 10)
  await counting.add('b', value, 10)
  await counting.append('a', value)
  await counting.increment('n', 1, { initial: 1, ttlSeconds: 10 })
  assert.deepEqual([...(await counting.getMany(['a', 'b'])).keys()], ['a', 'b'])
  assert.equal((await counting.get('a'))?.toString(), '11')
  await counting.delete('a')
  assert.deepEqual([...counting.errors.byServer], [])
  failure.error = new CacheError('CACHE_TIMEOUT', 'silent', { server: 'c:11211' })
  const calls = [
    () => counting.get('a'),
    () => counting.getMany(['a']),
    () => counting.set('a', value, 10),
    () => counting.add('a', value, 10),
    () => counting.append('a', value),
    () => counting.delete('a'),
    () => counting.increment('n'),
  ]
  for (const call of calls) await assert.rejects(call(), failure.error)
  assert.deepEqual([...counting.errors.byServer], [['c:11211', calls.length]])
  assert.deepEqual(counting.errors.failedWithin(60_000), ['c:11211'])
  await clock.advance(60_001)
  assert.deepEqual(counting.errors.failedWithin(60_000), [])
  failure.error = undefined
  await counting.get('a')
  await counting.close()
  for (const call of calls) await assert.rejects(call(), { code: 'CACHE_CLOSED' })
  assert.equal(counting.errors.failingMs, undefined, 'a closed cache is no failure')
  assert.deepEqual([...counting.errors.byServer], [['c:11211', calls.length]])
})

test('of several keys, those without an answer fail, and the others answer', async () => {
  const error = new CacheError('CACHE_UNREACHABLE', 'down', { server: 'c:11211' })
  const clock = new ManualClock(0)
  const real: Cache = {
    ...memory(),
    scope: 'shared',
    async getMany(keys, onUnanswered) {
      for (const key of keys) if (key.startsWith('lost')) onUnanswered?.(key, error)
      return new Map()
    },
  }
  const counting = new CountingCache(real, clock)
  const told: string[] = []
  const ask = (keys: string[]) => counting.getMany(keys, (key) => void told.push(key))
  await ask(['lost 1', 'lost 2'])
  await clock.advance(1_000)
  assert.deepEqual([counting.errors.failingMs, told], [1_000, ['lost 1', 'lost 2']])
  await ask(['lost 3', 'found'])
  assert.equal(counting.errors.failingMs, undefined)
  assert.deepEqual([...counting.errors.byServer], [['c:11211', 3]])
})

test('no list of servers makes the counts grow without a bound', () => {
  const { errors } = new CountingCache(memory(), new ManualClock(0))
  for (let n = 0; n < 1_000; n++) errors.failed(`server-${n}:11211`)
  assert.equal(errors.byServer.size, 101)
  assert.equal(errors.byServer.get('others'), 900)
})
