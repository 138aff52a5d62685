import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import type { HistoryPeriod } from '../support/periods.js'
import { InventedSource } from './invented-source.fixture.js'
import { csvOf, fileName, historyTable, shownTable } from './rows.js'
import type { ListRange, Range } from './source.js'

const NOW = Date.UTC(2026, 10, 30, 12)

/** Page views of pages this week, and in the week before. */
const VIEWS: Readonly<Record<string, readonly [now: number, before: number]>> = {
  '/new': [5, 0],
  '/same': [4, 4],
  '/twice': [2, 1],
}

class Weeks extends InventedSource {
  override async top(_: string, { to }: ListRange) {
    const week = to > NOW - 6 * DAY_MS ? 0 : 1
    const figures = Object.entries(VIEWS)
      .map(([value, views]) => ({ value, pageViews: views[week] }))
      .filter(({ pageViews }) => pageViews > 0)
    return { figures, asOf: new Date(NOW).toISOString(), stale: false }
  }

  async firstDay() {
    return '2020-01-01'
  }
}

function tablesOf(source: Weeks) {
  const firstDay = () => source.firstDay()
  return { source, totals: source, dimensions: ['page'], hits: [], firstDay, calendar: UTC }
}

/** The rows of the pages of a week. */
async function pagesOf(source: Weeks) {
  const table = await shownTable(tablesOf(source), '/shown.csv?dimension=page&range=7d', NOW)
  return { table, figures: (await table.read()).figures }
}

test('a value that is new has no change, which would be without end', async () => {
  const { table, figures } = await pagesOf(new Weeks(() => NOW))
  const changes = figures.map((row) => {
    const { value, before, change } = row as Readonly<Record<string, unknown>>
    return [value, before, change]
  })
  assert.deepEqual(changes, [
    ['/new', 0, null],
    ['/same', 4, 0],
    ['/twice', 1, 1],
  ])
  assert.doesNotMatch(csvOf(table, figures), /Infinity|NaN/)
})

test('a share is at most the whole, which may have been read before the value', async () => {
  const total = 4
  class Earlier extends Weeks {
    override async history(range: Range & { readonly by: HistoryPeriod }) {
      const { figures, ...dated } = await super.history(range)
      const first = figures.map((one, at) => ({ ...one, pageViews: at === 0 ? total : 0 }))
      return { ...dated, figures: first }
    }
  }
  const { figures } = await pagesOf(new Earlier(() => NOW))
  const shares = figures.map((row) => (row as Readonly<Record<string, unknown>>)['share'])
  assert.deepEqual(shares, [1, 1, 0.5])
})

test('the history of a value is read without that of the site', async () => {
  const source = new Weeks(() => NOW)
  const url = '/history.csv?from=2026-11-29&to=2026-11-30&by=day&dimension=page&value=%2Fnew'
  await historyTable(tablesOf(source), url, NOW).read()
  // Invented values are a part of the site's.
  const asked = [
    'history of page /new',
    'history day 2026-11-29T00:00:00.000Z 2026-11-30T00:00:00.000Z',
  ]
  assert.deepEqual(source.asked, asked)
})

test('the file of a value has another name than that of the site', async () => {
  const names = []
  for (const query of ['', '&dimension=page&value=%2Fnew', '&dimension=page']) {
    const table = await shownTable(
      tablesOf(new Weeks(() => NOW)),
      `/shown.csv?range=7d${query}`,
      NOW,
    )
    names.push(fileName('forum', table, UTC).replace(/-2026.*/, ''))
  }
  for (const query of ['', '&dimension=page&value=%2Fnew']) {
    const table = historyTable(tablesOf(new Weeks(() => NOW)), `/history.csv?by=day${query}`, NOW)
    names.push(fileName('forum', table, UTC).replace(/-2026.*/, ''))
  }
  const [site, value, page] = ['forum-days', 'forum-value-days', 'forum-page']
  assert.deepEqual(names, [site, value, page, site, value])
})
