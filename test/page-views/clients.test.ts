/**
 * What counts of what libraries and browsers send: real programs in Chromium, over HTTPS, where the
 * browser says what it fetches, and over HTTP, where it does not.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { requestViews } from '../../src/activity/middleware.js'
import { activitySettings } from '../../src/activity/options.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER } from '../../src/support/http.fixture.js'
import { BurstLogger, SILENT } from '../../src/support/logger.js'
import { startBrowser } from '../servers/browser.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** No page of this name is on this machine, so plain HTTP is not taken for a safe origin. */
const HOST = 'site.test'

interface Client {
  readonly scripts?: readonly string[]
  /** The page that it runs in. */
  readonly body: string
  /** Elements to click, each with the path that is asked for, and whether that counts. */
  readonly clicks: readonly (readonly [selector: string, path: string, counts: boolean])[]
  /** Over HTTP, where that differs. */
  readonly plain?: Readonly<Record<string, boolean>>
}

const link = (id: string, href = `/${id}`, attributes = ''): string =>
  `<a id="${id}" href="${href}" ${attributes}>${id}</a>`
const button = (id: string, script: string): string =>
  `<button id="${id}" onclick="${script}">${id}</button>`

function htmx(library: string): Client {
  return {
    scripts: [`${library}/dist/htmx.min.js`],
    body:
      '<div id="part"></div><button id="get" hx-get="/get" hx-target="#part">get</button>' +
      link('boosted', '/boosted', 'hx-boost="true"'),
    clicks: [
      ['#get', '/get', false],
      ['#boosted', '/boosted', true],
    ],
  }
}

const CLIENTS: Readonly<Record<string, Client>> = {
  'a link, opened in a tab': {
    body: link('tab', '/tab', 'target="_blank"'),
    clicks: [['#tab', '/tab', true]],
  },
  jQuery: {
    scripts: ['jquery/dist/jquery.min.js'],
    body:
      '<div id="part"></div>' +
      button('load', "$('#part').load('/load')") +
      button('get', "$.get('/get', () => {}, 'html')"),
    clicks: [
      ['#load', '/load', false],
      ['#get', '/get', false],
    ],
  },
  'fetch()': {
    body: button('fetch', "fetch('/fetch')") + button('html', "fetch('/html', AS_HTML)"),
    clicks: [
      ['#fetch', '/fetch', false],
      ['#html', '/html', false],
    ],
    // It says nothing else than a navigation of an old browser does.
    plain: { '/html': true },
  },
  'htmx 2': htmx('htmx2'),
  'htmx 4': htmx('htmx.org'),
  Turbo: {
    scripts: ['@hotwired/turbo/dist/turbo.es2017-umd.js'],
    body: `<turbo-frame id="frame">${link('inside')}</turbo-frame>${link('drive')}`,
    clicks: [
      ['#inside', '/inside', false],
      ['#drive', '/drive', true],
    ],
  },
  Unpoly: {
    scripts: ['unpoly/unpoly.min.js'],
    body:
      '<main>main</main><aside id="side">side</aside>' +
      button('render', "up.render({ target: '#side', url: '/render' })") +
      button('reload', "up.reload('#side', { url: '/reload' })") +
      link('fragment', '/fragment', 'up-target="#side"') +
      link('follow', '/follow', 'up-follow'),
    clicks: [
      ['#render', '/render', false],
      ['#reload', '/reload', false],
      ['#fragment', '/fragment', false],
      ['#follow', '/follow', true],
    ],
  },
  'alpine-ajax': {
    scripts: ['@imacrayon/alpine-ajax/dist/cdn.min.js', 'alpinejs/dist/cdn.min.js'],
    body: `<div x-data><div id="part"></div>${link('ajax', '/ajax', 'x-target="part"')}</div>`,
    clicks: [['#ajax', '/ajax', false]],
  },
  PJAX: {
    scripts: ['pjax/pjax.min.js'],
    body:
      `<div id="part" class="part">${link('pjax')}</div>` +
      "<script>new Pjax({ elements: '#pjax', selectors: ['title', '.part'] })</script>",
    clicks: [['#pjax', '/pjax', true]],
  },
  swup: {
    scripts: ['swup/dist/Swup.umd.js'],
    body:
      `<main id="swup" class="transition-main">${link('go')}</main>` +
      '<script>new Swup({ animationSelector: false })</script>',
    clicks: [['#go', '/go', true]],
  },
  'a service worker': {
    body:
      `<script>navigator.serviceWorker?.register('/worker.js')</script>` +
      button('read', "fetch('/read')") +
      link('worked'),
    clicks: [
      ['#read', '/read', false],
      ['#worked', '/worked', true],
    ],
  },
  'what pages embed': {
    body:
      button('source', "new EventSource('/source')") +
      button('iframe', "add('<iframe src=/iframe></iframe>')") +
      button('object', "add('<object data=/object type=text/html></object>')") +
      button('embed', "add('<embed src=/embed type=text/html>')"),
    clicks: [
      ['#source', '/source', false],
      ['#iframe', '/iframe', false],
      ['#object', '/object', false],
      ['#embed', '/embed', false],
    ],
    // They say what a navigation says.
    plain: { '/iframe': true, '/object': true, '/embed': true },
  },
  'a link that saves its page': {
    body: link('saved', '/saved', 'download'),
    clicks: [['#saved', '/saved', false]],
  },
}

const HEAD =
  '<title>Start</title><script>const AS_HTML = { headers: { Accept: "text/html" } };' +
  'function add(html) { document.body.insertAdjacentHTML("beforeend", html) }</script>'

/** Takes the place of the page that it fetches. */
const WORKER = `
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()))
self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`

/** A site with a page for each client. All other pages are what the clients ask for. */
function site() {
  const asked: string[] = []
  const counted: string[] = []
  const { middleware } = requestViews(
    activitySettings({ collect: false }),
    ({ page }) => counted.push(page),
    new BurstLogger(SILENT, () => 0),
  )
  const app = express()
  app.get('/library', (req, res) => {
    res.sendFile(join(PACKAGES, String(req.query['file'])))
  })
  app.get('/worker.js', (_req, res) => void res.type('js').send(WORKER))
  app.use(middleware())
  app.get('/favicon.ico', (_req, res) => void res.status(404).end())
  app.get('/start/:name', (req, res) => {
    const { scripts = [], body } = CLIENTS[req.params.name]!
    const head = scripts.map((file) => `<script defer src="/library?file=${file}"></script>`)
    const inline = body.replaceAll('<script>new', '<script type="module">new')
    res.send(
      `<!doctype html><html><head>${HEAD}${head.join('')}</head><body>${inline}</body></html>`,
    )
  })
  app.use((req, res) => {
    res.on('close', () => asked.push(req.path))
    res.send(
      '<!doctype html><title>Page</title><main id="swup" class="transition-main">new</main>' +
        '<aside id="side">new</aside><div id="part" class="part">new</div>' +
        '<turbo-frame id="frame">new</turbo-frame>',
    )
  })
  return { app, asked, counted }
}

const folder = temporaryFolder('certificate')
let browser: Browser
before(async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const written = ['-nodes', '-keyout', key, '-out', cert, '-days', '2', '-subj', `/CN=${HOST}`]
  execFileSync('openssl', [...request, ...written], { stdio: 'ignore' })
  browser = await startBrowser({
    args: [`--host-resolver-rules=MAP ${HOST} 127.0.0.1`, '--ignore-certificate-errors'],
  })
})
after(async () => {
  await browser.close()
  removeFolder(folder)
})

const SERVERS: Readonly<Record<'https' | 'http', (app: RequestListener) => Server>> = {
  https: (app) =>
    createServer(
      {
        key: readFileSync(join(folder, 'key.pem')),
        cert: readFileSync(join(folder, 'cert.pem')),
      },
      app,
    ),
  http: (app) => createPlainServer(app),
}

for (const scheme of ['https', 'http'] as const) {
  test(`over ${scheme}: each client counts where it goes to a page, and nowhere else`, async () => {
    const { app, asked, counted } = site()
    const server = SERVERS[scheme](app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `${scheme}://${HOST}:${(server.address() as AddressInfo).port}`
    const failed: string[] = []
    try {
      for (const [name, { clicks, plain = {} }] of Object.entries(CLIENTS)) {
        // A service worker stays in its context.
        const context = await browser.newContext({ ignoreHTTPSErrors: true, userAgent: BROWSER })
        for (const [selector, path, counts] of clicks) {
          asked.length = counted.length = 0
          const page = await context.newPage()
          await page.goto(`${origin}/start/${encodeURIComponent(name)}`, { waitUntil: 'load' })
          if (name === 'a service worker' && scheme === 'https') await isControlled(page)
          await page.locator(selector).click()
          await eventually(`${name} asks for ${path}`, () => asked.includes(path))
          const wanted = (scheme === 'http' ? plain[path] : undefined) ?? counts
          const found = counted.filter((one) => one === path).length
          if (found !== Number(wanted)) failed.push(`${name}: ${path} counts ${found} times`)
          await page.close()
        }
        await context.close()
      }
      assert.deepEqual(failed, [])
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
}

/** Waits until the page's requests go through its service worker. */
async function isControlled(page: Page): Promise<void> {
  await page.waitForFunction('navigator.serviceWorker.controller !== null')
}
