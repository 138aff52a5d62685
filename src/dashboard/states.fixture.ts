/** The states of the page, and what can be seen of each: for pictures, and for a test. */
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.fixture.js'
import { BEGIN, card, filled, pass, type Scene, shows, tile } from './stage.fixture.js'

export interface State {
  readonly name: string
  /** The address's query. */
  readonly query?: string
  /** Whether all lists are full. */
  readonly large?: boolean
  /** Brings the page from its start to the state. */
  readonly arrange: (scene: Scene) => Promise<unknown>
  /** The outline of the page, see {@link outline}. */
  readonly outline: readonly string[]
}

const SITE = [
  'Now',
  'Page views',
  'Visitors, best day',
  'Seen by browsers',
  'Page views by day 0 – 0 May',
  'Pages',
  'Referrers',
  'Campaigns',
  'Countries',
  'Devices',
  'Threads',
  'When people come',
  'Bots',
]
const LIVE = ['Live · 0 s ago', 'Operation']
const WEEK = '0 – 0 May 0'
const NOTHING = [
  'Servers',
  'Collectors',
  'Days that balance',
  'What became of all page views',
  'Grid',
]

export const STATES: readonly State[] = [
  { name: 'figures', arrange: ({ page }) => filled(page), outline: [...LIVE, WEEK, ...SITE] },
  {
    name: 'now',
    query: '?show=now',
    arrange: async ({ page }) => {
      await filled(page)
      await shows(page.locator('.legend'), /today/)
    },
    outline: [
      ...LIVE,
      WEEK,
      ...SITE.slice(0, 4),
      'Page views by hour, today The same day a week ago',
      'Newest pages',
      ...SITE.slice(5),
    ],
  },
  {
    name: 'item',
    query: '?dimension=country&value=FR&against=whole',
    arrange: async ({ page }) => {
      await filled(page)
      await shows(tile(page, 'share'), /%/)
    },
    outline: [
      ...LIVE,
      'Country France ×',
      WEEK,
      'Share of the site',
      'Page views',
      'Best day',
      'Seen by browsers',
      'Page views by day Whole site, on the scale at the end',
      ...SITE.slice(5),
    ],
  },
  {
    name: 'section',
    query: '?dimension=section&value=%2Fthread%2F',
    arrange: async ({ page }) => {
      await filled(page)
      await shows(card(page, 'under:/thread/').locator('tbody tr'), /thread/)
    },
    outline: [
      ...LIVE,
      'Section /thread/ ×',
      WEEK,
      'Share of the site',
      'Page views',
      'Best day',
      'Page views by day 0 – 0 May',
      'Under /thread/',
      ...SITE.slice(6),
    ],
  },
  {
    name: 'bots',
    query: '?dimension=bot&value=GPTBot&against=whole',
    arrange: async ({ page }) => {
      await filled(page)
      await page.locator('#times').scrollIntoViewIfNeeded()
      await page.locator('#times td').first().waitFor()
      await card(page, 'bot').getByRole('button', { name: 'Pages for bots' }).click()
      await shows(card(page, 'bots:page').locator('tbody tr'), /5,040/)
    },
    outline: [
      ...LIVE,
      'Bot GPTBot ×',
      WEEK,
      'Share of all bots',
      'Pages sent',
      'Best day',
      'Pages sent to bots by day All bots, on the scale at the end',
      ...SITE.slice(5, -1),
      'Pages for bots',
    ],
  },
  {
    name: 'missing',
    arrange: async ({ page }) => {
      await filled(page)
      await card(page, 'page').getByRole('button', { name: 'Missing' }).click()
      await shows(card(page, 'gone').locator('tbody tr'), /^\/old\/ä ← news/)
    },
    outline: [...LIVE, WEEK, ...SITE.map((one) => (one === 'Pages' ? 'Missing' : one))],
  },
  {
    name: 'all',
    large: true,
    arrange: async ({ page }) => {
      await filled(page)
      await card(page, 'page').getByRole('button', { name: 'All pages' }).click()
      await card(page, 'page').getByRole('searchbox').fill('/thread/99')
    },
    outline: [...LIVE, WEEK, ...SITE],
  },
  {
    name: 'empty',
    arrange: async ({ page, source }) => {
      const asOf = new Date(BEGIN).toISOString()
      const nothing = async () => ({ figures: [], asOf, stale: false })
      Object.assign(source, { history: nothing, top: nothing })
      await page.reload()
      await page.locator('.start').waitFor()
    },
    outline: [...LIVE, WEEK, ...SITE.slice(0, 4), 'No page views yet', 'If it stays empty'],
  },
  {
    name: 'loading',
    arrange: async ({ page }) => {
      await page.route('**/*.json*', () => undefined)
      await page.reload()
      await page.locator('.bones').first().waitFor()
    },
    outline: ['Loading', 'Operation', 'Loading 0 – 0 November 0', ...SITE.slice(0, 4)],
  },
  {
    name: 'busy',
    arrange: async ({ page }) => {
      await filled(page)
      await page.route('**/figures.json*', () => undefined)
      await page.getByLabel('30 days', { exact: true }).check()
      await page.locator('main[aria-busy=true]').waitFor()
    },
    outline: [...LIVE, WEEK, ...SITE],
  },
  {
    name: 'stale',
    arrange: async ({ page, source }) => {
      await filled(page)
      source.staleSince = BEGIN - 360_000
      await pass(page, 70)
      await page.locator('main.old').waitFor()
    },
    outline: [
      'Old 0 min old',
      'Operation: 0 problem',
      'The figures are older than they should be: see whether a collector runs and can write to ' +
        "the database, and whether the database's clock is right. Nothing is lost: 0 are on " +
        'their way. See the operation',
      WEEK,
      ...SITE,
    ],
  },
  {
    name: 'signed-out',
    arrange: async (scene) => {
      await filled(scene.page)
      await pass(scene.page, 8)
      scene.login = 401
      await pass(scene.page, 8)
      await scene.page.locator('#alarm').waitFor()
    },
    outline: [
      'Old 0 s old',
      'Operation: 0 problem',
      'You are signed out: sign in and load this page again. See the operation',
      WEEK,
      ...SITE,
    ],
  },
  {
    name: 'server-gone',
    arrange: async ({ page }) => {
      await filled(page)
      await page.route('**/now.json', (route) => route.abort())
      await pass(page, 8)
      await page.locator('#alarm').waitFor()
    },
    outline: [
      'Old 0 s old',
      'Operation: 0 problem',
      'The site does not answer: see whether it runs. This page goes on asking. See the operation',
      WEEK,
      ...SITE,
    ],
  },
  {
    name: 'operation',
    query: '?view=operation',
    arrange: ({ page }) => page.locator('#grid td').first().waitFor(),
    outline: [
      'Live · 0 s ago',
      'Figures',
      'Operation',
      'Everything works. 0 page views of today are in the database, 0 are on their way.',
      ...NOTHING,
    ],
  },
  {
    name: 'operation-unanswered',
    query: '?view=operation',
    arrange: async ({ page, source }) => {
      await page.locator('#grid td').first().waitFor()
      for (const what of ['overview', 'live', 'ledger']) source.failing.add(what)
      await page.route('**/operation.json', (route) => route.abort())
      await eventually('nothing is known', async () => {
        await pass(page, 20)
        return (await page.locator('.missing').count()) === 3
      })
      await pass(page, 120)
    },
    outline: [
      'Old 0 min old',
      'Figures',
      'Some figures cannot be read: the log of this process says why. See the operation',
      'Operation',
      'It is not known at the moment whether all views are counted.',
      ...NOTHING,
    ],
  },
]

const PARTS = '#live, #operation, #alarm, .chip, h1, .title-of, .legend, h2, #verdict'

/** What can be seen of the page's parts, without its figures. */
export async function outline(page: Page): Promise<string[]> {
  const texts = await page.locator(`:is(${PARTS}):visible`).allInnerTexts()
  return texts.map((text) =>
    text
      .replaceAll(/\s+/g, ' ')
      .trim()
      .replaceAll(/\d[\d,.]*/g, '0'),
  )
}
