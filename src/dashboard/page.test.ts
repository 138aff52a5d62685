/** The dashboard in a real browser (Chromium), with invented figures. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import express from 'express'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { startBrowser } from '../../test/servers/browser.js'
import { complaintsOf } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { type Clock, systemClock } from '../support/clock.js'
import { BurstLogger } from '../support/logger.js'
import { HOSTILE, InventedSource, inventedHits } from './invented-source.fixture.js'
import { dashboardRouter } from './router.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The server's time when the tests begin: far from the end of an hour, unlike the browser's. */
const BEGIN = Date.parse('2026-05-17T10:20:00Z')
const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 360, height: 740 }

const clock: Clock = { ...systemClock, now: () => Math.floor(BEGIN + performance.now()) }
let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** What an old panel says of its figures. The browser's day is another one, so with the date. */
const OLD = /as of 17 May 2026, \d\d:\d\d:\d\d\. Newer figures cannot be read at the moment\.$/i

interface Scene {
  readonly page: Page
  readonly source: InventedSource
  readonly complaints: string[]
  /** Whether requests are authorized. */
  allowed: boolean
  /** What the site's own login answers to those who are not signed in; `undefined`: they are. */
  login: 401 | 302 | undefined
}

/** The page, with figures in it, and the browser's clock in the test's hands. */
async function onStage(
  settings: BrowserContextOptions,
  play: (scene: Scene) => Promise<void>,
  failing: readonly string[] = [],
  status = /^Live$/,
): Promise<void> {
  const source = new InventedSource(clock.now)
  for (const question of failing) source.failing.add(question)
  const app = express()
  app.use((req, res, next) => {
    if (scene.login === undefined) next()
    else if (req.path === '/login') res.send('<h1>Sign in</h1>')
    else if (scene.login === 302) res.redirect('/login')
    else res.status(scene.login).send('<h1>Sign in</h1>')
  })
  app.use(
    '/admin/activity',
    dashboardRouter(
      source,
      { authorize: () => scene.allowed, hits: [inventedHits('threads')] },
      new BurstLogger(keptLog(), clock.elapsed),
      clock,
    ),
  )
  const context = await browser.newContext({
    viewport: DESKTOP,
    locale: 'en-GB',
    timezoneId: 'Etc/UTC',
    ...settings,
  })
  const page = await context.newPage()
  const scene: Scene = {
    page,
    source,
    complaints: complaintsOf(page),
    allowed: true,
    login: undefined,
  }
  try {
    await serving(app, async (port) => {
      await page.clock.install()
      // Without the slash: the page has to find its files all the same.
      await page.goto(`http://127.0.0.1:${port}/admin/activity`)
      await shows(page.locator('#status'), status)
      await play(scene)
    })
  } finally {
    await context.close()
  }
}

/** Waits until an element's text fits. */
async function shows(element: Locator, text: RegExp): Promise<void> {
  await element.first().waitFor({ state: 'attached' })
  await eventually(String(text), async () =>
    text.test(((await element.first().textContent()) ?? '').trim()),
  )
}

/** Lets the browser's time pass in steps, between which answers can come. */
async function pass(page: Page, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 2) {
    await page.clock.runFor(2_000)
    // A request of its own: those that were sent before it are answered before it.
    await page.evaluate(`fetch('icon.svg').then((response) => response.text())`)
  }
}

/** The rows of a table, as texts. */
async function rowsOf(table: Locator): Promise<string[][]> {
  const rows = await table.locator('tbody tr').all()
  return Promise.all(rows.map((row) => row.locator('th, td').allTextContents()))
}

async function sideways(page: Page): Promise<number> {
  return (await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )) as number
}

test('every panel is filled, under the strict policy', () =>
  onStage({}, async ({ page, complaints }) => {
    const figures = page.locator('#now .figure')
    await shows(figures.nth(0), /^1,345 page views$/)
    await shows(figures.nth(1), /^212 visitors$/)
    await shows(figures.nth(2), /^\+\d+ on their way$/)
    assert((await page.locator('#now rect.open').count()) > 5, 'the tail is drawn as an outline')
    await shows(page.locator('#now .ranked tbody tr').nth(1), new RegExp('^<img src=x onerror'))

    await shows(page.locator('#hours .sub'), /page views\. The current hour still grows/)
    assert.equal(await page.locator('#hours rect.series-0').count(), 24)
    assert.equal(await page.locator('#hours rect.series-1').count(), 24)
    await shows(page.locator('#hours .scale'), /^(\d+)(\d+)0$/)
    await shows(page.locator('#days .sub'), /page views\. The current day still grows/)
    assert.equal(await page.locator('#days rect.series-0').count(), 30)
    assert.equal(await page.locator('#days rect.series-1').count(), 30)

    for (const [dimension, title, first] of [
      ['page', 'Pages', '/ seen by browsers: 50 %2,160'],
      ['referrer', 'Referrers', '(none)2,160'],
      ['campaign', 'Campaigns', '(none)2,160'],
      ['country', 'Countries', 'Germany2,160'],
      ['device', 'Devices', 'phone2,160'],
    ] as const) {
      const card = page.locator(`[data-dimension=${dimension}]`)
      await shows(card.locator('h3'), new RegExp(`^${title}$`))
      await card.locator('tbody tr').first().waitFor()
      assert.equal(await card.locator('tbody tr').first().textContent(), first)
      const href = (await card.locator('a').getAttribute('href')) ?? ''
      assert.match(
        href,
        new RegExp(`^top\\.csv\\?dimension=${dimension}&from=\\d+&to=\\d+&n=1000$`),
      )
      assert.equal((await page.request.get(new URL(href, page.url()).href)).status(), 200)
    }
    await shows(page.locator('[data-dimension=page] .sub'), /^Over 100 %: .* single-page site/)
    assert.equal(await page.locator('[data-dimension=device] .sub').isVisible(), false)
    await shows(
      page.locator('#beside'),
      /^Seen by browsers: 3\d %\. Beside them, .* went to bots\.$/,
    )
    await shows(page.locator('[data-hits=threads] tbody tr'), /^threads-1900$/)

    assert.equal(await page.locator('#grid tbody tr').count(), 11 + 1)
    assert.equal(await page.locator('#grid tbody tr').first().locator('td').count(), 15)
    await shows(page.locator('#grid .watermark'), /^Watermark \d\d:\d\d:\d\d$/)
    assert.equal(await page.locator('#grid .drained').count(), 3)
    await shows(page.locator('#ledger .lag'), /^\d\d seconds behind: the collector keeps up$/)
    await shows(page.locator('#ledger .books'), /Issued.*1,204,511.*Committed.*1,204,300/)
    await shows(page.locator('#ledger'), /The ledger balances\. 41 came twice/)

    assert.equal(await page.locator('img').count(), 0, 'text from strangers is text')
    assert((await page.locator('bdi', { hasText: HOSTILE }).count()) >= 2)
    assert.deepEqual(complaints, [])
  }))

test('each chart has a table with the same figures', () =>
  onStage({}, async ({ page, source }) => {
    await page.locator('#hours details').waitFor()
    await page.locator('#days details').first().waitFor()
    for (const details of await page.locator('details').all()) {
      await details.locator('summary').click()
    }
    const hour = Math.floor(BEGIN / HOUR_MS) * HOUR_MS
    const { figures: expected } = await source.history({
      from: hour - 23 * HOUR_MS,
      to: hour + HOUR_MS,
      by: 'hour',
    })
    const written = (count: number) => count.toLocaleString('en-GB')
    await eventually('24 hours', async () => (await page.locator('#hours tbody tr').count()) === 24)
    assert.deepEqual(
      (await rowsOf(page.locator('#hours table'))).map((cells) => cells.slice(1)),
      expected.map(({ pageViews, visitors }) => [written(pageViews), written(visitors)]),
    )
    const today = Math.floor(BEGIN / DAY_MS) * DAY_MS
    const { figures: days } = await source.history({
      from: today - 29 * DAY_MS,
      to: today + DAY_MS,
      by: 'day',
    })
    const tables = page.locator('#days table')
    await eventually(
      '30 days',
      async () => (await tables.nth(1).locator('tbody tr').count()) === 30,
    )
    assert.deepEqual(
      (await rowsOf(tables.nth(0))).map(([, views]) => views),
      days.map(({ pageViews }) => written(pageViews)),
    )
    assert.deepEqual(
      (await rowsOf(tables.nth(1))).map(([, visitors]) => visitors),
      days.map(({ visitors }) => written(visitors)),
    )
    for (const table of await page.locator('table').all()) {
      assert.equal(await table.locator('caption').count(), 1, 'each table has a name')
    }
  }))

test("numbers, dates and days are those of the browser's language and zone", () =>
  onStage(
    { locale: 'de-DE', timezoneId: 'America/New_York', colorScheme: 'dark' },
    async ({ page, source, complaints }) => {
      await shows(page.locator('#now .figure'), /^1\.345 page views$/)
      await shows(page.locator('[data-dimension=country] tbody tr'), /^Deutschland2\.160$/)
      await shows(page.locator('#days'), /by days in America\/New_York, visitors by days in UTC/)
      await page.locator('#days summary').first().click()
      const table = page.locator('#days table').first()
      await table.locator('tbody tr').last().waitFor()
      const [, [, views] = []] = await rowsOf(table)
      const midnight = await page.evaluate(`{
        const today = new Date(${BEGIN})
        const year = today.getFullYear()
        const month = today.getMonth()
        const day = today.getDate()
        ;[new Date(year, month, day - 28).getTime(), new Date(year, month, day - 27).getTime()]
      }`)
      const [from = 0, to = 0] = midnight as number[]
      const { figures: hours } = await source.history({ from, to, by: 'hour' })
      const sum = hours.reduce((sum, { pageViews }) => sum + pageViews, 0)
      assert.equal(views, sum.toLocaleString('de-DE'))
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      assert.match(String(background), /^rgb\(\d\d?, \d\d?, \d\d?\)$/, 'it is dark')
      assert.deepEqual(complaints, [])
    },
  ))

test('all can be done with the keyboard', () =>
  onStage({}, async ({ page, source, complaints }) => {
    const chart = page.locator('#hours [role=slider]')
    await page.locator('#hours rect.series-0').first().waitFor({ state: 'attached' })
    await chart.focus()
    await shows(page.locator('#hours .readout'), /: \d+ page views, \d+ visitors so far$/)
    const last = await chart.getAttribute('aria-valuetext')
    await chart.press('ArrowLeft')
    assert.notEqual(await chart.getAttribute('aria-valuetext'), last)
    assert.equal(await chart.getAttribute('aria-valuenow'), '23')
    await chart.press('Home')
    await chart.press('ArrowLeft')
    assert.equal(await chart.getAttribute('aria-valuenow'), '1')
    await chart.press('End')
    assert.equal(await chart.getAttribute('aria-valuetext'), last)
    await chart.press('Tab')
    await page.keyboard.press('Enter')
    await eventually('24 hours', async () => (await page.locator('#hours tbody tr').count()) === 24)

    const pages = page.locator('[data-dimension=page] tbody tr').first()
    await shows(pages, /^\/ seen by browsers: 50 %2,160$/)
    await page.locator('#range input').first().focus()
    await page.keyboard.press('ArrowRight')
    await shows(pages, /^\/ seen by browsers: 50 %13,950$/)
    await page.keyboard.press('ArrowRight')
    await shows(pages, /^\/ seen by browsers: 50 %63,630$/)
    assert(source.asked.filter((question) => question === 'top page 10').length >= 3)

    const reached = new Set<string>()
    await page.locator('h1').click()
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab')
      const at = page.locator(':focus')
      if ((await at.count()) === 0) break
      reached.add((await at.evaluate((element) => element.tagName)).toString())
    }
    assert.deepEqual([...reached].sort(), ['A', 'DIV', 'INPUT', 'SUMMARY'])
    assert.deepEqual(complaints, [])
  }))

test('it fits on a phone, and runs from right to left', () =>
  onStage({ viewport: PHONE }, async ({ page, complaints }) => {
    await page.locator('[data-dimension=device] tbody tr').first().waitFor()
    await page.locator('#days rect.series-0').first().waitFor({ state: 'attached' })
    for (const details of await page.locator('details').all()) {
      await details.locator('summary').click()
    }
    assert.equal(await sideways(page), 0)
    for (const width of [320, PHONE.width, DESKTOP.width]) {
      await page.setViewportSize({ width, height: 740 })
      for (const direction of ['rtl', 'ltr']) {
        await page.evaluate(`document.documentElement.dir = '${direction}'`)
        assert.equal(await sideways(page), 0, `${direction} at ${width} pixels`)
      }
    }
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    const box = async (selector: string) => (await page.locator(selector).first().boundingBox())!
    assert((await box('#hours')).x > (await box('#days')).x)
    const chart = page.locator('#hours [role=slider]')
    await chart.focus()
    await chart.press('ArrowRight')
    assert.equal(await chart.getAttribute('aria-valuenow'), '23', 'earlier is on the right')
    const picture = await box('#hours svg')
    await page.mouse.move(picture.x + picture.width - 3, picture.y + 20)
    assert.equal(await chart.getAttribute('aria-valuenow'), '1')
    assert.deepEqual(complaints, [])
  }))

test('a panel without figures says so, and the others do not mind', () =>
  onStage(
    {},
    async ({ page, source }) => {
      await shows(page.locator('#now .figure').nth(0), /^1,345 page views$/)
      await shows(page.locator('#now .tail'), /^No figures yet$/)
      await shows(page.locator('#grid'), /^Grid\s+No figures yet$/)
      await shows(page.locator('#hours'), /No visitors yet/)
      await shows(page.locator('[data-dimension=page] tbody tr'), /2,160/)
      await shows(page.locator('#ledger'), /The ledger balances/)

      source.failing.clear()
      source.failing.add('overview')
      await pass(page, 10)
      await shows(page.locator('#status'), /^Some figures cannot be read: the log of this process/)
      for (const panel of ['#now', '#hours', '#days', '#ledger']) {
        await shows(page.locator(`${panel} .old > .as-of`), OLD)
      }
      await shows(page.locator('#now .figure').nth(0), /^1,345 page views$/)
      await pass(page, 60)
      await shows(page.locator('#days .sub'), /page views\. The current day still grows/)
      await shows(page.locator('#hours .sub'), /page views\. The current hour still grows/)
      source.failing.clear()
      await pass(page, 10)
      await shows(page.locator('#status'), /^Live$/)
      await shows(page.locator('#now .tail'), /on their way/)
      await shows(page.locator('#grid .watermark'), /Watermark/)
      await eventually('no old panel', async () => (await page.locator('.old').count()) === 0)
    },
    ['live', 'history'],
    /^Some figures cannot be read/,
  ))

test('the page views of all panels are of one moment, and old ones are marked', () =>
  onStage({}, async ({ page, source }) => {
    const views = async (panel: string): Promise<number> => {
      const text = (await page.locator(panel).first().textContent()) ?? ''
      return Number(/^([\d,]+) page views/.exec(text)?.[1]?.replaceAll(',', ''))
    }
    const PANELS = ['#now .figure', '#hours .sub', '#days .sub']
    const all = () => Promise.all(PANELS.map(views))
    await page.locator('[data-dimension=device] tbody tr').first().waitFor()
    await page.locator('#days rect.series-1').first().waitFor({ state: 'attached' })
    const before = await all()
    source.come = 1_000
    await pass(page, 6)
    await eventually('all have come', async () =>
      (await all()).every((count, at) => count === before[at]! + 1_000),
    )
    const NOTES = ['#now .as-of', '#hours > .body > .as-of', '#days .as-of', '#ledger .as-of']
    const momentOf = async (note: string) =>
      /of (.*)\.$/.exec((await page.locator(note).first().textContent()) ?? '')?.[1]
    await eventually('one moment', async () => {
      const moments = new Set(await Promise.all(NOTES.map(momentOf)))
      return moments.size === 1 && !moments.has(undefined)
    })
    assert.equal(await page.locator('.old').count(), 0)

    source.staleSince = BEGIN - DAY_MS
    await pass(page, 80)
    await shows(page.locator('#status'), /^The figures are older than they should be: see whether/)
    const OLD_PANELS = ['#now', '#hours', '#days', '#ledger', '[data-dimension=page]']
    for (const panel of OLD_PANELS) {
      const mark = /as of 16 May 2026, \d\d:\d\d:\d\d, which is longer ago than it should be\.$/i
      await shows(page.locator(`${panel} .as-of`), mark)
    }
    await shows(page.locator('#hours .old > .as-of'), /^Visitors as of 16 May 2026/)
  }))

test('the line at the top says what is wrong, in words that stay while it is wrong', () =>
  onStage({}, async (scene) => {
    const { page, source } = scene
    const status = page.locator('#status')
    await page.evaluate(`{
      window.said = []
      const line = document.getElementById('status')
      new MutationObserver(() => said.push(line.textContent)).observe(line, { childList: true })
    }`)
    source.trouble = 'The database does not answer: start it.'
    await pass(page, 30)
    await shows(status, /^The database does not answer: start it\.$/)
    assert.equal(await status.getAttribute('class'), 'bad')
    await shows(page.locator('#ledger .lag'), /^\d\d seconds behind$/)
    source.trouble = undefined
    await pass(page, 4)
    await shows(status, /^Live$/)
    for (const login of [401, 302] as const) {
      scene.login = login
      await pass(page, 30)
      await shows(status, /^You are signed out: sign in and load this page again\.$/)
      scene.login = undefined
      await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
      await pass(page, 4)
      await shows(status, /^Live$/)
    }
    await page.route('**/now.json', (route) => route.abort())
    await pass(page, 60)
    await shows(status, /^The site does not answer: see whether it runs\./)
    for (const panel of ['#now', '#hours', '#days', '#grid', '#ledger']) {
      await shows(page.locator(`${panel} .old > .as-of`), OLD)
    }
    const said = (await page.evaluate('said')) as string[]
    assert.deepEqual(
      said.map((text) => text.split(/[ :]/).slice(0, 2).join(' ')),
      ['The database', 'Live', 'You are', 'Live', 'You are', 'Live', 'The site'],
    )
  }))

test('the CSV links stay when figures are shown anew', () =>
  onStage({}, async ({ page, source }) => {
    const links = page.locator('a[download]')
    await page.locator('[data-dimension=device] tbody tr').first().waitFor()
    await page.locator('#days rect.series-1').first().waitFor({ state: 'attached' })
    assert.equal(await links.count(), 7)
    const asked = source.asked.filter((question) => question.startsWith('history')).length
    await pass(page, 80)
    assert(source.asked.filter((question) => question.startsWith('history')).length > asked)
    assert.equal(await links.count(), 7)
    for (const link of await links.all()) assert(await link.isVisible())
  }))

test('it asks every few seconds, less often while nothing comes, not in a hidden tab', () =>
  onStage({}, async (scene) => {
    const { page } = scene
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/now.json')) asked++
    })
    const during = async (seconds: number): Promise<number> => {
      const before = asked
      await pass(page, seconds)
      return asked - before
    }
    const visible = await during(20)
    assert(visible >= 6 && visible <= 13, `asked ${visible} times in 20 s`)
    const hide = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true ` +
          `}), document.dispatchEvent(new Event('visibilitychange')), undefined`,
      )
    await hide(true)
    await during(4)
    assert.equal(await during(20), 0)
    await hide(false)
    assert((await during(4)) >= 1)

    scene.allowed = false
    await during(10)
    await shows(page.locator('#status'), /^You are signed out/)
    await during(60)
    const failing = await during(120)
    assert(failing <= 4, `asked ${failing} times in 2 minutes without an answer`)
    await shows(page.locator('#now .figure').nth(0), /^1,345 page views$/)
    scene.allowed = true
    await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
    await during(4)
    await shows(page.locator('#status'), /^Live$/)
  }))
