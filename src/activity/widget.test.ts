/**
 * The widget in a real browser (Chromium, where there is one), under the strictest policy it is
 * made for.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { complaintsOf, eventually, startBrowser, withoutBrowser } from '../support/browser.suite.js'
import { serving } from '../support/fixtures.suite.js'
import { activityRouter } from './router.js'
import type { ActivityStats } from './stats.js'

const POLICY = `default-src 'none'; script-src 'self'; connect-src 'self'`

const skip = withoutBrowser
let browser: Browser | undefined
before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

interface Scene {
  page: Page
  figures: ActivityStats | undefined
  asked: number
  /** What the browser complained of. */
  complaints: string[]
  text(): Promise<string>
  spoken(): Promise<string>
}

/** A page with the element, with the browser's clock in the test's hands. */
async function onStage(body: string, play: (scene: Scene) => Promise<void>): Promise<void> {
  const app = express()
  const router = activityRouter(async () => {
    scene.asked++
    if (!scene.figures) throw new Error('no figures')
    return scene.figures
  }, 1)
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
  const page = await browser!.newPage()
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
const shows = (scene: Scene, text: RegExp) => eventually(async () => text.test(await scene.text()))

/** Lets the browser's time pass in steps, between which answers can come. */
async function pass(scene: Scene, seconds: number): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 5) {
    await scene.page.clock.runFor(Math.min(5, seconds - passed) * 1000)
    await scene.page.evaluate('fetch("/").then((response) => response.text())')
  }
}

test(
  'it shows both figures under a strict policy, though its script is there twice',
  { skip },
  () =>
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
    }),
)

test(
  'one is one, thousands are readable, and the window is said in its largest unit',
  { skip },
  () =>
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
    }),
)

test('figures that are old are shown with their time, and marked', { skip }, () =>
  onStage('<site-activity></site-activity>', async (scene) => {
    const time = new Date('2026-05-17T12:00:00.000Z').toLocaleTimeString('en', {
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
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
  }),
)

test('it asks about twice a minute, and not in a hidden tab', { skip }, () =>
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
    await eventually(async () => scene.asked > hidden)
    assert.equal(scene.asked, hidden + 1)
  }),
)

test(
  'the page shows its fallback before the first figures, and the last figures after a failure',
  { skip },
  () =>
    onStage('<site-activity>12 were here</site-activity>', async (scene) => {
      await shows(scene, /page views/)
      const last = await scene.text()
      scene.figures = undefined
      await pass(scene, 40)
      await eventually(() =>
        scene.page.evaluate(
          `document.querySelector('site-activity').shadowRoot.querySelector('[part~=stale]') ` +
            '!== null',
        ),
      )
      assert.equal(await scene.text(), last)
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
    }),
)

test(
  'a screen reader hears of a change, but not of the first figures, nor more than once a minute',
  { skip },
  () =>
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
      // The last change may still be due to be spoken of; then nothing is left behind.
      await pass(scene, 120)
      assert.equal(await scene.spoken(), '')
    }),
)
