/** The widget in a real browser (Chromium), under the strictest policy it is made for. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { BROWSER_TIME_ZONE, startBrowser } from '../../test/servers/browser.js'
import { complaintsOf, stopWaiting } from '../support/browser.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { serving } from '../support/http.fixture.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { activityRouter } from './router.js'
import type { ActivityStats } from './stats.js'

const POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'`

let browser: Browser
before(async () => {
  browser = await startBrowser()
})
after(() => browser.close())

/** Figures as the element reads them. */
type Shown = Omit<ActivityStats, 'lower' | 'upper'>

const withBounds = (figures: Shown): ActivityStats => ({
  ...figures,
  lower: figures.pageViews,
  upper: figures.pageViews,
})

interface Scene {
  page: Page
  figures: Shown | undefined
  asked: number
  /** Complaints of the browser. */
  complaints: string[]
  text(): Promise<string>
  spoken(): Promise<string>
}

/** A page with the element, with the browser's clock in the test's hands. */
async function onStage(body: string, play: (scene: Scene) => Promise<void>): Promise<void> {
  const app = express()
  const router = activityRouter({
    async stats() {
      scene.asked++
      if (!scene.figures) throw new Error('no figures')
      return withBounds(scene.figures)
    },
    statsTtlSeconds: 1,
    publicPath: '',
    seen: () => {},
    logger: new BurstLogger(SILENT, () => 0),
  })
  app.use((_req, res, next) => {
    res.set('Content-Security-Policy', POLICY)
    next()
  })
  app.use('/activity', router)
  app.get(
    '/',
    (_req, res) =>
      void res.send(
        '<!doctype html><html lang="en"><title>x</title><script ' +
          'src="/activity/widget.js"></script><script ' +
          `src="/activity/widget.js"></script>${body}`,
      ),
  )
  const page = await browser.newPage()
  const complaints = complaintsOf(page)
  const inside = (selector: string) =>
    page.evaluate(
      `document.querySelector('site-activity').shadowRoot.querySelector('${selector}').textContent`,
    ) as Promise<string>
  const scene: Scene = {
    page,
    complaints,
    asked: 0,
    figures: {
      windowSeconds: 600,
      pageViews: 345,
      visitors: 12,
      asOf: '2026-05-17T12:00:00.000Z',
      stale: false,
    },
    text: () => inside('[part~=figures]'),
    spoken: () => inside('[role=status]'),
  }
  try {
    await serving(app, async (port) => {
      await page.clock.install()
      // Goes round the browser's own cache, whose time does not stand still.
      await page.route('**/*', (route) => route.continue())
      await page.goto(`http://127.0.0.1:${port}/`)
      await play(scene)
    })
  } finally {
    await page.close()
  }
}

/**
 * Waits until the element shows it. (The policy forbids the page what playwright's own waiting
 * needs.)
 */
const shows = (scene: Scene, text: RegExp) =>
  eventually(String(text), async () => text.test(await scene.text()))

/** Lets the browser's time pass in steps, between which answers can come. */
async function pass(scene: Scene, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 5) {
    await scene.page.clock.runFor(Math.min(5, seconds - passed) * 1000)
    await scene.page.evaluate('fetch("/").then((response) => response.text())')
  }
}

/** Returns the time up to which figures are complete, as the widget writes it. */
const timeOf = ({ asOf }: Shown): string =>
  new Date(asOf).toLocaleTimeString('en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: BROWSER_TIME_ZONE,
  })

test('it shows both figures under a strict policy, though its script is there twice', () =>
  onStage('<site-activity src="/activity"></site-activity>', async (scene) => {
    await shows(scene, /page views/)
    assert.equal(await scene.text(), '12 visitors, 345 page views in the last 10 minutes')
    assert.equal(
      await scene.page.evaluate(
        `getComputedStyle(
            document.querySelector('site-activity').shadowRoot.querySelector('[part~=figures]'),
          ).borderStyle`,
      ),
      'solid',
    )
    assert.deepEqual(scene.complaints, [])
  }))

test('one is one, thousands are readable, and the window is said in its largest unit', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const expected: [number, number, number, string][] = [
      [1, 1, 60, '1 visitor, 1 page view in the last minute'],
      [0, 12345, 3600, '0 visitors, 12,345 page views in the last hour'],
      [2, 3, 90, '2 visitors, 3 page views in the last 90 seconds'],
      [2, 3, 86400, '2 visitors, 3 page views in the last 24 hours'],
    ]
    for (const [visitors, pageViews, windowSeconds, text] of expected) {
      scene.figures = { visitors, pageViews, windowSeconds, asOf: '', stale: false }
      await pass(scene, 40)
      await shows(scene, new RegExp(text))
      assert.equal(await scene.text(), text)
    }
  }))

test('figures that are old are shown with their time, and marked', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const time = timeOf(scene.figures!)
    scene.figures = {
      visitors: 2,
      pageViews: 3,
      windowSeconds: 600,
      asOf: '2026-05-17T12:00:00.000Z',
      stale: true,
    }
    await pass(scene, 40)
    await shows(scene, /before/)
    assert.equal(await scene.text(), `2 visitors, 3 page views in the 10 minutes before ${time}`)
  }))

test('it asks about twice a minute, and not in a hidden tab', () =>
  onStage('<site-activity src="/activity"></site-activity>', async (scene) => {
    await shows(scene, /page views/)
    const before = scene.asked
    await pass(scene, 300)
    const asked = scene.asked - before
    assert(asked >= 8 && asked <= 13, `asked ${asked} times in 5 minutes`)
    const hide = (hidden: boolean) =>
      scene.page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true ` +
          `}), document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await hide(true)
    const hidden = scene.asked
    await pass(scene, 100)
    assert.equal(scene.asked, hidden)
    await hide(false)
    await scene.page.clock.runFor(10)
    await eventually('it asks again', () => scene.asked > hidden)
    assert.equal(scene.asked, hidden + 1)
  }))

test('the fallback is shown before the first figures, and the last figures after a failure', () =>
  onStage('<site-activity>12 were here</site-activity>', async (scene) => {
    await shows(scene, /page views/)
    const time = timeOf(scene.figures!)
    scene.figures = undefined
    await pass(scene, 40)
    await eventually('the figures are marked as stale', () =>
      scene.page.evaluate<boolean>(
        `document.querySelector('site-activity').shadowRoot.querySelector('[part~=stale]') ` +
          '!== null',
      ),
    )
    assert.equal(await scene.text(), `12 visitors, 345 page views in the 10 minutes before ${time}`)
    await scene.page.reload()
    await pass(scene, 40)
    assert.equal(await scene.text(), '')
    assert.equal(
      await scene.page.evaluate(
        `document.querySelector('site-activity').shadowRoot
            .querySelector('slot').assignedNodes()[0].textContent`,
      ),
      '12 were here',
    )
  }))

test('a screen reader hears of a change, at most once a minute, not of the first figures', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    await shows(scene, /345 page views/)
    assert.equal(await scene.spoken(), '')
    await scene.page.evaluate(`{
    globalThis.heard = []
    const status = document.querySelector('site-activity').shadowRoot.querySelector('[role=status]')
    const observer = new MutationObserver(() => {
      if (status.textContent) heard.push(status.textContent)
    })
    observer.observe(status, { childList: true, characterData: true, subtree: true })
  }`)
    for (let i = 1; i <= 8; i++) {
      scene.figures = {
        windowSeconds: 600,
        pageViews: 345 + i,
        visitors: 12,
        asOf: '',
        stale: false,
      }
      await pass(scene, 40)
      await shows(scene, new RegExp(`${345 + i} page views`))
    }
    const heard = (await scene.page.evaluate('heard')) as string[]
    assert(heard.length >= 2 && heard.length <= 6, `heard ${heard.length} times in 5 minutes`)
    assert.match(heard[0]!, /^12 visitors, \d+ page views in the last 10 minutes$/)
    // The last change may still be due to be spoken of, once; then nothing is left behind.
    for (let i = 0; i < 6; i++) await pass(scene, 40)
    const all = (await scene.page.evaluate('heard')) as string[]
    assert.equal(all.at(-1), '12 visitors, 353 page views in the last 10 minutes')
    assert.deepEqual(all, [...new Set(all)])
    assert.equal(await scene.spoken(), '')
  }))

/** By language: two visitors and 12,345 views in ten minutes, one of each in an hour, old ones. */
const LANGUAGES: [lang: string, many: string, one: string, old: string][] = [
  [
    'en-GB',
    '2 visitors, 12,345 page views in the last 10 minutes',
    '1 visitor, 1 page view in the last hour',
    '0 visitors, 2 page views in the 90 seconds before TIME',
  ],
  [
    'de',
    '2 Besucher, 12.345 Seitenaufrufe in den letzten 10 Minuten',
    '1 Besucher, 1 Seitenaufruf in der letzten Stunde',
    '0 Besucher, 2 Seitenaufrufe in den 90 Sekunden vor TIME',
  ],
  [
    'fr',
    '2 visiteurs, 12\u202f345 pages vues dans les 10 dernières minutes',
    '1 visiteur, 1 page vue dans la dernière heure',
    '0 visiteur, 2 pages vues dans les 90 secondes avant TIME',
  ],
  [
    'es',
    '2 visitantes, 12.345 páginas vistas en los últimos 10 minutos',
    '1 visitante, 1 página vista en la última hora',
    '0 visitantes, 2 páginas vistas en los últimos 90 segundos (hora: TIME)',
  ],
  [
    'pt-BR',
    '2 visitantes, 12.345 páginas vistas nos últimos 10 minutos',
    '1 visitante, 1 página vista na última hora',
    '0 visitante, 2 páginas vistas nos últimos 90 segundos (hora: TIME)',
  ],
  [
    'it',
    '2 visitatori, 12.345 pagine viste negli ultimi 10 minuti',
    "1 visitatore, 1 pagina vista nell'ultima ora",
    '0 visitatori, 2 pagine viste negli ultimi 90 secondi (ore TIME)',
  ],
  [
    'nl',
    '2 bezoekers, 12.345 paginaweergaven in de afgelopen 10 minuten',
    '1 bezoeker, 1 paginaweergave in het afgelopen uur',
    '0 bezoekers, 2 paginaweergaven in de 90 seconden voor TIME',
  ],
  [
    'de_CH',
    "2 Besucher, 12'345 Seitenaufrufe in den letzten 10 Minuten",
    '1 Besucher, 1 Seitenaufruf in der letzten Stunde',
    '0 Besucher, 2 Seitenaufrufe in den 90 Sekunden vor TIME',
  ],
  [
    'sv',
    '2 visitors, 12\u00a0345 page views in the last 10 minutes',
    '1 visitor, 1 page view in the last hour',
    '0 visitors, 2 page views in the 90 seconds before TIME',
  ],
  [
    'fa',
    '2 visitors, 12,345 page views in the last 10 minutes',
    '1 visitor, 1 page view in the last hour',
    '0 visitors, 2 page views in the 90 seconds before TIME',
  ],
  [
    'no language at all',
    '2 visitors, 12,345 page views in the last 10 minutes',
    '1 visitor, 1 page view in the last hour',
    '0 visitors, 2 page views in the 90 seconds before TIME',
  ],
]

const element = "document.querySelector('site-activity')"
const setAttribute = (scene: Scene, name: string, value: string) =>
  scene.page.evaluate(
    `${element}.setAttribute(${JSON.stringify([name, value]).slice(1, -1)}), undefined`,
  )

test('millions of visitors have the words that stand with whole millions', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    scene.figures = { ...scene.figures!, visitors: 1_000_000, pageViews: 2_500_001 }
    await pass(scene, 40)
    await shows(scene, /^1,000,000 visitors, 2,500,001 page views /)
    for (const [lang, words] of [
      ['fr', /^1\s000\s000 de visiteurs, 2\s500\s001 pages vues /],
      ['es', /^1.000.000 de visitantes, 2.500.001 páginas vistas /],
      ['it', /^1.000.000 di visitatori, 2.500.001 pagine viste /],
    ] as const) {
      await setAttribute(scene, 'lang', lang)
      assert.match(await scene.text(), words)
    }
  }))

test('words and numbers are in the language of the page, or of the element', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const asOf = '2026-05-17T12:00:00.000Z'
    const time = timeOf({ ...scene.figures!, asOf })
    const cases: [visitors: number, pageViews: number, seconds: number, stale: boolean][] = [
      [2, 12_345, 600, false],
      [1, 1, 3_600, false],
      [0, 2, 90, true],
    ]
    for (const [at, [visitors, pageViews, windowSeconds, stale]] of cases.entries()) {
      scene.figures = { visitors, pageViews, windowSeconds, asOf, stale }
      await scene.page.evaluate(`document.documentElement.lang = 'en', undefined`)
      await pass(scene, 40)
      await shows(scene, new RegExp(`${visitors} visitors?, ${pageViews.toLocaleString('en')} `))
      for (const [lang, ...texts] of LANGUAGES) {
        await setAttribute(scene, 'lang', lang)
        // Which apostrophe stands in Swiss numbers depends on the browser's version.
        const text = (await scene.text()).replace('\u2019', "'")
        assert.equal(text, texts[at]!.replace('TIME', time), lang)
      }
      await scene.page.evaluate(`${element}.removeAttribute('lang')`)
    }
    await scene.page.evaluate(`document.documentElement.lang = 'de', undefined`)
    await pass(scene, 40)
    await shows(scene, /Besucher/)
    assert.deepEqual(scene.complaints, [])
  }))

test("the element takes words of the site's own, with forms for each number", () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    await shows(scene, /page views/)
    const time = timeOf(scene.figures!)
    for (const [lang, text, shown] of [
      ['en', '{visitors|reader|readers} now', '12 readers now'],
      ['en', '{pageViews} views, {visitors} people {window}', 'VIEWS in the last 10 minutes'],
      ['en', 'as of {time}: {pageViews}', `as of ${time}: 345`],
      ['en', '<b>{visitors}</b> {else} {', '<b>12</b> {else} {'],
      ['fa', '{visitors} نفر {window}', '۱۲ نفر in the last ۱۰ minutes'],
      ['pl', '{visitors|one: gość|few: goście|many: gości|other: gościa}', '12 gości'],
      ['en', '', ''],
    ] as const) {
      await setAttribute(scene, 'lang', lang)
      await setAttribute(scene, 'text', text)
      assert.equal(await scene.text(), shown.replace('VIEWS', '345 views, 12 people'))
    }
    await setAttribute(scene, 'text', '{visitors|reader|readers} now')
    scene.figures = { ...scene.figures!, visitors: 1, stale: true }
    await pass(scene, 40)
    await shows(scene, /^1 /)
    assert.equal(await scene.text(), `1 reader now (${time})`, 'old figures have their time')
    assert.deepEqual(scene.complaints, [])
  }))

test('its words run in their own direction on a page that runs from right to left', () =>
  onStage('<main dir="rtl" lang="fa"><site-activity></site-activity></main>', async (scene) => {
    await shows(scene, /page views/)
    /** Where these words stand in the line, from left to right. */
    const order = async (...words: string[]) => {
      const left = await scene.page.evaluate(`{
        const line = ${element}.shadowRoot.querySelector('[part~=figures]')
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT)
        const places = {}
        while (walker.nextNode()) {
          for (const word of ${JSON.stringify(words)}) {
            const at = walker.currentNode.data.indexOf(word)
            if (at < 0) continue
            const range = document.createRange()
            range.setStart(walker.currentNode, at)
            range.setEnd(walker.currentNode, at + word.length)
            places[word] = range.getBoundingClientRect().left
          }
        }
        places
      }`)
      const places = left as Record<string, number>
      assert.deepEqual(Object.keys(places).sort(), words.toSorted())
      return words.toSorted((one, other) => places[one]! - places[other]!)
    }
    const words = ['12', 'visitors', '345', 'page views', 'in the last 10 minutes']
    assert.deepEqual(await order(...words), words)
    await setAttribute(scene, 'text', '{visitors} نفر {window}')
    assert.deepEqual(await order('۱۲', 'نفر', 'in the last ۱۰ minutes'), [
      'in the last ۱۰ minutes',
      'نفر',
      '۱۲',
    ])
    assert.deepEqual(scene.complaints, [])
  }))

test("each answer is an event, for the page's own code", () =>
  onStage('<p><site-activity></site-activity></p>', async (scene) => {
    await scene.page.evaluate(`
      globalThis.told = []
      document.addEventListener('figures', ({ detail, target }) => {
        told.push([target.localName, detail])
      })`)
    await shows(scene, /page views/)
    scene.figures = { ...scene.figures!, visitors: 13 }
    await pass(scene, 40)
    await shows(scene, /^13 /)
    const told = (await scene.page.evaluate('told')) as [string, ActivityStats][]
    assert.deepEqual(told.at(-1), ['site-activity', withBounds(scene.figures)])
    const { length } = told
    scene.figures = undefined
    await pass(scene, 40)
    await shows(scene, /before/)
    assert.equal(await scene.page.evaluate('told.length'), length, 'a failure is none')
  }))

test('it asks at once when the browser is back online', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    await shows(scene, /page views/)
    scene.figures = undefined
    await pass(scene, 40)
    await shows(scene, /before/)
    scene.figures = {
      windowSeconds: 600,
      pageViews: 350,
      visitors: 14,
      asOf: '2026-05-17T12:01:00.000Z',
      stale: false,
    }
    await scene.page.evaluate(`window.dispatchEvent(new Event('online')), undefined`)
    await scene.page.clock.runFor(10)
    await shows(scene, /^14 visitors, 350 page views in the last 10 minutes$/)
  }))

test('an element with another source asks that at once, and does not call its figures old', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const { page } = scene
    await shows(scene, /^12 visitors/)
    await stopWaiting(page)
    const held: string[] = []
    await page.route(/\/(?:other|activity)$/, (route) => void held.push(route.request().url()))
    await setAttribute(scene, 'src', '/other')
    await eventually('the other is asked', () => held.length === 1)
    const failed = page.waitForEvent('requestfailed')
    await setAttribute(scene, 'src', '/activity')
    await failed
    await eventually('the first is asked', () => held.length === 2)
    assert.match(await scene.text(), /in the last 10 minutes$/)
    const left = page.waitForEvent('requestfailed')
    await page.evaluate(`${element}.remove()`)
    await left
  }))

test('an element that is gone leaves no listener', () =>
  onStage('<main></main>', async ({ page }) => {
    await page.evaluate(`{
      globalThis.listeners = []
      for (const target of [window, document]) {
        const { addEventListener, removeEventListener } = target
        target.addEventListener = (name, listener) => {
          listeners.push([name, listener])
          addEventListener.call(target, name, listener)
        }
        target.removeEventListener = (name, listener) => {
          listeners = listeners.filter(([of, other]) => of !== name || other !== listener)
          removeEventListener.call(target, name, listener)
        }
      }
      document.querySelector('main').innerHTML = '<site-activity></site-activity>'
    }`)
    assert.equal(await page.evaluate('listeners.length'), 2)
    await page.evaluate(`document.querySelector('main').replaceChildren()`)
    assert.equal(await page.evaluate('listeners.length'), 0)
  }))

test('an element that is moved asks at once, one that is gone never, a new source at once', () =>
  onStage('<main></main><site-activity src="/none"></site-activity>', async (scene) => {
    const { page } = scene
    await pass(scene, 1)
    assert.equal(await scene.text(), '')
    let held = 0
    await page.route('**/activity', () => void held++)
    await setAttribute(scene, 'src', '/activity')
    await page.clock.runFor(10)
    await eventually('it asks', () => held === 1)
    await page.unroute('**/activity')
    await page.evaluate(`document.querySelector('main').append(${element}), undefined`)
    await page.clock.runFor(10)
    await shows(scene, /^12 visitors/)
    const asked = scene.asked
    await page.evaluate(`globalThis.gone = ${element}, gone.remove()`)
    await pass(scene, 100)
    await page.evaluate(
      `dispatchEvent(new Event('online')),
      document.dispatchEvent(new Event('visibilitychange')), undefined`,
    )
    await pass(scene, 10)
    assert.equal(scene.asked, asked)
    scene.figures = { ...scene.figures!, visitors: 13 }
    await page.evaluate(`document.body.append(gone), undefined`)
    await page.clock.runFor(10)
    await shows(scene, /^13 visitors/)
  }))

test('an answer that does not come, or has no figures, leaves the last ones, marked as old', () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const { page } = scene
    await shows(scene, /^12 visitors/)
    const old = `12 visitors, 345 page views in the 10 minutes before ${timeOf(scene.figures!)}`
    const answers = [
      '{}',
      'null',
      'x',
      '{"visitors":-1,"pageViews":2,"windowSeconds":60}',
      undefined,
    ]
    for (const body of answers) {
      let asked = 0
      await page.route('**/activity', async (route) => {
        asked++
        if (body !== undefined) await route.fulfill({ contentType: 'application/json', body })
      })
      await pass(scene, 40)
      await eventually('it asks', () => asked > 0)
      await pass(scene, 10)
      await shows(scene, /before/)
      assert.equal(await scene.text(), old, body)
      await page.unroute('**/activity')
      await pass(scene, 40)
      await shows(scene, /last 10 minutes$/)
      const marked = `${element}.shadowRoot.querySelectorAll('[part~=stale]').length`
      assert.equal(await page.evaluate(marked), 0)
    }
  }))
