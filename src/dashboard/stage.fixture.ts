/** The dashboard's page in Chromium, with invented figures, and the browser's clock in hand. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import express from 'express'
import type { Browser, BrowserContextOptions, Locator, Page, Response } from 'playwright-core'
import { temporaryFolder } from '../../test/servers/process.js'
import { complaintsOf } from '../support/browser.fixture.js'
import { type Clock, systemClock } from '../support/clock.js'
import { eventually } from '../support/eventually.fixture.js'
import { serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { InventedSource, inventedHits, LargeSource } from './invented-source.fixture.js'
import { dashboardRouter } from './router.js'

/** The server's time when the tests begin: far from the end of an hour, unlike the browser's. */
export const BEGIN = Date.parse('2026-05-17T10:20:00Z')
export const TODAY = Date.parse('2026-05-17T00:00Z')
export const DESKTOP = { width: 1280, height: 900 }
export const clock: Clock = { ...systemClock, now: () => Math.floor(BEGIN + performance.now()) }

export interface Scene {
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

export interface Opening {
  readonly failing?: readonly string[]
  readonly status?: RegExp
  /** The address's query. */
  readonly query?: string
  /** Whether all lists are full. */
  readonly large?: boolean
  /** The time zone of the site. */
  readonly zone?: string
  /** @default all */
  readonly dimensions?: readonly string[]
}

let assets: string | undefined

/** The folder with the page's scripts and styles, which is made once. */
function bundled(): string {
  if (assets) return assets
  const folder = temporaryFolder('dashboard-assets')
  const script = fileURLToPath(new URL('../../scripts/assets.js', import.meta.url))
  execFileSync(process.execPath, [script, folder])
  return (assets = folder)
}

/** The page, as soon as it says how it is. */
export async function onStage(
  browser: Browser,
  settings: BrowserContextOptions,
  play: (scene: Scene) => Promise<void>,
  {
    failing = [],
    status = /^Live$/,
    query = '',
    large = false,
    zone = 'UTC',
    dimensions,
  }: Opening = {},
): Promise<void> {
  const source = new (large ? LargeSource : InventedSource)(clock.now, dimensions)
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
  // As the package has them: bundled, since each file is a request.
  const files = express.static(bundled(), {
    immutable: true,
    index: false,
    maxAge: '1y',
    redirect: false,
  })
  for (const path of ['/admin/activity', '/shared']) app.use(`${path}/:hash`, files)
  app.use(
    '/admin/activity',
    dashboardRouter(
      source,
      { authorize: () => scene.allowed, hits: [inventedHits('threads', large ? 150 : 8)] },
      logger,
      clock,
    ),
  )
  app.use('/shared', dashboardRouter(source, { shared: true }, logger, clock))
  app.use('/not-set-up', dashboardRouter(source, {}, logger, clock))
  const context = await browser.newContext({ viewport: DESKTOP, locale: 'en-GB', ...settings })
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
export async function shows(element: Locator, text: RegExp): Promise<void> {
  await element.first().waitFor({ state: 'attached' })
  let last = ''
  await eventually(String(text), async () => {
    last = ((await element.first().textContent()) ?? '').trim()
    return text.test(last)
  }).catch((error) => {
    throw new Error(`It says: ${last}`, { cause: error })
  })
}

/** Waits until an element is hidden, or is not there. */
export async function hides(element: Locator): Promise<void> {
  await element.first().waitFor({ state: 'hidden' })
}

/** Lets the browser's time pass in steps, between which answers can come. */
export async function pass(page: Page, seconds: number, step = 2): Promise<void> {
  for (let passed = 0; passed < seconds; passed += step) {
    await page.clock.runFor(step * 1_000)
    // A request of its own: those that were sent before it are answered before it.
    await page.evaluate(`fetch('?', { method: 'HEAD' }).then(() => 0)`)
  }
}

/** By how much a count grows while something is done. */
export async function counted(count: () => number, work: () => Promise<void>): Promise<number> {
  const before = count()
  await work()
  return count() - before
}

/** The rows of a table, as texts. */
export function rowsOf(table: Locator): Promise<string[][]> {
  return table
    .locator('tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent ?? '')),
    )
}

/** By how much the page is wider than its window. */
export async function sideways(page: Page): Promise<number> {
  return (await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )) as number
}

export const card = (page: Page, dimension: string): Locator =>
  page.locator(`[data-dimension="${dimension}"]`)
export const tile = (page: Page, id: string): Locator => page.locator(`#tile-${id} .figure`)
export const bars = (page: Page): Locator => page.locator('path.bar')
export const plot = (page: Page): Locator => page.locator('[role=slider]')

/** Waits until the range's figures are there. */
export async function filled(page: Page): Promise<void> {
  await page.locator('#history path.bar').first().waitFor({ state: 'attached' })
  await card(page, 'device').locator('tbody tr a').first().waitFor()
}

/** The chart as a table: its rows, as texts. */
export async function chartRows(page: Page): Promise<string[][]> {
  const table = page.locator('#panel table.plain')
  if (!(await table.isVisible())) {
    await page.locator('#panel summary').click()
    await page.getByRole('button', { name: 'Show as a table' }).click()
    await table.waitFor()
  }
  return rowsOf(table)
}

/** The text of a file that a part of the page links to. */
export async function file(page: Page, part: Locator, type: 'CSV' | 'JSON'): Promise<string> {
  const link = part.locator('a[download]').filter({ hasText: type })
  const href = (await link.getAttribute('href')) ?? ''
  const answer = await page.request.get(new URL(href, page.url()).href)
  assert.equal(answer.status(), 200)
  return answer.text()
}
