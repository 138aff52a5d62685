/**
 * Takes the pictures of the README and the docs, `docs/*.png`, and of each state of the dashboard,
 * `tmp/states/*.png`: `npm run screenshot`. The demo has an invented history. The visits of the
 * last seconds are real requests of simulated visitors. The package has the pictures of the README,
 * so they have few colours: needs the program pngquant.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page, PageScreenshotOptions } from 'playwright-core'
import { startTraffic } from '../../examples/forum/traffic.js'
import { startBrowser } from '../servers/browser.js'
import { onStage } from '../../src/dashboard/stage.fixture.js'
import { STATES } from '../../src/dashboard/states.fixture.js'
import { startForum } from './forum.js'

const FOLDER = fileURLToPath(new URL('../../docs', import.meta.url))
const COLOURS = '32'
/** Time for which visitors come before the pictures are taken. */
const VISITS_MS = 20_000
/** Simulated visitors, beside those of the forum itself: as many again, so often. */
const MORE_CROWDS = 3
const DESKTOP = { width: 1440, height: 900 }
const STATES_FOLDER = fileURLToPath(new URL('../../tmp/states', import.meta.url))

const [forum, browser] = await Promise.all([startForum(['--history']), startBrowser()])
const stops: (() => void)[] = []
try {
  const paths = await pathsOf(forum.origin)
  for (let i = 0; i < MORE_CROWDS; i++) stops.push(startTraffic(forum.origin, paths))
  await new Promise((resolve) => setTimeout(resolve, VISITS_MS))
  await takeForum(browser)
  await takeDashboard(browser)
  await takeStates(browser)
} finally {
  for (const stop of stops) stop()
  await browser.close()
  await forum.stop()
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
  const page = await open(browser, '/admin/activity/?range=30d', DESKTOP, 1)
  await page.locator('[data-dimension=device] tbody tr').first().waitFor()
  const painted = await page.evaluate(`new Promise((resolve) => new PerformanceObserver((list) =>
    resolve(list.getEntries().at(-1).startTime)).observe({
      type: 'largest-contentful-paint', buffered: true }))`)
  console.log(
    `The largest part of the dashboard is painted after ${Math.round(Number(painted))} ms`,
  )
  await take(page, 'dashboard.png')
  await page.locator('#operation').click()
  await page.locator('#grid tbody tr').first().waitFor()
  await page.locator('.strip li').first().waitFor()
  await take(page, 'dashboard-operation.png')
}

/** Pictures of the states, on a desktop and a phone, light and dark. */
async function takeStates(browser: Browser): Promise<void> {
  mkdirSync(STATES_FOLDER, { recursive: true })
  for (const { name, query = '', large = false, arrange } of STATES) {
    await onStage(
      browser,
      { viewport: DESKTOP },
      async (scene) => {
        await arrange(scene)
        for (const colorScheme of ['light', 'dark'] as const) {
          await scene.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          for (const width of [DESKTOP.width, 375]) {
            await scene.page.setViewportSize({ width, height: DESKTOP.height })
            const path = join(STATES_FOLDER, `${name}-${colorScheme}-${width}.png`)
            await scene.page.screenshot({ path, fullPage: true })
          }
        }
      },
      { query, large, status: /./ },
    )
  }
  console.log(`${STATES_FOLDER}: the states of the dashboard`)
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
    // Else the chart may still be pale.
    reducedMotion: 'reduce',
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
