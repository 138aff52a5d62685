/** Data of the dashboard, from a real database: of one moment, and marked where they are old. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import request from 'supertest'
import { withClockAhead } from '../../test/servers/wrapped.js'
import { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { memory } from '../cache/memory.js'
import { openDatabase } from '../database/open.js'
import { dayText } from '../support/calendar-days.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { expresses } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { commitVisits } from './commit.js'
import { inWindow, SHORT_LAYERS } from './in-window.fixture.js'
import { activitySettings } from './options.js'
import { SiteActivity } from './site-activity.js'

const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]

test('the dashboard has page views of one moment, and marks them while SQL is away', async () => {
  let [ahead, isAway] = [0, false]
  const { database } = openDatabase('sqlite::memory:')
  const fault = () => (isAway ? 'refused' : 'none')
  // All clocks begin half an hour past an hour, so that the ranges asked for stay the same.
  const start = HOUR_MS / 2 - (Date.now() % HOUR_MS)
  const now = () => Date.now() + start
  const clock = {
    ...systemEnvironment.clock,
    now: () => now() + ahead,
    elapsed: () => performance.now() + ahead,
  }
  const activity = new SiteActivity(
    activitySettings({
      database: withClockAhead(new FaultyDatabase(database, fault, fault), () => start),
      cache: memory(),
      logger: keptLog(),
      collect: false,
      ...SHORT_LAYERS,
    }),
    { ...systemEnvironment, clock },
  )
  const app = express()
  app.use(activity.dashboard({ authorize: () => true }))
  const get = async (path: string) => (await request(app).get(path).expect(200)).body
  try {
    for (let i = 0; i < 5; i++) activity.record({ page: `/${i % 2}`, visitor: i % 3 })
    await inWindow(activity, now)
    const { overview, live, ledger, trouble } = await get('/now.json')
    const { figures } = overview
    assert.deepEqual([figures.pageViews, figures.visitors, figures.windowSeconds], [5, 3, 600])
    assert.equal(figures.today.views, 5)
    assert.equal(live.asOf, overview.asOf, 'what is on its way begins where the window ends')
    assert.equal(ledger.committed, 5)
    assert.deepEqual([overview.stale, trouble], [false, null])
    const { collectors, certificates } = await get('/operation.json')
    const today = Math.floor(now() / DAY_MS)
    assert.deepEqual(
      certificates.map(({ day }: { day: string }) => day),
      Array.from({ length: 30 }, (_, at) => dayText(today - 29 + at)),
    )
    assert.deepEqual([certificates.at(-1).pageViews, certificates.at(-2).pageViews], [5, 0])
    assert.equal(collectors.length, 1)
    const [{ layersWaiting, ...collector }] = collectors
    assert(layersWaiting >= 0, `${layersWaiting} layers wait`)
    // This process drains when it is told to, and no collector comes.
    assert.deepEqual(collector, { isShared: false, periodSeconds: null, lastRun: null })

    const PATHS = ['/history.json?by=day', '/top.json?dimension=page']
    for (const path of PATHS) {
      const { asOf, stale, figures } = await get(path)
      assert(Date.parse(asOf) >= Date.parse(overview.asOf))
      assert.deepEqual([stale, figures.at(-1).pageViews], [false, path === PATHS[0] ? 5 : 2])
    }

    // Each answer is kept for a second: the history is read while the other is half a second old.
    await get('/now.json')
    await delay(700)
    const histories = ['hour', 'day', 'week', 'month'].map((by) => `/history.json?by=${by}`)
    for (const path of histories) await get(path)
    const time = now()
    await database.transaction((tx) =>
      commitVisits([{ time, page: '/', visitor: null, dimensions: undefined }], tx, {
        now: time,
        name: 'activity',
      }),
    )
    await delay(500)
    const newest = (await get('/now.json')).overview.figures
    for (const path of histories) {
      const sums = (await get(path)).figures as { pageViews: number | null }[]
      const sum = sums.reduce((all, { pageViews }) => all + (pageViews ?? 0), 0)
      assert(sum >= newest.today.views, `${path} has ${sum}, and ${newest.today.views} now`)
    }

    isAway = true
    ahead += 65_000
    const old = await get('/now.json')
    const { asOf, figures: last } = old.overview
    assert.deepEqual(old.overview, { asOf, figures: last, stale: true, unread: true })
    assert.deepEqual([last.pageViews, last.visitors], [5, 3])
    assert.equal(old.ledger, null)
    ahead += 5_000
    for (const path of PATHS) assert.equal((await get(path)).stale, true)
    const { trouble: told } = await get('/now.json')
    assert.match(told, /^The database does not answer: start it, /)
  } finally {
    isAway = false
    await activity.close()
    await database.close()
  }
})

test('processes with other windows or days share a cache, and each has its figures', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const cache = memory()
  const own = [
    { windowSeconds: 600, timeZone: 'Pacific/Honolulu' },
    { windowSeconds: 60, timeZone: 'Pacific/Honolulu' },
    // A day later, always. Until views are recorded, SQL has no zone.
    { windowSeconds: 600, timeZone: 'Pacific/Kiritimati' },
  ]
  const activities = own.map(
    (options) =>
      new SiteActivity(
        activitySettings({
          database,
          cache,
          logger: keptLog(),
          collect: false,
          ...SHORT_LAYERS,
          ...options,
        }),
      ),
  )
  try {
    await inWindow(activities[0]!)
    const answers = []
    for (const activity of activities) {
      const app = express()
      app.use(activity.dashboard({ authorize: () => true }))
      const { body } = await request(app).get('/now.json').expect(200)
      answers.push(body.overview.figures)
    }
    assert.deepEqual(
      answers.map(({ windowSeconds }) => windowSeconds),
      [600, 60, 600],
    )
    const days = answers.map(({ today }) => today.day)
    assert(days[2] > days[1], days.join(' '))
  } finally {
    await Promise.all(activities.map((activity) => activity.close()))
    await database.close()
  }
})
