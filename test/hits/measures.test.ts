/** Hits of served pages, of reports and of bots: each is a measure, with a ledger of its own. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Express, Request } from 'express'
import request from 'supertest'
import { createActivity } from '../../src/activity/site-activity.js'
import { memory } from '../../src/cache/memory.js'
import type { Database } from '../../src/database/database.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import type { HitsMiddlewareOptions } from '../../src/hits/middleware.js'
import type { Hits } from '../../src/hits/hits.js'
import { createHits } from '../../src/hits/item-hits.js'
import { ViewCollector } from '../../src/page-views/view-recorder.js'
import { hitsRows } from '../../src/hits/engine-settings.js'
import { type HitsOptions, hitsSettings } from '../../src/hits/options.js'
import type { HitsPeriod } from '../../src/hits/read-history.js'
import { DAY_MS } from '../../src/support/clock.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER, expresses, TO_A_PAGE } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { ledgerReport } from '../../src/wide-cache/ledger/report.js'
import { FaultyCache } from '../simulated-world/faulty-cache.js'

const BOT = 'Googlebot/2.1'
const opened: { close(): Promise<unknown> }[] = []
after(() => Promise.all(opened.map((one) => one.close())))

interface Site {
  readonly app: Express
  readonly hits: Hits
  readonly database: Database
  readonly log: readonly string[]
}

/** A forum: its threads have numbers, which are in their addresses. */
function forum(
  express: (typeof expresses)[number][1],
  options: Partial<HitsOptions> = {},
  middleware: Partial<HitsMiddlewareOptions> = {},
): Site {
  const [database, cache, logger] = [sqlite(':memory:'), memory(), keptLog()]
  const common = { database, cache, logger, collect: false } as const
  const hits = createHits({ ...common, name: 'threads', ...options })
  const activity = createActivity(common)
  opened.push(hits, activity)
  const count = hits.middleware({
    item: (req) => /^\/threads\/(\d+)/.exec(req.url)?.[1],
    ...middleware,
  })
  const app = express()
  app.use(count)
  app.use('/activity', count, activity.router())
  app.use((_req, res) => void res.send('<p>a page</p>'))
  return { app, hits, database, log: logger.lines }
}

type Headers = Record<string, string>

const serve = ({ app }: Site, path: string, headers: Headers = {}) =>
  request(app)
    .get(path)
    .set({ ...TO_A_PAGE, ...headers })
    .expect(200)

const see = ({ app }: Site, page: string, headers: Headers = {}) =>
  request(app)
    .post('/activity/seen')
    .set({ ...TO_A_PAGE, 'sec-fetch-site': 'same-origin', ...headers })
    .send({ page, referrer: '' })
    .expect(204)

/** All that has been counted is in SQL. The last page says so, by its hit. */
async function arrived(site: Site): Promise<void> {
  const { hits } = site
  await serve(site, '/threads/999')
  await eventually('the last hit has come', async () => {
    await hits.flush()
    await hits.drain({ all: true })
    const { hits: own = 0, served = 0 } = sum(await hits.history('999', { days: 2 }))
    return own + served === 1
  })
}

/** The figures of an item, which are the same by the hour, by the day and without a range. */
async function figuresOf({ hits }: Site, item: string) {
  const now = Date.now()
  const range = { from: now - DAY_MS, to: now + 1 }
  const [days, hours, last] = [
    sum(await hits.history(item, { ...range, by: 'day' })),
    sum(await hits.history(item, { ...range, by: 'hour' })),
    sum(await hits.history(item, { days: 2 })),
  ]
  assert.deepEqual(hours, days)
  assert.deepEqual(last, days)
  return days
}

function sum(periods: readonly HitsPeriod[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { start: _, ...figures } of periods) {
    for (const [field, hits] of Object.entries(figures)) {
      sums[field] = (sums[field] ?? 0) + (hits ?? 0)
    }
  }
  return sums
}

async function committed({ database }: Site, name: string): Promise<number> {
  return (await ledgerReport(database, name, () => undefined)).committed
}

for (const [name, express] of expresses) {
  test(`${name}: served, seen and bots are three figures of an item`, async () => {
    const site = forum(express)
    await serve(site, '/threads/7')
    await serve(site, '/threads/7')
    for (const version of [1, 2]) {
      await serve(site, '/threads/7', { 'user-agent': `${BROWSER} Edg/${version}` })
    }
    for (let i = 0; i < 5; i++) await serve(site, '/threads/7', { 'user-agent': BOT })
    await serve(site, '/other')
    await see(site, '/threads/7?page=2')
    await see(site, '/threads/7')
    await see(site, '/threads/8')
    await see(site, '/other')
    await see(site, '/threads/7', { 'user-agent': BOT })
    await arrived(site)
    // The three user agents are three viewers, and a viewer counts once in each measure.
    assert.deepEqual(await figuresOf(site, '7'), { hits: 3, bots: 5, seen: 1, unseen: 2 })
    assert.deepEqual(await figuresOf(site, '8'), { hits: 0, bots: 0, seen: 1, unseen: 0 })
    assert.equal(await site.hits.count('7'), 3)
    assert.deepEqual(await site.hits.top(2), [
      ['7', 3],
      ['999', 1],
    ])
    // The ledgers have the repeats, too.
    assert.equal(await committed(site, 'hits.threads'), 5)
    assert.equal(await committed(site, 'hits.threads.seen'), 3)
    assert.equal(await committed(site, 'hits.threads.bots'), 5)
    assert.deepEqual(site.log, [])
  })

  test(`${name}: with count: 'seen' the figures are of reports`, async () => {
    const site = forum(express, { count: 'seen' })
    await serve(site, '/threads/7')
    await serve(site, '/threads/8')
    await serve(site, '/threads/8', { 'user-agent': BOT })
    for (const agent of [BROWSER, `${BROWSER} Edg/126`]) {
      await see(site, '/threads/7', { 'user-agent': agent })
    }
    await arrived(site)
    assert.deepEqual(await figuresOf(site, '7'), { hits: 2, bots: 0, served: 1, unseen: 0 })
    assert.deepEqual(await figuresOf(site, '8'), { hits: 0, bots: 1, served: 1, unseen: 1 })
    assert.deepEqual(
      [...(await site.hits.counts(['7', '8']))],
      [
        ['7', 2],
        ['8', 0],
      ],
    )
    assert.deepEqual(await site.hits.top(9), [['7', 2]])
    assert.equal((await site.hits.ledger()).committed, 2)
  })

  test(`${name}: "viewer" and "owner" are asked about reports as about pages`, async () => {
    const asked: string[] = []
    const site = forum(
      express,
      {},
      {
        viewer: (req: Request) => req.get('x-user') ?? '?',
        owner: (req: Request) => (asked.push(`${req.method} ${req.originalUrl}`), 'anna'),
      },
    )
    await see(site, '/threads/7?a', { 'x-user': 'anna' })
    for (const user of ['bert', 'bert', 'carl']) await see(site, '/threads/7', { 'x-user': user })
    await see(site, '/threads/7', { 'x-user': 'bert', 'sec-gpc': '1' })
    await arrived(site)
    assert.deepEqual(await figuresOf(site, '7'), { hits: 0, bots: 0, seen: 3, unseen: 0 })
    const ofReports = asked.filter((address) => address !== 'GET /threads/999')
    assert.deepEqual(ofReports, ['GET /threads/7?a', ...Array(4).fill('GET /threads/7')])
  })
}

const [[, express]] = expresses as [(typeof expresses)[number]]

test('what is no report counts for no item', async () => {
  const site = forum(express)
  await request(site.app)
    .post('/activity/seen')
    .set({ ...TO_A_PAGE, 'sec-fetch-site': 'cross-site' })
    .send({ page: '/threads/7', referrer: '' })
    .expect(403)
  await request(site.app).post('/threads/7').set(TO_A_PAGE)
  await arrived(site)
  // Nothing has ever been seen here, so nothing says that it is 0.
  assert.deepEqual(await figuresOf(site, '7'), { hits: 0, bots: 0 })
})

test('an item is renamed and deleted in all measures, and the figures say how many', async () => {
  const site = forum(express)
  for (let i = 0; i < 2; i++) {
    await serve(site, '/threads/7', { 'user-agent': BOT })
    await see(site, '/threads/7', { 'sec-gpc': '1' })
    await serve(site, '/threads/7', { 'sec-gpc': '1' })
  }
  await serve(site, '/threads/7')
  await arrived(site)
  assert.equal(await site.hits.rename('7', '8'), 3)
  assert.deepEqual(await figuresOf(site, '7'), { hits: 0, bots: 0, seen: 0, unseen: 0 })
  assert.deepEqual(await figuresOf(site, '8'), { hits: 3, bots: 2, seen: 2, unseen: 1 })
  assert.equal(await site.hits.delete('8'), 3)
  assert.deepEqual(await figuresOf(site, '8'), { hits: 0, bots: 0, seen: 0, unseen: 0 })
  const { rows } = await site.database.query('SELECT name, hits FROM hits_counts')
  assert.deepEqual(rows, [{ name: 'threads', hits: 1 }])
})

test('all measures are collected by a process that counts nothing, in one drain', async () => {
  const [database, inner] = [sqlite(':memory:'), memory()]
  opened.push(database)
  const shared = (): FaultyCache => new FaultyCache(inner, () => 'none', 'shared')
  const grid = { name: 'threads', database, logger: keptLog(), layerSeconds: 1 } as const
  const hits = createHits({ ...grid, cache: shared(), collect: false })
  opened.push(hits)
  const req = (agent: string) =>
    ({ headers: { 'user-agent': agent }, socket: { remoteAddress: '192.0.2.1' } }) as never
  hits.record('7', req(BROWSER))
  for (let i = 0; i < 2; i++) hits.record('7', req(BOT))
  await hits.flush()
  const counted = async () => {
    const { rows } = await database.query('SELECT name, item, hits FROM hits_counts ORDER BY name')
    return rows.map(({ name, item, hits }) => [name, String(item), hits])
  }
  const settings = hitsSettings({ ...grid, cache: shared(), collect: false })
  const collector = new ViewCollector(hitsRows(settings))
  const { frames, committed } = await collector.drain({ all: true })
  assert.deepEqual({ frames, committed }, { frames: 2, committed: 3 })
  await collector.close()
  assert.deepEqual(await counted(), [
    ['threads', '7', 1],
    ['threads.bots', '7', 2],
  ])
})
