/** What the page does at once when somebody chooses something, and what it then shows no more. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core'
import { startBrowser } from '../../test/servers/browser.js'
import { stopWaiting } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import {
  card,
  counted,
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
  tile,
} from './stage.fixture.js'

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

const onStage = (
  play: (scene: Scene) => Promise<void>,
  opening?: Opening,
  settings: BrowserContextOptions = {},
): Promise<void> => stage(browser, settings, play, opening)

const choose = (page: Page, name: string) => page.getByLabel(name, { exact: true }).check()
const isDone = (page: Page) => page.locator('main:not([aria-busy])').waitFor()

test('what is chosen is asked for at once, and not with the next figures', () =>
  onStage(async ({ page, complaints }) => {
    await filled(page)
    await stopWaiting(page)
    await tile(page, 'now').click()
    await page.locator('.legend').getByText('Page views by hour, today').waitFor()
    await choose(page, 'Yesterday')
    await page.locator('h1').getByText('16 May 2026').waitFor()
    await isDone(page)
    await card(page, 'country').getByRole('link', { name: 'France' }).click()
    await page.locator('#tile-best strong:not(:has(.bone))').waitFor()
    await isDone(page)
    await page.locator('#operation').click()
    await page.locator('#ledger').getByText('It balances').waitFor()
    await isDone(page)
    const figures = page.locator('#operation')
    assert.equal(await figures.getAttribute('href'), '?', 'a new tab shows the figures, too')
    await figures.click()
    await page.locator('#history path.bar').first().waitFor()
    assert.equal(await figures.getAttribute('href'), '?view=operation')
    assert.deepEqual(complaints, [])
  }))

test('the figures of a range that was left are not shown; those of the next are asked for', () =>
  onStage(async ({ page, complaints }) => {
    await filled(page)
    await stopWaiting(page)
    const held: Route[] = []
    await page.route(/figures\.json\?range=yesterday/, (route) => void held.push(route))
    await page.evaluate(`{
      globalThis.titles = []
      new MutationObserver(() => titles.push(document.querySelector('h1').textContent)).observe(
        document.querySelector('h1'), { childList: true })
    }`)
    await choose(page, 'Yesterday')
    await eventually('they are asked for', () => held.length === 1)
    await choose(page, '30 days')
    await held[0]!.continue()
    await page.locator('h1').getByText('18 April – 17 May 2026').waitFor()
    assert.equal(await page.evaluate('titles.some((one) => one.includes("16 May"))'), false)
    assert.deepEqual(complaints, [])
  }))

test('an answer that does not come is given up, and the next is asked for', () =>
  onStage(async ({ page }) => {
    await filled(page)
    // Without its own clock, which the test cannot turn.
    await page.evaluate(`AbortSignal.timeout = (ms) => {
      const late = new AbortController()
      setTimeout(() => late.abort(new Error('late')), ms)
      return late.signal
    }`)
    const held: Route[] = []
    await page.route(/now\.json/, (route) => void held.push(route))
    while (held.length === 0) await pass(page, 2)
    await pass(page, 16)
    await shows(page.locator('#alarm'), /^The site does not answer: see whether it runs\./)
    await pass(page, 14)
    assert(held.length >= 2, 'it asks again')
  }))

test('tabs ask at other times than each other, and at once when the network is back', () =>
  onStage(async ({ page }) => {
    await filled(page)
    let asked = 0
    page.on('request', (request) => void (request.url().endsWith('/now.json') && asked++))
    const during = (seconds: number) =>
      counted(
        () => asked,
        () => pass(page, seconds, 1),
      )
    const asks: number[] = []
    for (const random of [0, 0.999]) {
      await page.evaluate(`Math.random = () => ${random}`)
      await during(6)
      asks.push(await during(36))
    }
    assert(asks[0]! > asks[1]!, `${asks.join(' and ')} times in 36 s`)
    await page.route(/now\.json/, (route) => route.abort())
    const before = asked
    while (asked === before) await pass(page, 1, 1)
    await page.unroute(/now\.json/)
    await page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
    assert.equal(await during(1), 1)
  }))

test('an address has only what belongs together, and what the server takes', () =>
  onStage(async ({ page, sent, complaints }) => {
    const search = () => new URL(page.url()).search
    await filled(page)
    await page.goto(new URL('?range=all&step=-1', page.url()).href)
    await filled(page)
    assert(await page.getByLabel('All', { exact: true }).isChecked())
    assert.doesNotMatch(sent.map(([url]) => url).join(), /json\?range=all&step/)
    await page.goto(new URL('?show=visitors', page.url()).href)
    await filled(page)
    await card(page, 'page').getByRole('link', { name: '/search' }).click()
    assert.equal(search(), '?dimension=page&value=%2Fsearch', 'a value has views only')
    await page.getByLabel('Compare with').selectOption('whole')
    await page.getByRole('button', { name: 'Close' }).click()
    assert.equal(search(), '', 'a value beside the whole is none without the value')
    await page.getByRole('button', { name: '7 days earlier' }).click()
    await shows(page.locator('h1'), /^4\s–\s10 May 2026$/)
    await choose(page, 'Yesterday')
    assert.equal(search(), '?range=yesterday', 'another range begins with its newest days')
    await shows(page.locator('h1'), /16 May 2026$/)
    const { figures } = JSON.parse(await file(page, page.locator('#panel'), 'JSON')) as {
      figures: unknown[]
    }
    assert.equal(figures.length, 24, 'its file has the range')
    assert.deepEqual(
      sent.filter(([, status]) => status >= 400),
      [],
    )
    assert.deepEqual(complaints, [])
  }))

test('a link is left to the browser where a key says that it is to be opened elsewhere', () =>
  onStage(async ({ page }) => {
    await filled(page)
    const prevented = await page.evaluate(`['', 'ctrlKey', 'metaKey', 'shiftKey', 'altKey'].map(
      (key) => {
        const event = new MouseEvent('click', { [key]: true, bubbles: true, cancelable: true })
        let isPrevented
        const note = (event) => {
          isPrevented = event.defaultPrevented
          event.preventDefault()
        }
        addEventListener('click', note, { once: true })
        document.querySelector('tbody a').dispatchEvent(event)
        return isPrevented
      })`)
    assert.deepEqual(prevented, [true, false, false, false, false])
  }))

test('a tooltip goes with what it was of, and a cut scale with its chart', () =>
  onStage(async ({ page, source }) => {
    const history = source.history.bind(source)
    source.history = async (asked) => {
      const { figures, ...dated } = await history(asked)
      const spiky = figures.map((one) =>
        one.start === '2026-05-05T00:00:00.000Z' ? { ...one, pageViews: 10 * one.pageViews } : one,
      )
      return { ...dated, figures: spiky }
    }
    source.written = [{ day: '2026-05-05', text: 'Released' }]
    await choose(page, '30 days')
    await page.locator('.legend').getByText('Page views by day').waitFor()
    await page.getByRole('button', { name: /^Cut at / }).click()
    await page.locator('path.cut').waitFor({ state: 'attached' })
    await page.locator('line.pin').waitFor({ state: 'attached' })
    await tile(page, 'now').click()
    await shows(page.locator('.legend'), /^Page views by hour, today/)
    assert.equal(await page.locator('line.pin').count(), 0, 'a note is one of a day')
    await tile(page, 'views').click()
    await shows(page.locator('.legend'), /^Page views by day/)
    assert.equal(await page.locator('path.cut').count(), 0)
    // A pointer that rests on a tile has its tooltip once the tile is drawn anew.
    await page.mouse.move(0, 0)
    await plot(page).focus()
    await plot(page).press('End')
    await shows(page.locator('.tip:not([hidden])'), /May 2026/)
    await page.goBack()
    await hides(page.locator('.tip'))
  }))

test('one is one, and what is imported of the range alone is said', () =>
  onStage(async ({ page, source }) => {
    const [overview, history] = [source.overview.bind(source), source.history.bind(source)]
    source.overview = async () => {
      const { figures, ...dated } = await overview()
      return { ...dated, figures: { ...figures, visitors: 1 } }
    }
    source.history = async (asked) => {
      const { figures, ...dated } = await history(asked)
      const mark = (start: string) => start.startsWith('2026-05-13') && { imported: true as const }
      return { ...dated, figures: figures.map((one) => ({ ...one, ...mark(one.start) })) }
    }
    await page.reload()
    await filled(page)
    await shows(tile(page, 'now'), /^1 visitor$/)
    const tip = await page.locator('#tile-views').getAttribute('data-tip')
    assert.match(tip!, /\nPartly imported, not counted here/)
  }))

test('bars that are to come are neither known nor unknown', () =>
  onStage(
    async ({ page }) => {
      await filled(page)
      await shows(page.locator('#notes'), /^Not known for 3 of 17 bars: /)
      await page.goto(new URL('?from=2026-03-02&to=2026-03-04', page.url()).href)
      await filled(page)
      await page.getByRole('button', { name: 'Days earlier', exact: true }).waitFor()
      assert.equal(await page.getByLabel('From').inputValue(), '2026-03-02')
      assert.equal(await page.getByLabel('to', { exact: true }).inputValue(), '2026-03-04')
    },
    { query: '?range=month&dimension=page&value=%2Fsearch' },
  ))

test('the tile before the first one is the last, in both directions', () =>
  onStage(async ({ page }) => {
    await filled(page)
    await page.locator('#tile-views').focus()
    for (const [direction, key, name] of [
      ['ltr', 'ArrowLeft', /^Now/],
      ['ltr', 'ArrowLeft', /^Seen by browsers/],
      ['ltr', 'ArrowRight', /^Now/],
      ['rtl', 'ArrowRight', /^Seen by browsers/],
      ['rtl', 'ArrowLeft', /^Now/],
    ] as const) {
      await page.evaluate(`document.documentElement.dir = '${direction}'`)
      await page.keyboard.press(key)
      await shows(page.locator('[role=tab]:focus'), name)
    }
  }))

test('a list that was opened has files of all its rows, and forgets its search when closed', () =>
  onStage(
    async ({ page, complaints }) => {
      await filled(page)
      const [pages, hits] = [card(page, 'page'), page.locator('[data-hits=threads]')]
      for (const [list, name, most] of [
        [pages, 'pages', 1_000],
        [hits, 'threads', 100],
      ] as const) {
        await list.getByRole('button', { name: `All ${name}` }).click()
        const rows = list.locator('tbody tr')
        await eventually('all', async () => (await rows.count()) === most)
        const csv = await file(page, list, 'CSV')
        assert.equal(csv.trimEnd().split('\r\n').length, 1 + most)
      }
      const search = pages.getByRole('searchbox')
      await search.fill(' /THREAD/99-')
      await eventually('one', async () => (await pages.locator('tbody tr').count()) === 1)
      // An open value stays when the search is cleared by a key.
      await pages.locator('tbody a').click()
      await page.locator('#item').waitFor()
      await search.press('Escape')
      assert.equal(await page.locator('#item').count(), 1)
      await search.fill('/thread/99-')
      await pages.getByRole('button', { name: 'The first 10' }).click()
      await shows(page.locator('h2:focus'), /^Pages$/)
      assert.match((await rowsOf(pages.locator('table')))[0]![0]!, /^\/$/)
      const referrers = card(page, 'referrer')
      await referrers.getByRole('button', { name: 'All referrers' }).click()
      await referrers.getByRole('searchbox').fill('news')
      await eventually('one', async () => (await referrers.locator('tbody tr').count()) === 1)
      assert.deepEqual(complaints, [])
    },
    { large: true },
  ))

test('a list keeps its tab, and says of when it is though it is not old', () =>
  onStage(async ({ page, source }) => {
    await filled(page)
    await card(page, 'page').getByRole('button', { name: 'Sections' }).click()
    await shows(card(page, 'section').locator('tbody tr'), /^\/thread\//)
    const top = source.top.bind(source)
    source.top = async (dimension, range) => {
      const answer = await top(dimension, range)
      return dimension === 'country' ? { ...answer, asOf: '2026-05-17T09:40:00.000Z' } : answer
    }
    await pass(page, 80)
    await shows(page.locator('.late'), /^As of 09:40$/)
    assert.equal(await page.locator('.late').count(), 1)
    assert(await card(page, 'section').isVisible())
  }))

test('the items of a list of hits are those of its name and of the range', () =>
  onStage(async ({ page }) => {
    await filled(page)
    await choose(page, 'Yesterday')
    await shows(page.locator('h1'), /16 May 2026$/)
    const asked: string[] = []
    await page.route(/hits\.json/, async (route) => {
      asked.push(new URL(route.request().url()).search)
      const [own] = (await (await route.fetch()).json()) as { name: string; items: object[] }[]
      const other = { ...own, name: 'files', items: own!.items.slice(0, 1) }
      await route.fulfill({ json: [other, own] })
    })
    const list = page.locator('[data-hits=threads]')
    await list.getByRole('button', { name: 'Change' }).click()
    await eventually('all', () => asked.length === 1)
    await shows(list.locator('[aria-sort=descending]'), /^Change ↓$/)
    assert((await list.locator('tbody a').count()) > 1)
    assert.deepEqual(asked, ['?range=yesterday&n=100'])
  }))

test('the verdict has all that is missing, days that the site had, and all columns', () =>
  onStage(async ({ page, source }) => {
    const [ledger, live] = [await source.ledger(), source.live.bind(source)]
    const certificates = source.certificates.bind(source)
    source.certificates = async (days) =>
      (await certificates(days)).map((one) => ({ ...one, firstDay: '2026-05-09' }))
    source.live = async (asOf) => {
      const { layers, ...rest } = await live(asOf)
      const cells = Array.from({ length: 130 }, () => ({ frames: 1, bytes: 10 }))
      return { ...rest, layers: layers.map((one) => ({ ...one, cells })) }
    }
    await page.locator('#operation').click()
    const cells = page.locator('#grid tbody tr').first().locator('td')
    await eventually('groups of three', async () => (await cells.count()) === 44)
    await shows(cells.last(), /^1 frame, /)
    await shows(page.locator('#health'), /9 of 9 days: what was recorded is what is in/)
    await shows(page.locator('#verdict'), /^Everything works\./)
    source.ledger = async () => ({ ...ledger, quarantined: 1, dropped: 2, lost: 4, owed: 8 })
    await pass(page, 8)
    await shows(page.locator('#verdict'), /^Missing, of all time: 15 rows\./)
    assert.equal((await page.locator('.strip .none').count()) > 0, true)
  }))
