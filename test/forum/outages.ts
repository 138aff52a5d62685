/**
 * Takes pictures of the dashboard in each state and outage, light and dark, on a desktop and a
 * phone: `npm run screenshot:outages -- /tmp/outages`. The servers are real, and so are their
 * outages. Fails if the alarm does not say what is wrong, if a number of a picture is not
 * that of SQL, and if axe-core finds what is hard to use for some people.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { activitySettings } from '../../src/activity/options.js'
import { SiteActivity } from '../../src/activity/site-activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { systemClock } from '../../src/support/clock.js'
import { violationsOf } from '../../src/support/browser.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { addHits } from '../../src/hits/history.js'
import { ItemHits } from '../../src/hits/item-hits.js'
import { hitsSettings } from '../../src/hits/options.js'
import { startBrowser } from '../servers/browser.js'
import { hostClock } from '../servers/host-clock.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import { PAST_DIMENSIONS, writePast } from './past.js'
import { recount } from './recount.js'
import { UTC } from '../../src/support/calendar.js'

const [folder] = process.argv.slice(2)
assert(folder, 'name the folder of the pictures')
mkdirSync(folder, { recursive: true })

const HOUR_MS = 3_600_000
const DAYS = 365
const WIDTHS = [1400, 390]
const VISIT_MS = 100
const AHEAD_MS = 30_000
const logger = { info: () => undefined, warn: console.log, error: console.log }

// The clock of one database is behind that of this host. A clock of this process that is ahead
// would not do: node-cron reads the system's.
const behind = hostClock()
behind.step(-AHEAD_MS)
const [mariadb, mariadbBehind, memcached, browser] = await Promise.all([
  startMariadb(),
  startMariadb([], { env: behind.env }),
  startMemcached(),
  startBrowser(),
])
const root = mysql(mariadb.url())
// `read_only` does not apply to the user of the tests, who may do everything.
const database = mariadb.url().replace(/\/\/[^@]*@/, '//site:site-password@')
await root.query("CREATE USER site@'%' IDENTIFIED BY 'site-password'")
await root.query(
  "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX ON test.* TO site@'%'",
)
const app = express()
/** What the site's own login answers; `undefined`: all are signed in. */
let login: 401 | undefined
app.use((_req, res, next) => (login === undefined ? next() : void res.sendStatus(login)))

/** Activities of sites that differ, on the same servers. */
const activities = new Map<string, SiteActivity>()
interface OfSite {
  readonly collect?: false
  readonly retentionHours?: number
  readonly historyDays?: number
  readonly database?: string
}
function site(name: string, options: OfSite = {}, visits = 800): void {
  const activity = new SiteActivity(
    activitySettings({
      name,
      cache: `memcached://${memcached.address}`,
      database,
      // Lags are reported sooner than in production.
      confirmSeconds: 35,
      logger,
      dimensions: PAST_DIMENSIONS,
      ...options,
    }),
  )
  for (let i = 0; i < visits; i++) {
    const at = systemClock.now() - Math.floor(20 * HOUR_MS * Math.random())
    activity.record({ visitor: i % 300, page: `/threads/${i % 7}`, at })
  }
  const shown = name === 'empty' ? [] : [hits]
  app.use(`/${name}`, activity.dashboard({ authorize: () => true, hits: shown }))
  activities.set(name, activity)
}

const hits = new ItemHits(
  hitsSettings({ name: 'threads', cache: `memcached://${memcached.address}`, database, logger }),
)
await hits.migrate()
const past = await writePast(root, { name: 'site', days: DAYS, usual: 14 })
const counted = past
  .filter(({ page }) => page !== '/')
  .map(({ page, time }) => ({ item: page.slice('/threads/'.length), at: time }))
await root.transaction((tx) => addHits(tx, hits.name, counted, UTC))
const historyDays = 366
site('site', { retentionHours: 24 * 400, historyDays }, 0)
site('young')
site('empty', {}, 0)
site('uncollected', { collect: false })
site('ahead', { database: mariadbBehind.url() })
site('jumped')
app.use('/shared', activities.get('site')!.dashboard({ shared: true }))
app.use('/figures', activities.get('site')!.dashboard({ authorize: () => 'figures', hits: [hits] }))
for (const activity of activities.values()) {
  await activity.flush()
  await activity.drain({ all: true })
}
let visits = 0
const visiting = setInterval(() => {
  visits++
  const visit = { visitor: visits % 500, page: visits % 2 === 0 ? '/' : '/threads/about' }
  hits.record('about', { viewer: visits % 500 })
  for (const [name, activity] of activities) if (name !== 'empty') activity.record(visit)
}, VISIT_MS)

const server = app.listen(0)
await once(server, 'listening')
const { port } = server.address() as AddressInfo
// A page that visitors come to for the first time is new in its list.
await eventually('the first visits are in SQL', async () => {
  const { rows } = await root.query(
    "SELECT COUNT(DISTINCT name) AS sites FROM activities WHERE page = '/threads/about' " +
      "AND name IN ('site', 'young')",
  )
  return Number(rows[0]?.['sites']) === 2
})

interface Outage {
  readonly name: string
  /** @default site */
  readonly of?: string
  readonly status: RegExp
  begin(): unknown
  end?(): unknown
}

const LATE = /^The figures are older than they should be: |^No collector keeps up: /
const OUTAGES: readonly Outage[] = [
  {
    name: 'memcached-down',
    status: /^The cache server \S+ failed: /,
    begin: () => memcached.kill(),
    end: () => memcached.start(),
  },
  {
    name: 'mariadb-down',
    status: /^The database does not answer: /,
    begin: () => mariadb.kill(),
    end: () => mariadb.restart(),
  },
  {
    name: 'both-down',
    status: /^The database and the cache server \S+ do not answer: /,
    begin: () => Promise.all([memcached.kill(), mariadb.kill()]),
    end: () => Promise.all([memcached.start(), mariadb.restart()]),
  },
  {
    name: 'read-only',
    status: /^The database does not take visits from /,
    begin: () => root.query('SET GLOBAL read_only = 1'),
    end: () => root.query('SET GLOBAL read_only = 0'),
  },
  { name: 'no-collector', of: 'uncollected', status: LATE, begin: () => undefined },
  { name: 'clock-ahead', of: 'ahead', status: /^The clock of this host /, begin: () => undefined },
  {
    name: 'stale',
    of: 'jumped',
    status: LATE,
    // As after a time for which the database's clock was ahead.
    begin: () =>
      root.query("UPDATE wide_cache_grids SET watermark = watermark + 1000 WHERE name = 'jumped'"),
  },
  {
    name: 'signed-out',
    status: /^You are signed out: /,
    begin: () => (login = 401),
    end: () => (login = undefined),
  },
  {
    name: 'server-gone',
    status: /^The site does not answer: /,
    begin: () => {
      server.close()
      server.closeAllConnections()
    },
  },
]

/** States without outages: the query of the address, the site, and the direction of the page. */
const STATES: readonly (readonly [name: string, query: string, of?: string, dir?: 'rtl'])[] = [
  ['empty', '', 'empty'],
  ['a-day-old', '', 'young'],
  ['today', '?range=today'],
  ['a-week', ''],
  ['a-year-old', '?range=12m'],
  ['previous-period', '?range=yesterday'],
  ['drill-down', '?range=30d&dimension=page&value=%2F'],
  ['a-referrer', '?range=30d&dimension=referrer&value=news.example'],
  ['an-item', '?hits=threads&value=1-my-bicycle-bell-rings-by-itself-above-km-h'],
  ['right-to-left', '?range=yesterday&dimension=page&value=%2F', 'site', 'rtl'],
  ['figures', '', 'figures'],
  ['shared', '', 'shared'],
]

try {
  for (const [name, query, of = 'site', dir = 'ltr'] of STATES) {
    const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'Etc/UTC' })
    await page.goto(`http://127.0.0.1:${port}/${of}${query}`)
    const last = name === 'empty' ? '.start h2' : '#history path.bar'
    await page.locator(last).first().waitFor({ state: 'attached' })
    const isItem = query.includes('value=')
    await page.locator(isItem ? '#tile-best strong' : '#tile-now .detail').waitFor()
    await page.evaluate(`document.documentElement.dir = '${dir}'`)
    await take(page, name)
    if (name !== 'empty') await recountOn(page, name, of)
    await page.close()
  }
  const pages = new Map<string, Page>()
  for (const name of activities.keys()) {
    if (name !== 'empty' && name !== 'young') pages.set(name, await open(browser, name))
  }
  for (const { name, of = 'site', status, begin, end } of OUTAGES) {
    const page = pages.get(of)!
    // What the page keeps while there is nothing newer.
    if (of === 'site') await recountOn(page, name, of)
    await begin()
    await says(page, name, status)
    await take(page, name)
    await end?.()
    await page.evaluate("dispatchEvent(new Event('online')), undefined")
    if (end) await says(page, `after ${name}`, /^Live$/)
  }
} finally {
  clearInterval(visiting)
  await browser.close()
  await Promise.all([hits, ...activities.values()].map((one) => one.close()))
  await root.close()
  await Promise.all([mariadb.stop(), mariadbBehind.stop(), memcached.stop()])
}

/** A page whose panels are all filled. */
async function open(browser: Browser, name: string): Promise<Page> {
  const page = await browser.newPage({ locale: 'en-GB', timezoneId: 'Etc/UTC' })
  await page.goto(`http://127.0.0.1:${port}/${name}`)
  await page.locator('[data-dimension=page] tbody tr').first().waitFor()
  await page.locator('#history path.bar').first().waitFor({ state: 'attached' })
  return page
}

async function recountOn(page: Page, picture: string, of: string): Promise<void> {
  const name = ['figures', 'shared'].includes(of) ? 'site' : of
  const counted = { database: root, name, hits: hits.name }
  const { numbers } = await recount(page, name === 'site' ? { ...counted, historyDays } : counted)
  console.log(`${picture}: ${numbers} numbers are those of SQL`)
}

async function says(page: Page, what: string, status: RegExp): Promise<void> {
  let text = ''
  await eventually(`${what}: ${String(status)}, and not: ${text}`, async () => {
    const line = status.source === '^Live$' ? '#status' : '#alarm'
    text = (await page.locator(line).textContent()) ?? ''
    return status.test(text)
  }).catch((error) => {
    throw new Error(`The dashboard says: ${text}`, { cause: error })
  })
  console.log(`${what}: ${text}`)
}

async function take(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    assert.deepEqual(await violationsOf(page), [], `${name}, ${colorScheme}`)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      const path = join(folder!, `${name}-${colorScheme}-${width}.png`)
      await page.screenshot({ path, fullPage: true })
    }
  }
}
