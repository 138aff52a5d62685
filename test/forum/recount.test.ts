/** The numbers on the dashboard's page, beside those of SQL: in each range, in each part. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { activitySettings } from '../../src/activity/options.js'
import { SiteActivity } from '../../src/activity/site-activity.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { addHits } from '../../src/hits/history.js'
import { ItemHits } from '../../src/hits/item-hits.js'
import { hitsSettings } from '../../src/hits/options.js'
import { serving } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startBrowser } from '../servers/browser.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { PAST_DIMENSIONS, writePast } from './past.js'
import { recount } from './recount.js'
import { UTC } from '../../src/support/calendar.js'

const NAME = 'forum'
const HITS = 'threads'
const HISTORY_DAYS = 100
const folder = temporaryFolder('recount')
const file = join(folder, 'site.db')
let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(async () => {
  await browser.close()
  removeFolder(folder)
})

/** The page, when all of its parts have figures. */
async function open(url: string): Promise<Page> {
  const page = await browser.newPage({ locale: 'en-GB' })
  // Only how late a page without figures fails.
  page.setDefaultTimeout(300_000)
  await page.goto(url)
  for (const part of [
    // The page of a value has no tile of now.
    url.includes('value=') ? '#tile-best strong' : '#tile-now .detail',
    '#history path.bar',
    '[data-dimension=device] tbody tr',
  ]) {
    await page.locator(part).first().waitFor({ state: 'attached' })
  }
  await page.locator(`[data-hits=${HITS}] tbody tr`).first().waitFor()
  return page
}

test('all numbers of the page are those of SQL', async () => {
  const database = sqlite(file)
  const visits = await writePast(database, { name: NAME, days: 45, usual: 14 })
  const counted = visits.map(({ page, time }) => ({ item: page, at: time }))
  // Just after midnight, today has none of these.
  counted.push({ item: '/threads/1', at: Date.now() })
  const options = { cache: 'memory:', database: `sqlite:${file}`, logger: keptLog() }
  const activity = new SiteActivity(
    activitySettings({
      ...options,
      name: NAME,
      retentionHours: 2_400,
      historyDays: HISTORY_DAYS,
      dimensions: PAST_DIMENSIONS,
    }),
  )
  const hits = new ItemHits(hitsSettings({ ...options, name: HITS }))
  await hits.migrate()
  await database.transaction((tx) => addHits(tx, HITS, counted, UTC))
  for (let i = 0; i < 60; i++) activity.record({ visitor: i % 40, page: `/threads/${i % 7}` })
  await activity.flush()
  await activity.drain({ all: true })
  const app = express()
  app.use('/dashboard', activity.dashboard({ authorize: () => true, hits: [hits] }))
  try {
    await serving(app, async (port) => {
      for (const [query, numbers] of [
        ['', 60],
        // In its first hour, the day has one bar.
        ['?range=today', 75],
        ['?range=yesterday', 120],
        ['?range=30d', 120],
        ['?range=12m', 40],
        ['?range=yesterday&dimension=page&value=%2F', 140],
      ] as const) {
        const page = await open(`http://127.0.0.1:${port}/dashboard/${query}`)
        const done = await recount(page, {
          database,
          name: NAME,
          hits: HITS,
          historyDays: HISTORY_DAYS,
        })
        assert(done.numbers >= numbers, `${query}: ${done.numbers} numbers were recounted`)
        await page.close()
      }
    })
  } finally {
    await Promise.all([activity.close(), hits.close()])
    await database.close()
  }
})
