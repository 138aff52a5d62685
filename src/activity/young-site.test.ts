/** The dashboard of a site that is younger than the period that its figures are compared with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import request from 'supertest'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { unpacked } from '../dashboard/assets/packed.js'
import { addHits } from '../hits/history.js'
import { createHits } from '../hits/item-hits.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { expresses } from '../support/http.fixture.js'
import { SILENT } from '../support/logger.js'
import { commitVisits } from './commit.js'
import { createActivity } from './site-activity.js'
import { UTC } from '../support/calendar.js'

const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]

/** Of 30 days, whose period before begins 35 days earlier, that has nine whole days of the site. */
const OLDEST = 44
const VIEWS = { '/': 6, '/b': 3, '/c': 1 }

test('the growth of a young site is that of the days that it had', async () => {
  const grid = {
    cache: memory(),
    database: sqlite(':memory:'),
    collect: false,
    logger: SILENT,
  } as const
  const activity = createActivity(grid)
  const empty = createActivity({ ...grid, name: 'empty' })
  const reports = createActivity({ ...grid, count: 'seen' })
  const hits = createHits({ ...grid, name: 'threads' })
  const today = Math.floor(Date.now() / DAY_MS)
  const day = (ago: number) => new Date((today - ago) * DAY_MS).toISOString().slice(0, 10)
  const app = express()
  const options = { authorize: () => true, hits: [hits] }
  app.use('/empty', empty.dashboard(options))
  app.use(activity.dashboard(options))
  const ask = async (path: string) =>
    JSON.parse((await request(app).get(path).expect(200)).text, unpacked)
  try {
    // Each day has as many views as the others, but for the first, which began with one.
    activity.record({ page: '/', at: (today - OLDEST) * DAY_MS + 23 * HOUR_MS })
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
    for (let ago = OLDEST - 1; ago >= 0; ago--) {
      for (const [page, count] of Object.entries(VIEWS)) {
        for (let view = 0; view < count; view++) {
          const at = (today - ago) * DAY_MS + view * HOUR_MS
          if (at < hour) activity.record({ page, at })
        }
      }
    }
    await activity.flush()
    await activity.drain({ all: true })
    const yesterday = (today - 1) * DAY_MS
    await hits.migrate()
    await grid.database.transaction(async (tx) => {
      await addHits(tx, 'threads', [{ item: 'thread', at: yesterday }], UTC)
      const seen = { time: yesterday, page: '/', visitor: null, dimensions: undefined }
      await commitVisits([seen], tx, { now: yesterday, name: 'activity.seen' })
    })
    const month = await ask('/figures.json?range=30d')
    assert.equal(month.firstDay, day(OLDEST))
    assert.deepEqual(month.before.slice(0, 22), [...Array(21).fill(null), 10])
    const pages = month.lists.find((one: { dimension: string }) => one.dimension === 'page')
    for (const { value, over, before } of pages.top.figures) {
      // Eight whole days: of the ninth of the period before, hours are no longer known.
      const count = 8 * VIEWS[value as keyof typeof VIEWS]
      assert.deepEqual([over, before], [count, count], value)
    }
    const { figures: rows } = await ask('/shown.json?range=30d&dimension=page')
    assert.deepEqual(
      rows.map(({ change }: { change: number }) => change),
      [0, 0, 0],
    )
    const item = await ask('/item.json?range=30d&dimension=page&value=%2Fb')
    assert.equal(item.firstDay, day(OLDEST))
    assert.deepEqual(item.before.slice(0, 22), [...Array(21).fill(null), 3])

    const year = await ask('/figures.json?range=12m')
    assert.equal(year.firstDay, day(OLDEST))
    assert.deepEqual(new Set(year.before), new Set([null]))
    for (const { top } of year.lists) {
      for (const { over, before } of top.figures) {
        assert.deepEqual([over, before], [undefined, undefined])
      }
    }
    const range = { from: (today - OLDEST - 1) * DAY_MS, to: (today - OLDEST + 2) * DAY_MS }
    const ofDays = `from=${range.from}&to=${range.to}&by=day`
    for (const path of ['history.json?', 'history.json?dimension=page&value=%2Fb&']) {
      const [before, first, second] = (await ask(`/${path}${ofDays}`)).figures
      assert.equal(before.pageViews, null, path)
      assert.equal(first.pageViews, path.includes('value') ? 0 : 1, path)
      assert(second.pageViews > 0)
    }
    const [before, first] = await activity.history({ ...range, by: 'day' })
    const unknown = { pageViews: null, visitors: null, bots: null, seen: null, unseen: null }
    assert.deepEqual(before, { start: `${day(OLDEST + 1)}T00:00:00.000Z`, ...unknown })
    assert.deepEqual([first!.bots, first!.seen], [0, null], 'the first report came later')
    const [, served] = await reports.history({ ...range, by: 'day' })
    assert.deepEqual(
      served && [served.pageViews, served.served, served.unseen],
      [null, 1, null],
      'nothing is known of reports, so nothing of those that are missing',
    )
    const threads = await hits.history('thread', { days: 3 })
    assert.deepEqual(
      threads.map((one) => one.hits),
      [null, 1, 0],
    )
    const figures = await ask('/figures.json?range=yesterday')
    assert(!figures.before.includes(null))

    const nothing = await ask('/empty/figures.json?range=7d')
    assert.equal(nothing.firstDay, null)
    assert.deepEqual(nothing.before, Array(7).fill(null), 'no figures are not 0')
    const shown = nothing.sums.figures.map((one: { pageViews: unknown }) => one.pageViews)
    assert.deepEqual(shown, Array(7).fill(null))
  } finally {
    await Promise.all([activity, hits, empty, reports].map((one) => one.close()))
    await Promise.all([grid.cache.close(), grid.database.close()])
  }
})
