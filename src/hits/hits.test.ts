import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { PAIRS_OF_ANY_CACHE } from '../counters/pairs.fixture.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { cutOff, expresses } from '../support/http.fixture.js'
import { withNodeEnv } from '../support/node-env.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { SILENT } from '../support/logger.js'
import { createHits } from './item-hits.js'
import { hitsSuite } from './hits.suite.js'

for (const pair of PAIRS_OF_ANY_CACHE) hitsSuite(pair)

test('close() closes what hits have opened, twice if called twice, and nothing else', async () => {
  const own = createHits({ name: 'own', cache: 'memory:', database: 'sqlite::memory:' })
  own.record('a')
  await Promise.all([own.close(), own.close()])
  await assert.rejects(own.count('a'), { code: 'CLOSED' })

  const [cache, database] = [memory(), sqlite(':memory:')]
  const given = createHits({ name: 'given', cache, database })
  given.record('a')
  await given.close()
  assert.equal((await database.query('SELECT hits AS n FROM hits_counts')).rows[0]?.['n'], 1)
  assert.equal(await cache.get('key'), undefined)
  await Promise.all([cache.close(), database.close()])
})

test('a cache of this process alone is warned of in production, once', async () => {
  const log = keptLog()
  const options = { cache: 'memory:', database: 'sqlite::memory:', logger: log }
  const hits = withNodeEnv('production', () => createHits({ name: 'own', ...options }))
  await hits.close()
  assert.equal(
    log.matching(/the cache is memory:.* would count the hits of one viewer several times/).length,
    1,
  )
})

test('metrics tell of the grid, each series once, and of no item', async () => {
  const hits = createHits({ name: 'told', cache: memory(), database: 'sqlite::memory:' })
  hits.record('secret-item', { viewer: 'secret-viewer' })
  await hits.flush()
  await hits.drain({ all: true })
  const page = await hits.metrics()
  const series = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  assert(series.includes('wide_cache_committed_total{name="hits.told"} 1'))
  assert.equal(new Set(series.map((line) => line.replace(/ \S+$/, ''))).size, series.length)
  assert.doesNotMatch(page, /secret/)
  const names: string[] = []
  const callbacks: unknown[] = []
  hits.instrument({
    createObservableCounter: (name) => ({ index: names.push(name) }),
    createObservableGauge: (name) => ({ index: names.push(name) }),
    addBatchObservableCallback: (callback) => void callbacks.push(callback),
    removeBatchObservableCallback: (callback) =>
      void callbacks.splice(callbacks.indexOf(callback), 1),
  })
  assert.equal(callbacks.length, 1)
  assert.equal(new Set(names).size, names.length)
  assert.deepEqual(hits.health(), { live: true, ready: true, reasons: [] })
  await hits.close()
  assert.equal(callbacks.length, 0)
  assert.equal(hits.health().ready, false)
})

for (const [name, express] of expresses) {
  test(`${name}: views count whose connections have been cut just before close()`, async () => {
    const database = sqlite(':memory:')
    const hits = createHits({ name: 'cut', cache: memory(), database, collect: false })
    const app = express()
    app.get(
      '/items/:id',
      hits.middleware({ item: (req) => req.params['id'] as string }),
      (_req, res) => void res.type('html').write('<p>the beginning of a page'),
    )
    await hits.migrate()
    await cutOff(app, ['/items/a', '/items/b'], () => hits.close(), 'on close')
    const reader = createHits({ name: 'cut', cache: memory(), database, collect: false })
    assert.deepEqual(
      [...(await reader.counts(['a', 'b']))],
      [
        ['a', 1],
        ['b', 1],
      ],
    )
    await reader.close()
    await database.close()
  })
}

test('hits and visits never share a name: the other kind is refused, uncommitted', async () => {
  const [cache, database] = [memory(), sqlite(':memory:')]
  const hits = createHits({ name: 'threads', cache, database, collect: false })
  hits.record('a')
  await hits.flush()
  const activity = createActivity({
    name: 'hits.threads',
    cache,
    database,
    collect: false,
    closeTimeoutMs: 100,
    logger: SILENT,
  })
  activity.record({ page: '/' })
  const refused = {
    code: 'ERR_WIDE_CACHE_KIND',
    message: /"hits\.threads" is for rows of kind "hits" .* uses it for kind "activity"/,
  }
  await assert.rejects(activity.drain({ all: true }), refused)
  await assert.rejects(activity.stats(), refused)
  await activity.close()
  await hits.drain({ all: true })
  assert.equal(await hits.count('a'), 1)
  assert.deepEqual((await database.query('SELECT * FROM activities')).rows, [])
  await hits.close()
  await Promise.all([cache.close(), database.close()])
})
