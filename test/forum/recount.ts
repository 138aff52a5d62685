/**
 * Recounts from SQL what stands on the dashboard's page: its sums, changes, visitors, bars, lists
 * and the figures of now. Views that come while somebody looks may be counted or not; all others
 * are. Only whole days of the site are compared. The viewer's language is British English.
 */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import type { Database } from '../../src/database/database.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'

/** A site whose rows of visits are all in its database, and its hours of values, too. */
export interface CountedSite {
  readonly database: Database
  readonly name: string
  /** Name of its hits. */
  readonly hits?: string
  /** Its option of that name, 8 by default. */
  readonly historyDays?: number
}

interface Span {
  readonly from: number
  readonly to: number
  readonly by: 'hour' | 'day' | 'week' | 'month'
  readonly before: { readonly from: number; readonly to: number }
}

/** A bar of the chart: its period, and the one before. */
interface Bar {
  readonly from: number
  readonly to: number
  readonly thenFrom: number
  readonly thenTo: number
}

const WINDOW_MS = 600_000
const percent = new Intl.NumberFormat('en-GB', { style: 'percent' })
const change = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' })

/** What {@link recount} has compared. */
export interface Recounted {
  numbers: number
}

export async function recount(page: Page, site: CountedSite): Promise<Recounted> {
  const { span, figures } = (await page.evaluate(
    `fetch('shown.json' + location.search).then((answer) => answer.json())`,
  )) as { span: Span; figures: readonly { readonly start: string }[] }
  const done = { numbers: 0 }
  const { rows } = await site.database.query(
    'SELECT MIN(created_at) AS first FROM activities WHERE name = ?',
    [site.name],
  )
  const wholeFrom = wholeDayAfter(rows[0]?.['first'])
  const starts = figures.map(({ start }) => Date.parse(start))
  const bars = starts.map((from, at) => barOf(span, from, starts[at + 1] ?? span.to))
  const isOfItem = new URL(page.url()).searchParams.has('value')
  const checks = [ofNow, isOfItem ? ofItem : ofHistory, ofLists, ofHits, ofOperation]
  for (const check of checks) await check({ page, site, span, bars, done, wholeFrom })
  return done
}

function barOf({ by, from: begin, before }: Span, from: number, to: number): Bar {
  if (by !== 'month') {
    const apart = begin - before.from
    return { from, to, thenFrom: from - apart, thenTo: to - apart }
  }
  const [thenFrom, thenTo] = [from, to].map((time) => {
    const date = new Date(time)
    const years = new Date(begin).getUTCFullYear() - new Date(before.from).getUTCFullYear()
    return Date.UTC(date.getUTCFullYear() - years, date.getUTCMonth())
  }) as [number, number]
  return { from, to, thenFrom, thenTo }
}

interface Recount {
  readonly page: Page
  readonly site: CountedSite
  readonly span: Span
  readonly bars: readonly Bar[]
  readonly done: Recounted
  /** Start of the site's first whole day. */
  readonly wholeFrom: number
}

function wholeDayAfter(first: unknown): number {
  return first === null ? Infinity : (Math.floor(Number(first) / DAY_MS) + 1) * DAY_MS
}

/** The period before a span that ends at `over`, as far as there were whole days; and its own. */
function comparedWith({ from, before }: Span, wholeFrom: number, over: number) {
  const beforeMs = from - before.from
  const [since, until] = [Math.max(from - beforeMs, wholeFrom), over - beforeMs]
  return since < until ? { since, until, from: since + beforeMs, over } : undefined
}

/** What a list shows: the change of a value of those that it is compared with. */
function wantedChange<Value>(
  value: Value,
  now: ReadonlyMap<Value, number>,
  then: ReadonlyMap<Value, number> | undefined,
): string {
  if (!then) return ''
  const before = then.get(value) ?? 0
  return before === 0 ? 'new' : change.format((now.get(value) ?? 0) / before - 1)
}

/** A number of the page lies between those of SQL: at the moment that it names, and now. */
function within({ done }: Recount, shown: number, [least, most]: readonly number[], what: string) {
  done.numbers++
  assert(shown >= least! && shown <= most!, `${what}: ${shown}, but in SQL ${least} to ${most}`)
}

function same({ done }: Recount, shown: string | undefined, wanted: string, what: string): void {
  done.numbers++
  assert.equal(shown, wanted, what)
}

async function ofNow(recount: Recount): Promise<void> {
  const { page } = recount
  const tile = page.locator('#tile-now')
  if ((await tile.count()) === 0) return
  // In one look, since the page may get newer figures between two.
  const [moment, visitors, tip] = (await page.evaluate(
    `[
      document.querySelector('main').dataset.asOf,
      document.querySelector('#tile-now strong').textContent,
      document.querySelector('#tile-now').dataset.tip ?? '',
    ]`,
  )) as [string, string, string]
  const asOf = toSecond(moment)
  const [, views = ''] = /\n([\d,]+) page views/.exec(tip) ?? []
  const [from, to] = [asOf - WINDOW_MS, asOf]
  same(recount, String(count(views)), String(await viewsIn(recount, from, to)), 'views of now')
  same(
    recount,
    String(count(visitors)),
    String(await visitorsIn(recount, from, to)),
    'visitors of now',
  )
}

async function ofOperation(recount: Recount): Promise<void> {
  const { page } = recount
  const link = page.locator('#operation')
  if ((await link.count()) === 0) return
  await link.click()
  const verdict = page.locator('#verdict')
  await verdict.getByText(/of today/).waitFor()
  const asOf = await asOfIn(page.locator('main'))
  const [, today = ''] =
    /([\d,]+) page views? of today/.exec((await verdict.textContent()) ?? '') ?? []
  const midnight = Math.floor(asOf / DAY_MS) * DAY_MS
  const inSql = await viewsBetween(recount, midnight, midnight + DAY_MS, asOf)
  within(recount, count(today), inSql, 'views of today')
  await page.goBack()
  await page.locator('#history path.bar').first().waitFor({ state: 'attached' })
}

async function ofHistory(recount: Recount): Promise<void> {
  const { page, span } = recount
  const asOf = await asOfIn(page.locator('#history'))
  const { from, to } = span
  const [views, by] = await tileOf(page, 'views')
  within(recount, views, await viewsBetween(recount, from, to, asOf), 'page views')
  const days: number[][] = []
  for (let day = from; day < to; day += DAY_MS) {
    days.push(await visitorsBetween(recount, day, day + DAY_MS, asOf))
  }
  const most = [0, 1].map((at) => Math.max(...days.map((bounds) => bounds[at]!)))
  within(recount, (await tileOf(page, 'visitors'))[0], most, 'visitors')
  const countIn: CountIn = (from, to) => viewsIn(recount, from, to)
  await ofChange(recount, by, asOf, countIn)
  await ofBars(recount, asOf, countIn)
  if (span.by === 'week' || span.by === 'month') return
  await page.locator('#tile-visitors').click()
  await page.locator('.legend').getByText('Visitors').waitFor()
  await ofBars(recount, asOf, (from, to) => visitorsIn(recount, from, to))
  await page.locator('#tile-views').click()
}

/** The number of a tile, and the detail after it. */
async function tileOf(page: Page, id: string): Promise<[number, string | undefined]> {
  const figure = page.locator(`#tile-${id} .figure`)
  const detail = figure.locator('.detail')
  const number = count((await figure.locator('strong').textContent()) ?? '')
  return [number, (await detail.count()) > 0 ? ((await detail.textContent()) ?? '') : undefined]
}

type CountIn = (from: number, to: number) => Promise<number>

/** The rows of the chart's table: each between what SQL has up to its moment, and now. */
async function ofBars(recount: Recount, asOf: number, countIn: CountIn): Promise<void> {
  const { page, bars, wholeFrom } = recount
  const rows = await tableOf(page)
  assert.equal(rows.length, bars.length)
  for (const [at, [label, shown = '', before]] of rows.entries()) {
    const { from, to, thenFrom, thenTo } = bars[at]!
    if (from > asOf) assert.equal(shown, '', label)
    else if (to < wholeFrom) assert.equal(shown, 'not known', label)
    else {
      const bounds = [await countIn(from, Math.min(to, asOf)), await countIn(from, to)]
      within(recount, count(shown), bounds, `${label}`)
    }
    // A column that has nothing at all is left out.
    if (before === undefined) assert(thenFrom < wholeFrom, label)
    else {
      const wanted = thenFrom < wholeFrom ? 'not known' : String(await countIn(thenFrom, thenTo))
      same(recount, before.replaceAll(',', ''), wanted, `before ${label}`)
    }
  }
}

/** The change of what is over, against the same of the period before. */
async function ofChange(
  { bars, wholeFrom, ...recount }: Recount,
  shown: string | undefined,
  asOf: number,
  countIn: CountIn,
): Promise<void> {
  let [now, then] = [0, 0]
  for (const { from, to, thenFrom, thenTo } of bars) {
    if (to > asOf || thenFrom < wholeFrom) continue
    now += await countIn(from, to)
    then += await countIn(thenFrom, thenTo)
  }
  if (then === 0) assert.equal(shown, undefined)
  else same({ bars, wholeFrom, ...recount }, shown, change.format(now / then - 1), 'change')
}

/** Own words of the page, and the values that they stand for. */
const OWN = new Map<string, string | null>([
  ['All others', '(other)'],
  ['Inside the site', '(internal)'],
])

async function ofLists(recount: Recount): Promise<void> {
  const { page, site, span } = recount
  const total = await viewsBetween(recount, span.from, span.to, Infinity)
  const shownTotal = total[1]!
  for (const card of await page
    .locator('[data-dimension]:not([data-dimension^=bot]):visible')
    .all()) {
    const dimension = (await card.getAttribute('data-dimension')) ?? ''
    const asOf = await asOfIn(card)
    // Further back, values are known by the day.
    const daysAgo = (span.from - span.before.from) / DAY_MS
    const unit = daysAgo < (site.historyDays ?? 8) ? HOUR_MS : DAY_MS
    const end = Math.max(span.from, Math.min(span.to, Math.floor(Date.now() / unit) * unit))
    const now = await valuesIn(recount, dimension, span.from, span.to)
    const range = comparedWith(span, recount.wholeFrom, end)
    const over = await valuesIn(recount, dimension, range?.from ?? end, end)
    const then = range && (await valuesIn(recount, dimension, range.since, range.until))
    const rows = await card.locator('tbody tr').all()
    let last = Infinity
    const isOver = span.to <= asOf
    for (const row of rows) {
      const isNamed = (await row.getAttribute('class')) !== 'own'
      const words = isNamed ? '' : ((await row.locator('th').textContent()) ?? '')
      const value = isNamed ? await valueOf(row) : (OWN.get(words) ?? null)
      const [views = '', share, by] = await cellsOf(row)
      const what = `${dimension} ${value}`
      // What came since is among the page's own rows of visits.
      const least =
        asOf >= span.to ? now.get(value) : await pagesBefore(recount, dimension, value, asOf)
      within(recount, count(views), [least ?? 0, now.get(value) ?? 0], what)
      if (isOver) same(recount, share, shareText(count(views) / shownTotal), `share of ${what}`)
      same(recount, by, wantedChange(value, over, then), `change of ${what}`)
      if (isNamed) assert(count(views) <= last, `${what} is in its place`)
      if (isNamed) last = count(views)
    }
    const listed = Math.min(10, [...now.keys()].filter((value) => isName(dimension, value)).length)
    assert.equal(await card.locator('tbody tr:not(.own)').count(), listed, dimension)
  }
}

async function ofHits(recount: Recount): Promise<void> {
  const { page, site, span } = recount
  const card = page.locator(`[data-hits="${site.hits ?? ''}"]:visible`)
  const { hits: hitsName } = site
  if (hitsName === undefined || (await card.count()) === 0) return
  const [now, today] = [Date.now(), Math.floor(Date.now() / DAY_MS) * DAY_MS]
  const over = Math.max(span.from, Math.min(span.to, today))
  const of = async (from: number, to: number) =>
    new Map(
      (
        await site.database.query(
          'SELECT item, SUM(hits) AS hits FROM hits_days WHERE name = ? AND day >= ? AND day < ? ' +
            'GROUP BY item',
          [hitsName, from / DAY_MS, to / DAY_MS],
        )
      ).rows.map(({ item, hits }) => [String(item), Number(hits)]),
    )
  const { rows } = await site.database.query(
    'SELECT MIN(day) AS first FROM hits_days WHERE name = ?',
    [hitsName],
  )
  const range = comparedWith(span, (Number(rows[0]?.['first']) + 1) * DAY_MS, over)
  const [all, ofOver, later, before] = await Promise.all([
    of(span.from, span.to),
    of(span.from, over),
    of(range?.from ?? over, over),
    range && of(range.since, range.until),
  ])
  const total = [...all.values()].reduce((sum, hits) => sum + hits, 0)
  for (const row of await card.locator('tbody tr').all()) {
    const item = await valueOf(row)
    const [hits = '', share, by] = await cellsOf(row)
    // Those of today may have become more meanwhile.
    const least = span.to > now ? (ofOver.get(item) ?? 0) : (all.get(item) ?? 0)
    within(recount, count(hits), [least, all.get(item) ?? 0], `hits of ${item}`)
    if (span.to <= now) {
      same(recount, share, shareText(count(hits) / total), `share of ${item}`)
    }
    same(recount, by, wantedChange(item, later, before), `change of ${item}`)
  }
  const listed = await card.locator('tbody tr').count()
  assert(listed >= Math.min(10, ofOver.size) && listed <= Math.min(10, all.size))
}

/** The history of a page: its rows are those of visits. */
async function ofItem(recount: Recount): Promise<void> {
  const { page, span } = recount
  const query = new URL(page.url()).searchParams
  const value = query.get('value')
  if (value === null || query.get('dimension') !== 'page') return
  const asOf = await asOfIn(page.locator('#history'))
  const ofPage = (from: number, to: number) => viewsIn(recount, from, to, value)
  const [views, by] = await tileOf(page, 'views')
  const bounds = [
    await ofPage(span.from, Math.min(span.to, asOf)),
    await ofPage(span.from, span.to),
  ]
  within(recount, views, bounds, value)
  await ofChange(recount, by, asOf, ofPage)
  await ofBars(recount, asOf, ofPage)
}

/** The value that a row's link opens. */
async function valueOf(row: Locator): Promise<string> {
  const key = (await row.locator('th a').getAttribute('data-key')) ?? ''
  return new URLSearchParams(key).get('value') ?? ''
}

/** Views, share and change of a row. */
async function cellsOf(row: Locator): Promise<string[]> {
  return row.locator('td:not(.seen)').allTextContents()
}

const shareText = (share: number): string =>
  share > 0 && share < 0.005 ? '<1%' : percent.format(share)

const count = (text: string): number => Number(text.replaceAll(',', ''))

/** The moment of a part's figures, to the second: views are kept by the second. */
async function asOfIn(part: Locator): Promise<number> {
  return toSecond((await part.getAttribute('data-as-of')) ?? '')
}

function toSecond(text: string): number {
  const moment = Date.parse(text)
  assert(moment, 'it names a moment')
  return Math.floor(moment / 1_000) * 1_000
}

/** The rows of the chart as a table, which gives way to the chart again. */
async function tableOf(page: Page): Promise<string[][]> {
  const toggle = async (text: string) => {
    await page.locator('#panel summary').click()
    await page.getByRole('button', { name: text }).click()
  }
  await toggle('Show as a table')
  await page.locator('#panel table tbody tr').first().waitFor()
  const rows = (await page
    .locator('#panel table tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent ?? '')),
    )) as string[][]
  await toggle('Show as bars')
  return rows
}

async function one({ site }: Recount, what: string, rest: string, values: (number | string)[]) {
  const { rows } = await site.database.query(
    `SELECT ${what} AS n FROM activities ` +
      `WHERE name = ? AND created_at >= ? AND created_at < ?${rest}`,
    [site.name, ...values],
  )
  return Number(rows[0]?.['n'])
}

function viewsIn(recount: Recount, from: number, to: number, page?: string): Promise<number> {
  if (page === undefined) return one(recount, 'COUNT(*)', '', [from, to])
  return one(recount, 'COUNT(*)', ' AND page = ?', [from, to, page])
}

const visitorsIn = (recount: Recount, from: number, to: number): Promise<number> =>
  one(recount, 'COUNT(DISTINCT visitor)', '', [from, to])

async function viewsBetween(recount: Recount, from: number, to: number, asOf: number) {
  return [await viewsIn(recount, from, Math.min(to, asOf)), await viewsIn(recount, from, to)]
}

async function visitorsBetween(recount: Recount, from: number, to: number, asOf: number) {
  const most = await visitorsIn(recount, from, to)
  return [asOf >= to ? most : await visitorsIn(recount, from, Math.min(to, asOf)), most]
}

/** Views of each value; those without one are the rest of all. */
async function valuesIn(
  recount: Recount,
  dimension: string,
  from: number,
  to: number,
): Promise<Map<string | null, number>> {
  const { database, name } = recount.site
  const { rows } = await database.query(
    'SELECT value, SUM(views) AS n FROM activity_hour_values WHERE name = ? AND dimension = ? ' +
      'AND hour >= ? AND hour < ? GROUP BY value',
    [name, dimension, from / HOUR_MS, to / HOUR_MS],
  )
  const values = new Map<string | null, number>(
    rows.map(({ value, n }) => [String(value), Number(n)]),
  )
  const rest = (await viewsIn(recount, from, to)) - [...values.values()].reduce((a, b) => a + b, 0)
  if (rest > 0) values.set(null, rest)
  return values
}

/** Views of a page up to a moment; of other values only those of the hours before are known. */
async function pagesBefore(
  recount: Recount,
  dimension: string,
  value: string | null,
  asOf: number,
): Promise<number> {
  const { from } = recount.span
  if (dimension === 'page' && value !== null) return viewsIn(recount, from, asOf, value)
  const hour = Math.max(from, Math.floor(asOf / HOUR_MS) * HOUR_MS)
  return (await valuesIn(recount, dimension, from, hour)).get(value) ?? 0
}

function isName(dimension: string, value: string | null): boolean {
  return (
    value !== null && value !== '(other)' && !(dimension === 'referrer' && value === '(internal)')
  )
}
