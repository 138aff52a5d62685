/** A site on node:http2 with TLS, in Chromium: widget, reports and dashboard work as on HTTP/1. */
import assert from 'node:assert/strict'
import { createSecureServer } from 'node:http2'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { createActivity, memory, referrerHost, sqlite } from '../../src/index.js'
import { complaintsOf } from '../../src/support/browser.fixture.js'
import { BROWSER, listening } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startBrowser } from '../servers/browser.js'
import { certificate } from '../servers/certificate.js'

let browser: Browser
before(async () => {
  // Then the dashboard needs no `authorize`.
  process.env['NODE_ENV'] = 'development'
  browser = await startBrowser()
})
after(() => browser.close())

const PAGE =
  '<!doctype html><title>Page</title><link rel="icon" href="data:,">' +
  '<script type="module" src="/activity/widget.js"></script>' +
  '<site-activity src="/activity" seen></site-activity><a href="/next">next</a>'

test('widget, reports and dashboard work over HTTP/2', async () => {
  const [cache, database, log] = [memory(), sqlite(':memory:'), keptLog()]
  const grid = { cache, database, collect: false, logger: log } as const
  const activity = createActivity({ ...grid, dimensions: { referrer: referrerHost() } })
  const count = activity.middleware()
  const figures = activity.router({ mountPath: '/activity' })
  const dashboard = activity.dashboard({ mountPath: '/admin' })
  const server = createSecureServer(certificate(), (req, res) => {
    count(req, res)
    figures(req, res, () =>
      dashboard(req, res, () => {
        res.setHeader('Content-Type', 'text/html')
        res.end(PAGE)
      }),
    )
  })
  const settings = { ignoreHTTPSErrors: true, userAgent: BROWSER, locale: 'en' }
  const context = await browser.newContext(settings)
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints = complaintsOf(page)
  const seen = () => page.waitForResponse((one) => one.url().endsWith('/activity/seen'))
  await listening(server, async (port) => {
    const first = seen()
    await page.goto(`https://localhost:${port}/`, { waitUntil: 'load' })
    assert.equal((await first).status(), 204)
    await page.locator('site-activity').getByText('page views').waitFor()
    const spoken = 'performance.getEntriesByType("navigation")[0].nextHopProtocol'
    assert.equal(await page.evaluate(spoken), 'h2')
    const second = seen()
    await page.getByText('next').click()
    assert.equal((await second).status(), 204)
    await activity.flush()
    await activity.drain({ all: true })
    const range = { from: Date.now() - 86_400_000, to: Date.now() }
    const days = await activity.history({ ...range, by: 'day' })
    const sum = (field: 'pageViews' | 'seen' | 'visitors') =>
      days.reduce((total, day) => total + Number(day[field]), 0)
    assert.deepEqual([sum('pageViews'), sum('seen'), sum('visitors')], [2, 2, 1])
    assert.deepEqual(await activity.top('referrer', range), [
      { value: '(internal)', pageViews: 1, seen: 1 },
      { value: null, pageViews: 1, seen: 1 },
    ])
    await page.goto(`https://localhost:${port}/admin/`)
    await page.locator('[data-dimension=page]').getByText('/next').waitFor()
  })
  assert.deepEqual([complaints, log.lines], [[], []])
  await context.close()
  await activity.close()
  await Promise.all([cache.close(), database.close()])
})
