/** The dashboard in a real browser (Chromium), with invented figures. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import express from 'express'
import type { Browser, BrowserContextOptions, Locator, Page, Response } from 'playwright-core'
import { BROWSER_TIME_ZONE, startBrowser } from '../../test/servers/browser.js'
import { complaintsOf, violationsOf } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { type Clock, systemClock } from '../support/clock.js'
import { BurstLogger } from '../support/logger.js'
import { HOSTILE, InventedSource, inventedHits, LargeSource } from './invented-source.fixture.js'
import { dashboardRouter } from './router.js'
import type { DashboardSource, ValueRange } from './source.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'

const DAY_MS = 86_400_000
const HOUR_S = 3_600
const written = (count: number): string => count.toLocaleString('en-GB')
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

/** What an old panel says of its figures. It names the date: the browser's clock is at another. */
const OLD = /as of 16 May 2026, \d\d:\d\d:\d\d\. Newer figures cannot be read at the moment\.$/i

interface Scene {
  readonly page: Page
  readonly source: InventedSource
  readonly complaints: string[]
  /** All that has arrived. */
  readonly responses: readonly Response[]
  /** What the server has sent: the query of a request, and the status. */
  readonly sent: readonly (readonly [url: string, status: number])[]
  /** Whether requests are authorized. */
  allowed: boolean | 'figures'
  /** What the site's own login answers to those who are not signed in; `undefined`: they are. */
  login: 401 | 302 | undefined
}

interface Opening {
  readonly failing?: readonly string[]
  readonly status?: RegExp
  /** The address's query. */
  readonly query?: string
  /** Whether all lists are full. */
  readonly large?: boolean
  /** The time zone of the site. */
  readonly zone?: string
}

/** The page, with figures in it, and the browser's clock in the test's hands. */
async function onStage(
  settings: BrowserContextOptions,
  play: (scene: Scene) => Promise<void>,
  { failing = [], status = /^Live$/, query = '', large = false, zone = 'UTC' }: Opening = {},
): Promise<void> {
  const source = new (large ? LargeSource : InventedSource)(clock.now)
  const days = calendarOf(timeZoneOption(zone))
  source.calendar = { current: days, read: async () => days }
  for (const question of failing) source.failing.add(question)
  const logger = new BurstLogger(keptLog(), clock.elapsed)
  const app = express()
  const sent: [string, number][] = []
  app.use((req, res, next) => {
    res.once('finish', () => sent.push([req.originalUrl, res.statusCode]))
    next()
  })
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
      { authorize: () => scene.allowed, hits: [inventedHits('threads', large ? 100 : 8)] },
      logger,
      clock,
    ),
  )
  app.use('/shared', dashboardRouter(source, { shared: true }, logger, clock))
  app.use('/not-set-up', dashboardRouter(source, {}, logger, clock))
  const context = await browser.newContext({
    viewport: DESKTOP,
    locale: 'en-GB',
    ...settings,
  })
  const page = await context.newPage()
  const responses: Response[] = []
  page.on('response', (response) => responses.push(response))
  const scene: Scene = {
    page,
    source,
    complaints: complaintsOf(page),
    responses,
    sent,
    allowed: true,
    login: undefined,
  }
  try {
    await serving(app, async (port) => {
      await page.clock.install()
      // Without the slash: the page has to find its files all the same.
      await page.goto(`http://127.0.0.1:${port}/admin/activity${query}`)
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
async function pass(page: Page, seconds: number, step = 2): Promise<void> {
  for (let passed = 0; passed < seconds; passed += step) {
    await page.clock.runFor(step * 1_000)
    // A request of its own: those that were sent before it are answered before it.
    await page.evaluate(`fetch('icon.svg').then((response) => response.text())`)
  }
}

/** By how much a count grows while something is done. */
async function counted(count: () => number, work: () => Promise<void>): Promise<number> {
  const before = count()
  await work()
  return count() - before
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

/** Leaves the page. Returns how many responses came to it: those that follow are another page's. */
async function left({ page, responses }: Scene): Promise<number> {
  await page.goto('about:blank')
  return responses.length
}

/** The page and its data have nothing of the operation. Returns the data. */
async function noOperation(page: Page, responses: readonly Response[]): Promise<string> {
  assert.equal(await page.locator('#operation').count(), 0)
  const of = responses.filter((one) => one.url().includes('.json') && one.status() === 200)
  const answers = (await Promise.all(of.map((one) => one.text()))).join('\n')
  assert(of.length >= 3)
  const words = /operation|ledger(?!":null)|outstanding|quarantine|certificate|collector|cells/i
  const [first] = responses.filter((one) => one.request().resourceType() === 'document').slice(-1)
  for (const text of [answers, await first!.text(), await page.content()]) {
    assert.doesNotMatch(text, words)
  }
  return answers
}

/** The text of a file that a part of the page links to. */
async function file(page: Page, part: Locator, type: 'CSV' | 'JSON'): Promise<string> {
  const link = part.locator('a.download').filter({ hasText: type })
  const href = (await link.getAttribute('href')) ?? ''
  const answer = await page.request.get(new URL(href, page.url()).href)
  assert.equal(answer.status(), 200)
  return answer.text()
}

/** A list's files have the rows that it shows, with the same figures. */
async function sameAsShown(page: Page, list: Locator): Promise<void> {
  const rows = (await rowsOf(list.locator('table'))).map(([, ...cells]) => cells)
  const percent = new Intl.NumberFormat('en-GB', { style: 'percent' })
  const change = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' })
  const [csv, json] = [await file(page, list, 'CSV'), await file(page, list, 'JSON')]
  const { figures } = JSON.parse(json) as { figures: Record<string, number | null>[] }
  const written = figures.map(({ pageViews, hits, share, change: by, before }) => [
    (pageViews ?? hits ?? 0).toLocaleString('en-GB'),
    typeof share === 'number' ? percent.format(share) : '',
    typeof by === 'number' ? change.format(by) : before === 0 ? 'new' : '',
  ])
  assert.deepEqual(written, rows)
  const [head = '', ...lines] = csv.trimEnd().split('\r\n')
  assert.equal(lines.length, rows.length)
  const columns = head.split(',').slice(1)
  // Names have commas; figures do not.
  const numbers = lines.map((line) => line.split(',').slice(-columns.length).map(Number))
  assert.deepEqual(
    numbers,
    figures.map((one) => columns.map((column) => one[column] ?? 0)),
  )
}

const history = (page: Page): Locator => page.locator('#history')
const card = (page: Page, dimension: string): Locator =>
  page.locator(`[data-dimension=${dimension}]`)
const TODAY = Math.floor(BEGIN / DAY_MS) * DAY_MS

/** Waits until the range's figures are there. */
async function filled(page: Page): Promise<void> {
  await history(page).locator('rect.series-0').first().waitFor({ state: 'attached' })
  await card(page, 'device').locator('tbody tr').first().waitFor()
}

test('every panel is filled, under the strict policy', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    const figures = page.locator('#now .figure')
    await shows(figures.nth(0), /^212 visitors$/)
    await shows(figures.nth(1), /^1,345 page views$/)
    await shows(page.locator('#now'), /\d+ page views since .* are on the way to the database/)
    await shows(page.locator('.newest li').nth(1), /^“<img src=x onerror=alert\(1\)>” 17$/)
    assert.equal(await page.title(), 'forum – Activity')

    await shows(page.locator('#history-title'), /^11\s–\s17 May 2026$/)
    await shows(history(page).locator('.axis'), /^11\/05.*17\/05$/)
    await history(page).locator('summary').click()
    await shows(history(page).locator('tbody th'), /^Mon,? 11 May$/)
    await history(page).locator('summary').click()
    assert.equal(await history(page).locator('rect.series-0').count(), 7)
    assert.equal(await history(page).locator('rect.series-1').count(), 7)
    await shows(history(page).locator('.scale'), /^(\d+k)(\d+k)0$/)
    for (const [dimension, title, first] of [
      ['page', 'Pages', '/ seen by browsers: 50 %15,120'],
      ['referrer', 'Referrers', 'news.example7,560'],
      ['campaign', 'Campaigns', 'newsletter/email/november7,560'],
      ['country', 'Countries', 'Germany15,120'],
      ['device', 'Devices', 'phone15,120'],
    ] as const) {
      const of = card(page, dimension)
      await shows(of.locator('h3'), new RegExp(`^${title}$`))
      assert((await of.locator('tbody tr').first().textContent())?.startsWith(first), first)
      const href = (await of.locator('a.download').first().getAttribute('href')) ?? ''
      assert.equal(href, `shown.csv?dimension=${dimension}&n=10`)
      await sameAsShown(page, of)
    }
    await shows(card(page, 'page').locator('p.sub'), /^Over 100 %: .* single-page site/)
    assert.equal(await card(page, 'device').locator('p.sub').isVisible(), false)
    await shows(page.locator('#beside'), /^Seen by browsers: 3\d %\. Beside them, .* went to bots/)
    await shows(page.locator('[data-hits=threads] tbody tr'), /^threads-16,30037%0%$/)
    await sameAsShown(page, page.locator('[data-hits=threads]'))
    await history(page).locator('summary').click()
    const { figures: days } = JSON.parse(await file(page, history(page), 'JSON')) as {
      figures: Record<string, number>[]
    }
    assert.deepEqual(
      (await rowsOf(history(page).locator('table'))).map(([, ...cells]) => cells),
      days.map((day) => ['pageViews', 'visitors', 'before'].map((of) => written(day[of]!))),
    )

    const summary = page.locator('#operation > summary')
    await shows(
      summary,
      /^[\d,]+ views of today are in the database, and 211 more rows on the way\. Checked \d\d s/,
    )
    await summary.click()
    await shows(page.locator('#grid .watermark'), /^Watermark/)
    assert.equal(await page.locator('#grid tbody tr').count(), 11 + 1)
    assert.equal(await page.locator('.strip li').count(), 30)
    assert.equal(await page.locator('.strip .differs').count(), 1)
    await shows(page.locator('#health'), /This process reaches .* It differs by <b>3<\/b> rows\./s)
    const collectors = page.locator('#health h3:text("Collectors") + ul li')
    assert.deepEqual(await collectors.allTextContents(), [
      'Shared cache: a collector came 2 seconds ago, and took 1,250 rows to the database in ' +
        '31 ms. They come every 3 seconds. 1 layer waits.',
      'Memory of one process: no collector has come yet. 9 layers wait.',
    ])
    assert.equal(await page.locator('#grid tbody tr').first().locator('td').count(), 15)
    await shows(page.locator('#grid .watermark'), /^Watermark \d\d:\d\d:\d\d$/)
    assert.equal(await page.locator('#grid .drained').count(), 3)
    await shows(page.locator('#ledger .lag'), /^\d\d seconds behind: the collector keeps up$/)
    await shows(page.locator('#ledger .books'), /Issued.*1,204,511.*Committed.*1,204,300/)
    await shows(page.locator('#ledger'), /The ledger balances\. 41 came twice/)

    assert.equal(await page.locator('img').count(), 0, 'text from strangers is text')
    assert((await page.locator('bdi', { hasText: HOSTILE }).count()) >= 2)
    const middles = async (of: string) =>
      (
        await Promise.all((await history(page).locator(of).all()).map((one) => one.boundingBox()))
      ).map((box) => Math.round(box!.x + box!.width / 2))
    assert.deepEqual(await middles('.axis span'), await middles('rect.series-0'))
    assert.deepEqual(await violationsOf(page), [])
    assert.deepEqual(complaints, [])
  }))

test('one range holds for the whole page, beside the weekdays before, and in its address', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const first = card(page, 'page').locator('tbody tr').first()
    const sum = history(page).locator('.sum')
    const range = (name: string) => page.getByLabel(name, { exact: true })
    const sumOf = async (from: number, to: number) => {
      const { figures } = await source.history({ from, to, by: 'hour' })
      return figures.reduce((all, { pageViews }) => all + pageViews, 0)
    }
    const week = await sumOf(TODAY - 6 * DAY_MS, TODAY + DAY_MS)
    await shows(
      sum,
      new RegExp(`^${written(week)} page views, .*% against 4\\s–\\s10 May 2026 up to`),
    )
    assert.match((await history(page).locator('path.before').getAttribute('d')) ?? '', /^M5 .*L65 /)

    await range('Yesterday').check()
    await shows(first, /^\/ seen by browsers: 50 %2,160/)
    assert.equal(new URL(page.url()).search, '?range=yesterday')
    const [then, now] = [
      await sumOf(TODAY - 8 * DAY_MS, TODAY - 7 * DAY_MS),
      await sumOf(TODAY - DAY_MS, TODAY),
    ]
    const change = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' })
    await shows(
      sum,
      new RegExp(
        `^${written(now)} page views, ${change.format(now / then - 1).replace('+', '\\+')} ` +
          'against 9 May 2026\\. [\\d,]+ visitors\\.$',
      ),
    )
    assert.equal(await history(page).locator('rect.series-0').count(), 24)
    await shows(page.locator('[data-hits=threads] tbody tr'), /^threads-190037%0%$/)
    await shows(
      history(page),
      new RegExp(`Hours are in ${BROWSER_TIME_ZONE.replace('+', '\\+')}; the days .* are UTC days`),
    )
    await range('12 months').check()
    await eventually(
      '365 days',
      async () => (await history(page).locator('rect.series-0').count()) === 365,
    )

    await page.goBack()
    await shows(first, /^\/ seen by browsers: 50 %2,160/)
    assert(await range('Yesterday').isChecked())
    await page.goBack()
    await shows(first, /^\/ seen by browsers: 50 %15,120/)
    assert(await range('7 days').isChecked())

    await range('Other days').check()
    await page.getByLabel('From').fill('2026-03-02')
    await page.getByLabel('to', { exact: true }).fill('2026-03-04')
    await shows(page.locator('#history-title'), /^2\s–\s4 March 2026$/)
    await page.reload()
    await shows(page.locator('#history-title'), /^2\s–\s4 March 2026$/)
    assert(await range('Other days').isChecked())
    await shows(first, /^\/ seen by browsers: 50 %6,480/)
    assert.deepEqual(complaints, [])
  }))

test('days can be typed, and an address that names no range shows the default', () =>
  onStage(
    {},
    async ({ page, responses, complaints }) => {
      await filled(page)
      const wrong = page.locator('#range p')
      assert(await page.getByLabel('7 days').isChecked())
      for (const query of ['?from=2026-05-01', '?from=2026-02-30&to=2026-03-02', '?from=1&to=2']) {
        await page.goto(new URL(query, page.url()).href)
        await filled(page)
        assert(await page.getByLabel('7 days').isChecked(), query)
        await shows(wrong, /^The address asks for a range that there is not: these are 7 days\.$/)
      }
      const before = [await page.evaluate('history.length'), responses.length] as const
      await page.getByLabel('Other days').check()
      await page.getByLabel('to', { exact: true }).fill('2026-05-02')
      await page.getByLabel('From').focus()
      await page.keyboard.type('01052026')
      await shows(page.locator('#history-title'), /^1\s–\s2 May 2026$|^5 January – 2 May 2026$/)
      assert.equal(await page.evaluate('history.length'), Number(before[0]) + 1)
      assert.equal(await wrong.isVisible(), false)
      await page.getByLabel('to', { exact: true }).fill('2025-01-01')
      await shows(wrong, /^The first day is after the last one: the range is as before\.$/)
      assert.equal(await page.evaluate('history.length'), Number(before[0]) + 1)
      assert.deepEqual(
        responses.slice(before[1]).filter((response) => response.status() >= 400),
        [],
      )
      assert.deepEqual(complaints, [])
    },
    { query: '?range=14d' },
  ))

test('a click on a value shows its history, and says what is not known', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const item = page.locator('#item')
    assert.equal(await item.isVisible(), false)
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await shows(item.locator('h2'), /^Pages: \/search$/)
    assert.equal(new URL(page.url()).search, '?dimension=page&value=%2Fsearch')
    await shows(item, /Not known for 1 of 7 days: there the value is among all others/)
    await shows(item.locator('.sum'), /^At least [\d,]+ views, .*% against 4\s–\s10 May 2026 up to/)
    await shows(item, /There are no visitors of one value, and no values within a value/)
    assert.equal(
      await item.getByRole('link', { name: 'Open the page' }).getAttribute('href'),
      new URL('/search', page.url()).href,
    )
    await item.locator('summary').click()
    const { figures } = await source.valueHistory({
      from: TODAY - 6 * DAY_MS,
      to: TODAY + DAY_MS,
      by: 'day',
      dimension: 'page',
      value: '/search',
    })
    const shownViews = async () => (await rowsOf(item.locator('table'))).map(([, views]) => views)
    await eventually('seven rows', async () => (await shownViews()).length === 7)
    assert.deepEqual(
      await shownViews(),
      figures.map(({ pageViews }) => (pageViews === null ? 'not known' : written(pageViews))),
    )
    const csv = await file(page, item, 'CSV')
    assert.deepEqual(
      csv
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(',').slice(0, 2).join()),
      ['start,pageViews', ...figures.map(({ start, pageViews }) => `${start},${pageViews ?? ''}`)],
    )

    await page.getByLabel('Yesterday').check()
    await shows(item.locator('.sum'), /^[\d,]+ views, .* against 9 May 2026\.$/)
    assert.equal(await item.locator('#unknown').isVisible(), false)
    await page.locator('[data-hits=threads]').getByRole('link', { name: 'threads-3' }).click()
    await shows(item.locator('h2'), /^threads: threads-3$/)
    await shows(item.locator('.sum'), /^46 views/)
    await item.getByRole('button', { name: 'Close' }).click()
    assert.equal(await item.isVisible(), false)
    assert.equal(new URL(page.url()).search, '?range=yesterday')
    await page.goBack()
    await shows(item.locator('h2'), /^threads: threads-3$/)
    assert.deepEqual(complaints, [])
  }))

test('figures of a young site are compared with the days that it had', () =>
  onStage({}, async ({ page, source, complaints }) => {
    let firstDay = '2026-05-07'
    Object.assign(source, { firstDay: async () => firstDay })
    await page.goto(`${page.url()}?dimension=page&value=%2Fsearch`)
    const young =
      /, .*% against 8\s–\s10 May 2026 up to the same day \(no data before 7 May 2026\)\./
    for (const panel of [history(page), page.locator('#item')]) {
      await shows(panel.locator('.sum'), young)
      await panel.locator('summary').click()
      // The table is made when the browser says that it is open, which is after the click.
      const before = async () =>
        (await rowsOf(panel.locator('table'))).map((row) => row.at(-1) ?? '')
      await eventually('seven rows', async () => (await before()).length === 7)
      assert.deepEqual((await before()).slice(0, 4), Array(4).fill('not known'))
      assert.match((await before())[4]!, /^[\d,]+$/)
    }
    firstDay = '2026-05-12'
    await page.reload()
    await shows(history(page).locator('.sum'), /^[\d,]+ page views \(no data before 12 May 2026\)/)
    assert.deepEqual(complaints, [])
  }))

test('a link to the page of a value never leaves the site', () =>
  onStage({}, async ({ page, source, complaints }) => {
    // Values of pages are what strangers ask for, or what an address of the dashboard says.
    const history = source.valueHistory.bind(source)
    Object.assign(source, {
      valueHistory: (query: ValueRange) => history({ ...query, value: '/search' }),
    })
    const { origin, pathname } = new URL(page.url())
    const evil = [
      '/%09/',
      '/%0A/',
      '/%0D/',
      '/%2F',
      '/%5C',
      '%5C%5C',
      '//',
      '/%09%5C',
      'http:%2F%2F',
    ]
    for (const start of evil) {
      await page.goto(`${origin}${pathname}?dimension=page&value=${start}evil.example/login`)
      await page.locator('#item .sum').waitFor()
      assert.equal(await page.getByRole('link', { name: 'Open the page' }).count(), 0, start)
    }
    for (const [value, target] of [
      ['/news?a', '/news?a'],
      ['/a b\n', '/a%20b'],
      ['/..//evil.example', '//evil.example'],
    ] as const) {
      await page.goto(`${origin}${pathname}?${new URLSearchParams({ dimension: 'page', value })}`)
      const link = page.getByRole('link', { name: 'Open the page' })
      assert.equal(await link.getAttribute('href'), `${origin}${target}`)
    }
    assert.deepEqual(complaints, [])
  }))

test('lists can be searched, and the words of the page come last and are its own', () =>
  onStage({}, async ({ page, source }) => {
    const top = source.top.bind(source)
    const inventedTop: DashboardSource['top'] = async (dimension, range) => {
      const answer = await top(dimension, range)
      if (dimension === 'referrer') {
        const figures = [
          { value: '(none)', pageViews: 9 },
          { value: '(internal)', pageViews: 8 },
          { value: 'www.news.example', pageViews: 7 },
          { value: null, pageViews: 99 },
        ]
        return { ...answer, figures }
      }
      if (dimension === 'campaign') {
        const forged = ['All others', 'no campaign', '\u202Eevil', null]
        return { ...answer, figures: forged.map((value) => ({ value, pageViews: 5 })) }
      }
      if (dimension !== 'page') return answer
      const paths = ['/%E6%97%A5%E6%9C%AC%E8%AA%9E', '/%E2%80%AEx', '/%', ...Array(30).keys()]
      const figures = paths.slice(0, range.n).map((path, at) => ({
        value: typeof path === 'string' ? path : `/p${path}`,
        pageViews: 1_000 - at,
      }))
      return { ...answer, figures }
    }
    Object.assign(source, { top: inventedTop })
    await page.reload()
    await filled(page)
    const referrers = await rowsOf(card(page, 'referrer').locator('table'))
    assert.deepEqual(
      referrers.map(([name]) => name),
      [
        '“(none)”',
        'news.example',
        'Inside the site clicks from one page of the site to another',
        'Direct no page led here, or the browser does not say which',
      ],
    )
    assert.equal(await card(page, 'referrer').locator('em').count(), 2)
    const campaigns = await card(page, 'campaign').locator('bdi').allTextContents()
    assert.deepEqual(campaigns, ['“All others”', '“no campaign”', '“%E2%80%AEevil”'])
    const items = page.locator('[data-hits=threads]')
    await shows(items.locator('a bdi').last(), /^“\(other\)”$/)
    assert.equal(await items.locator('em').count(), 0)
    const pages = card(page, 'page')
    const rows = pages.locator('tbody tr')
    assert.equal(await rows.count(), 10)
    const names = await pages.locator('bdi').allTextContents()
    assert.deepEqual(names.slice(0, 3), ['/日本語', '/%E2%80%AEx', '/%'])
    assert.equal(
      await pages.locator('bdi').first().getAttribute('title'),
      '/%E6%97%A5%E6%9C%AC%E8%AA%9E',
    )
    await pages.getByRole('button', { name: 'More' }).click()
    await eventually('all rows', async () => (await rows.count()) === 33)
    await pages.getByRole('searchbox').fill('nowhere')
    await shows(pages.locator('.none'), /^Nothing in this time$/)
    assert.deepEqual(await violationsOf(page), [])
    await pages.getByRole('searchbox').fill('日本')
    assert.deepEqual(await rows.count(), 1)
    await pages.getByRole('searchbox').fill('p2')
    assert.deepEqual(await rows.count(), 11)
    await pass(page, 80)
    await shows(pages.locator('.as-of'), /./)
    assert.deepEqual(await rows.count(), 11, 'the search stays while figures come')
    await card(page, 'referrer').getByRole('link', { name: 'Inside the site' }).click()
    await shows(page.locator('#item h2'), /^Referrers: Inside the site$/)
  }))

test("hours are in the viewer's zone and language, and days in UTC", () =>
  onStage(
    { locale: 'de-DE', timezoneId: 'America/New_York', colorScheme: 'dark' },
    async ({ page, complaints }) => {
      await filled(page)
      await shows(page.locator('#now .figure').nth(1), /^1\.345 page views$/)
      await shows(card(page, 'country').locator('tbody tr'), /^Deutschland2\.160/)
      await shows(history(page), /Hours are in America\/New_York; the days .* are UTC days/)
      await history(page).locator('summary').click()
      await shows(history(page).locator('tbody').locator('th, td'), /^Sa.* 20:00/)
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      assert.match(String(background), /^rgb\(\d\d?, \d\d?, \d\d?\)$/, 'it is dark')
      assert.deepEqual(await violationsOf(page), [])
      assert.deepEqual(complaints, [])
    },
    { query: '/?range=today' },
  ))

test('days are those of the site, wherever the browser is, and the page names its zone once', () =>
  onStage(
    { timezoneId: 'America/New_York', locale: 'en-GB' },
    async ({ page, complaints }) => {
      await filled(page)
      await shows(page.locator('#history-title'), /^11.*17 May 2026$/)
      await shows(history(page), /Days are days in Europe\/Berlin\./)
      await history(page).locator('summary').click()
      await shows(history(page).locator('tbody').locator('th, td'), /^Mon,? 11 May$/)
      const text = (await page.locator('body').textContent()) ?? ''
      assert.equal(text.match(/Berlin/g)?.length, 1)
      assert.doesNotMatch(text, /UTC/)
      assert.deepEqual(complaints, [])
    },
    { zone: 'Europe/Berlin' },
  ))

test('digits are of one script, and dates from right to left stay apart in a sentence', () =>
  onStage({ locale: 'fa-IR' }, async ({ page, complaints }) => {
    await filled(page)
    await page.locator('#operation > summary').click()
    await shows(page.locator('#ledger'), /The ledger balances/)
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await shows(
      page.locator('#item .sum'),
      /^At least [\d,]+ views, .*% against \u2068.*\u2069 up to/,
    )
    for (const table of await page.locator('summary:has-text("Table:")').all()) await table.click()
    const text = (await page.locator('body').textContent()) ?? ''
    assert.deepEqual(text.match(/(?![0-9])\p{Nd}/gu), null)
    assert.match(text, /\p{Script=Arabic}/u)
    const sentences = await page.locator('p, li, h2').allTextContents()
    for (const sentence of sentences) {
      const rest = sentence.replace(/\u2068.*?\u2069/g, '')
      assert.doesNotMatch(rest, /\p{Script=Arabic}/u)
    }
    assert.deepEqual(complaints, [])
  }))

test('a day without letters stays apart, too, where its marks run from right to left', () =>
  onStage({ locale: 'ar-EG' }, async ({ page }) => {
    await filled(page)
    await shows(history(page).locator('.axis'), /^(?:\u2068\d+\u200f\/\d+\u2069)+$/)
  }))

test('all can be done with the keyboard', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    const drawn = history(page).locator('[role=slider]')
    await drawn.focus()
    await shows(
      history(page).locator('.readout'),
      /: [\d,]+ page views, [\d,]+ visitors so far; [\d,]+ before$/,
    )
    const last = await drawn.getAttribute('aria-valuetext')
    await drawn.press('ArrowLeft')
    assert.notEqual(await drawn.getAttribute('aria-valuetext'), last)
    assert.equal(await drawn.getAttribute('aria-valuenow'), '6')
    await drawn.press('Home')
    await drawn.press('ArrowLeft')
    assert.equal(await drawn.getAttribute('aria-valuenow'), '1')
    await drawn.press('End')
    assert.equal(await drawn.getAttribute('aria-valuetext'), last)
    await drawn.press('Tab')
    await page.keyboard.press('Enter')
    const rows = history(page).locator('tbody tr')
    await eventually('7 days', async () => (await rows.count()) === 7)

    await page.locator('#range input').nth(2).focus()
    await page.keyboard.press('ArrowRight')
    await shows(card(page, 'page').locator('tbody tr'), /^\/ seen by browsers: 50 %64,800/)
    await card(page, 'country').getByRole('link', { name: 'France' }).focus()
    await page.keyboard.press('Enter')
    await shows(page.locator('#item h2:focus'), /^Countries: France$/)

    const reached = new Set<string>()
    await page.locator('h1').click()
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      const at = page.locator(':focus')
      if ((await at.count()) === 0) break
      reached.add((await at.evaluate((element) => element.tagName)).toString())
    }
    assert.deepEqual([...reached].sort(), ['A', 'BUTTON', 'DIV', 'INPUT', 'SUMMARY'])
    assert.deepEqual(complaints, [])
  }))

test('it fits on a phone, and runs from right to left', () =>
  onStage({ viewport: PHONE }, async ({ page, complaints }) => {
    await filled(page)
    await card(page, 'country').getByRole('link', { name: 'France' }).click()
    await page.locator('#item rect').first().waitFor({ state: 'attached' })
    for (const summary of await page.locator('summary').all()) await summary.click()
    // The first is also a desktop at 400 %.
    for (const [width, height] of [
      [320, 256],
      [PHONE.width, PHONE.height],
      [DESKTOP.width, DESKTOP.height],
    ] as const) {
      await page.setViewportSize({ width, height })
      for (const direction of ['rtl', 'ltr']) {
        await page.evaluate(`document.documentElement.dir = '${direction}'`)
        assert.equal(await sideways(page), 0, `${direction} at ${width} pixels`)
      }
      if (width === 320) assert.deepEqual(await violationsOf(page), [])
    }
    await page.setViewportSize(PHONE)
    const long = card(page, 'page').getByRole('link', { name: 'bicycle' })
    const [{ x, width, height }, name] = [(await long.boundingBox())!, await long.textContent()]
    assert(x >= 0 && x + width <= PHONE.width && height > 40, 'a long name is in several lines')
    assert.equal(name, await long.locator('bdi').getAttribute('title'), 'and is not cut')
    await page.setViewportSize(DESKTOP)
    const names = await page.locator('main summary').allTextContents()
    assert.equal(names.length, 3)
    assert.equal(new Set(names).size, names.length, 'no two switches have one name')
    for (const table of await page.locator('table').all()) {
      assert.equal(await table.locator('caption').count(), 1, 'each table has a name')
    }
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    const styleOf = (of: string, property: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${of}')).${property}`)
    assert.equal(await styleOf('.findings li', 'unicodeBidi'), 'plaintext', 'a stop ends a line')
    for (const table of ['#history .plain', '#tops .ranked']) {
      const [head, cell] = await Promise.all([
        styleOf(`${table} thead th + th`, 'textAlign'),
        styleOf(`${table} td`, 'textAlign'),
      ])
      assert.equal(head, cell, 'headings are above their figures')
    }
    const drawn = history(page).locator('[role=slider]')
    await drawn.focus()
    await drawn.press('ArrowRight')
    assert.equal(await drawn.getAttribute('aria-valuenow'), '6', 'earlier is on the right')
    const picture = (await history(page).locator('svg').boundingBox())!
    await page.mouse.move(picture.x + picture.width - 3, picture.y + 20)
    assert.equal(await drawn.getAttribute('aria-valuenow'), '1')
    assert.deepEqual(complaints, [])
  }))

test('large figures fit on a phone, too', () =>
  onStage({ viewport: { width: 320, height: 740 } }, async ({ page, source }) => {
    const top = source.top.bind(source)
    const large: typeof top = async (dimension, range) => {
      const { figures, ...dated } = await top(dimension, range)
      const isNow = range.to > TODAY
      const views = (pageViews: number) => (isNow ? 1_234_567 + pageViews : pageViews)
      return {
        ...dated,
        figures: figures.map((one) => ({ ...one, pageViews: views(one.pageViews) })),
      }
    }
    source.top = large
    await page.reload()
    await filled(page)
    await shows(card(page, 'campaign').locator('tbody tr').last(), /1,\d{3},\d{3}.*\+\d,\d{3}%$/)
    assert.equal(await sideways(page), 0)
  }))

test('a panel without figures says so, and the others do not mind', () =>
  onStage(
    {},
    async ({ page, source }) => {
      await shows(page.locator('#now .figure').nth(1), /^1,345 page views$/)
      await shows(page.locator('#now .tail'), /^No figures yet$/)
      await shows(page.locator('#history .body'), /^No figures yet$/)
      await shows(card(page, 'page').locator('tbody tr'), /15,120/)
      await page.locator('#operation > summary').click()
      await shows(page.locator('#operation > summary'), /^[\d,]+ views of today/)
      await shows(page.locator('#ledger'), /The ledger balances/)

      source.failing.clear()
      source.failing.add('overview')
      await pass(page, 70)
      await shows(page.locator('#status'), /^Some figures cannot be read: the log of this process/)
      for (const panel of ['#now', '#ledger']) {
        await shows(page.locator(`${panel} .old > .as-of`), OLD)
      }
      assert.deepEqual(await violationsOf(page), [])
      await shows(page.locator('#operation > summary'), /^Operation: it is not known/)
      await shows(page.locator('#now .figure').nth(1), /^1,345 page views$/)
      await shows(history(page).locator('.sum'), /^[\d,]+ page views/)
      source.failing.clear()
      await pass(page, 16)
      await shows(page.locator('#status'), /^Live$/)
      await shows(page.locator('#now .tail'), /on the way to the database/)
      await eventually('no old panel', async () => (await page.locator('.old').count()) === 0)
    },
    { failing: ['live', 'history'], status: /^Some figures cannot be read/ },
  ))

test('what the database refused is said in a sentence, with the command that retries it', () =>
  onStage({}, async ({ page, source }) => {
    await page.locator('#operation > summary').click()
    await shows(page.locator('#ledger'), /The ledger balances/)
    const retry = page.locator('#ledger code').last()
    assert.equal(await retry.isVisible(), false)
    const { outstanding, ...ledger } = await source.ledger()
    const committed = ledger.committed + outstanding
    source.ledger = async () => ({ ...ledger, committed, outstanding: 0 })
    await pass(page, 16)
    await shows(
      page.locator('#operation > summary'),
      /^[\d,]+ views of today are in the database, and (?!211 )\d+ more rows on the way\. Checked /,
    )
    const { layers, ...live } = await source.live('')
    source.live = async () => ({ ...live, layers: layers.map((one) => ({ ...one, pageViews: 0 })) })
    await pass(page, 16)
    await shows(
      page.locator('#operation > summary'),
      /^All [\d,]+ views of today are in the database\. Checked /,
    )
    const refused = { ...ledger, quarantined: 3, committed: committed - 3, outstanding: 0 }
    source.ledger = async () => refused
    await pass(page, 16)
    await shows(
      page.locator('#operation > summary'),
      /^[\d,]+ views of today are in the database\. Missing, of all time: 3 rows\. /,
    )
    await shows(page.locator('#ledger .bad'), /^\+Quarantined .*3$/)
    await shows(retry, /^npx wide-cache quarantine retry all$/)
    assert(await retry.isVisible())
    assert.deepEqual(await violationsOf(page), [])
  }))

test('what is old is marked, and what is new keeps scroll, focus and open tables', () =>
  onStage({}, async ({ page, source }) => {
    await filled(page)
    await history(page).locator('summary').click()
    await card(page, 'country').getByRole('link', { name: 'France' }).focus()
    await page.evaluate('scrollTo(0, 600), undefined')
    const scrolled = () => page.evaluate('[scrollX, scrollY].join()')
    const before = await scrolled()
    source.come = 1_000
    await pass(page, 80)
    await shows(page.locator('#now .figure').nth(1), /^2,345 page views$/)
    assert.equal(await scrolled(), before)
    assert.equal(await history(page).locator('tbody tr').count(), 7)
    assert.equal(await page.locator(':focus').textContent(), 'France')
    assert.equal(await page.locator('.old').count(), 0)

    await page.locator('#operation > summary').click()
    source.staleSince = BEGIN - DAY_MS
    await pass(page, 80)
    await shows(page.locator('#status'), /^The figures are older than they should be: see whether/)
    for (const panel of ['#now', '#history', '#ledger', '[data-dimension=page]']) {
      const mark = /as of 15 May 2026, \d\d:\d\d:\d\d, which is longer ago than it should be\.$/i
      await shows(page.locator(`${panel} .as-of`), mark)
    }
  }))

test('old figures are asked for again after 2 s, and it is Live once all that is shown is', () =>
  onStage({}, async ({ page, source }) => {
    await filled(page)
    source.slow.add('history')
    await page.reload()
    const status = page.locator('#status')
    await shows(status, /^Some figures are old\. Newer ones are being read\.$/)
    source.slow.clear()
    await pass(page, 6)
    await shows(status, /^Live$/)
    assert.equal(await page.locator('.old').count(), 0)
  }))

test('the open day of the range has no fewer views than the last minutes', () =>
  onStage({}, async ({ page, source, sent }) => {
    await filled(page)
    const { figures } = await source.history({ from: TODAY, to: TODAY + DAY_MS, by: 'day' })
    const day = figures[0]!.pageViews
    source.come = 1_000_000
    await pass(page, 8)
    await shows(history(page).locator('.sum'), /^1,\d\d\d,\d\d\d page views/)
    await history(page).locator('summary').click()
    const cell = history(page).locator('tbody tr').last().locator('td').first()
    await shows(cell, new RegExp(`^${written(day + 1_000_000)}$`))
    await page.getByLabel('Today', { exact: true }).check()
    await shows(history(page).locator('.sum'), new RegExp(`^${written(day + 1_000_000)} page`))
    assert(sent.filter(([url]) => url.includes('figures.json')).length <= 3)
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
    await page.locator('#operation > summary').click()
    await shows(page.locator('#ledger'), /The ledger balances/)
    source.trouble = 'The database does not answer: start it.'
    await pass(page, 30)
    await shows(status, /^The database does not answer: start it\.$/)
    assert.equal(await status.getAttribute('class'), 'bad')
    await shows(page.locator('#ledger .lag'), /^\d\d seconds behind$/)
    source.trouble = undefined
    await pass(page, 8)
    await shows(status, /^Live$/)
    for (const login of [401, 302] as const) {
      scene.login = login
      await pass(page, 30)
      await shows(status, /^You are signed out: sign in and load this page again\.$/)
      assert.deepEqual(await violationsOf(page), [])
      scene.login = undefined
      await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
      await pass(page, 8)
      await shows(status, /^Live$/)
    }
    await page.route('**/now.json', (route) => route.abort())
    await pass(page, 60)
    await shows(status, /^The site does not answer: see whether it runs\./)
    for (const panel of ['#now', '#ledger']) {
      await shows(page.locator(`${panel} .old > .as-of`), OLD)
    }
    const said = (await page.evaluate('said')) as string[]
    assert.deepEqual(
      // Other panels may have their figures later.
      said
        .filter((text) => !text.startsWith('Some figures are old'))
        .map((text) => text.split(/[ :]/).slice(0, 2).join(' ')),
      ['The database', 'Live', 'You are', 'Live', 'You are', 'Live', 'The site'],
    )
  }))

test('the first view is one round of requests, and less than 63 kB; then it is 304', () =>
  onStage(
    {},
    async ({ page, responses, sent }) => {
      await filled(page)
      const items = page.locator('[data-hits=threads] tbody tr')
      await shows(items, /^threads-16,300\d+%0%$/)
      const arrived = responses.filter((response) => response.status() === 200)
      const data = arrived.flatMap((response) => /[a-z]+(?=\.json)/.exec(response.url()) ?? [])
      assert.deepEqual(data.sort(), ['figures', 'hits', 'now'])
      const sizes = await Promise.all(arrived.map(async (one) => (await one.body()).length))
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      assert(bytes > 40_000 && bytes < 63_000, `${bytes} bytes`)

      await page.getByLabel('Yesterday').check()
      await pass(page, 150, 5)
      for (const what of ['figures', 'hits']) {
        const url = `/admin/activity/${what}.json?range=yesterday`
        const statuses = sent.filter(([of]) => of === url).map(([, status]) => status)
        assert.deepEqual(statuses.slice(0, 3), [200, 304, 304], url)
      }
      assert.equal(await items.count(), 10)
      await page.getByRole('button', { name: 'More Hits: threads' }).click()
      await eventually('all items', async () => (await items.count()) === 100)
      await pass(page, 80)
      assert.equal(await items.count(), 100)
    },
    { large: true },
  ))

test('those who see figures see nothing of the operation, the public only totals', () =>
  onStage({ forcedColors: 'active' }, async (scene) => {
    const { page, complaints, responses } = scene
    await filled(page)
    await page.locator('#operation > summary').click()
    await page.locator('.strip .balanced').first().waitFor()
    const square = await page.evaluate(
      `getComputedStyle(document.querySelector('.strip .balanced')).backgroundColor`,
    )
    assert.notEqual(square, 'rgb(255, 255, 255)', 'a day that balances is a full square')
    scene.allowed = 'figures'
    const figures = page.url()
    let before = await left(scene)
    await page.goto(figures)
    await filled(page)
    await pass(page, 10)
    await noOperation(page, responses.slice(before))
    assert(await page.locator('#tops').isVisible())
    const fills = await page.evaluate(
      `['0', '1'].map((at) => getComputedStyle(document.querySelector('rect.series-' + at)).fill)`,
    )
    assert.equal(new Set(fills as string[]).size, 2, 'both bars can be seen in forced colours')
    assert.deepEqual(await violationsOf(page), [])

    const shared = new URL('/shared?dimension=page&value=%2Fsearch', figures).href
    before = await left(scene)
    await page.goto(shared)
    await shows(page.locator('#now .figure').nth(1), /^1,345 page views$/)
    await shows(history(page).locator('.sum'), /^[\d,]+ page views/)
    for (const hidden of ['#tops', '#hits', '#item', '.tail']) {
      assert.equal(await page.locator(hidden).isVisible(), false, hidden)
    }
    await pass(page, 70)
    const answers = await noOperation(page, responses.slice(before))
    assert.doesNotMatch(answers, /search|news\.example|Germany|"DE"|threads-1/)
    assert.deepEqual(
      [...new Set(responses.slice(before).map((response) => response.status()))],
      [302, 200],
      'nothing is asked for that is refused',
    )
    assert.deepEqual(await violationsOf(page), [])
    assert.deepEqual(complaints, [])
    scene.allowed = false
    for (const refused of ['/admin/activity/', '/not-set-up/']) {
      await page.goto(new URL(refused, page.url()).href)
      await page.locator('h1').waitFor()
      assert.deepEqual(await violationsOf(page), [], refused)
    }
  }))

test('an hour open: it asks once in 5 s, and needs no more memory', () =>
  onStage({}, async ({ page, source }) => {
    let [asked, read] = [0, 0]
    page.on('request', (request) => {
      if (request.url().endsWith('/now.json')) asked++
    })
    // Other figures each time, so that all is drawn anew.
    const top = source.top.bind(source)
    const growing: typeof top = async (dimension, range) => {
      read++
      const { figures, ...dated } = await top(dimension, range)
      return { ...dated, figures: figures.map((one, at) => ({ ...one, pageViews: read + at })) }
    }
    source.top = growing
    await page.locator('#operation > summary').click()
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await history(page).locator('summary').click()
    await pass(page, 120, 5)
    const asks = await counted(
      () => asked,
      () => pass(page, 240, 5),
    )
    assert(asks >= 40 && asks <= 60, `asked ${asks} times in 240 s`)

    const devtools = await page.context().newCDPSession(page)
    const counts = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      const { usedSize } = await devtools.send('Runtime.getHeapUsage')
      return { ...(await devtools.send('Memory.getDOMCounters')), usedSize }
    }
    const first = await counts()
    // One refresh of all panels a minute.
    const reads = await counted(
      () => read,
      () => pass(page, HOUR_S, 60),
    )
    assert(reads >= 50 * 5 * 2, `${reads} lists were read in an hour`)
    // What was drawn last may be held until the next time.
    await eventually('no more memory, nodes and listeners than an hour before', async () => {
      await pass(page, 60, 60)
      const last = await counts()
      const [nodes, listeners, bytes] = (['nodes', 'jsEventListeners', 'usedSize'] as const).map(
        (one) => last[one] - first[one],
      ) as [number, number, number]
      return nodes < 60 && listeners < 10 && bytes < 250_000
    })
  }))

test('it asks less often while nothing comes, and never in a hidden tab', () =>
  onStage({}, async (scene) => {
    const { page } = scene
    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes('.json')) asked++
    })
    const during = (seconds: number) =>
      counted(
        () => asked,
        () => pass(page, seconds),
      )
    const hide = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true ` +
          `}), document.dispatchEvent(new Event('visibilitychange')), undefined`,
      )
    await hide(true)
    await during(8)
    assert.equal(await during(80), 0)
    await hide(false)
    assert((await during(8)) >= 1)

    scene.allowed = false
    await during(16)
    await shows(page.locator('#status'), /^You are signed out/)
    await during(60)
    const failing = await during(120)
    assert(failing <= 12, `asked ${failing} times in 2 minutes without an answer`)
    await shows(page.locator('#now .figure').nth(1), /^1,345 page views$/)
    scene.allowed = true
    await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
    await during(8)
    await shows(page.locator('#status'), /^Live$/)
  }))
