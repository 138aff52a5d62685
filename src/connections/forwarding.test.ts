/** What passes requests on changes none of them, and no answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sourceOf } from '../database/source.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemClock } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { testCache } from '../testing/cache.js'
import { CountingCache, CountingDatabase } from './counting.js'
import { namespaced } from './namespaced-cache.js'
import { sharedDatabase } from './shared-database.js'

test('a database passes on all arguments, answers and properties', async () => {
  const own = sqlite(':memory:')
  const calls: unknown[][] = []
  const inner = new Proxy(own, {
    get: (_, name: keyof Database) =>
      name === 'dialect' || name === 'maxStatementBytes'
        ? `the ${name}`
        : async (...all: unknown[]) => {
            calls.push([name, ...all])
            return `the answer to ${name}`
          },
  })
  const database = CountingDatabase.of(
    sharedDatabase('passes on', () => inner),
    systemClock,
  )
  const work = async () => undefined
  const answers = [
    await database.query('SELECT ?', [1]),
    await database.transaction(work),
    await database.now(),
    await database.migrate(['identity']),
  ]
  await database.close()
  assert.deepEqual(calls, [
    ['query', 'SELECT ?', [1]],
    ['transaction', work],
    ['now'],
    ['migrate', ['identity']],
    ['close'],
  ])
  assert.deepEqual(
    answers,
    calls.slice(0, 4).map(([name]) => `the answer to ${String(name)}`),
  )
  assert.equal(database.dialect, 'the dialect')
  assert.equal(database.maxStatementBytes, 'the maxStatementBytes')
  const through = CountingDatabase.of(
    sharedDatabase('has a source', () => own),
    systemClock,
  )
  assert.equal(sourceOf(through), own)
  await through.close()
})

test('a cache that is asked without a listener rejects, and never answers with less', async () => {
  const error = new CacheError('CACHE_TIMEOUT', 'silent')
  const silent = wrapped(memory(), {
    getMany: async (
      keys: readonly string[],
      onUnanswered?: (key: string, e: CacheError) => void,
    ) => {
      if (!onUnanswered) throw error
      for (const key of keys) onUnanswered(key, error)
      return new Map<string, Buffer>()
    },
  })
  const database = sqlite(':memory:')
  await database.migrate()
  const parts = { database, environment: systemEnvironment, logger: keptLog() }
  for (const cache of [new CountingCache(silent, systemClock), namespaced(silent, parts)]) {
    await assert.rejects(cache.getMany(['a', 'b']), error)
    const told: string[] = []
    await cache.getMany(['a', 'b'], (key) => told.push(key))
    assert.deepEqual(told, ['a', 'b'])
  }
  await database.close()
})

let elapsed = 0
testCache({
  test,
  name: 'memory that is counted',
  create: () => new CountingCache(memory({ now: () => elapsed }), systemClock),
  capabilities: {
    itemLimitBytes: 1024 * 1024,
    passSeconds: (seconds) => (elapsed += seconds * 1000),
  },
})
