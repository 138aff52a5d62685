/** The dashboard of a site that is younger than the period that its figures are compared with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import request from 'supertest'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { createHits } from '../hits/item-hits.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { expresses } from '../support/http.fixture.js'
import { SILENT } from '../support/logger.js'
import { createActivity } from './site-activity.js'

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
  const hits = createHits({ ...grid, name: 'threads' })
  const today = Math.floor(Date.now() / DAY_MS)
  const day = (ago: number) => new Date((today - ago) * DAY_MS).toISOString().slice(0, 10)
  const app = express()
  const options = { authorize: () => true, hits: [hits] }
  app.use('/empty', empty.dashboard(options))
  app.use(activity.dashboard(options))
  const ask = async (path: string) => (await request(app).get(path).expect(200)).body
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
    const month = await ask('/figures.json?range=30d')
    assert.equal(month.noDataBefore, day(OLDEST))
    assert.deepEqual(views(month.before).slice(0, 22), [...Array(21).fill(null), 10])
    const pages = month.lists.find((one: { dimension: string }) => one.dimension === 'page')
    for (const { value, over, before } of pages.top.figures) {
      // Eight whole days, and as much of a ninth as there is of today.
      const count = VIEWS[value as keyof typeof VIEWS]
      assert(over >= 8 * count && over <= 9 * count, `${value}: ${over}`)
      assert.equal(before, over, value)
    }
    const { figures: rows } = await ask('/shown.json?range=30d&dimension=page')
    assert.deepEqual(
      rows.map(({ change }: { change: number }) => change),
      [0, 0, 0],
    )
    const item = await ask('/item.json?range=30d&dimension=page&value=%2Fb')
    assert.equal(item.noDataBefore, day(OLDEST))
    assert.deepEqual(views(item.before).slice(0, 22), [...Array(21).fill(null), 3])

    const year = await ask('/figures.json?range=12m')
    assert.equal(year.noDataBefore, day(OLDEST))
    assert.deepEqual(new Set(views(year.before)), new Set([null]))
    for (const { top } of year.lists) {
      for (const { over, before } of top.figures) {
        assert.deepEqual([over, before], [undefined, undefined])
      }
    }
    const yesterday = await ask('/figures.json?range=yesterday')
    assert.equal(yesterday.noDataBefore, null)
    assert(!views(yesterday.before).includes(null))

    const nothing = await ask('/empty/figures.json?range=7d')
    assert.equal(nothing.noDataBefore, null)
    assert.deepEqual(views(nothing.before), Array(7).fill(null), 'no figures are not 0')
  } finally {
    await Promise.all([activity.close(), hits.close(), empty.close()])
    await Promise.all([grid.cache.close(), grid.database.close()])
  }
})

function views(periods: readonly { readonly pageViews: number | null }[]) {
  return periods.map(({ pageViews }) => pageViews)
}
