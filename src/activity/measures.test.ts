/** Served and seen page views, and those of bots, are counted each for itself. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import request from 'supertest'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { DAY_MS } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { expresses, TO_A_PAGE } from '../support/http.fixture.js'
import { SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { ledgerReport } from '../wide-cache/ledger/report.js'
import { type ActivityOptions, activitySettings } from './options.js'
import { SiteActivity } from './site-activity.js'

const BOT = 'Googlebot/2.1'
const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]
const opened: { close(): Promise<unknown> }[] = []
after(() => Promise.all(opened.map((one) => one.close())))

function create(options: ActivityOptions = {}) {
  const database = options.database ?? sqlite(':memory:')
  const settings = activitySettings({
    cache: memory(),
    collect: false,
    logger: SILENT,
    ...options,
    database,
  })
  const activity = new SiteActivity(settings)
  opened.push(activity)
  return { activity, database: database as Database }
}

const sites = new Map<SiteActivity, ReturnType<typeof express>>()

/** The site of an activity, with a page at every path. */
function siteOf(activity: SiteActivity) {
  const known = sites.get(activity)
  if (known) return known
  const app = express()
  sites.set(activity, app)
  app.use(activity.middleware())
  app.use('/activity', activity.router())
  app.use((_req, res) => void res.send('<p>a page</p>'))
  return app
}

/** Reports a view as a browser does. */
async function see(
  activity: SiteActivity,
  page: string,
  headers: Record<string, string> = {},
): Promise<void> {
  await request(siteOf(activity))
    .post('/activity/seen')
    .set({ ...TO_A_PAGE, 'sec-fetch-site': 'same-origin', ...headers })
    .send({ page, referrer: '' })
    .expect(204)
}

async function serve(activity: SiteActivity, path: string, headers: Record<string, string> = {}) {
  await request(siteOf(activity))
    .get(path)
    .set({ ...TO_A_PAGE, ...headers })
}

async function arrive(activity: SiteActivity): Promise<void> {
  await activity.flush()
  await activity.drain({ all: true })
}

async function today(activity: SiteActivity) {
  const now = Date.now()
  const days = await activity.history({ from: now - DAY_MS, to: now, by: 'day' })
  const hours = await activity.history({ from: now - DAY_MS, to: now, by: 'hour' })
  const sum = (field: 'pageViews' | 'bots' | 'seen' | 'served', of = days) =>
    of.reduce((total, { [field]: n }) => total + (n === undefined ? NaN : (n ?? 0)), 0)
  for (const field of ['pageViews', 'bots', 'seen', 'served'] as const) {
    assert.ok(Object.is(sum(field), sum(field, hours)) || sum(field) === sum(field, hours), field)
  }
  return {
    pageViews: sum('pageViews'),
    bots: sum('bots'),
    seen: sum('seen'),
    served: sum('served'),
  }
}

async function namesOf(database: Database): Promise<string[]> {
  const { rows } = await database.query('SELECT name FROM wide_cache_names ORDER BY name')
  return rows.map(({ name }) => String(name))
}

test('people, bots and what the rule leaves out are all HTML responses', async () => {
  const { activity, database } = create({ skip: (req) => req.path === '/skipped' })
  const app = express()
  let responses = 0
  app.use((_req, res, next) => {
    res.on('finish', () => responses++)
    next()
  })
  app.use(activity.middleware())
  app.use((_req, res) => void res.send('<p>a page</p>'))
  const left = [
    ['/skipped', {}],
    ['/skipped', { 'user-agent': BOT }],
    ['/', { 'sec-purpose': 'prefetch' }],
  ] as const
  const bots = [BOT, 'curl/8.0', ''].map((agent) => ['/', { 'user-agent': agent }] as const)
  const people = [{}, { dnt: '1' }, {}, {}].map((headers) => ['/', headers] as const)
  for (const [path, headers] of [...left, ...bots, ...people]) {
    await request(app)
      .get(path)
      .set({ ...TO_A_PAGE, ...headers })
  }
  await eventually('all are answered', () => responses === 10)
  await arrive(activity)
  const { pageViews, bots: ofBots, seen } = await today(activity)
  assert.deepEqual([pageViews, ofBots, seen], [4, 3, NaN])
  assert.equal(pageViews + ofBots + left.length, responses)

  const { rows } = await database.query('SELECT name, COUNT(*) AS n FROM activities GROUP BY name')
  assert.deepEqual(
    rows.map(({ name, n }) => [name, Number(n)]),
    [['activity', 4]],
    'only sums of bots are kept',
  )
  const { rows: visitors } = await database.query(
    "SELECT visitor FROM activity_visitors WHERE name <> 'activity'",
  )
  assert.deepEqual(visitors, [], 'bots have no visitors')
  const { committed, issued } = await ledgerReport(database, 'activity.bots', () => undefined)
  assert.deepEqual([issued, committed], [3, 3])
  assert.equal((await activity.ledger()).committed, 4)
})

test('what browsers report stands beside what was served, and in no other figure', async () => {
  const { activity } = create()
  await serve(activity, '/a')
  await serve(activity, '/b')
  await see(activity, '/a')
  await see(activity, '/a')
  await see(activity, '/c')
  await arrive(activity)
  assert.deepEqual(await today(activity), { pageViews: 2, bots: 0, seen: 3, served: NaN })
  const range = { from: Date.now() - DAY_MS, to: Date.now(), n: 10 }
  assert.deepEqual(await activity.top('page', range), [
    { value: '/a', pageViews: 1, seen: 2 },
    { value: '/b', pageViews: 1, seen: 0 },
  ])
  assert.equal((await activity.ledger()).issued, 2)
  const certificate = await activity.certificate(new Date().toISOString().slice(0, 10))
  assert.deepEqual([certificate.pageViews, certificate.balanced], [2, true])
})

test('with count: seen, figures are of what browsers report, beside served', async () => {
  const { activity, database } = create({ count: 'seen' })
  await serve(activity, '/a')
  await serve(activity, '/a', { 'user-agent': BOT })
  activity.record({ page: '/a' })
  await see(activity, '/a')
  await arrive(activity)
  assert.deepEqual(await today(activity), { pageViews: 1, bots: 1, seen: NaN, served: 2 })
  const range = { from: Date.now() - DAY_MS, to: Date.now(), n: 10 }
  assert.deepEqual(await activity.top('page', range), [{ value: '/a', pageViews: 1, served: 2 }])
  assert.equal((await activity.ledger()).issued, 1)
  const certificate = await activity.certificate(new Date().toISOString().slice(0, 10))
  assert.deepEqual([certificate.pageViews, certificate.balanced], [1, true])
  assert.deepEqual(await namesOf(database), ['activity', 'activity.bots', 'activity.seen'])
})

test('views of a value are not said to be none where they may have been folded', async () => {
  const { activity } = create({ page: ({ path }) => (path === '/folded' ? '(other)' : path) })
  await serve(activity, '/a')
  await serve(activity, '/b')
  await see(activity, '/b')
  await see(activity, '/folded')
  await arrive(activity)
  const range = { from: Date.now() - DAY_MS, to: Date.now(), n: 10 }
  assert.deepEqual(await activity.top('page', range), [
    { value: '/a', pageViews: 1 },
    { value: '/b', pageViews: 1, seen: 1 },
  ])
})

test('a measure without views has no grid, no statement and no series', async () => {
  const { activity, database } = create()
  await serve(activity, '/')
  await arrive(activity)
  assert.deepEqual(await namesOf(database), ['activity'])
  assert.doesNotMatch(await activity.metrics(), /activity\.(seen|bots)/)
})

test('metrics have each measure under its name, and the errors of servers once', async () => {
  const { activity } = create()
  await serve(activity, '/', { 'user-agent': BOT })
  await see(activity, '/')
  await arrive(activity)
  const text = await activity.metrics()
  for (const [name, n] of [
    ['activity', 0],
    ['activity.seen', 1],
    ['activity.bots', 1],
  ]) {
    assert.match(
      text,
      new RegExp(`^wide_cache_process_issued_total\\{name="${name}"\\} ${n}$`, 'm'),
    )
  }
  assert.equal(text.match(/^# TYPE wide_cache_process_issued_total/gm)?.length, 1)
  assert.doesNotMatch(text, /cache_errors_total\{.*activity\.(seen|bots)/)
})

for (const count of ['served', 'seen'] as const) {
  test(`metrics have the views of all measures of the site: count '${count}'`, async () => {
    const { activity } = create({ count })
    await serve(activity, '/', { 'user-agent': BOT })
    for (let view = 0; view < 2; view++) await see(activity, '/')
    await serve(activity, '/')
    await arrive(activity)
    const found = (await activity.metrics()).matchAll(/^wide_cache_(\w+)_views_total\{.* (\d+)$/gm)
    const views = Array.from(found, ([, measure, n]) => [measure, Number(n)])
    assert.deepEqual(Object.fromEntries(views), { served: 1, seen: 2, bot: 1 })
  })
}

test('one collector brings all measures through one grid, with either count', async () => {
  for (const count of ['served', 'seen'] as const) {
    const { activity, database } = create({ count, layerSeconds: 1, collect: '* * * * * *' })
    await activity.migrate()
    await serve(activity, '/')
    await serve(activity, '/', { 'user-agent': BOT })
    await see(activity, '/')
    await eventually('a row of each measure is in SQL', async () => {
      const { rows } = await database.query('SELECT committed FROM wide_cache_writers')
      return rows.filter(({ committed }) => Number(committed) === 1).length === 3
    })
    const { rows } = await database.query('SELECT name FROM wide_cache_grids')
    assert.deepEqual(rows, [{ name: 'activity' }], count)
  }
})

test('close() brings the rows of all measures to SQL', async () => {
  const { activity, database } = create()
  await serve(activity, '/')
  await serve(activity, '/', { 'user-agent': BOT })
  await see(activity, '/')
  assert.deepEqual(await activity.close(), { committed: 3, quarantined: 0, inCache: 0, lost: 0 })
  for (const name of ['activity', 'activity.seen', 'activity.bots']) {
    const { issued, committed } = await ledgerReport(database, name, () => undefined)
    assert.deepEqual([name, issued, committed], [name, 1, 1])
  }
  await see(activity, '/')
  await serve(activity, '/', { 'user-agent': BOT })
})

test('a drain finds the measures that another process has recorded', async () => {
  const database = sqlite(':memory:')
  const inner = memory()
  opened.push(database)
  const cache = (): FaultyCache => new FaultyCache(inner, () => 'none', 'shared')
  const { activity: one } = create({ database, cache: cache() })
  const { activity: other } = create({ database, cache: cache() })
  await serve(one, '/', { 'user-agent': BOT })
  await see(one, '/')
  await one.flush()
  let committed = 0
  // A busy machine may still be making the tables, without which nothing is placed.
  await eventually('both are committed', async () => {
    committed += (await other.drain({ all: true })).committed
    return committed >= 2
  })
  assert.equal(committed, 2)
  const { bots, seen } = await today(other)
  assert.deepEqual([bots, seen], [1, 1])
})

test('while no server answers, all measures are closed within one closeTimeoutMs', async () => {
  const clock = new ManualClock(Date.now())
  const database = new FaultyDatabase(sqlite(':memory:'), () => 'silent')
  const cache = new FaultyCache(memory(), () => 'silent')
  const activity = new SiteActivity(
    activitySettings({ cache, database, collect: false, closeTimeoutMs: 5000, logger: SILENT }),
    { ...systemEnvironment, clock },
  )
  activity.record({ page: '/' })
  // Without a visitor, who would wait for the salt.
  await see(activity, '/', { 'sec-gpc': '1' })
  await serve(activity, '/', { 'user-agent': BOT })
  const closing = activity.close()
  let report: unknown
  void closing.then((one) => (report = one))
  await clock.advance(10_000)
  assert.deepEqual(report, { committed: 0, quarantined: 0, inCache: 0, lost: 3 })
})
