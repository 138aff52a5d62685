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
}

interface Span {
  readonly from: number
  readonly to: number
  readonly by: 'hour' | 'day'
  readonly daysAgo: number
}

const STEP_MS = { hour: HOUR_MS, day: DAY_MS }
const WINDOW_MS = 600_000
const percent = new Intl.NumberFormat('en-GB', { style: 'percent' })
const change = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' })
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** The change in the sum of a history, and the first day of a young site. */
const CHANGE = '(?:, (\\S+) against [^(]*)?(?: \\(.*\\))?'

/** What {@link recount} has compared. */
export interface Recounted {
  numbers: number
}

export async function recount(page: Page, site: CountedSite): Promise<Recounted> {
  const { span } = (await page.evaluate(
    `fetch('shown.json' + location.search).then((answer) => answer.json())`,
  )) as { span: Span }
  const done = { numbers: 0 }
  const { rows } = await site.database.query(
    'SELECT MIN(created_at) AS first FROM activities WHERE name = ?',
    [site.name],
  )
  const wholeFrom = wholeDayAfter(rows[0]?.['first'])
  const checks = [ofNow, ofHistory, ofLists, ofHits, ofItem]
  for (const check of checks) await check({ page, site, span, done, wholeFrom })
  return done
}

interface Recount {
  readonly page: Page
  readonly site: CountedSite
  readonly span: Span
  readonly done: Recounted
  /** Start of the site's first whole day. */
  readonly wholeFrom: number
}

function wholeDayAfter(first: unknown): number {
  return first === null ? Infinity : (Math.floor(Number(first) / DAY_MS) + 1) * DAY_MS
}

/** The period before a span that ends at `over`, as far as there were whole days; and its own. */
function comparedWith({ from, daysAgo }: Span, wholeFrom: number, over: number) {
  const beforeMs = daysAgo * DAY_MS
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
  const asOf = await asOfIn(page.locator('#now'))
  const [visitors, views] = (await page.locator('#now .figure strong').allTextContents()).map(count)
  const [from, to] = [asOf - WINDOW_MS, asOf]
  same(recount, String(views), String(await viewsIn(recount, from, to)), 'views of now')
  same(recount, String(visitors), String(await visitorsIn(recount, from, to)), 'visitors of now')

  const summary = page.locator('#operation > summary')
  if ((await summary.count()) === 0) return
  const [, today = ''] = /([\d,]+) views? of today/.exec((await summary.textContent()) ?? '') ?? []
  const midnight = Math.floor(asOf / DAY_MS) * DAY_MS
  const inSql = await viewsBetween(recount, midnight, midnight + DAY_MS, asOf)
  within(recount, count(today), inSql, 'views of today')
}

async function ofHistory(recount: Recount): Promise<void> {
  const { page, span } = recount
  const history = page.locator('#history')
  const asOf = await asOfIn(history)
  const text = (await history.locator('.sum').textContent()) ?? ''
  const [, views = '', by, visitors = ''] =
    RegExp(`^([\\d,]+) page views?${CHANGE}\\. (?:At most )?([\\d,]+) visitors?`).exec(text) ?? []
  const { from, to } = span
  within(recount, count(views), await viewsBetween(recount, from, to, asOf), text)
  const days: number[][] = []
  for (let day = from; day < to; day += DAY_MS) {
    days.push(await visitorsBetween(recount, day, day + DAY_MS, asOf))
  }
  const most = [0, 1].map((at) => Math.max(...days.map((bounds) => bounds[at]!)))
  within(recount, count(visitors), most, text)
  await ofChange(recount, [text, by], asOf, (from, to) => viewsIn(recount, from, to))

  const rows = await tableOf(history)
  assert.equal(rows.length, Math.round((to - from) / STEP_MS[span.by]))
  for (const [at, [label, shown = '', visitorsShown = '', before]] of rows.entries()) {
    const start = from + at * STEP_MS[span.by]
    const end = start + STEP_MS[span.by]
    if (start > asOf) assert.equal(shown, '', label)
    else {
      within(recount, count(shown), await viewsBetween(recount, start, end, asOf), `${label}`)
      const people = await visitorsBetween(recount, start, end, asOf)
      within(recount, count(visitorsShown), people, `visitors of ${label}`)
    }
    const earlier = await earlierOf(recount, start, end, (from, to) => viewsIn(recount, from, to))
    same(recount, before?.replaceAll(',', ''), earlier, `before ${label}`)
  }
}

type CountIn = (from: number, to: number) => Promise<number>

/** What a row of a chart has of the period before. */
async function earlierOf(recount: Recount, start: number, end: number, countIn: CountIn) {
  const { wholeFrom, span } = recount
  const beforeMs = span.daysAgo * DAY_MS
  const [from, to] = [start - beforeMs, end - beforeMs]
  return from < wholeFrom ? 'not known' : String(await countIn(from, to))
}

/** The change of what is over, against the same of the period before. */
async function ofChange(
  recount: Recount,
  [text, shown]: readonly [text: string, shown: string | undefined],
  asOf: number,
  countIn: CountIn,
): Promise<void> {
  const { wholeFrom, span } = recount
  const over = Math.min(span.to, Math.floor(asOf / STEP_MS[span.by]) * STEP_MS[span.by])
  const range = comparedWith(span, wholeFrom, over)
  const before = range ? await countIn(range.since, range.until) : 0
  if (!range || before === 0) assert.equal(shown, undefined)
  else {
    same(recount, shown, change.format((await countIn(range.from, over)) / before - 1), 'change')
  }
  const [, first] = /\(no data before (.*)\)/.exec(text) ?? []
  const isYoung = span.from - span.daysAgo * DAY_MS < wholeFrom
  assert.equal(first, isYoung ? date.format(wholeFrom - DAY_MS) : undefined, text)
}

/** Own words of the page, and the values that they stand for. */
const OWN = new Map<string, string | null>([
  ['All others', '(other)'],
  ['Inside the site', '(internal)'],
])

async function ofLists(recount: Recount): Promise<void> {
  const { page, span } = recount
  const total = await viewsBetween(recount, span.from, span.to, Infinity)
  const shownTotal = count((await page.locator('#history .sum').textContent())?.split(' ')[0] ?? '')
  for (const card of await page.locator('#tops .card:visible').all()) {
    const dimension = (await card.getAttribute('data-dimension')) ?? ''
    const asOf = await asOfIn(card)
    const thisHour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
    const end = Math.max(span.from, Math.min(span.to, thisHour))
    const now = await valuesIn(recount, dimension, span.from, span.to)
    const range = comparedWith(span, recount.wholeFrom, end)
    const over = await valuesIn(recount, dimension, range?.from ?? end, end)
    const then = range && (await valuesIn(recount, dimension, range.since, range.until))
    const rows = await card.locator('tbody tr').all()
    let last = Infinity
    for (const row of rows) {
      const name = row.locator('bdi')
      const isNamed = (await name.count()) > 0
      const words = isNamed ? '' : ((await row.locator('em').textContent()) ?? '')
      const value = isNamed ? await name.getAttribute('title') : (OWN.get(words) ?? null)
      const [views = '', share, by] = await row.locator('td').allTextContents()
      const what = `${dimension} ${value}`
      // What came since is among the page's own rows of visits.
      const least =
        asOf >= span.to ? now.get(value) : await pagesBefore(recount, dimension, value, asOf)
      within(recount, count(views), [least ?? 0, now.get(value) ?? 0], what)
      same(recount, share, percent.format(count(views) / shownTotal), `share of ${what}`)
      same(recount, by, wantedChange(value, over, then), `change of ${what}`)
      if (isNamed) assert(count(views) <= last, `${what} is in its place`)
      if (isNamed) last = count(views)
    }
    const listed = Math.min(10, [...now.keys()].filter((value) => isName(dimension, value)).length)
    assert.equal(await card.locator('tbody tr:not(.quiet)').count(), listed, dimension)
    assert(shownTotal <= total[1]!)
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
    const item = (await row.locator('bdi').getAttribute('title')) ?? ''
    const [hits = '', share, by] = await row.locator('td').allTextContents()
    // Those of today may have become more meanwhile.
    const least = span.to > now ? (ofOver.get(item) ?? 0) : (all.get(item) ?? 0)
    within(recount, count(hits), [least, all.get(item) ?? 0], `hits of ${item}`)
    if (span.to <= now) {
      same(recount, share, percent.format(count(hits) / total), `share of ${item}`)
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
  const panel = page.locator('#item')
  if (value === null || query.get('dimension') !== 'page' || !(await panel.isVisible())) return
  const asOf = await asOfIn(panel)
  const ofPage = (from: number, to: number) => viewsIn(recount, from, to, value)
  const between = async (from: number, to: number) => [
    await ofPage(from, Math.min(to, asOf)),
    await ofPage(from, to),
  ]
  const text = (await panel.locator('.sum').textContent()) ?? ''
  const [, views = '', by] = RegExp(`^([\\d,]+) views?${CHANGE}\\.$`).exec(text) ?? []
  within(recount, count(views), await between(span.from, span.to), text)
  await ofChange(recount, [text, by], asOf, ofPage)
  for (const [at, [label, shown = '', before]] of (await tableOf(panel)).entries()) {
    const start = span.from + at * STEP_MS[span.by]
    const end = start + STEP_MS[span.by]
    if (start > asOf) assert.equal(shown, '', label)
    else within(recount, count(shown), await between(start, end), `${value}, ${label}`)
    const earlier = await earlierOf(recount, start, end, ofPage)
    same(recount, before?.replaceAll(',', ''), earlier, `${value} before ${label}`)
  }
}

const count = (text: string): number => Number(text.replaceAll(',', ''))

/**
 * The moment of a part's figures, to the second; the layers of sites begin with one. The page names
 * it in the viewer's time zone.
 */
async function asOfIn(part: Locator): Promise<number> {
  const text = (await part.locator('.as-of').first().textContent()) ?? ''
  const [, date, time] = /As of (?:(\d+ \w+ \d+), )?(\d\d:\d\d:\d\d)/.exec(text) ?? []
  assert(time, `"${text}" names no moment`)
  const day = date === undefined ? 'new Date().toDateString()' : `'${date}'`
  return part.page().evaluate<number>(`Date.parse(${day} + ' ${time}')`)
}

/** The rows of a chart's table, which is closed again. */
async function tableOf(part: Locator): Promise<string[][]> {
  const summary = part.locator('summary')
  await summary.click()
  await part.locator('table tbody tr').first().waitFor()
  const rows = (await part
    .locator('table tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent ?? '')),
    )) as string[][]
  await summary.click()
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
