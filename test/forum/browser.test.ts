/**
 * The widget and the dashboard as people meet them: in Chromium, on the running demo, under their
 * Content-Security-Policies.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { BrowserContextOptions, Browser, Page, Response } from 'playwright-core'
import { inventedHits, LargeSource } from '../../src/dashboard/invented-source.fixture.js'
import { violationsOf } from '../../src/support/browser.fixture.js'
import { systemClock } from '../../src/support/clock.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { serving } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { BurstLogger } from '../../src/support/logger.js'
import { startBrowser } from '../servers/browser.js'
import { startForum, type Forum } from './forum.js'

/** The widget asks again after 30 s and up to a fifth more or less. */
const BEFORE_IT_ASKS_MS = 15_000
const UNTIL_IT_ASKS_MS = 37_000
/** Interval at which the forum has new figures. */
const NEW_FIGURES_MS = 2_000
/** Of the first view: page, script, styles and figures of 30 days with full lists. */
const MOST_BYTES = 60_000
const TEXT = /^([\d,]+) visitors?, ([\d,]+) page views? in the last 10 minutes$/

let forum: Forum
let browser: Browser
before(async () => {
  ;[forum, browser] = await Promise.all([startForum(), startBrowser()])
})
after(async () => {
  await browser?.close()
  assert.equal(await forum?.stop(), 0)
})

function pathOf(response: Response): string {
  return new URL(response.url()).pathname
}

/** A page, and all that the browser has complained of: errors, blocked or failed requests. */
async function open(
  path: string,
  settings: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[]; figures: unknown[] }> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 720 }, ...settings })
  const complaints: string[] = []
  const figures: unknown[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) =>
    complaints.push(`${request.url()}: ${request.failure()?.errorText}`),
  )
  page.on('response', async (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
    if (pathOf(response) === '/activity') {
      figures.push(await response.json().catch(() => undefined))
    }
  })
  // The page's clock runs, and can be put forward.
  await page.clock.install()
  await page.goto(forum.origin + path)
  return { page, complaints, figures }
}

/**
 * Waits until the widget's line fits, and returns it. Puts the page's clock forward, so that the
 * widget asks for new figures now. The page's policy lets no test evaluate anything there.
 */
async function lineThat(page: Page, fits: (text: string) => boolean): Promise<string> {
  const line = page.locator('site-activity [part~=figures]')
  return eventually('the line fits', async () => {
    const text = (await line.textContent()) ?? ''
    if (fits(text)) return text
    await delay(NEW_FIGURES_MS)
    const answer = page.waitForResponse((response) => pathOf(response) === '/activity')
    await page.clock.fastForward(UNTIL_IT_ASKS_MS)
    await (await answer).finished()
    return undefined
  })
}

function numbersIn(text: string): number[] {
  const [, visitors, views] = TEXT.exec(text) ?? []
  return [visitors, views].map((number) => Number(number?.replaceAll(',', '')))
}

/**
 * Waits for an answer of the endpoint with the figures in this text: the page may show them before
 * the test has read the answer.
 */
async function answerOf(text: string, figures: readonly unknown[]): Promise<void> {
  const [visitors, pageViews] = numbersIn(text)
  const fits = (answer: unknown): boolean =>
    isDeepStrictEqual(Object.assign({}, answer, { visitors, pageViews }), answer)
  await eventually(`"${text}" is among the answers`, () => figures.some(fits))
}

async function fitsOnPhone(page: Page): Promise<void> {
  await page.setViewportSize({ width: 320, height: 740 })
  const width = await page.evaluate('document.documentElement.scrollWidth')
  assert.equal(width, 320, 'nothing is wider than a phone')
  assert.deepEqual(await violationsOf(page), [])
}

test('the widget shows both figures in the top-right corner, and refreshes itself', async () => {
  const { page, complaints, figures } = await open('/')
  const widget = page.locator('site-activity')
  const text = await lineThat(page, (text) => numbersIn(text).every((number) => number > 0))
  const [visitors = 0, views = 0] = numbersIn(text)
  assert(views >= visitors, `${visitors} visitors, ${views} views`)
  assert.deepEqual(
    await widget.locator('[part~=number]').allTextContents(),
    [visitors, views].map((number) => number.toLocaleString('en')),
  )
  await answerOf(text, figures)

  const box = await widget.boundingBox()
  assert(
    box && box.y < 80 && box.x > 550 && box.x + box.width > 1000 && box.x + box.width <= 1100,
    JSON.stringify(box),
  )

  // A later answer with other figures: the widget asks again about each half minute, not before.
  const asked = figures.length
  await page.clock.fastForward(BEFORE_IT_ASKS_MS)
  await delay(NEW_FIGURES_MS)
  assert.equal(figures.length, asked)
  const later = await lineThat(page, (later) => later !== text)
  await answerOf(later, figures)
  assert(numbersIn(later)[1]! > views)
  assert.deepEqual(complaints, [])
  assert.match(
    forum.output(),
    /^The forum is on [^\n]+\nIts dashboard is on [^\n]+\n$/,
    'the forum itself has nothing to complain of either',
  )
  await page.close()
})

test('a polite live region for screen readers is there, hidden and silent at first', async () => {
  const { page, complaints } = await open('/')
  const status = page.locator('site-activity [role=status]')
  await page.locator('site-activity [part~=number]').first().waitFor()
  assert.equal(await status.getAttribute('aria-live'), 'polite')
  assert.equal(await status.textContent(), '')
  const box = await status.boundingBox()
  assert(box && box.width <= 1 && box.height <= 1)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('without scripts the page shows the figures too, once the forum has some', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await eventually('both figures', async () => {
    await page.goto(forum.origin)
    const text = (await page.locator('site-activity').textContent()) ?? ''
    return numbersIn(text.replace(/\s+/g, ' ').trim()).every((number) => number > 0)
  })
  await context.close()
})

test('a reply is posted, is shown, and is text whatever is in it', async () => {
  const { page, complaints } = await open('/')
  await page.locator('.threads a').first().click()
  const text = '<script>document.title = "taken"</script><img src=x onerror=alert(1)> & "done"'
  await page.getByLabel('Name').fill('<b>Anna</b>')
  await page.getByLabel('Text').fill(text)
  // Pictures that are under way when the page is left fail.
  await page.waitForLoadState('load')
  await page.getByRole('button', { name: 'Post reply' }).click()
  await page.waitForURL(/#reply-\d+$/)
  const post = page.locator('.post:target')
  assert.equal(await post.locator('strong').textContent(), '<b>Anna</b>')
  assert.equal(await post.locator('p:not(.byline)').textContent(), text)
  assert.doesNotMatch(await page.title(), /taken/)
  await fitsOnPhone(page)
  await page.goto(forum.origin)
  await page.locator('site-activity [part~=number]').first().waitFor()
  await fitsOnPhone(page)
  assert.deepEqual(complaints, [])
  await page.close()
})

/** A visit by a tablet in Germany that a newsletter has brought, and the values it has. */
const TABLET =
  'Mozilla/5.0 (Linux; Android 15; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) ' +
  'Chrome/141.0.0.0 Safari/537.36'
const VALUES = {
  page: '/',
  referrer: 'forum-test.example',
  campaign: 'forum-test/email',
  country: 'DE',
  device: 'tablet',
}

test('each panel of the dashboard is filled from the activity', async () => {
  await fetch(`${forum.origin}/?utm_source=forum-test&utm_medium=email`, {
    headers: {
      'user-agent': TABLET,
      accept: 'text/html',
      referer: 'https://forum-test.example/',
      'cf-ipcountry': 'DE',
    },
  })
  const isKnown = async ([dimension, value]: [string, string]): Promise<boolean> => {
    const path = `/admin/activity/top.json?dimension=${dimension}&n=1000`
    const answer = await fetch(forum.origin + path)
    return answer.ok && (await answer.text()).includes(JSON.stringify(value))
  }
  for (const entry of Object.entries(VALUES)) await eventually(entry.join(), () => isKnown(entry))

  await eventually('hits', async () => {
    const lists = await (await fetch(`${forum.origin}/admin/activity/hits.json`)).text()
    return /"items":\[\{/.test(lists)
  })

  const { page, complaints } = await open('/admin/activity', { locale: 'en-GB' })
  const shown = (panel: string, text: string | RegExp) =>
    page.locator(panel).getByText(text).first().waitFor()
  await shown('#live', 'Live')
  await shown('#tile-now', /^\d[\d,]*$/)
  await shown('#tile-views', /^[1-9][\d,]*$/)
  await page.locator('[data-dimension=device] tbody tr').first().waitFor()
  for (const [dimension, value] of Object.entries({ ...VALUES, country: 'Germany' })) {
    await shown(`[data-dimension=${dimension}] tbody`, value)
  }
  await shown('[data-hits=threads] tbody', /^\d-[a-z-]+$/)
  await fitsOnPhone(page)
  await page.locator('#operation').click()
  await shown('#verdict', /^Everything works\. [\d,]+ page views of today are in the database/)
  await shown('#grid .small', /frames?, .* in \d+ layers? of 3 seconds/)
  await shown('#ledger', /It balances/)
  await shown('#health', /^every 3 s, last \d+ s ago: [\d,]+ rows? in \d/)
  await fitsOnPhone(page)
  assert.deepEqual(complaints, [])
  await page.close()
})

test('the first view is one round of few requests and bytes, and shifts little', async () => {
  const { dashboardRouter } = (await import(
    new URL('../../dist/dashboard/router.js', import.meta.url).href
  )) as typeof import('../../src/dashboard/router.js')
  const source = new LargeSource(() => Date.now())
  const hits = [inventedHits('threads', 100)]
  const logger = new BurstLogger(keptLog(), systemClock.elapsed)
  const app = dashboardRouter(source, { authorize: () => true, hits }, logger)
  await serving(
    (req, res) => app(req, res, () => res.end()),
    async (port) => {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
      const responses: Response[] = []
      page.on('response', (response) => responses.push(response))
      // On a busy machine the next answers of a poll, which load more, come before the first looks.
      await page.addInitScript(`const set = setTimeout
      window.setTimeout = (go, ms, ...of) => (ms >= 1_000 ? undefined : set(go, ms, ...of))
      window.shifts = 0
      new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => shifts += value))
        .observe({ type: 'layout-shift', buffered: true })`)
      await page.goto(`http://127.0.0.1:${port}/?range=30d`)
      await page.locator('[data-hits=threads] tbody tr').first().waitFor()
      const bodies = await Promise.all(responses.map((response) => response.body()))
      const bytes = bodies.reduce((sum, { length }) => sum + length, 0)
      assert(responses.length <= 6, `${responses.length} requests`)
      assert(bytes > 40_000 && bytes < MOST_BYTES, `${bytes} bytes`)
      assert(Number(await page.evaluate('shifts')) < 0.05)
      const styles = page.locator('link[href$="later.css"]')
      const move = (by: number) =>
        page.evaluate(
          `document.dispatchEvent(new PointerEvent('pointermove', { movementX: ${by} }))`,
        )
      await move(0)
      assert.equal(await styles.count(), 0, 'of a pointer that rests')
      await move(1)
      assert.equal(await styles.count(), 1)
      await page.close()
    },
  )
})

test('a thread has a bar for each day that was counted', async () => {
  const { page, complaints } = await open('/')
  // Leaving a page cuts off the requests of its widget, which would be a complaint.
  await page.waitForLoadState('networkidle')
  await page.locator('.threads a').first().click()
  const badge = "document.querySelector('.badge img')"
  assert(Number(await page.evaluate(`${badge}.decode().then(() => ${badge}.naturalWidth)`)) > 0)
  const bars = page.locator('.history rect')
  await eventually('a bar for today', async () => {
    const today = (await bars.allTextContents()).at(-1)?.trim() ?? ''
    if (/: [1-9][\d,]*$/.test(today)) return true
    await page.waitForLoadState('networkidle')
    await page.reload()
    return false
  })
  // Days before the forum's first one are not known. Midnight may have passed.
  assert([1, 2].includes(await bars.count()), 'a bar for today')
  assert.deepEqual(complaints, [])
  await page.close()
})
