/**
 * Takes the pictures of the README and the docs, `docs/*.png`: `npm run screenshot`. The visits of
 * the last minute are real requests of simulated visitors; the days before are made up. The package
 * has those of the README, so they have few colours: needs the program pngquant.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page, PageScreenshotOptions } from 'playwright-core'
import { startTraffic } from '../../examples/forum/traffic.js'
import { startBrowser } from '../servers/browser.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { startForum } from './forum.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { writePast } from './past.js'

const FOLDER = fileURLToPath(new URL('../../docs', import.meta.url))
const COLOURS = '32'
/** Time for which visitors come before the pictures are taken. */
const VISITS_MS = 60_000
/** Simulated visitors, beside those of the forum itself: as many again, so often. */
const MORE_CROWDS = 3
/** Width of the pictures of the dashboard, and margin around its panels. */
const WIDTH = 1000
const MARGIN = 16

const folder = temporaryFolder('screenshot')
const database = join(folder, 'forum.db')
const past = sqlite(database)
await writePast(past, { name: 'activity', days: 30, usual: 1_100 })
await past.close()
const [forum, browser] = await Promise.all([
  startForum([], { WIDE_CACHE_DATABASE_URL: `sqlite:${database}` }),
  startBrowser(),
])
const stops: (() => void)[] = []
try {
  const paths = await pathsOf(forum.origin)
  for (let i = 0; i < MORE_CROWDS; i++) stops.push(startTraffic(forum.origin, paths))
  await new Promise((resolve) => setTimeout(resolve, VISITS_MS))
  await takeForum(browser)
  await takeDashboard(browser)
} finally {
  for (const stop of stops) stop()
  await browser.close()
  await forum.stop()
  removeFolder(folder)
}

async function pathsOf(origin: string): Promise<string[]> {
  const page = await (await fetch(origin)).text()
  return [...page.matchAll(/href="(\/threads\/[^"]+)"/g)].map(([, path]) => path!)
}

async function takeForum(browser: Browser): Promise<void> {
  const page = await open(browser, '/', { width: 960, height: 400 }, 1.5)
  await page.locator('site-activity [part~=number]').first().waitFor()
  await take(page, 'forum.png')
}

async function takeDashboard(browser: Browser): Promise<void> {
  const page = await open(browser, '/admin/activity', { width: WIDTH, height: 1000 }, 1)
  for (const dimension of ['page', 'referrer', 'campaign', 'country', 'device']) {
    await page.locator(`[data-dimension=${dimension}] tbody tr`).first().waitFor()
  }
  await takePanels(page, 'header', '#history', 'dashboard.png')
  await takePanels(
    page,
    '[data-dimension=referrer]',
    '[data-dimension=country]',
    'dashboard-tops.png',
  )
  await page.locator('#operation > summary').click()
  await page.locator('#grid tbody tr').first().waitFor()
  await page.locator('#health .strip li').first().waitFor()
  await page.evaluate('scrollTo(0, 0)')
  await takePanels(page, '#grid', '#grid', 'dashboard-grid.png')
}

/** Takes the page from the top of an element to the bottom of another one. */
async function takePanels(page: Page, first: string, last: string, file: string): Promise<void> {
  const [top, bottom] = await Promise.all(
    [first, last].map((selector) => page.locator(selector).boundingBox()),
  )
  assert(top && bottom)
  const y = Math.max(0, top.y - MARGIN)
  const clip = { x: 0, y, width: WIDTH, height: bottom.y + bottom.height + MARGIN - y }
  await take(page, file, { clip, fullPage: true })
}

async function open(
  browser: Browser,
  path: string,
  viewport: { width: number; height: number },
  deviceScaleFactor: number,
): Promise<Page> {
  const page = await browser.newPage({
    viewport,
    deviceScaleFactor,
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'Etc/UTC',
  })
  await page.goto(forum.origin + path)
  return page
}

async function take(page: Page, file: string, options: PageScreenshotOptions = {}): Promise<void> {
  const path = join(FOLDER, file)
  await page.screenshot({ ...options, path })
  execFileSync('pngquant', [COLOURS, '--nofs', '--force', '--ext', '.png', '--speed', '1', path])
  console.log(`${path}: ${statSync(path).size} bytes`)
}
