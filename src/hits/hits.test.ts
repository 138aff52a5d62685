import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { PAIRS } from '../counters/pairs.suite.js'
import { sqlite } from '../database/sqlite.js'
import { createHits } from './hits.js'
import { hitsSuite } from './hits.suite.js'

for (const pair of PAIRS) hitsSuite(pair)

test('close() closes what hits have opened, twice if called twice, and nothing else', async () => {
  const own = createHits({ name: 'own', cache: 'memory:', database: 'sqlite::memory:' })
  own.record('a')
  await Promise.all([own.close(), own.close()])
  await assert.rejects(own.count('a'), { code: 'DATABASE_CLOSED' })

  const [cache, database] = [memory(), sqlite(':memory:')]
  const given = createHits({ name: 'given', cache, database })
  given.record('a')
  await given.close()
  assert.equal((await database.query('SELECT COUNT(*) AS n FROM collision_free_map_queue')).rows[0]?.['n'], 1)
  assert.equal(await cache.get('key'), undefined)
  await Promise.all([cache.close(), database.close()])
})
