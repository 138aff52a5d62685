/**
 * A site behind a proxy that removes the path `/app`, in Chromium: served and seen views are of the
 * same pages, and what the package puts into pages finds its way.
 */
import assert from 'node:assert/strict'
import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import express, { type Request } from 'express'
import {
  type ActivityOptions,
  createActivity,
  createHits,
  lenientPath,
  memory,
  sqlite,
} from '../../src/index.js'
import { complaintsOf } from '../../src/support/browser.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER, serving, TO_A_PAGE } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../servers/browser.js'

const REMOVED = '/app'

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** Asks the site on `port` for what is below the path, and for `/` where that is all. */
function proxy(port: number) {
  return (req: IncomingMessage, res: ServerResponse): void => {
    const { method, headers, url = '' } = req
    const path = url.slice(REMOVED.length)
    if (!url.startsWith(REMOVED)) return void res.writeHead(404).end()
    const asked = request(
      // A kept connection may be closed by the site while a request is on its way to it.
      { port, method, headers, path: path.startsWith('/') ? path : `/${path}`, agent: false },
      (answer) => {
        res.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(res)
      },
    )
    // The page still asks when the site ends.
    asked.once('error', () => res.destroy())
    req.pipe(asked)
  }
}

const threadOf = ({ originalUrl, url, baseUrl }: Request) => {
  if (originalUrl.startsWith('/app/')) assert.equal(originalUrl, baseUrl + url)
  return /^\/app\/threads\/(\d+)/.exec(originalUrl)?.[1]
}

const PAGE =
  '<!doctype html><title>Page</title><img src="/app/hits/7.svg" alt="views">' +
  '<script type="module" src="/app/activity/widget.js"></script>' +
  '<site-activity seen></site-activity>'

/** A site behind the proxy, and what its figures are after `use`. */
async function behindProxy(options: ActivityOptions, use: (port: number) => Promise<void>) {
  const log = keptLog()
  const grid = {
    cache: memory(),
    database: sqlite(':memory:'),
    collect: false,
    logger: log,
  } as const
  const paths = { ...grid, publicPath: REMOVED }
  const activity = createActivity({ ...paths, ...options })
  const hits = createHits({ ...paths, name: 'threads' })
  const seen = createActivity({ ...grid, count: 'seen' })
  const seenHits = createHits({ ...grid, name: 'threads', count: 'seen' })
  const all = [activity, hits, seen, seenHits]
  const countThread = hits.middleware({ item: threadOf })

  const app = express()
  app.use(activity.middleware())
  app.use('/activity', countThread, activity.router())
  app.use('/hits', hits.router({ allow: ['7'] }))
  app.use('/admin', activity.dashboard({ authorize: () => true, hits: [hits] }))
  app.post('/api', (req, res) => {
    activity.record(req, { page: '/said' })
    activity.record(req)
    res.end()
  })
  app.use(countThread, (_req, res) => void res.send(PAGE))
  try {
    await serving(app, (port) => serving(proxy(port), use))
    for (const one of all) {
      await one.flush()
      await one.drain({ all: true })
    }
    const to = Date.now()
    const range = { from: to - 86_400_000, to }
    const pages = async (of: typeof activity) =>
      (await of.top('page', range)).map(({ value, pageViews }) => [value, pageViews])
    return {
      served: await pages(activity),
      seen: await pages(seen),
      hits: [await hits.count('7'), await seenHits.count('7')],
      log: log.lines,
    }
  } finally {
    await Promise.all(all.map((one) => one.close()))
    await Promise.all([grid.cache.close(), grid.database.close()])
  }
}

test('pages are stored as visitors see them, served and seen', async () => {
  const context = await browser.newContext({ userAgent: BROWSER })
  const visited = ['/app', '/app/', '/app/news?page=2', '/app/app', '/app/threads/7']
  const found = await behindProxy({}, async (port) => {
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    const complaints = complaintsOf(page)
    for (const path of visited) {
      const reported = page.waitForResponse((one) => one.url().endsWith('/app/activity/seen'))
      await page.goto(`http://127.0.0.1:${port}${path}`, { waitUntil: 'load' })
      assert.equal((await reported).status(), 204)
      await page.locator('site-activity').getByText('page views').waitFor()
      assert(await page.evaluate('document.images[0].naturalWidth > 0'), 'the badge is shown')
    }
    assert.deepEqual(complaints, [])
  })
  assert.deepEqual(found.served, [
    ['/app/', 2],
    ['/app/app', 1],
    ['/app/news', 1],
    ['/app/threads/7', 1],
  ])
  assert.deepEqual(found.seen, found.served)
  assert.deepEqual(found.hits, [1, 1])
  assert.deepEqual(found.log, [])
})

test('the dashboard links to the page', async () => {
  const context = await browser.newContext({ userAgent: BROWSER, locale: 'en' })
  await behindProxy({}, async (port) => {
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    const complaints = complaintsOf(page)
    const shown = new URLSearchParams({ dimension: 'page', value: '/app/news' })
    await page.goto(`http://127.0.0.1:${port}/app/admin?${shown}`)
    await page.getByText('Open the page').click()
    await eventually('the page is open', () => page.url() === `http://127.0.0.1:${port}/app/news`)
    await page.locator('site-activity').getByText('page views').waitFor()
    assert.deepEqual(complaints, [])
  })
})

test('what the site says stays as it is, and functions see both addresses', async () => {
  const views = (options: ActivityOptions) =>
    behindProxy(options, async (port) => {
      const at = `http://127.0.0.1:${port}/app`
      const headers = { ...TO_A_PAGE, 'sec-fetch-site': 'same-origin' }
      await (await fetch(`${at}/News/`, { headers })).text()
      await (await fetch(`${at}/api`, { method: 'POST', headers })).text()
      for (const page of ['/app/News/', '/other']) {
        const body = JSON.stringify({ page })
        await (await fetch(`${at}/activity/seen`, { method: 'POST', headers, body })).text()
      }
    })
  for (const [options, served, seen] of [
    [
      {},
      [
        ['/app/News/', 1],
        ['/app/api', 1],
        ['/said', 1],
      ],
      [
        ['/app/News/', 1],
        ['/other', 1],
      ],
    ],
    [
      { page: lenientPath },
      [
        ['/app/api', 1],
        ['/app/news', 1],
        ['/said', 1],
      ],
      [
        ['/app/news', 1],
        ['/other', 1],
      ],
    ],
    [
      { page: ({ baseUrl, path }) => `${baseUrl} ${path}` },
      [
        ['/app /News/', 1],
        ['/app /api', 1],
        ['/said', 1],
      ],
      [
        [' /other', 1],
        ['/app /News/', 1],
      ],
    ],
  ] as readonly (readonly [ActivityOptions, unknown[], unknown[]])[]) {
    const found = await views(options)
    assert.deepEqual(found.served, served)
    assert.deepEqual(found.seen, seen)
    assert.deepEqual(found.log, [])
  }
})
