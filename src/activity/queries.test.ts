/** `history()`, `top()` and `live()` of an activity. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import request from 'supertest'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { systemEnvironment } from '../support/environment.js'
import { UTC } from '../support/calendar.js'
import { type Clock, systemClock } from '../support/clock.js'
import { expresses, TO_A_PAGE } from '../support/http.fixture.js'
import type { Activity } from './activity.js'
import { createActivity, SiteActivity } from './site-activity.js'
import { type ActivityOptions, activitySettings } from './options.js'
import { checkedTop, wholeDays } from './ranges.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]

const opened: Activity[] = []
after(() => Promise.all(opened.map((activity) => activity.close())))

function create(options: ActivityOptions = {}): Activity {
  const activity = createActivity({
    cache: memory(),
    database: 'sqlite::memory:',
    collect: false,
    ...options,
  })
  opened.push(activity)
  return activity
}

async function arrive(activity: Activity): Promise<void> {
  await activity.flush()
  await activity.drain({ all: true })
}

/** The hour of now, and the end of it. */
function thisHour(): { from: number; to: number } {
  const from = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  return { from, to: from + HOUR_MS }
}

test('objects of one name with other options are not served the same figures', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const cache = memory()
  const site = (options: ActivityOptions): Activity => create({ cache, database, ...options })
  const [long, short] = [
    site({ windowSeconds: 600, historyDays: 10 }),
    site({ windowSeconds: 60, historyDays: 1 }),
  ]
  long.record({ page: '/', visitor: 'a', at: Date.now() - 300_000 })
  const start = (Math.floor(Date.now() / DAY_MS) - 3) * DAY_MS
  for (const hour of [5, 20]) {
    long.record({ page: '/', visitor: 'a', at: start + hour * HOUR_MS })
  }
  await arrive(long)
  assert.deepEqual(
    [(await long.stats()).pageViews, (await short.stats()).pageViews],
    [1, 0],
    'each has its own window',
  )
  const range = { from: start + 5 * HOUR_MS, to: start + 6 * HOUR_MS }
  assert.deepEqual(await long.top('page', range), [{ value: '/', pageViews: 1 }])
  assert.deepEqual(
    await short.top('page', range),
    [{ value: '/', pageViews: 2 }],
    'the hours of a day are no longer kept',
  )
  await Promise.all([long.close(), short.close()])
  await database.close()
})

describe('history() and top()', () => {
  test('page views come back by hour, by day and by each dimension', async () => {
    const activity = create({
      dimensions: { section: (req) => req.path.split('/')[1], nothing: () => undefined },
    })
    const app = express()
    app.use(activity.middleware())
    app.use((_req, res) => void res.send('<p>a page</p>'))
    const range = thisHour()
    for (const path of ['/a/1', '/a/1', '/b/1', '/']) {
      await request(app).get(path).set(TO_A_PAGE)
    }
    await arrive(activity)
    const hours = await activity.history({ ...range, by: 'hour' })
    assert.deepEqual(hours, [
      { start: new Date(range.from).toISOString(), pageViews: 4, visitors: 1, bots: 0 },
    ])
    const [day] = await activity.history({ ...range, by: 'day' })
    const start = new Date(Math.floor(range.from / DAY_MS) * DAY_MS).toISOString()
    assert.deepEqual(day, { start, pageViews: 4, visitors: 1, bots: 0 })
    assert.deepEqual(await activity.top('page', { ...range, n: 1 }), [
      { value: '/a/1', pageViews: 2 },
    ])
    const sections = await activity.top('section', range)
    assert.deepEqual(
      new Map(sections.map(({ value, pageViews }) => [value, pageViews])),
      new Map([
        ['a', 2],
        ['b', 1],
        [null, 1],
      ] as const),
    )
    assert.deepEqual(await activity.top('nothing', range), [{ value: null, pageViews: 4 }])
    const ofValue = async (dimension: string, value: string) => {
      const periods = await activity.history({ ...range, by: 'hour', dimension, value })
      return periods.map(({ pageViews }) => pageViews)
    }
    assert.deepEqual(await ofValue('page', '/a/1'), [2])
    assert.deepEqual(await ofValue('section', 'b'), [1])
    assert.deepEqual(await ofValue('section', 'c'), [0])
    assert.deepEqual(await ofValue('nothing', '日本 '.repeat(99)), [0])
  })

  test('moments are Dates, numbers or texts, and periods have no gaps', async () => {
    const activity = create()
    const noon = Date.UTC(2026, 4, 17, 12)
    activity.record({ page: '/', at: noon })
    await arrive(activity)
    const expected = [11, 12, 13].map((hour) => ({
      start: `2026-05-17T${hour}:00:00.000Z`,
      pageViews: hour === 12 ? 1 : 0,
      visitors: 0,
      bots: 0,
    }))
    for (const [from, to] of [
      [noon - HOUR_MS, noon + 2 * HOUR_MS],
      [new Date(noon - 1), new Date(noon + HOUR_MS + 1)],
      ['2026-05-17T11:30Z', '2026-05-17T13:00:00.001Z'],
    ] as const) {
      assert.deepEqual(await activity.history({ from, to, by: 'hour' }), expected)
    }
    assert.deepEqual(await activity.history({ from: noon, to: noon, by: 'hour' }), [])
  })

  test('weeks from Monday and months are whole, and have the sums of their days', async () => {
    const activity = create()
    const at = Date.parse('2026-05-17T12:00Z')
    for (const [page, days, visitor] of [
      ['/a', 0, 'anna'],
      ['/a', 1, 'anna'],
      ['/b', 1, 'bert'],
      ['/a', 16, 'anna'],
    ] as const) {
      activity.record({ page, visitor, at: at + days * DAY_MS })
    }
    await arrive(activity)
    const range = { from: at, to: at + 17 * DAY_MS }
    const days = await activity.history({ from: '2026-05-11', to: '2026-06-08', by: 'day' })
    const most = (from: number) =>
      Math.max(...days.slice(from, from + 7).map(({ visitors }) => visitors ?? 0))
    const weeks = await activity.history({ ...range, by: 'week' })
    assert.deepEqual(
      weeks.map(({ start, pageViews, visitors }) => [start, pageViews, visitors]),
      [
        ['2026-05-11T00:00:00.000Z', 1, most(0)],
        ['2026-05-18T00:00:00.000Z', 2, most(7)],
        ['2026-05-25T00:00:00.000Z', 0, 0],
        ['2026-06-01T00:00:00.000Z', 1, most(21)],
      ],
    )
    const of = { dimension: 'page', value: '/a' }
    assert.deepEqual(await activity.history({ ...range, by: 'month', ...of }), [
      { start: '2026-05-01T00:00:00.000Z', pageViews: 2 },
      { start: '2026-06-01T00:00:00.000Z', pageViews: 1 },
    ])
  })

  test('however many callers ask, SQL is asked once', async () => {
    const { database } = openDatabase('sqlite::memory:')
    const statements: string[] = []
    const listening: Database = {
      ...database,
      dialect: database.dialect,
      maxStatementBytes: database.maxStatementBytes,
      now: () => database.now(),
      query: (sql, values) => {
        statements.push(sql)
        return database.query(sql, values)
      },
      transaction: (work) => database.transaction(work),
      migrate: (parts) => database.migrate(parts),
      close: () => database.close(),
    }
    const activity = create({ database: listening })
    await activity.migrate()
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        activity.top('page', { from: i % 2, to: DAY_MS + (i % 3), n: 3 }),
      ),
    )
    const reads = statements.filter((sql) => sql.includes('activity_hour_values'))
    assert.equal(reads.length, 4, 'of two ranges, of served and of seen page views')
    await activity.close()
    await database.close()
  })

  test('wrong questions are refused by the name of what is wrong', async () => {
    const activity = create({ dimensions: { device: () => 'phone' } })
    const top = (dimension: unknown, query: unknown) =>
      activity.top(dimension as string, query as { from: number; to: number })
    const history = (query: unknown) =>
      activity.history(query as { from: number; to: number; by: 'day' })
    const day = { from: 0, to: DAY_MS }
    for (const [asked, message] of [
      [
        () => top('referrer', day),
        /"dimension" is "referrer"; allowed: "page" or "device" or "bot"/,
      ],
      [() => top('page', { ...day, n: 0 }), /"n" is 0; allowed: a whole number from 1 to 1000/],
      [() => top('page', { ...day, n: 1e6 }), /"n" is 1000000; allowed/],
      [() => top('page', { ...day, m: 1 }), /"m" is unknown; top takes/],
      [() => top('page', undefined), /"top options" is undefined; allowed: an object/],
      [() => history({ from: 2, to: 1, by: 'day' }), /"from" is 2; allowed: .* not after "to"/],
      [() => history({ ...day, by: 'year' }), /"by" is "year"; allowed: "hour" or "day" or "week"/],
      [() => history({ ...day, from: 'x', by: 'day' }), /"from" is "x"; allowed: a Date, milli/],
      [() => history({ ...day, from: NaN, by: 'day' }), /"from" is NaN; allowed: a Date, milli/],
      [() => history({ ...day, from: {}, by: 'day' }), /"from" is an object; allowed: a Date/],
      [() => history(undefined), /"history options" is undefined; allowed: an object/],
      [
        () => history({ ...day, by: 'day', value: '/' }),
        /"dimension" is undefined; allowed: "page"/,
      ],
      [() => history({ ...day, by: 'day', dimension: 'page' }), /"value" is undefined; allowed/],
      [() => history({ ...day, by: 'day', dimension: 'page', value: '' }), /"value" is ""/],
      [() => history({ ...day, by: 'day', dimension: 'x', value: 'y' }), /"dimension" is "x"/],
      [() => history({ from: 0, to: 1e12, by: 'hour' }), /at most 366 days before "to"/],
    ] as const) {
      await assert.rejects(asked, message)
    }
  })

  test('a range of which hours are no longer kept is one of whole days', () => {
    const { range } = checkedTop({ from: 30 * HOUR_MS, to: 40 * HOUR_MS }, UTC)
    assert.deepEqual(wholeDays(range, 30, UTC), { from: 30, to: 40 })
    assert.deepEqual(wholeDays(range, 31, UTC), { from: 24, to: 48 })
    assert.deepEqual(wholeDays({ from: 20, to: 60 }, 48, UTC), { from: 0, to: 60 })
    assert.deepEqual(wholeDays(range, 41, UTC), { from: 24, to: 48 })
  })
})

describe('live()', () => {
  test('a visit is there before it is in SQL, by layer, page and cell', async () => {
    const activity = create({ width: 3 })
    assert.equal(await totalOf(activity), 0)
    const others = Array.from({ length: 20 }, (_, n) => `/${n}`)
    const pages = [...others, '/b', '/b', '/a', '/a', '/a']
    for (const page of pages) activity.record({ page, visitor: 'anna' })
    await activity.flush()
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const live = await activity.live()
    assert.equal(
      live.layers.reduce((sum, { pageViews }) => sum + pageViews, 0),
      25,
    )
    assert.deepEqual(live.pages.slice(0, 3), [
      { page: '/a', pageViews: 3 },
      { page: '/b', pageViews: 2 },
      { page: '/0', pageViews: 1 },
    ])
    assert.equal(live.pages.length, 20)
    assert(live.layers.length <= 20 && live.layers.every(({ cells }) => cells.length === 3))
    const cells = live.layers.flatMap(({ cells }) => cells).filter(({ frames }) => frames > 0)
    assert.equal(cells.length, 1)
    assert(cells[0]!.bytes > 62)
    assert.deepEqual([live.layerSeconds, live.sampled], [3, false])
    await arrive(activity)
    assert.equal((await activity.ledger()).committed, 25)
  })

  test('callers of half a second share an answer', async () => {
    let elapsed = 0
    // Only what is compared stands still: close() waits for timers.
    const clock: Clock = { ...systemClock, elapsed: () => elapsed }
    const settings = activitySettings({
      cache: memory(),
      database: 'sqlite::memory:',
      collect: false,
    })
    const activity = new SiteActivity(settings, { ...systemEnvironment, clock })
    opened.push(activity)
    const first = await activity.live()
    elapsed = 499
    assert.equal(await activity.live(), first)
    elapsed = 500
    assert.notEqual(await activity.live(), first)
  })
})

async function totalOf(activity: Activity): Promise<number> {
  const { layers } = await activity.live()
  return layers.reduce((sum, { pageViews }) => sum + pageViews, 0)
}
