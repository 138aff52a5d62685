/** The dashboard in a real browser (Chromium), with invented figures. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type {
  Browser,
  BrowserContextOptions,
  Locator,
  Page,
  Response,
  Route,
} from 'playwright-core'
import { startBrowser } from '../../test/servers/browser.js'
import { violationsOf } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { HOSTILE, type InventedSource } from './invented-source.fixture.js'
import type { DashboardSource, ValueRange } from './source.js'
import { outline, STATES } from './states.fixture.js'
import {
  bars,
  BEGIN,
  card,
  chartRows,
  counted,
  DESKTOP,
  file,
  filled,
  hides,
  type Opening,
  onStage as stage,
  pass,
  plot,
  rowsOf,
  type Scene,
  shows,
  sideways,
  tile,
  TODAY,
} from './stage.fixture.js'

const DAY_MS = 86_400_000
const HALF_HOUR_S = 1_800
const PHONE = { width: 375, height: 740 }
const written = (count: number): string => count.toLocaleString('en-GB')
const signed = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' })
const percent = new Intl.NumberFormat('en-GB', { style: 'percent' })

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

const onStage = (
  settings: BrowserContextOptions,
  play: (scene: Scene) => Promise<void>,
  opening?: Opening,
): Promise<void> => stage(browser, settings, play, opening)

/** A list's files have the rows that it shows, with the same figures. */
async function sameAsShown(page: Page, list: Locator): Promise<void> {
  const rows = await rowsOf(list.locator('table'))
  const [csv, json] = [await file(page, list, 'CSV'), await file(page, list, 'JSON')]
  const { figures } = JSON.parse(json) as { figures: Record<string, number | null>[] }
  const [isShare, isSeen] = await Promise.all(
    ['th.share', 'th.seen'].map(async (column) => (await list.locator(column).count()) > 0),
  )
  const asShown = figures.map(({ pageViews, hits, share, seen, change: by, before }) => [
    written(pageViews ?? hits ?? 0),
    ...(isShare ? [typeof share === 'number' ? percent.format(share) : ''] : []),
    ...(isSeen ? [typeof seen === 'number' ? percent.format(seen / (pageViews ?? 1)) : ''] : []),
    typeof by === 'number' ? signed.format(by) : before === 0 ? 'new' : '',
  ])
  assert.deepEqual(
    asShown,
    rows.map(([, ...cells]) => cells),
  )
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

/** The tooltip is beside the middle of a bar. */
async function besideBar(page: Page, at: number): Promise<void> {
  // The keyboard moves on before the tooltip: its script is asked for each time.
  const named = (await plot(page).getAttribute('aria-valuetext'))!
  const title = page.locator('.tip:not([hidden]) strong').first()
  await eventually('the tooltip has come', async () => named.startsWith(await title.innerText()))
  // At one moment: bars are drawn anew now and then.
  const [left, right, middle] = await page.evaluate<[number, number, number]>(`(() => {
    const of = (one) => one.getBoundingClientRect()
    const tip = of(document.querySelector('.tip'))
    const bar = of(document.querySelectorAll('path.bar')[${at}])
    return [tip.left, tip.right, (bar.left + bar.right) / 2]
  })()`)
  const away = Math.max(left - middle, middle - right)
  assert(away > 0 && away < 20, `${away} pixels away`)
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
  assert(of.length >= 2)
  const words = /operation|ledger(?!":null)|outstanding|quarantine|certificate|collector|cells/i
  const [first] = responses.filter((one) => one.request().resourceType() === 'document').slice(-1)
  for (const text of [answers, await first!.text(), await page.content()]) {
    assert.doesNotMatch(text, words)
  }
  return answers
}

/** Whether a request asks for the figures of a range, and not of one list. */
const isOfRange = (url: string): boolean => /figures\.json(?!.*dimension=)/.test(url)

const sheets = (page: Page) => page.evaluate('document.styleSheets.length')
const range = (page: Page, name: string): Locator => page.getByLabel(name, { exact: true })
const title = (page: Page): Locator => page.locator('h1')

test('tiles, chart and lists are filled, under the strict policy', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    await shows(tile(page, 'now'), /^212 visitors$/)
    await shows(title(page), /^11\s–\s17 May 2026$/)
    await pass(page, 6)
    assert.match(await page.title(), /^11\s–\s17 May 2026 – forum$/)
    await shows(page.locator('.title'), /UTC/)
    await shows(page.locator('#age'), /^· \d\d s ago$/)
    assert.equal(await bars(page).count(), 7)
    assert.equal(await page.locator('path.part').count(), 1, 'today is open')
    assert.match(
      (await page.locator('path.before').getAttribute('d')) ?? '',
      /^(?:M\S+ \S+h\S+){7}$/,
    )
    await shows(page.locator('.legend'), /^Page views by day 4\s–\s10 May$/)
    await shows(page.locator('#notes'), /^[\d,]+ more pages went to bots\.$/)
    for (const [dimension, name, first] of [
      ['page', 'Pages', '/15,120'],
      ['referrer', 'Referrers', 'news.example7,560'],
      ['campaign', 'Campaigns', 'newsletter/email/november7,560'],
      ['country', 'Countries', 'Germany15,120'],
      ['device', 'Devices', 'phone15,120'],
    ] as const) {
      const of = card(page, dimension)
      await shows(of.locator('h2'), new RegExp(`^${name}$`))
      const row = (await of.locator('tbody tr').first().textContent()) ?? ''
      assert(row.startsWith(first), `${row} begins with ${first}`)
      const href = (await of.locator('a[download]').first().getAttribute('href')) ?? ''
      assert.equal(href, `shown.csv?dimension=${dimension}&n=10`)
      await sameAsShown(page, of)
    }
    assert.equal(await page.locator('th.seen').count(), 1, 'only pages have a column of it')
    await shows(card(page, 'page').locator('p.small'), /^Over 100 %: .* single-page site/)
    await hides(card(page, 'device').locator('p.small'))
    await shows(page.locator('[data-hits=threads] tbody tr'), /^threads-16,30037%0%$/)
    await sameAsShown(page, page.locator('[data-hits=threads]'))

    const { figures: days } = JSON.parse(await file(page, page.locator('#panel'), 'JSON')) as {
      figures: Record<string, number>[]
    }
    assert.deepEqual(
      (await chartRows(page)).map(([, ...cells]) => cells),
      days.map((day) => [written(day['pageViews']!), written(day['before']!)]),
    )
    const views = days.reduce((sum, day) => sum + day['pageViews']!, 0)
    const [over, then] = ['pageViews', 'before'].map((of) =>
      days.slice(0, -1).reduce((sum, day) => sum + day[of]!, 0),
    ) as [number, number]
    const change = signed.format(over / then - 1).replace('+', '\\+')
    await shows(tile(page, 'views'), new RegExp(`^${written(views)} ${change}$`))
    const best = days.toSorted((a, b) => b['pageViews']! - a['pageViews']!)[0]!
    const tip = (await page.locator('#tile-views').getAttribute('data-tip')) ?? ''
    assert.match(
      tip,
      new RegExp(`\nBest day: ${written(best['pageViews']!)}, \\S+day,? 1\\d May 2026$`),
    )
    const most = Math.max(...days.map((day) => day['visitors']!))
    await shows(tile(page, 'visitors'), new RegExp(`^${written(most)} [+-]?\\d+%$`))
    const seen = days.reduce((sum, day) => sum + day['seen']!, 0)
    await shows(tile(page, 'seen'), new RegExp(`^${percent.format(seen / views)} as before$`))

    assert.equal(await page.locator('img').count(), 0, 'text from strangers is text')
    const text = ((await card(page, 'page').textContent()) ?? '').replaceAll(/\s/g, '')
    assert(text.includes(HOSTILE.replaceAll(/\s/g, '')))
    assert.deepEqual(complaints, [])
  }))

test('the tiles choose what the chart shows, and say so in the address', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const before = await page.evaluate('history.length')
    await tile(page, 'visitors').click()
    await shows(page.locator('.legend'), /^Visitors by day /)
    assert.equal(new URL(page.url()).search, '?show=visitors')
    const { figures } = await source.history({
      from: TODAY - 6 * DAY_MS,
      to: TODAY + DAY_MS,
      by: 'day',
    })
    assert.deepEqual(
      (await chartRows(page)).map(([, count]) => count),
      figures.map(({ visitors }) => written(visitors)),
    )
    await tile(page, 'seen').click()
    await eventually('percent', async () => (await chartRows(page))[0]?.[1] === '33%')
    const unseen = figures.map((day) => day.unseen ?? 0)
    assert.deepEqual(
      (await chartRows(page)).map((row) => row.at(-1)),
      unseen.map(written),
    )
    const all = written(unseen.reduce((sum, one) => sum + one, 0))
    await shows(page.locator('#notes'), new RegExp(`^${all} not reported by a browser: blocked`))
    const tip = (await page.locator('#tile-seen').getAttribute('data-tip')) ?? ''
    assert.match(tip, new RegExp(`\n${all} not reported .*, agents that pose as browsers`))
    await tile(page, 'now').click()
    await shows(page.locator('.legend'), /^Page views by hour, today The same day a week ago$/)
    const hours = await source.history({ from: TODAY, to: TODAY + DAY_MS, by: 'hour' })
    await eventually('24 hours', async () => (await chartRows(page)).length === 24)
    assert.deepEqual(
      (await chartRows(page)).map(([, count]) => count),
      hours.figures.map(({ pageViews }, hour) => (hour <= 10 ? written(pageViews) : '')),
    )
    await shows(page.locator('.reading li').nth(1), /^“<img src=x onerror=alert\(1\)>”17$/)
    assert.equal(await page.evaluate('history.length'), before, 'a look is no step')
    await page.reload()
    await shows(page.locator('.legend'), /^Page views by hour, today/)
    await tile(page, 'views').click()
    assert.equal(new URL(page.url()).search, '')
    await shows(page.locator('.legend'), /^Page views by day /)
    assert.deepEqual(complaints, [])
  }))

test('one range holds for the whole page, is in its address, and steps through time', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const first = card(page, 'page').locator('tbody tr').first()
    const sumOf = async (from: number, to: number) => {
      const { figures } = await source.history({ from, to, by: 'hour' })
      return figures.reduce((all, { pageViews }) => all + pageViews, 0)
    }
    // One view has one address.
    for (const [step, search, text] of [
      ['earlier', '?step=-1', /^4\s–\s10 May 2026$/],
      ['later', '', /^11\s–\s17 May 2026$/],
    ] as const) {
      await page.getByRole('button', { name: `7 days ${step}` }).click()
      await shows(title(page), text)
      assert.equal(new URL(page.url()).search, search)
    }
    await range(page, 'Yesterday').check()
    await shows(first, /^\/2,16/)
    assert.equal(new URL(page.url()).search, '?range=yesterday')
    await shows(title(page), /^Saturday,? 16 May 2026$/)
    const [then, now] = [
      await sumOf(TODAY - 8 * DAY_MS, TODAY - 7 * DAY_MS),
      await sumOf(TODAY - DAY_MS, TODAY),
    ]
    const change = signed.format(now / then - 1).replace('+', '\\+')
    await shows(tile(page, 'views'), new RegExp(`^${written(now)} ${change}$`))
    await shows(page.locator('#tile-visitors'), /^Visitors[\d,]+$/)
    assert.equal(await bars(page).count(), 24)
    const edges = (await page.evaluate(`Array.from(document.querySelectorAll('path.bar'), (bar) => {
      const { left, right } = bar.getBoundingClientRect()
      return [left, right]
    })`)) as [number, number][]
    edges.slice(1).forEach(([left], at) => assert(left > edges[at]![1], 'bars stand apart'))
    await shows(page.locator('[data-hits=threads] tbody tr'), /^threads-190037%0%$/)
    for (const [name, count, unit] of [
      ['12 months', 12, 'month'],
      ['Month', 17, 'day'],
      ['30 days', 30, 'day'],
    ] as const) {
      await range(page, name).check()
      await shows(page.locator('.legend'), new RegExp(`by ${unit}`))
      await eventually(name, async () => (await bars(page).count()) === count)
    }
    await page.getByRole('button', { name: '30 days earlier' }).click()
    await shows(title(page), /^19 March – 17 April 2026$/)
    assert.equal(new URL(page.url()).search, '?range=30d&step=-1')
    assert(await range(page, '30 days').isChecked())
    await page.getByRole('button', { name: '30 days later' }).click()
    await shows(title(page), /^18 April – 17 May 2026$/)
    assert(await page.getByRole('button', { name: '30 days later' }).isDisabled())

    // A bar opens its day.
    await plot(page).focus()
    await plot(page).press('Home')
    await plot(page).press('Enter')
    await shows(title(page), /^Saturday,? 18 April 2026$/)
    assert.equal(new URL(page.url()).search, '?from=2026-04-18&to=2026-04-18')
    await page.goBack()
    await shows(title(page), /^18 April – 17 May 2026$/)
    await page.goBack()
    await page.goBack()
    await page.goBack()
    await shows(title(page), /^1\s–\s31 May 2026$/)
    assert(await range(page, 'Month').isChecked())
    assert.deepEqual(complaints, [])
  }))

test('the range is compared with the period before, the same days last year, or nothing', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const compare = page.getByLabel('Compare with')
    assert.deepEqual(
      (await compare.locator('option').allTextContents()).map((text) =>
        text.replaceAll(/\s/g, ' '),
      ),
      ['Against 4 – 10 May', 'Against the same days last year', 'Against nothing'],
    )
    const tip = async () => (await page.locator('#tile-visitors').getAttribute('data-tip')) ?? ''
    const mostOf = async (from: number) => {
      const { figures } = await source.history({ from, to: from + 7 * DAY_MS, by: 'day' })
      return written(Math.max(...figures.map(({ visitors }) => visitors ?? 0)))
    }
    const most = await mostOf(TODAY - 13 * DAY_MS)
    assert.match(await tip(), new RegExp(`\n${most} at most in 4\\s–\\s10 May$`))
    await compare.selectOption('year')
    await shows(page.locator('.legend'), /^Page views by day 12\s–\s18 May 2025$/)
    assert.equal(new URL(page.url()).search, '?against=year')
    await sameAsShown(page, card(page, 'country'))
    await compare.selectOption('none')
    await shows(page.locator('.legend'), /^Page views by day$/)
    assert.equal(await page.locator('path.before').count(), 0)
    assert.equal(await page.locator('.card[data-as-of] td.change').count(), 0)
    await shows(tile(page, 'views'), /^[\d,]+$/)
    assert.doesNotMatch(await tip(), / at most in /)
    await range(page, 'All').check()
    await eventually('nothing to choose', async () => !(await compare.isVisible()))
    await range(page, '7 days').check()
    await shows(title(page), /^11\s–\s17 May 2026$/)
    assert.equal(new URL(page.url()).search, '?against=none', 'the usual range is not named')
    assert.deepEqual(complaints, [])
  }))

test('days can be typed, and an address that names no range shows the default', () =>
  onStage(
    {},
    async ({ page, responses, complaints }) => {
      await filled(page)
      const wrong = page.locator('.title > .down')
      assert(await range(page, '7 days').isChecked())
      for (const query of ['?from=2026-05-01', '?from=2026-02-30&to=2026-03-02', '?from=1&to=2']) {
        await page.goto(new URL(query, page.url()).href)
        await filled(page)
        assert(await range(page, '7 days').isChecked(), query)
        await shows(wrong, /^The address asks for a range that there is not: these are 7 days\.$/)
      }
      const before = [await page.evaluate('history.length'), responses.length] as const
      await range(page, 'Other days…').check()
      await page.getByLabel('From').fill('2026-03-02')
      await page.getByLabel('to', { exact: true }).fill('2026-03-04')
      await page.keyboard.press('Enter')
      await shows(title(page), /^2\s–\s4 March 2026$/)
      assert.equal(await page.evaluate('history.length'), Number(before[0]) + 1)
      await hides(wrong)
      await page.getByLabel('to', { exact: true }).fill('2025-01-01')
      await page.getByRole('button', { name: 'Show' }).click()
      await shows(page.locator('.days .down'), /^The first day is after the last one\.$/)
      await page.reload()
      await shows(title(page), /^2\s–\s4 March 2026$/)
      assert(await range(page, 'Other days…').isChecked())
      await shows(card(page, 'page').locator('tbody tr'), /^\/6,480/)
      assert.deepEqual(
        responses.slice(before[1]).filter((response) => response.status() >= 400),
        [],
      )
      assert.deepEqual(complaints, [])
    },
    { query: '?range=14d' },
  ))

test('a click on a value shows its history, and closing it returns to its row', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const chip = page.locator('#item')
    assert.equal(await chip.count(), 0)
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await shows(chip, /^Page \/search×$/)
    await shows(page.locator('h1:focus'), /./)
    // At once, not with the next figures.
    await shows(card(page, 'page').locator('[aria-current]'), /^\/search/)
    assert.equal(new URL(page.url()).search, '?dimension=page&value=%2Fsearch')
    await shows(page.locator('#notes'), /^Not known for 1 of 7 bars: there the value is among all/)
    await shows(tile(page, 'views'), /^≥ [\d,]+ [+-]?\d+%$/)
    await shows(tile(page, 'seen'), /^50%$/)
    assert.equal(
      await page.getByRole('link', { name: 'Open the page' }).getAttribute('href'),
      new URL('/search', page.url()).href,
    )
    const { figures } = await source.valueHistory({
      from: TODAY - 6 * DAY_MS,
      to: TODAY + DAY_MS,
      by: 'day',
      dimension: 'page',
      value: '/search',
    })
    const shown = async () => (await chartRows(page)).map(([, views]) => views)
    await eventually('seven rows', async () => (await shown()).length === 7)
    assert.deepEqual(
      await shown(),
      figures.map(({ pageViews }) => (pageViews === null ? 'not known' : written(pageViews))),
    )
    const csv = await file(page, page.locator('#panel'), 'CSV')
    assert.deepEqual(
      csv
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(',').slice(0, 2).join()),
      ['start,pageViews', ...figures.map(({ start, pageViews }) => `${start},${pageViews ?? ''}`)],
    )
    await page.locator('#panel summary').click()
    await page.getByRole('button', { name: 'Show as bars' }).click()
    await page.getByLabel('Compare with').selectOption('whole')
    await shows(page.locator('.legend'), /Whole site, on the scale at the end$/)
    assert.match(
      (await page.locator('path.before').getAttribute('d')) ?? '',
      /^M\S+ \S+(?:L\S+ \S+){6}$/,
    )
    await page.keyboard.press('Escape')
    await shows(card(page, 'page').locator('a:focus'), /^\/search$/)
    assert.equal(await chip.count(), 0)
    assert.equal(await page.locator('[aria-current=true]').count(), 0)

    await range(page, 'Yesterday').check()
    await page.locator('[data-hits=threads]').getByRole('link', { name: 'threads-3' }).click()
    await shows(chip, /^threads threads-3×$/)
    await shows(tile(page, 'views'), /^46 /)
    await shows(page.locator('#notes'), /^Page views only: /)
    await page.getByRole('button', { name: 'Close' }).click()
    await shows(page.locator('[data-hits=threads] a:focus'), /^threads-3$/)
    assert.equal(new URL(page.url()).search, '?range=yesterday')
    await page.goBack()
    await shows(chip, /^threads threads-3×$/)
    await shows(tile(page, 'views'), /^46 /)
    assert.deepEqual(complaints, [])
    await page.route(/item\.json/, (route) => route.abort())
    await page.locator('[data-hits=threads]').getByRole('link', { name: 'threads-5' }).click()
    await shows(chip, /^threads threads-5×$/)
    // Not the figures of the value before.
    await page.locator('#tile-views .bone').waitFor()
  }))

test('sections and bots have tabs of their own, which are asked for once they are seen', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const asked = (what: RegExp) => source.asked.filter((one) => what.test(one)).length
    assert.equal(asked(/^top section|^top page .*bots/), 0)
    await card(page, 'page').getByRole('button', { name: 'Sections' }).click()
    await shows(page.locator('h2:focus'), /^Sections$/)
    const sections = card(page, 'section')
    await shows(sections.locator('tbody tr'), /^\/thread\/15,120/)
    assert.deepEqual(await card(page, 'page').isVisible(), false)
    await sameAsShown(page, sections)
    await sections.getByRole('link', { name: '/thread/' }).click()
    await shows(page.locator('#item'), /^Section \/thread\/×$/)
    await shows(page.locator('.note'), /^The other lists are of the whole site\.$/)
    const under = card(page, 'under:/thread/')
    await shows(under.locator('h2'), /^Under \/thread\/$/)
    await eventually('two pages', async () => (await under.locator('tbody a').count()) === 2)
    assert.equal(asked(/^top page 1000 under \/thread\/$/) > 0, true)
    await sameAsShown(page, under)
    await under.getByRole('link', { name: '/thread/12' }).click()
    await shows(page.locator('#item'), /^Page \/thread\/12×$/)
    assert.equal(await under.count(), 0)
    await page.goBack()
    await shows(under.locator('tbody tr'), /thread/)
    await page.keyboard.press('Escape')
    await shows(sections.locator('a:focus'), /^\/thread\/$/)

    const bots = card(page, 'bot')
    await bots.scrollIntoViewIfNeeded()
    await shows(bots.locator('tbody tr'), /^GPTBot5,040/)
    await shows(
      bots.locator('p.small'),
      /^By their own word\. Bots are no people: what they read is in no other/,
    )
    await sameAsShown(page, bots)
    await bots.getByRole('button', { name: 'Pages for bots' }).click()
    const read = card(page, 'bots:page')
    await shows(read.locator('tbody tr'), /^\/5,040/)
    await read.getByRole('link', { name: '/search' }).click()
    await shows(page.locator('#item'), /^Page for bots \/search×$/)
    await shows(page.locator('.legend'), /^Pages sent to bots by day /)
    await eventually('it', () => source.asked.includes('history of page /search by bots'))
    await shows(page.locator('#notes'), /^Not known for 1 of 7 bars|^Bots are no people/)
    assert.equal(await page.getByRole('link', { name: 'Open the page' }).count(), 0)
    assert.deepEqual(complaints, [])
  }))

test('what comes after another range was chosen is not shown', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const hoursOf = source.hours.bind(source)
    // The invented weeks are all the same, but those of the first range.
    source.hours = async (span) => {
      const answer = await hoursOf(span)
      const isLong = span.to - span.from > 29 * DAY_MS
      return isLong ? answer : { ...answer, figures: answer.figures.map(() => 7) }
    }
    const late: Route[] = []
    await page.route(/(?:figures\.json\?.*dimension=section|times\.json)/, (route) =>
      route.request().url().includes('range=') ? route.continue() : void late.push(route),
    )
    await card(page, 'page').getByRole('button', { name: 'Sections' }).click()
    await page.locator('#times').scrollIntoViewIfNeeded()
    await eventually('both are asked for', () => late.length >= 2)
    await range(page, '30 days').check()
    const rows = card(page, 'section').locator('tbody tr')
    await shows(rows, /^\/thread\/64,800/)
    await page.locator('#times td').first().waitFor()
    const hours = await rowsOf(page.locator('#times table'))
    await page.evaluate(`{
      const list = document.querySelector('[data-dimension=section]')
      const note = () => shown.push(list.textContent)
      globalThis.shown = []
      new MutationObserver(note).observe(list, { childList: true, subtree: true })
    }`)
    const answers = late.map((route) => page.waitForResponse(route.request().url()))
    for (const route of late) await route.continue()
    for (const answer of await Promise.all(answers)) await answer.finished()
    await page.evaluate('fetch(location.href).then((answer) => answer.text())')
    const texts = await page.evaluate<string[]>('globalThis.shown')
    assert.deepEqual(
      texts.filter((text) => text.includes('15,120')),
      [],
    )
    assert.deepEqual(await rowsOf(page.locator('#times table')), hours)

    const pages = card(page, 'page')
    const all = (range: string) => new RegExp(`figures\\.json\\?range=${range}&dimension=page`)
    const held: Route[] = []
    await page.route(all('30d'), (route) => void held.push(route))
    await card(page, 'section').getByRole('button', { name: 'Pages' }).click()
    const rowsNow = () => rowsOf(pages.locator('table'))
    await pages.getByRole('button', { name: 'Change' }).click()
    await eventually('all are asked for', () => held.length === 1)
    const come = async (name: string, work: () => Promise<void>) => {
      const answer = page.waitForResponse(all(name))
      await work()
      await (await answer).finished()
      await page.evaluate('fetch(location.href).then((answer) => answer.text())')
    }
    await come('yesterday', () => range(page, 'Yesterday').check())
    const ofYesterday = await rowsNow()
    await come('30d', () => held[0]!.continue())
    assert.deepEqual(await rowsNow(), ofYesterday)
    await page.unroute(all('30d'))
    // All are asked for anew where those that are known are of another range.
    await pages.getByRole('button', { name: 'Views' }).click()
    await range(page, '30 days').check()
    await shows(pages.locator('tbody tr'), /^\/64,800/)
    const again = page.waitForRequest(all('30d'))
    await pages.getByRole('button', { name: 'Change' }).click()
    await again

    const scripts: Route[] = []
    await page.route(/days\.js/, (route) => void scripts.push(route))
    await range(page, 'Other days…').check()
    await eventually('the script is asked for', () => scripts.length === 1)
    await range(page, '7 days').check()
    await scripts[0]!.continue()
    await page.getByLabel('From').waitFor({ state: 'attached' })
    assert.equal(await page.getByLabel('From').isVisible(), false)
    assert.deepEqual(complaints, [])
  }))

test('browsers, systems and languages are tabs, by the names that the viewer reads', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    await card(page, 'device').getByRole('button', { name: 'Browsers' }).click()
    const browsers = card(page, 'browser')
    await shows(browsers.locator('tbody tr'), /^Firefox15,120/)
    await shows(browsers.locator('tr.own th'), /^Unknown$/)
    await browsers.getByRole('button', { name: 'Systems' }).click()
    await shows(card(page, 'system').locator('tbody tr'), /^Windows15,120/)
    await card(page, 'country').getByRole('button', { name: 'Languages' }).click()
    const languages = card(page, 'language')
    await shows(languages.locator('tbody tr'), /^German15,120/)
    await shows(languages.locator('tbody tr').nth(1), /^x1/)
    await languages.getByRole('link', { name: 'German' }).click()
    await shows(page.locator('#item'), /^Language German×$/)
    const entries = await page.evaluate('history.length')
    await languages.getByRole('link', { name: 'German' }).click()
    assert.equal(await page.evaluate('history.length'), entries, 'what is shown is no step')
    assert.deepEqual(complaints, [])
  }))

test('missing addresses are a tab of pages, with who leads there and without shares', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    await card(page, 'page').getByRole('button', { name: 'Missing' }).click()
    const missing = card(page, 'gone')
    await shows(missing.locator('tbody tr'), /^\/old\/ä ← news\.example15,120/)
    assert.equal(await missing.locator('tbody a').count(), 0, 'they have no history')
    assert.equal(await missing.locator('.share').count(), 0, 'they are no part of the views')
    await sameAsShown(page, missing)
    assert.deepEqual(await violationsOf(page), [])
    assert.deepEqual(complaints, [])
  }))

test('the hours of a week are in a table, in the hours and the words of the viewer', () =>
  onStage({}, async ({ page, source, complaints }) => {
    await filled(page)
    const times = page.locator('#times')
    await times.scrollIntoViewIfNeeded()
    await times.locator('td').first().waitFor()
    const rows = await rowsOf(times.locator('table'))
    assert.deepEqual(
      rows.map(([day]) => day),
      ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'],
    )
    const { figures } = await source.hours({ from: TODAY - 27 * DAY_MS, to: TODAY + DAY_MS })
    const mean = (weekday: number, hour: number) => {
      const isOver = weekday < 6 || hour < 10
      const of = figures.filter((_, at) => at % 168 === 24 * weekday + hour)
      const known = isOver ? of : of.slice(0, -1)
      return known.reduce((sum, views) => sum + views, 0) / known.length
    }
    const means = rows.map((_, weekday) =>
      Array.from({ length: 24 }, (_, hour) => mean(weekday, hour)),
    )
    const shown = (value: number) => (Math.round(10 * value) / 10).toLocaleString('en-GB')
    assert.deepEqual(
      rows.map(([, ...cells]) => cells),
      means.map((hours) => hours.map(shown)),
    )
    const most = Math.max(...means.flat())
    const busiest = means.flat().indexOf(most)
    assert.equal(await times.locator('td').nth(busiest).getAttribute('class'), 's5')
    const hour = String(busiest % 24).padStart(2, '0')
    await shows(
      times.locator('p'),
      new RegExp(`^Page views an hour, on average of 4 weeks\\. Most on \\w+day, ${hour}:00 – `),
    )
    await times.locator('td').first().hover()
    await shows(page.locator('.tip'), /^Monday, 00:00 – 01:00[\d.]+ page views$/)
    assert.deepEqual(complaints, [])
  }))

test('figures of a young site are compared with the days that it had', () =>
  onStage({}, async ({ page, source, complaints }) => {
    let firstDay = '2026-05-07'
    Object.assign(source, { firstDay: async () => firstDay })
    await page.reload()
    await filled(page)
    const before = (await chartRows(page)).map((row) => row.at(-1) ?? '')
    assert.deepEqual(before.slice(0, 4), Array(4).fill('not known'))
    assert.match(before[4]!, /^[\d,]+$/)
    await shows(tile(page, 'views'), /^[\d,]+ [+-]?\d+%$/)
    firstDay = '2026-05-12'
    await page.reload()
    await filled(page)
    await shows(page.locator('.legend'), /No figures of the period before$/)
    await shows(tile(page, 'views'), /^[\d,]+$/)
    assert.equal(await page.locator('.pill').count(), 0, 'nothing is new on a new site')
    assert.deepEqual(complaints, [])
  }))

test('a site without page views sees what works, and what may be missing', () =>
  onStage({}, async ({ page, source, complaints }) => {
    const nothing = async () => ({ figures: [], asOf: new Date(BEGIN).toISOString(), stale: false })
    Object.assign(source, { history: nothing, top: nothing, firstDay: async () => null })
    await page.reload()
    await shows(page.locator('.start h2'), /^No page views yet$/)
    assert(await page.getByLabel('Compare with').isHidden(), 'there is nothing to compare')
    assert.deepEqual(
      (await page.locator('.start li').allTextContents()).map((one) => one.slice(1)),
      [
        'Done: The cache answers',
        'Done: The database answers',
        'Done: A collector runs',
        'To do: A page view has come',
      ],
    )
    assert.equal(await page.locator('.start pre', { hasText: 'dimensions:' }).count(), 0)
    await hides(page.locator('#lists'))
    await shows(tile(page, 'seen'), /^–$/)
    assert.deepEqual(await violationsOf(page), [])
    assert.deepEqual(complaints, [])
  }))

test('a site without views and dimensions sees how it would have some', () =>
  onStage(
    {},
    async ({ page, source }) => {
      const asOf = new Date(BEGIN).toISOString()
      const nothing = async () => ({ figures: [], asOf, stale: false })
      Object.assign(source, { history: nothing, top: nothing, firstDay: async () => null })
      await page.reload()
      await shows(page.locator('.start pre', { hasText: 'dimensions:' }), /referrerHost/)
    },
    { dimensions: ['page'] },
  ))

test('a spike is labelled, and cut only where somebody asks; notes are pinned to their bars', () =>
  onStage({}, async ({ page, source }) => {
    const text = '<b>Released</b> 2.0, after long years'
    source.written = [{ day: '2026-05-05', text }]
    const history = source.history.bind(source)
    source.history = async (asked) => {
      const { figures, ...dated } = await history(asked)
      const spiky = figures.map((one) => {
        const isSpike = one.start === '2026-05-05T00:00:00.000Z'
        return isSpike ? { ...one, pageViews: 10 * one.pageViews } : one
      })
      return { ...dated, figures: spiky }
    }
    await page.goto(new URL('?range=30d', page.url()).href)
    await filled(page)
    const cut = page.getByRole('button', { name: /^Cut at \d+k$/ })
    await shows(page.locator('text.strong'), /^\d\d,\d{3}$/)
    await shows(page.locator('text.strong').last(), /^<b>Released<\/b> 2\.0, aft…$/)
    assert.equal(await page.locator('line.pin').count(), 1)
    const boxes = await Promise.all(
      (await page.locator('text.strong').all()).map((one) => one.boundingBox()),
    )
    const [count, note] = boxes as { x: number; width: number }[]
    assert(
      note!.x >= count!.x + count!.width || note!.x + note!.width <= count!.x,
      'the note is not on the number of the spike',
    )
    assert.equal(await page.locator('path.cut').count(), 0)
    await cut.click()
    assert.equal(await page.locator('path.cut').count(), 1)
    await shows(page.locator('text.strong'), /^\d\d,\d{3}$/)
    await page.getByRole('button', { name: 'Full scale' }).click()
    assert.equal(await page.locator('path.cut').count(), 0)
    const rows = await chartRows(page)
    assert.deepEqual(
      rows.filter((row) => row.at(-1) !== '').map((row) => row.at(-1)),
      [text],
    )
    source.written.push({ day: '2026-05-06', text: 'Another' })
    await page.reload()
    await filled(page)
    const texts = await page.locator('text.strong').allTextContents()
    assert.deepEqual(texts.slice(-2), ['1', '2'], 'where they would overlap they are numbers')
  }))

test('imported days are hatched, which is said once, and so is what is compared with them', () =>
  onStage({}, async ({ page, source }) => {
    assert.equal(await page.locator('pattern').count(), 0)
    const history = source.history.bind(source)
    source.history = async (asked) => {
      const { figures, ...dated } = await history(asked)
      const mark = (start: string) => start < '2026-05-13' && { imported: true as const }
      return { ...dated, figures: figures.map((one) => ({ ...one, ...mark(one.start) })) }
    }
    await page.reload()
    await filled(page)
    assert.equal(await page.locator('path[fill="url(#imported)"]').count(), 2)
    const drawn = await page.screenshot({ clip: (await page.locator('.plot').boundingBox())! })
    await shows(page.locator('#notes'), /^Hatched: imported, not counted here\. [\d,]+ more pages/)
    const tip = await page.locator('#tile-views').getAttribute('data-tip')
    assert.match(tip!, /\nPartly imported, not counted here/)
    await page.locator('.plot').press('Home')
    const text = await page.locator('.plot').getAttribute('aria-valuetext')
    assert.match(text!, /Imported, not counted here/)
    assert.doesNotMatch(text!, /Note|undefined/)
    assert.equal(await page.locator('.plot rect.at').count(), 1)
    await page.locator('.plot').press('End')
    assert.equal(await page.locator('.plot rect.at').count(), 1, 'one bar is read at a time')
    await page.locator('.plot').press('Home')
    // Without the pattern the bars would have no colour.
    await page.evaluate("document.querySelector('pattern').remove()")
    const plain = await page.screenshot({ clip: (await page.locator('.plot').boundingBox())! })
    assert(!drawn.equals(plain), 'the pattern is drawn')
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
      await page.locator('#item').waitFor()
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

/** Views of two rows, of which the second has too few for a change to mean anything. */
const FEW = new Map([
  [30, 20],
  [31, 19],
])

test('lists can be searched and sorted, and the words of the page come last and are its own', () =>
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
      const isBefore = range.to <= TODAY
      const paths = ['/%E6%97%A5%E6%9C%AC%E8%AA%9E', '/%E2%80%AEx', '/%', ...Array(30).keys()]
      const figures = paths.slice(0, range.n).map((path, at) => ({
        value: typeof path === 'string' ? path : `/p${path}`,
        pageViews: FEW.get(at) ?? (isBefore && at === 20 ? 100 : 1_000 - at),
      }))
      return { ...answer, figures: isBefore ? figures.filter((_, at) => at !== 21) : figures }
    }
    Object.assign(source, { top: inventedTop })
    await page.reload()
    await filled(page)
    const namesOf = async (of: Locator) => (await rowsOf(of.locator('table'))).map(([name]) => name)
    assert.deepEqual(await namesOf(card(page, 'referrer')), [
      '“(none)”',
      'news.example',
      'Inside the site',
      'Direct',
    ])
    assert.equal(await card(page, 'referrer').locator('tr.own').count(), 2)
    await card(page, 'referrer').locator('tr.own .name').last().focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    await shows(page.locator('.tip'), /^DirectNo page led here, or the browser does not say which/)
    const campaigns = await card(page, 'campaign').locator('bdi.name').allTextContents()
    assert.deepEqual(campaigns, ['“All others”', '“no campaign”', '“%E2%80%AEevil”'])
    const items = page.locator('[data-hits=threads]')
    await shows(items.locator('a bdi').last(), /^“\(other\)”$/)
    assert.equal(await items.locator('tr.own').count(), 0)
    const pages = card(page, 'page')
    const rows = pages.locator('tbody tr')
    assert.equal(await rows.count(), 10)
    assert.deepEqual((await namesOf(pages)).slice(0, 3), ['/日本語', '/%E2%80%AEx', '/%'])
    await pages.locator('tbody a').first().hover()
    await shows(page.locator('.tip'), /^\/日本語\/%E6%97%A5%E6%9C%AC%E8%AA%9E$/)

    await pages.getByRole('button', { name: 'Change' }).click()
    await eventually('by change', async () => (await namesOf(pages))[0] === '/p18')
    assert.deepEqual(
      (await rowsOf(pages.locator('table'))).slice(0, 2).map((row) => row.at(-1)),
      ['new', signed.format(980 / 100 - 1)],
    )
    await shows(pages.locator('[aria-sort=descending]'), /^Change ↓$/)
    await pages.getByRole('button', { name: 'Views' }).click()
    await pages.getByRole('button', { name: 'All pages' }).click()
    await eventually('all rows', async () => (await rows.count()) === 33)
    await pages.getByRole('button', { name: 'Change' }).click()
    await eventually('those that can be compared', async () => (await rows.count()) === 32)
    const compared = await namesOf(pages)
    assert.deepEqual([compared.includes('/p27'), compared.includes('/p28')], [true, false])
    await pages.getByRole('button', { name: 'Views' }).click()
    await eventually('all rows', async () => (await rows.count()) === 33)
    const search = pages.getByRole('searchbox')
    await search.fill('nowhere')
    await shows(pages.locator('.none'), /^Nothing in this time$/)
    assert.deepEqual(await violationsOf(page), [])
    await search.fill('日本')
    assert.deepEqual(await rows.count(), 1)
    await search.fill('p2')
    assert.deepEqual(await rows.count(), 11)
    await pass(page, 80)
    assert.deepEqual(await rows.count(), 11, 'the search stays while figures come')
    await pages.getByRole('button', { name: 'The first 10' }).click()
    assert.equal(await rows.count(), 10)
    await card(page, 'referrer').getByRole('link', { name: 'Inside the site' }).click()
    await shows(page.locator('#item'), /^Referrer Inside the site×$/)
  }))

test("days and hours are in the site's zone, which is said once, in the viewer's language", () =>
  onStage(
    { locale: 'de-DE', timezoneId: 'America/New_York', colorScheme: 'dark' },
    async ({ page, complaints }) => {
      await filled(page)
      await shows(tile(page, 'now'), /^212 visitors$/)
      await shows(card(page, 'country').locator('tbody tr'), /^Deutschland2\.160/)
      await shows(title(page), /^Sonntag, 17\. Mai 2026$/)
      assert.equal(await page.getByText('UTC').count(), 1)
      assert.match((await chartRows(page))[0]![0]!, /^So.* 17\. Mai.*, 00:00 – 01:00$/)
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
      await shows(title(page), /^11\s–\s17 May 2026$/)
      assert.match((await chartRows(page))[0]![0]!, /^Monday,? 11 May 2026$/)
      assert.equal(await page.getByText('Europe/Berlin').count(), 1)
      assert.deepEqual(complaints, [])
    },
    { zone: 'Europe/Berlin' },
  ))

test('where clocks are put back, the two hours of one name have that of their zone', () =>
  onStage(
    { locale: 'en-GB' },
    async ({ page }) => {
      await filled(page)
      const rows = (await chartRows(page)).map(([hour]) => hour ?? '')
      assert.equal(rows.length, 25)
      assert.equal(new Set(rows).size, 25)
      assert.match(rows[2]!, /, 02:00 (?:CEST|GMT\+2) – 02:00$/)
      assert.match(rows[3]!, /, 02:00 (?:CET|GMT\+1) – 03:00$/)
    },
    { zone: 'Europe/Berlin', query: '/?from=2025-10-26&to=2025-10-26' },
  ))

test('digits are of one script, and dates from right to left stay apart in a sentence', () =>
  onStage({ locale: 'fa-IR' }, async ({ page, complaints }) => {
    await filled(page)
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await page.locator('#item').waitFor()
    await chartRows(page)
    const text = (await page.locator('body').textContent()) ?? ''
    assert.deepEqual(text.match(/(?![0-9])\p{Nd}/gu), null)
    assert.match(text, /\p{Script=Arabic}/u)
    const sentences = await page.locator('p, li, option').allTextContents()
    for (const sentence of sentences) {
      const rest = sentence.replace(/\u2068.*?\u2069/g, '')
      assert.doesNotMatch(rest, /\p{Script=Arabic}/u)
    }
    assert.deepEqual(complaints, [])
  }))

test('all can be done with the keyboard, and lists are fewer than ten steps away', () =>
  onStage({}, async ({ page, complaints }) => {
    await filled(page)
    const reached = await page.evaluate('document.body.focus(), 0')
    assert.equal(reached, 0)
    let steps = 0
    do await page.keyboard.press('Tab')
    while (++steps < 20 && (await page.locator('#lists :focus').count()) === 0)
    assert(steps < 10, `${steps} steps to the lists`)

    const last = await plot(page).getAttribute('aria-valuetext')
    assert.match(
      last ?? '',
      /^Sunday,? 17 May 2026, Page views [\d,]+, Sun,? 10 May [\d,]+, So far, until/,
    )
    await plot(page).focus()
    await plot(page).press('End')
    await plot(page).press('ArrowLeft')
    assert.notEqual(await plot(page).getAttribute('aria-valuetext'), last)
    assert.equal(await plot(page).getAttribute('aria-valuenow'), '6')
    await shows(
      page.locator('.tip'),
      /^Saturday,? 16 May 2026Page views[\d,]+Sat,? 9 May[\d,]+Change/,
    )
    await besideBar(page, 5)
    await plot(page).press('Escape')
    await hides(page.locator('.tip'))
    await plot(page).press('Home')
    await plot(page).press('ArrowLeft')
    assert.equal(await plot(page).getAttribute('aria-valuenow'), '1')

    await page.locator('#tile-views').focus()
    await page.keyboard.press('ArrowRight')
    await shows(page.locator('[role=tab]:focus'), /^Visitors, best day/)
    await shows(
      page.locator('.tip'),
      /^[\d,]+ on \w+,? \d+ May 2026A visitor is counted once a day/,
    )
    await page.locator('#panel summary').focus()
    await page.keyboard.press('Enter')
    await page.locator('.menu[open]').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('.menu[open]').count(), 0)
    assert.equal(await page.locator('#panel summary:focus').count(), 1)

    const entries = Number(await page.evaluate('history.length'))
    await page.locator('#range input').nth(2).focus()
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight')
    await shows(title(page), /^1\s–\s31 May 2026$/)
    assert.equal(await page.evaluate('history.length'), entries + 1, 'one step of several keys')
    await card(page, 'country').getByRole('link', { name: 'France' }).focus()
    await page.keyboard.press('Enter')
    await shows(page.locator('#item'), /^Country France×$/)
    await page.keyboard.press('Tab')
    await page.locator('#skip').focus()
    assert.equal((await page.locator('#skip').boundingBox())!.y > 0, true)
    await page.keyboard.press('Enter')
    assert.equal(await page.locator('#lists:focus').count(), 1)
    assert.deepEqual(complaints, [])
  }))

test('it fits from 320 pixels on, at 400 %, and runs from right to left', () =>
  onStage({ viewport: PHONE }, async ({ page, complaints }) => {
    await filled(page)
    const looks = [
      '',
      '?range=today',
      '?dimension=country&value=FR',
      '?show=now',
      '?view=operation',
    ]
    for (const look of looks) {
      await page.goto(new URL(look || '?', page.url()).href)
      const last = look === '?view=operation' ? '#grid td' : 'path.bar'
      await page.locator(last).first().waitFor({ state: 'attached' })
      // The first is also a desktop at 400 %.
      for (const [width, height] of [
        [320, 256],
        [640, 450],
        [DESKTOP.width, DESKTOP.height],
      ] as const) {
        await page.setViewportSize({ width, height })
        for (const direction of ['rtl', 'ltr']) {
          await page.evaluate(`document.documentElement.dir = '${direction}'`)
          await eventually('styles', async () => (await sheets(page)) === 2)
          assert.equal(await sideways(page), 0, `${look}, ${direction} at ${width} pixels`)
        }
        if (width === 320) assert.deepEqual(await violationsOf(page), [], look)
      }
    }
    await page.goto(new URL('?', page.url()).href)
    await filled(page)
    await page.setViewportSize(PHONE)
    const long = card(page, 'page').getByRole('link', { name: 'bicycle' })
    const { x, width, height } = (await long.boundingBox())!
    assert(x >= 0 && x + width <= PHONE.width && height <= 32, 'a long name is in one line')
    for (const table of await page.locator('table').all()) {
      assert.equal(await table.locator('caption').count(), 1, 'each table has a name')
    }
    await page.setViewportSize(DESKTOP)
    assert.equal(await sheets(page), 1, 'the others are not loaded yet')
    await page.evaluate(`document.documentElement.dir = 'rtl'`)
    await eventually('styles', async () => (await sheets(page)) === 2)
    const align = (of: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${of}')).textAlign`)
    assert.equal(await align('.ranked thead th + th'), await align('.ranked td'))
    // The bars are drawn for this direction when there is something new.
    await tile(page, 'visitors').click()
    await shows(page.locator('.legend'), /^Visitors by day /)
    await plot(page).focus()
    await plot(page).press('End')
    await plot(page).press('ArrowRight')
    assert.equal(await plot(page).getAttribute('aria-valuenow'), '6', 'earlier is on the right')
    await besideBar(page, 5)
    const picture = (await plot(page).boundingBox())!
    await page.mouse.move(picture.x + picture.width - 60, picture.y + 40)
    assert.equal(await plot(page).getAttribute('aria-valuenow'), '1')
    assert.deepEqual(complaints, [])
  }))

test('the hours of the axis do not overlap at 320 pixels, in English of America either', () =>
  onStage(
    { locale: 'en-US', viewport: { width: 320, height: 740 } },
    async ({ page }) => {
      await filled(page)
      const boxes = (await page.evaluate(
        `[...document.querySelectorAll('.plot text')].filter(({ textContent }) => /[AP]M/.test(
          textContent)).map((one) => { const { left, right } = one.getBoundingClientRect()
          return [left, right] })`,
      )) as [number, number][]
      assert(boxes.length >= 3)
      boxes.slice(1).forEach(([start], at) => assert(start >= boxes[at]![1], `label ${at + 1}`))
      assert.equal(await sideways(page), 0)
    },
    { query: '?range=today' },
  ))

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

test('a panel without figures keeps its last ones, and the others do not mind', () =>
  onStage(
    {},
    async ({ page, source }) => {
      await shows(tile(page, 'now'), /^212 visitors$/)
      await shows(card(page, 'page').locator('tbody tr'), /15,120/)
      assert.equal(await page.locator('#history .bone').count(), 3)
      await shows(page.locator('#alarm'), /^Some figures cannot be read: the log of this process/)

      source.failing.clear()
      source.failing.add('overview')
      await pass(page, 70)
      await shows(page.locator('#age'), /^\d+ s old$|^\d min old$/)
      await shows(tile(page, 'now'), /^212 visitors$/)
      await shows(tile(page, 'views'), /^[\d,]+ /)
      source.failing.clear()
      await pass(page, 16)
      await shows(page.locator('#status'), /^Live$/)
      await hides(page.locator('#alarm'))
    },
    { failing: ['live', 'history'], status: /^Old$/ },
  ))

test('what the database refused is an alarm with the command that retries it', () =>
  onStage({}, async ({ page, source }) => {
    const link = page.locator('#operation')
    await shows(link, /^Operation$/)
    const { outstanding, ...ledger } = await source.ledger()
    const committed = ledger.committed + outstanding - 3
    source.ledger = async () => ({ ...ledger, quarantined: 3, committed, outstanding: 0 })
    await pass(page, 16)
    await shows(link, /^Operation: 1 problem$/)
    await shows(
      page.locator('#alarm'),
      /^The database refused 3 rows, which are kept\. .* retry all/,
    )
    assert.deepEqual(await violationsOf(page), [])
    await page.getByRole('link', { name: 'See the operation' }).click()
    await shows(
      page.locator('#verdict'),
      /^Missing, of all time: 3 rows\. [\d,]+ page views of today/,
    )
    assert.equal(await page.locator('#verdict .dot.bad').count(), 1)
    await shows(page.locator('#ledger .down'), /^\+ Quarantined .*3$/)
    assert.deepEqual(await violationsOf(page), [])
  }))

test('the operation is a page of its own, whose scripts come when it is opened', () =>
  onStage({}, async ({ page, source, responses, complaints }) => {
    await filled(page)
    const scripts = () => responses.filter((one) => one.url().endsWith('operation.js')).length
    assert.equal(scripts(), 0)
    await page.locator('#operation').click()
    await shows(page.locator('h1:focus'), /^Operation$/)
    assert.equal(scripts(), 1)
    assert.equal(new URL(page.url()).search, '?view=operation')
    await shows(
      page.locator('#verdict'),
      /^Everything works\. [\d,]+ page views of today are in the database, 211 are on their way\.$/,
    )
    assert.equal(await page.locator('#verdict .dot:not(.bad)').count(), 1)
    await shows(page.locator('#grid .watermark'), /^Watermark \d\d:\d\d:\d\d$/)
    assert.equal(await page.locator('#grid tbody tr').count(), 11 + 1)
    assert.equal(await page.locator('#grid .drained').count(), 3)
    assert.equal(await page.locator('#grid tbody tr').first().locator('td').count(), 15)
    assert.deepEqual(await page.locator('#grid thead tr th').allTextContents(), [
      'Layer',
      ...Array.from({ length: 15 }, (_, at) => `Column ${at + 1}`),
    ])
    assert.equal(await page.locator('.strip li').count(), 30)
    assert.equal(await page.locator('.strip .differs').count(), 1)
    await shows(page.locator('#health'), /This process reaches .* It differs by <b>3<\/b> rows\./s)
    const collectors = page.locator('#health section').nth(1).locator('li')
    assert.deepEqual(await collectors.allTextContents(), [
      'Shared cache every 3 s, last 2 s ago: 1,250 rows in 31 ms; 1 layer waits',
      'Private cache no collector has come yet; 9 layers wait',
    ])
    await shows(page.locator('#ledger'), /Issued.*1,204,511.*Committed.*1,204,300/)
    await shows(page.locator('#ledger'), /It balances\. 41 came twice/)
    source.trouble = 'The database does not answer: start it.'
    await pass(page, 8)
    await shows(page.locator('#health li'), /^The database has failed for 9 s/)
    await shows(page.locator('#verdict'), /^Nothing is lost\./)
    assert.equal(await page.locator('#verdict .dot.bad').count(), 1)
    source.trouble = undefined
    await page.goBack()
    await shows(title(page), /^11\s–\s17 May 2026$/)
    await filled(page)
    await page.goForward()
    await shows(title(page), /^Operation$/)
    await page.reload()
    await shows(page.locator('#ledger'), /It balances\./)
    await hides(page.locator('#when'))
    await page.getByRole('link', { name: 'Figures' }).click()
    await filled(page)
    assert.deepEqual(complaints, [])
  }))

test('what is old is marked, and what is new keeps scroll, focus and open tables', () =>
  onStage({}, async ({ page, source }) => {
    await filled(page)
    assert.equal((await chartRows(page)).length, 7)
    await card(page, 'country').getByRole('link', { name: 'France' }).focus()
    await page.evaluate('scrollTo(0, 600), undefined')
    const scrolled = () => page.evaluate('[scrollX, scrollY].join()')
    const before = await scrolled()
    source.come = 1_000
    await pass(page, 80)
    await shows(page.locator('#tile-now'), /^Now212 visitors$/)
    assert.equal(await scrolled(), before)
    assert.equal((await chartRows(page)).length, 7)
    assert.equal(await page.locator(':focus').textContent(), 'France')
    assert.equal(await page.locator('.late').count(), 0)

    source.staleSince = BEGIN - DAY_MS
    await pass(page, 80)
    await shows(page.locator('#alarm'), /^The figures are older than they should be: see whether/)
    await shows(page.locator('#age'), /^24 h old$/)
    await shows(page.locator('#alarm'), /Nothing is lost: 211 are on their way\./)
    assert.equal(await page.locator('main.old').count(), 1)
  }))

test('a list that is older than the rest says of when it is', () =>
  onStage({}, async ({ page, source }) => {
    await filled(page)
    const top = source.top.bind(source)
    source.top = async (dimension, range) => {
      const answer = await top(dimension, range)
      return dimension === 'country'
        ? { ...answer, asOf: '2026-05-17T09:40:00.000Z', stale: true }
        : answer
    }
    await pass(page, 80)
    await shows(page.locator('.late'), /^As of 09:40$/)
    assert.equal(await page.locator('.late').count(), 1)
    await shows(page.locator('#status'), /^Live$/)
  }))

test('the lists further down, which wait until they are seen, do not move for ever', () =>
  onStage({ reducedMotion: 'no-preference' }, async ({ page }) => {
    await filled(page)
    const ends = await page.evaluate<number[]>(
      `document.getAnimations().map(({ effect }) => effect.getComputedTiming().endTime)`,
    )
    assert(ends.length > 0, 'there are such lists')
    assert(ends.every(Number.isFinite), `${ends}`)
  }))

for (const [what, beginOld] of Object.entries({
  figures: (source: InventedSource) => {
    source.slow.add('history')
    return () => source.slow.clear()
  },
  'figures of one list': (source: InventedSource) => {
    const { top } = source
    const old: typeof top = async (...of) => ({ ...(await top.apply(source, of)), stale: true })
    source.top = (dimension, range) =>
      (dimension === 'device' ? old : top).call(source, dimension, range)
    return () => (source.top = top)
  },
})) {
  test(`old ${what} are asked for again after 2 s`, () =>
    onStage({}, async ({ page, source, sent }) => {
      await filled(page)
      const end = beginOld(source)
      await page.reload()
      await filled(page)
      end()
      const asks = await counted(
        () => sent.filter(([url]) => isOfRange(url)).length,
        () => pass(page, 6),
      )
      assert.equal(asks, 1)
    }))
}

test('the open day of the range has no fewer views than the last minutes', () =>
  onStage({}, async ({ page, source, sent }) => {
    await filled(page)
    const { figures } = await source.history({ from: TODAY, to: TODAY + DAY_MS, by: 'day' })
    const day = figures[0]!.pageViews
    source.come = 1_000_000
    await pass(page, 8)
    await shows(tile(page, 'views'), /^1,\d\d\d,\d\d\d /)
    assert.equal((await chartRows(page)).at(-1)?.[1], written(day + 1_000_000))
    await range(page, 'Today').check()
    await shows(tile(page, 'views'), new RegExp(`^${written(day + 1_000_000)} `))
    assert(sent.filter(([url]) => isOfRange(url)).length <= 3)
  }))

test('the alarm says what is wrong and what to do, in words that stay while it is wrong', () =>
  onStage({}, async (scene) => {
    const { page, source } = scene
    await filled(page)
    const [status, alarm] = [page.locator('#status'), page.locator('#alarm')]
    await page.evaluate(`{
      window.said = []
      const say = ({ id }) => new MutationObserver(() => said.push(document.getElementById(id)
        .textContent)).observe(document.getElementById(id), { childList: true })
      say({ id: 'status' })
    }`)
    source.trouble = 'The database does not answer: start it.'
    await pass(page, 30)
    await shows(alarm, /^The database does not answer: start it\. Nothing is lost: 211 are on/)
    assert.equal(await alarm.getAttribute('role'), 'alert')
    await shows(status, /^Old$/)
    await shows(page.locator('#operation'), /^Operation: 1 problem$/)
    source.trouble = undefined
    await pass(page, 8)
    await shows(status, /^Live$/)
    await hides(alarm)
    for (const login of [401, 302] as const) {
      scene.login = login
      await pass(page, 30)
      await shows(alarm, /^You are signed out: sign in and load this page again\./)
      assert.deepEqual(await violationsOf(page), [])
      scene.login = undefined
      await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
      await pass(page, 8)
      await shows(status, /^Live$/)
    }
    await page.route('**/now.json', (route) => route.abort())
    await pass(page, 60)
    await shows(alarm, /^The site does not answer: see whether it runs\./)
    await shows(page.locator('#age'), /^\d+ s old$|^\d+ min old$/)
    const said = (await page.evaluate('said')) as string[]
    assert.deepEqual(said, ['Old', 'Live', 'Old', 'Live', 'Old', 'Live', 'Old'], 'only changes')
  }))

test('an answer that has not changed is 304, and a script is never asked for again', () =>
  onStage(
    {},
    async ({ page, sent }) => {
      await filled(page)
      const items = page.locator('[data-hits=threads] tbody tr')
      await range(page, 'Yesterday').check()
      await pass(page, 150, 5)
      const url = '/admin/activity/figures.json?range=yesterday'
      const statuses = sent.filter(([of]) => of === url).map(([, status]) => status)
      assert.deepEqual(statuses.slice(0, 3), [200, 304, 304])
      assert.equal(await items.count(), 10)
      await page.getByRole('button', { name: 'All threads' }).click()
      await eventually('all items', async () => (await items.count()) === 100)
      await pass(page, 80)
      assert.equal(await items.count(), 100)
      const scripts = () => sent.filter(([of]) => /\.(?:js|css)$/.test(of)).length
      assert.equal(
        await counted(scripts, async () => {
          await page.goto(page.url())
          await filled(page)
        }),
        0,
      )
    },
    { large: true },
  ))

test('those who see figures see nothing of the operation, the public only totals', () =>
  onStage({}, async (scene) => {
    const { page, complaints, responses } = scene
    await filled(page)
    scene.allowed = 'figures'
    const figures = page.url()
    let before = await left(scene)
    await page.goto(figures)
    await filled(page)
    await pass(page, 10)
    await noOperation(page, responses.slice(before))
    assert(await page.locator('#lists .card').first().isVisible())
    assert.deepEqual(await violationsOf(page), [])

    const shared = new URL('/shared?dimension=page&value=%2Fsearch', figures).href
    before = await left(scene)
    await page.goto(shared)
    await shows(tile(page, 'now'), /^212 visitors$/)
    await shows(tile(page, 'views'), /^[\d,]+ /)
    assert.equal(await page.locator('[role=tab]').count(), 3, 'nothing of what browsers report')
    assert.equal(await page.locator('#lists .card, #item').count(), 0)
    await tile(page, 'now').click()
    await shows(page.locator('.legend'), /^Page views by hour, today/)
    await pass(page, 70)
    const answers = await noOperation(page, responses.slice(before))
    assert.doesNotMatch(answers, /search|news\.example|Germany|"DE"|threads-1/)
    assert.deepEqual(
      [...new Set(responses.slice(before).map((response) => response.status()))].sort(),
      [200, 302],
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

test('in forced colours bars, cells and squares can be seen', () =>
  onStage({ forcedColors: 'active' }, async ({ page }) => {
    await filled(page)
    const style = (of: string, property: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${of}')).${property}`)
    const canvas = await style('body', 'backgroundColor')
    assert.notEqual(await style('path.bar', 'fill'), canvas)
    assert.notEqual(await style('path.before', 'stroke'), await style('path.bar', 'fill'))
    assert.match(String(await style('.ranked tbody tr', 'backgroundImage')), /^linear-gradient/)
    assert.deepEqual(await violationsOf(page), [])
    await page.locator('#operation').click()
    await page.locator('.strip .balanced').first().waitFor()
    for (const part of ['.strip .balanced', '.cells .s1', '.cells .s2', '.dot']) {
      assert.notEqual(await style(part, 'backgroundColor'), canvas, part)
    }
    assert.deepEqual(await violationsOf(page), [])
  }))

test('without JavaScript there is a sentence', () =>
  onStage({}, async ({ page }) => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const plain = await context.newPage()
    await plain.goto(page.url())
    assert(await plain.locator('noscript p').isVisible())
    await context.close()
  }))

test('half an hour open: it asks once in 5 s, and needs no more memory', () =>
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
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    await chartRows(page)
    await pass(page, 60, 5)
    const asks = await counted(
      () => asked,
      () => pass(page, 120, 5),
    )
    assert(asks >= 20 && asks <= 30, `asked ${asks} times in 120 s`)

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
      () => pass(page, HALF_HOUR_S, 60),
    )
    assert(reads >= 25 * 5 * 2, `${reads} lists were read in half an hour`)
    // What was drawn last may be held until the next time.
    await eventually('no more memory, nodes and listeners than before', async () => {
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

    const now: Route[] = []
    await page.route(/now\.json/, (route) => void now.push(route))
    while (now.length === 0) await pass(page, 2)
    await hide(true)
    await pass(page, 2)
    await hide(false)
    // Less than its time-out.
    await pass(page, 8)
    assert.equal(now.length, 1, 'one request at a time')
    await now[0]!.continue()
    await page.unroute(/now\.json/)
    await during(8)

    scene.allowed = false
    const refused = () => scene.sent.filter(([url]) => url.endsWith('now.json')).length
    const soon = await counted(refused, () => pass(page, 30))
    assert(soon >= 2 && soon <= 3, `asked ${soon} times in the first 30 s`)
    await during(46)
    await shows(page.locator('#alarm'), /^You are signed out/)
    const failing = await during(120)
    assert(failing <= 12, `asked ${failing} times in 2 minutes without an answer`)
    await shows(tile(page, 'now'), /^212 visitors$/)
    scene.allowed = true
    await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
    await during(8)
    await shows(page.locator('#status'), /^Live$/)
  }))

for (const { name, query = '', large = false, arrange, outline: expected } of STATES) {
  test(`the state "${name}" has its parts, and axe finds nothing wrong with it`, () =>
    onStage(
      {},
      async (scene) => {
        const { page } = scene
        await arrange(scene)
        assert.deepEqual(await outline(page), expected)
        for (const [colorScheme, forcedColors, rules] of [
          ['light', 'none', undefined],
          // Colours are all that differs.
          ['dark', 'none', ['color-contrast']],
          ['light', 'active', ['color-contrast']],
        ] as const) {
          await page.emulateMedia({ colorScheme, forcedColors, reducedMotion: 'reduce' })
          assert.deepEqual(await violationsOf(page, rules), [], `${colorScheme}, ${forcedColors}`)
        }
      },
      { query, large },
    ))
}
