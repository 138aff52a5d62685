import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import request from 'supertest'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { expresses } from '../support/http.fixture.js'
import { ManualClock, flushPromises } from '../support/manual-clock.fixture.js'
import { badgeOf } from './badge.js'
import { BatchedCounts } from './batched-counts.js'
import { createHits } from './item-hits.js'
import { hitsRouter, type HitsRouterOptions } from './router.js'

const ODD = 'a/b?c#ü "<日>'

for (const [name, express] of expresses) {
  describe(`badges, ${name}`, () => {
    const clock = { now: Date.now, elapsed: () => 0, after: afterAll }
    const site = (
      options: HitsRouterOptions,
      counts = async (items: readonly string[]) => new Map(items.map((item) => [item, 345])),
    ) => {
      const app = express()
      app.set('etag', false)
      app.use((_req, res, next) => {
        // As helmet does by default.
        res.set('Cross-Origin-Resource-Policy', 'same-origin')
        next()
      })
      app.use('/hits', hitsRouter(options, counts, clock))
      app.use((_req, res) => void res.status(404).send('the site says no'))
      return app
    }

    test('an item that is allowed has a badge and a JSON, cacheable for some time', async () => {
      const app = site({ allow: ['home'], label: 'reads', cacheSeconds: 30 })
      const { headers, body } = await request(app)
        .get('/hits/home.svg')
        .expect(200)
        .expect('Content-Type', /^image\/svg\+xml/)
        .expect('Cache-Control', 'public, max-age=30')
        .expect('X-Content-Type-Options', 'nosniff')
        .expect('Content-Security-Policy', "default-src 'none'; sandbox")
        .expect('Cross-Origin-Resource-Policy', 'cross-origin')
      assert.equal(String(body), badgeOf('reads', 345))
      await request(app).get('/hits/home.svg').set('If-None-Match', headers['etag']!).expect(304)
      await request(app)
        .get('/hits/home.json')
        .expect(200, { item: 'home', hits: 345 })
        .expect('Content-Type', /^application\/json/)
      const head = await request(app).head('/hits/home.json').expect(200)
      assert.equal(head.text, undefined)
    })

    test('any item can be named, percent-encoded', async () => {
      const app = site({ allow: (item) => item === ODD })
      await request(app)
        .get(`/hits/${encodeURIComponent(ODD)}.json`)
        .expect(200, { item: ODD, hits: 345 })
    })

    test('what is not allowed, or no item, is left to the site, and SQL is not asked', async () => {
      const asked: string[] = []
      const app = site({ allow: async (item) => item === 'home' }, async (items) => {
        asked.push(...items)
        return new Map()
      })
      for (const path of [
        '/hits/secret.svg',
        '/hits/home',
        '/hits/home.png',
        '/hits/.svg',
        '/hits/%ff.svg',
        '/hits/%zz.json',
        `/hits/${'x'.repeat(256)}.svg`,
        '/hits/a/home.svg',
        '/hits/',
      ]) {
        await request(app).get(path).expect(404, 'the site says no')
      }
      await request(app).post('/hits/home.svg').expect(404, 'the site says no')
      // No item is that long, whatever is allowed.
      const open = site({ allow: () => true }, async (items) => (asked.push(...items), new Map()))
      await request(open)
        .get(`/hits/${'x'.repeat(256)}.json`)
        .expect(404, 'the site says no')
      assert.deepEqual(asked, [])
    })

    test('an "allow" that says something else than true, or fails, allows nothing', async () => {
      await request(site({ allow: (() => 'yes') as never }))
        .get('/hits/home.svg')
        .expect(404)
      for (const allow of [
        () => Promise.reject(new Error('away')),
        () => {
          throw new Error('away')
        },
      ]) {
        const app = site({ allow })
        app.use(((_error, _req, res, _next) => {
          res.status(500).end()
        }) as import('express').ErrorRequestHandler)
        await request(app).get('/hits/home.svg').expect(500)
      }
    })

    test('while SQL is away the answer is 503 with Retry-After, not cached', async () => {
      const app = site({ allow: ['home'] }, () => Promise.reject(new Error('user:password@db')))
      const { text } = await request(app)
        .get('/hits/home.svg')
        .expect(503)
        .expect('Cache-Control', 'no-store')
        .expect('Retry-After', '5')
      assert.doesNotMatch(text, /password/)
    })
  })
}

function afterAll(ms: number, callback: () => void) {
  const timer = setTimeout(callback, ms === 0 ? 0 : 1)
  return { cancel: () => clearTimeout(timer) }
}

test('a badge escapes its label, whatever it is', () => {
  const svg = badgeOf('<a href="x">&\'\0\ud800', 7)
  assert(svg.includes('aria-label="&lt;a href=&quot;x&quot;&gt;&amp;&#39;\ufffd\ufffd: 7"'))
  assert(!/<(?!\/?(?:svg|title|rect|g|text)\b)/.test(svg))
  assert(!/style|script|href="/.test(svg))
  const width = (label: string): number => Number(/width="(\d+)"/.exec(badgeOf(label, 7))?.[1])
  assert(width('閲覧') > width('ab'))
})

test('wrong options are refused by their names', () => {
  const clock = new ManualClock(0)
  const of = (options: unknown) => () =>
    hitsRouter(options as HitsRouterOptions, async () => new Map(), clock)
  assert.throws(of({}), /"allow" is undefined; allowed: an array of items, or a function/)
  assert.throws(of(undefined), /"hits.router options"/)
  assert.throws(of({ allow: [7] }), TypeError)
  assert.throws(of({ allow: [], items: [] }), /"items" is unknown/)
  assert.throws(of({ allow: [], label: '' }), RangeError)
  assert.throws(of({ allow: [], label: 'x'.repeat(51) }), RangeError)
  assert.throws(of({ allow: [], cacheSeconds: 0 }), RangeError)
})

describe('counts for everyone', () => {
  test('SQL is asked once a second, whatever is asked for, and not for what is known', async () => {
    const clock = new ManualClock(0)
    const asked: (readonly string[])[] = []
    const batched = new BatchedCounts(
      async (items) => {
        asked.push(items)
        return new Map(items.map((item) => [item, item.length]))
      },
      clock,
      60_000,
    )
    const first = Promise.all(['a', 'bb', 'a'].map((item) => batched.read(item)))
    await clock.advance(0)
    assert.deepEqual(await first, [1, 2, 1])
    assert.deepEqual(asked, [['a', 'bb']])
    const others = Array.from({ length: 1_500 }, (_, i) => batched.read(`item ${i}`))
    assert.equal(await batched.read('bb'), 2)
    await clock.advance(999)
    assert.equal(asked.length, 1)
    await clock.advance(1)
    assert.equal(asked[1]?.length, 1_000)
    await clock.advance(1_000)
    assert.equal(asked[2]?.length, 500)
    assert.equal((await Promise.all(others))[1_499], 9)
    await clock.advance(60_000)
    void batched.read('a')
    await clock.advance(0)
    assert.deepEqual(asked[3], ['a'])
  })

  test('no more than 10,000 items are waited for, and failed ones are asked again', async () => {
    const clock = new ManualClock(0)
    let fails = true
    const batched = new BatchedCounts(
      async (items) => {
        if (fails) throw new Error('away')
        return new Map(items.map((item) => [item, 1]))
      },
      clock,
      60_000,
    )
    const all = Array.from({ length: 10_001 }, (_, i) => batched.read(`item ${i}`))
    const outcomes = Promise.allSettled(all)
    await assert.rejects(all[10_000]!, /Too many counts/)
    await clock.advance(500)
    await assert.rejects(all[0]!, /away/)
    fails = false
    await clock.advance(10_000)
    await flushPromises()
    assert.equal((await outcomes).filter(({ status }) => status === 'fulfilled').length, 9_000)
    const again = batched.read('item 0')
    await clock.advance(1_000)
    assert.equal(await again, 1)
  })
})

test('badges of hits have the counts in SQL; there are none after close()', async () => {
  const [, express] = expresses[0]!
  const database = sqlite(':memory:')
  const hits = createHits({ name: 'badges', cache: memory(), database, collect: false })
  const app = express().use('/hits', hits.router({ allow: ['a', 'b'] }))
  hits.record('a')
  await hits.flush()
  await hits.drain({ all: true })
  await Promise.all([
    request(app).get('/hits/a.json').expect(200, { item: 'a', hits: 1 }),
    request(app).get('/hits/b.json').expect(200, { item: 'b', hits: 0 }),
  ])
  await hits.close()
  assert.throws(() => hits.router({ allow: [] }), { code: 'CLOSED' })
  await database.close()
})
