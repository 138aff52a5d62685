/**
 * No collection of a long life grows with what strangers send: pages, visitors, browsers, items,
 * questions. Run with `?bounds`: then the loader shows the collections.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { deviceClass } from '../../src/activity/dimensions/device-class.js'
import { referrerHost } from '../../src/activity/dimensions/referrer-host.js'
import { BatchedCounts } from '../../src/hits/batched-counts.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { BROWSER } from '../../src/support/http.fixture.js'
import { ManualClock } from '../../src/support/manual-clock.fixture.js'
import { Site } from '../readers/site.js'

/** Different ones of everything, and the most that a collection may hold: bounds are 3. */
const MANY = 60
const MOST = 10

const NOW = Date.UTC(2026, 4, 20, 12, 30)
const peaks = new Map<string, number>()

/** Notes how large a collection gets. */
function watch(name: string, made: Map<unknown, unknown> | Set<unknown>) {
  const note = (): void => void peaks.set(name, Math.max(peaks.get(name) ?? 0, made.size))
  if (made instanceof Map) {
    const { set } = made
    made.set = (key, value) => {
      set.call(made, key, value)
      note()
      return made
    }
  } else {
    const { add } = made
    made.add = (value) => {
      add.call(made, value)
      note()
      return made
    }
  }
  return made
}

/** These are bounded by bytes or by requests under way, or are of one call. */
const OTHERS: readonly string[] = [
  'src/cache/memory.ts #items',
  'src/wide-cache/writer/outbox.ts #frames',
  'src/wide-cache/writer/outbox.ts #placed',
  'src/database/sqlite/session.ts #waiting',
]

const site = new Site(NOW)
before(() => Object.assign(globalThis, { onCollection: watch }))
after(() => site.close())

test('whatever strangers send, no collection of a long life grows with it', async () => {
  const cache = site.cache()
  const dimensions = { device: deviceClass(), referrer: referrerHost() }
  const activity = site.activity({ dimensions }, cache)
  const hits = site.hits({ name: 'threads' }, cache)
  await activity.migrate()
  await hits.migrate()
  const app = express()
  app.set('trust proxy', true)
  app.use(activity.middleware(), hits.middleware({ item: (req) => req.path.slice(1) }))
  app.use((_req, res) => void res.send('<p>a page</p>'))
  for (let n = 0; n < MANY; n++) {
    const headers = {
      accept: 'text/html',
      'user-agent': `${BROWSER} Other/${n}`,
      'x-forwarded-for': `10.0.${n}.1`,
      referer: `https://site-${n}.example/`,
    }
    await request(app).get(`/${n}`).set(headers).expect(200)
    await Promise.all([activity.flush(), hits.flush()])
    const to = NOW - n * HOUR_MS
    await activity.history({ from: to - DAY_MS, to, by: 'hour' })
    await activity.top('page', { from: to - DAY_MS, to })
    await hits.top(n + 1, { hours: 3 })
    if (n % 20 === 19) await Promise.all([activity.drain({ all: true }), hits.drain({ all: true })])
  }
  assert.equal((await activity.ledger()).committed, MANY)
  assert.equal((await hits.ledger()).committed, MANY)

  const clock = new ManualClock(NOW)
  const counts = new BatchedCounts((items) => hits.counts(items), clock, 60_000)
  for (let n = 0; n < MANY; n += 3) {
    let isRead = false
    const read = Promise.all([0, 1, 2].map((more) => counts.read(`${n + more}`)))
    void read.finally(() => (isRead = true))
    while (!isRead) await clock.advance(100)
    assert.deepEqual(await read, [1, 1, 1])
  }

  Object.assign(globalThis, { onCollection: undefined })
  for (const name of [
    'src/page-views/memo.ts #remembered',
    'src/visitors/visitor.ts #byUserAgent',
    'src/wide-cache/cached-reads.ts #reads',
    'src/wide-cache/collector/settled-here.ts #keys',
    'src/hits/batched-counts.ts #remembered',
  ]) {
    assert((peaks.get(name) ?? 0) >= 3, `${name} is seen, and full`)
  }
  const grown = [...peaks].filter(([name, size]) => size > MOST && !OTHERS.includes(name))
  assert.deepEqual(grown, [])
})
