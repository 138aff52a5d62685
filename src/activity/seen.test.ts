/** The table of docs/seen.md, row by row, in a real browser (Chromium). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import express, { type Express } from 'express'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { startBrowser, startWholeBrowser } from '../../test/servers/browser.js'
import { inPlainBrowser } from '../../test/servers/plain-browser.js'
import { complaintsOf } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { requestViews } from './middleware.js'
import { activitySettings } from './options.js'
import { activityRouter } from './router.js'

const POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; frame-src 'self'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'"

const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

/** A browser that says itself that nobody looks is a bot. */
const AS_A_VISITOR = [`--user-agent=${BROWSER}`]

let browser: Browser
let withTabs: Browser
before(async () => {
  ;[browser, withTabs] = await Promise.all([
    startBrowser({
      args: AS_A_VISITOR,
      // Playwright switches the cache of left pages off.
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
    }),
    startWholeBrowser({ args: AS_A_VISITOR }),
  ])
})
after(() => Promise.all([browser.close(), withTabs.close()]))

interface Viewed {
  readonly page: string
  readonly visitor: string | undefined
}

/** The site that the rows visit, and what it has counted. */
class Site {
  /** Pages, and who has viewed them, as far as that is known. */
  readonly served: Viewed[] = []
  readonly seen: Viewed[] = []
  /** What pages have told of themselves once they had loaded, such as `/news hidden`. */
  readonly loaded: string[] = []
  /** Pages whose answers have been sent. */
  readonly fetched: string[] = []
  /** Whether pages that wait for it may go on. */
  goesOn = false
  readonly app: Express = express()
  port = 0
  /** The origin of a cache in front of the site, where there is one. */
  cache = ''
  /** Shows the tab with the page, or the one before it. */
  show?: (state: 'hidden' | 'visible') => Promise<unknown>

  constructor() {
    const { app } = this
    const logger = new BurstLogger(keptLog(), () => 0)
    const { middleware, seen } = requestViews(
      activitySettings({ collect: false }),
      ({ measure, page }, visitor) => {
        if (measure === 'served' || measure === 'seen') this[measure].push({ page, visitor })
      },
      logger,
    )
    app.use((_req, res, next) => {
      res.set('Content-Security-Policy', POLICY)
      next()
    })
    app.use(middleware())
    const stats = () => Promise.reject(new Error('none'))
    app.use(
      '/activity',
      activityRouter({ stats, statsTtlSeconds: 1, publicPath: '', seen, logger }),
    )
    app.get('/probe.js', (_req, res) => void res.type('js').send(PROBE))
    app.get('/follow.js', (_req, res) => void res.type('js').send(FOLLOW))
    app.post('/loaded', express.text(), (req, res) => {
      this.loaded.push(String(req.body))
      res.end()
    })
    app.get('/goes-on', async (_req, res) => {
      await eventually('it may go on', () => this.goesOn)
      res.end()
    })
    app.get('/framing', (_req, res) => void res.send(pageWith('<iframe src="/news"></iframe>')))
    app.get('/leading', (_req, res) => {
      res.set(
        'Content-Security-Policy',
        POLICY.replace('script-src', "script-src 'inline-speculation-rules'"),
      )
      res.send(
        pageWith(
          '<script type="speculationrules">' +
            '{"prerender":[{"source":"list","urls":["/news"]}]}</script>' +
            '<script src="/follow.js"></script>',
        ),
      )
    })
    app.get('/ahead', (_req, res) => {
      // The policy of the other pages lets none be fetched in advance.
      res.removeHeader('Content-Security-Policy')
      res.send(pageWith('<link rel="prefetch" href="/news">'))
    })
    app.get('/forgotten', (_req, res) => {
      res.set('Cache-Control', 'no-store')
      res.send(pageWith('<script src="/unload.js"></script>'))
    })
    app.get('/unload.js', (_req, res) => void res.type('js').send('onunload = () => {}'))
    app.get('/missing', (_req, res) => void res.status(404).send(pageWith('')))
    app.get(/^\/news/, (req, res) => {
      res.on('finish', () => this.fetched.push(req.path))
      if (req.headers['sec-purpose'] === 'prefetch') res.set('Cache-Control', 'private, max-age=60')
      res.send(pageWith(''))
    })
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }
}

/** Says when a page has loaded, and whether it is looked at, after all that happens then. */
const PROBE = `
  const tell = () => setTimeout(async () => {
    const body = location.pathname + ' ' + document.visibilityState
    // A report that was sent before has time to arrive.
    await fetch('/probe.js', { cache: 'no-store' })
    await fetch('/loaded', { method: 'POST', body })
  })
  addEventListener('load', tell)
  document.addEventListener('visibilitychange', tell)
`
/** Leaves the page when the site says so. */
const FOLLOW = `fetch('/goes-on').then(() => { location.href = '/news' })`

const pageWith = (body: string): string =>
  '<!doctype html><title>x</title><script type="module" src="/activity/seen.js"></script>' +
  `<script src="/probe.js"></script>${body}`

/** A page with the element, twice. */
const ELEMENT =
  '<!doctype html><title>x</title><script type="module" nonce="once" src="/activity/widget.js">' +
  '</script><site-activity src="/activity/" seen></site-activity><site-activity seen>' +
  '</site-activity>'

/** A tab of a visitor, on the site. */
interface Scene {
  readonly site: Site
  readonly page: Page
  readonly context: BrowserContext
  open(path: string): Promise<void>
}

/** What a visitor does, and how many views are counted by it. */
interface Step {
  readonly step: (scene: Scene) => Promise<unknown>
  readonly served: number
  readonly seen: number
}

interface Row extends Step {
  readonly context?: BrowserContextOptions
  /** Has something ready while the row runs. */
  readonly around?: (site: Site, play: () => Promise<void>) => Promise<void>
  /** Comes before what the row is about. */
  readonly first?: Step
  /** How many different visitors there are, where that is what the row is about. */
  readonly visitors?: number
  /** Runs without the browser's Navigation API, too. */
  readonly alsoByHistory?: true
}

const onNews = ({ open }: Scene) => open('/news')
const ON_NEWS: Step = { step: onNews, served: 1, seen: 1 }
/** Opens one page after the other. */
const opening =
  (...paths: string[]) =>
  async ({ open }: Scene) => {
    for (const path of paths) await open(path)
  }
const run =
  (script: string) =>
  async ({ page }: Scene) =>
    page.evaluate(`{ ${script} }`)

/** Goes along the history, to a page that the browser may have kept and that then loads nothing. */
const along =
  (steps: number) =>
  async ({ page }: Scene) => {
    const from = page.url()
    // The page may be left before an answer that waits for it has come.
    await page.evaluate(`setTimeout(() => history.go(${steps})), 0`)
    await page.waitForURL((url) => url.href !== from, { waitUntil: 'commit' })
  }

const ROWS: { readonly [row: string]: Row } = {
  'A page loads': { step: onNews, served: 1, seen: 1 },
  'It is loaded again': { first: ON_NEWS, step: ({ page }) => page.reload(), served: 1, seen: 1 },
  'Back, to a page that the browser has kept': {
    first: { step: opening('/news', '/news/1'), served: 2, seen: 2 },
    step: along(-1),
    served: 0,
    seen: 1,
  },
  'Forward again': {
    first: {
      step: async (scene) => {
        await opening('/news', '/news/1')(scene)
        await along(-1)(scene)
      },
      served: 2,
      seen: 3,
    },
    step: along(1),
    served: 0,
    seen: 1,
  },
  'Back, to a page that the browser has not kept': {
    first: { step: opening('/forgotten', '/news'), served: 2, seen: 2 },
    step: along(-1),
    served: 1,
    seen: 1,
  },
  '`pushState` to another path': {
    first: ON_NEWS,
    step: run(`history.pushState({}, '', '/news/1')`),
    served: 0,
    seen: 1,
    alsoByHistory: true,
  },
  '`pushState` to another query': {
    first: ON_NEWS,
    step: run(`history.pushState({}, '', '/news?page=2#top')`),
    served: 0,
    seen: 1,
    alsoByHistory: true,
  },
  '`pushState` to the same address': {
    first: ON_NEWS,
    step: run(`history.pushState({}, '', '/news')`),
    served: 0,
    seen: 0,
    alsoByHistory: true,
  },
  'Back, to the page before `pushState`': {
    first: {
      step: async (scene) => {
        await onNews(scene)
        await run(`history.pushState({}, '', '/news/1')`)(scene)
      },
      served: 1,
      seen: 2,
    },
    step: along(-1),
    served: 0,
    seen: 1,
    alsoByHistory: true,
  },
  '`replaceState`': {
    first: ON_NEWS,
    step: run(`history.replaceState({}, '', '/news/1'); history.replaceState({}, '', '/news/2')`),
    served: 0,
    seen: 0,
    alsoByHistory: true,
  },
  'A hash, after `replaceState` or not': {
    first: ON_NEWS,
    step: async (scene) => {
      await run(`location.hash = 'a'; history.replaceState({}, '', '/news/1')`)(scene)
      await run(`location.hash = 'b'`)(scene)
      await scene.page.evaluate('new Promise((done) => { onpopstate = done; history.back() }), 0')
    },
    served: 0,
    seen: 0,
    alsoByHistory: true,
  },
  'A page opens in a hidden tab': {
    around: twoTabs,
    step: showing('hidden'),
    served: 1,
    seen: 0,
  },
  'That tab is shown': {
    around: twoTabs,
    first: { step: showing('hidden'), served: 1, seen: 0 },
    step: showing('visible'),
    served: 0,
    seen: 1,
  },
  'It is hidden, and shown again': {
    around: twoTabs,
    first: { step: showing('hidden', 'visible'), served: 1, seen: 1 },
    step: showing('hidden', 'visible'),
    served: 0,
    seen: 0,
  },
  'A page that was fetched in advance is opened': {
    first: {
      step: async ({ site, open }) => {
        await open('/ahead')
        await eventually('/news is fetched', () => site.fetched.includes('/news'))
      },
      served: 1,
      seen: 1,
    },
    step: onNews,
    served: 0,
    seen: 1,
  },
  'The browser prerenders a page': {
    around: prerendered,
    step: ({ site }) => told(site, '/news hidden'),
    served: 0,
    seen: 0,
  },
  'The prerendered page is shown': {
    around: prerendered,
    first: { step: ({ site }) => told(site, '/news hidden'), served: 0, seen: 0 },
    step: async ({ site }) => {
      site.goesOn = true
      await told(site, '/news visible')
    },
    served: 0,
    seen: 1,
  },
  'A cache in front answers': {
    around: behindCache,
    first: { step: ({ site, page }) => page.goto(`${site.cache}/news`), served: 1, seen: 1 },
    step: ({ site, page }) => page.goto(`${site.cache}/news`),
    served: 0,
    seen: 1,
  },
  'The script is blocked': {
    step: async (scene) => {
      await scene.page.route('**/seen.js', (route) => route.abort())
      await onNews(scene)
    },
    served: 1,
    seen: 0,
  },
  'JavaScript is off': {
    context: { javaScriptEnabled: false },
    step: onNews,
    served: 1,
    seen: 0,
  },
  'Two tabs': {
    step: async ({ site, context, open }) => {
      await open('/news')
      const other = await context.newPage()
      await other.goto(`${site.origin}/news`)
    },
    served: 2,
    seen: 2,
    visitors: 1,
  },
  'Global Privacy Control': {
    context: { extraHTTPHeaders: { 'sec-gpc': '1' } },
    step: onNews,
    served: 1,
    seen: 1,
    visitors: 0,
  },
  'A bot that runs scripts': {
    context: { userAgent: BOT },
    step: onNews,
    served: 0,
    seen: 0,
  },
  'A page in a frame': { step: ({ open }) => open('/framing'), served: 0, seen: 0 },
  'A page with an error status': { step: ({ open }) => open('/missing'), served: 0, seen: 1 },
}

/** Pages that only lead to the one that a row is about. */
const BESIDE = new Set(['/leading', '/framing'])

/** Waits until a page has told something of itself once more. */
async function told(site: Site, what: string): Promise<void> {
  await eventually(what, () => site.loaded.includes(what))
  site.loaded.length = 0
}

/** Shows and hides the tab with the page; first of all it is opened, hidden. */
function showing(...states: ('hidden' | 'visible')[]) {
  return async ({ site }: Scene): Promise<void> => {
    for (const state of states) {
      await site.show?.(state)
      await told(site, `/news ${state}`)
    }
  }
}

/** Has a window with two tabs. Playwright keeps each tab of its own in front. */
async function twoTabs(site: Site, play: () => Promise<void>): Promise<void> {
  const session = await withTabs.newBrowserCDPSession()
  const { browserContextId } = await session.send('Target.createBrowserContext')
  const opened = async (url: string, background: boolean) => {
    const options = { url, browserContextId, background }
    return (await session.send('Target.createTarget', options)).targetId
  }
  const front = await opened('about:blank', false)
  let behind: string | undefined
  site.show = async (state) => {
    behind ??= await opened(`${site.origin}/news`, true)
    if (state === 'visible') await session.send('Target.activateTarget', { targetId: behind })
    else await session.send('Target.activateTarget', { targetId: front })
  }
  try {
    await play()
  } finally {
    await session.send('Target.disposeBrowserContext', { browserContextId })
    await session.detach()
  }
}

function prerendered(site: Site, play: () => Promise<void>): Promise<void> {
  return inPlainBrowser(`${site.origin}/leading`, AS_A_VISITOR, play)
}

/** A proxy in front of the site that keeps its pages. */
async function behindCache(site: Site, play: () => Promise<void>): Promise<void> {
  const kept = new Map<string, { headers: Headers; body: string }>()
  const proxy = express()
  proxy.use(express.raw({ type: '*/*' }), async (req, res) => {
    const page = kept.get(req.url)
    if (req.method === 'GET' && page) {
      res.setHeaders(page.headers).send(page.body)
      return
    }
    const answer = await fetch(site.origin + req.url, {
      method: req.method,
      headers: Object.entries(req.headers).filter(
        (header): header is [string, string] =>
          !/^(?:connection|content-length|host)$/.test(header[0]),
      ),
      ...(req.method === 'POST' && { body: req.body }),
    })
    const body = await answer.text()
    if (req.url.startsWith('/news')) kept.set(req.url, { headers: answer.headers, body })
    res.status(answer.status).setHeaders(answer.headers).send(body)
  })
  await serving(proxy, async (port) => {
    site.cache = `http://127.0.0.1:${port}`
    await play()
  })
}

async function holds(row: Row, script: string | undefined): Promise<void> {
  const site = new Site()
  await serving(site.app, async (port) => {
    site.port = port
    const context = await browser.newContext(row.context)
    const runsScripts = row.context?.javaScriptEnabled !== false
    if (script) await context.addInitScript(script)
    const page = await context.newPage()
    const scene: Scene = {
      site,
      page,
      context,
      open: async (path) => {
        const before = site.loaded.length
        await page.goto(site.origin + path)
        if (runsScripts) await eventually('it tells', () => site.loaded.length > before)
      },
    }
    const counted = (views: readonly Viewed[]) =>
      views.filter(({ page }) => !BESIDE.has(page)).length
    const play = async () => {
      for (const { step, served, seen } of row.first ? [row.first, row] : [row]) {
        const before = [counted(site.served), counted(site.seen)] as const
        const now = () => ({
          served: counted(site.served) - before[0],
          seen: counted(site.seen) - before[1],
        })
        await step(scene)
        await eventually('it counts', () => now().served >= served && now().seen >= seen)
        if (runsScripts) await settled(page)
        assert.deepEqual(now(), { served, seen })
      }
      if (row.visitors === undefined) return
      const visitors = [...site.served, ...site.seen].flatMap(({ visitor }) => visitor ?? [])
      assert.equal(new Set(visitors).size, row.visitors)
    }
    try {
      await (row.around ? row.around(site, play) : play())
    } finally {
      site.goesOn = true
      await context.close()
    }
  })
}

/** Resolves when what the page has sent so far has arrived. */
async function settled(page: Page): Promise<void> {
  // The row uses tabs of its own.
  if (page.url() === 'about:blank') return
  const asked = `fetch('/probe.js', { cache: 'no-store' })`
  await page.evaluate(`new Promise((done) => setTimeout(done)).then(() => ${asked})`)
  await page.evaluate(asked)
}

test('the table of the docs has these rows', () => {
  const page = readFileSync(new URL('../../docs/seen.md', import.meta.url), 'utf8')
  const section = /^## What is counted when\n(.*?)^#/ms.exec(page)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| (.*?) \| (\d+) \| (\d+) \|/gm)].map((row) => row.slice(1))
  assert.deepEqual(
    rows,
    Object.entries(ROWS).map(([row, { served, seen }]) => [row, `${served}`, `${seen}`]),
  )
})

for (const [row, what] of Object.entries(ROWS)) {
  test(`${row}: served ${what.served}, seen ${what.seen}`, () => holds(what, undefined))
  if (!what.alsoByHistory) continue
  test(`${row}, in a browser without the Navigation API`, () =>
    holds(what, 'delete globalThis.navigation'))
}

test('a report has the address before as its referrer, however long both are', async () => {
  const site = new Site()
  await serving(site.app, async (port) => {
    site.port = port
    const page = await browser.newPage()
    const reports: { page: string; referrer: string }[] = []
    page.on('request', (one) => {
      if (one.method() === 'POST' && one.url().endsWith('/seen')) reports.push(one.postDataJSON())
    })
    await page.addInitScript(`{
      const original = fetch
      globalThis.kept = []
      globalThis.fetch = (to, init) => {
        if (String(to).endsWith('/seen')) kept.push(init.keepalive)
        return original(to, init)
      }
    }`)
    const long = `/news?${'a'.repeat(5_000)}`
    await page.goto(site.origin + long, { referer: `${site.origin}/missing` })
    const areSeen = (count: number) =>
      eventually('it is seen', () => site.seen.length === count && reports.length === count)
    await areSeen(1)
    for (const [at, script] of [
      `history.pushState({}, '', '/news/1')`,
      `history.replaceState({}, '', '/news/2'); history.pushState({}, '', '/news/3')`,
      `history.back()`,
    ].entries()) {
      await page.evaluate(`{ ${script} }`)
      await areSeen(at + 2)
    }
    const { origin } = site
    assert.deepEqual(reports, [
      { page: long.slice(0, 2_048), referrer: `${origin}/missing` },
      { page: '/news/1', referrer: (origin + long).slice(0, 512) },
      { page: '/news/3', referrer: `${origin}/news/2` },
      { page: '/news/2', referrer: `${origin}/news/3` },
    ])
    // A report that is not kept alive does not arrive where the visitor leaves at once.
    assert.deepEqual(await page.evaluate('kept'), Array(4).fill(true))
    await page.close()
  })
})

test('a view is reported once the page has loaded, and not before', async () => {
  const site = new Site()
  site.app.get('/slow', (_req, res) => {
    res.send(
      '<!doctype html><title>x</title><script async src="/goes-on"></script>' +
        '<script type="module" src="/activity/seen.js"></script>',
    )
  })
  await serving(site.app, async (port) => {
    site.port = port
    const page = await browser.newPage()
    try {
      await page.goto(`${site.origin}/slow`, { waitUntil: 'domcontentloaded' })
      await page.evaluate(`import('/activity/seen.js').then(() => 0)`)
      await settled(page)
      assert.deepEqual([await page.evaluate('document.readyState'), site.seen], ['interactive', []])
      site.goesOn = true
      await eventually('it is seen', () => site.seen.length === 1)
    } finally {
      site.goesOn = true
      await page.close()
    }
  })
})

const NONCE = POLICY.replace("script-src 'self'", "script-src 'nonce-once'")

for (const policy of [POLICY, NONCE]) {
  test(`one line loads the script, once, under ${policy.split('; ')[1]}`, async () => {
    const site = new Site()
    site.app.get('/element', (_req, res) => {
      res.set('Content-Security-Policy', policy).send(ELEMENT)
    })
    await serving(site.app, async (port) => {
      site.port = port
      const page = await browser.newPage()
      const complaints = complaintsOf(page)
      await page.goto(`${site.origin}/element`)
      await eventually('it is seen', () => site.seen.length > 0)
      await page.evaluate(`history.pushState({}, '', '/element/1'), 0`)
      await settled(page)
      assert.deepEqual(
        site.seen.map((view) => view.page),
        ['/element', '/element/1'],
      )
      // There are no figures.
      assert.deepEqual(
        complaints.filter((one) => !one.includes('503')),
        [],
      )
      await page.close()
    })
  })
}
