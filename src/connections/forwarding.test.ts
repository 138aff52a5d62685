/** What passes requests on changes none of them, and no answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sourceOf } from '../database/source.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemClock } from '../support/clock.js'
import { testCache } from '../testing/cache.js'
import { CountingCache, CountingDatabase } from './counting.js'
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
