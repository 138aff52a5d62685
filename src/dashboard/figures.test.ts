import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import { spanFigures, totalsOf, upTo } from './figures.js'
import { InventedSource } from './invented-source.fixture.js'
import type { Dated, Range, ShownPeriod } from './source.js'
import { spanOf } from './span.js'

const NOW = Date.UTC(2026, 10, 30, 12)
const ASKED = new URLSearchParams({ range: '7d' })

test('an imported day is told of the period that it lies in', async () => {
  const span = await spanOf(ASKED, { now: NOW, calendar: UTC, firstDay: async () => null })
  for (const [of, imported] of [
    ['none', () => false],
    ['sums', (from: number) => from >= span.from],
    ['before', (from: number) => from < span.from],
  ] as const) {
    const history = async ({ from, to }: Range): Promise<Dated<readonly ShownPeriod[]>> => ({
      figures: Array.from({ length: (to - from) / DAY_MS }, (_, day) => ({
        start: new Date(from + day * DAY_MS).toISOString(),
        pageViews: 1,
        visitors: 1,
        ...(day === 1 && imported(from) && ({ imported: true } as const)),
      })),
      asOf: new Date(NOW).toISOString(),
      stale: false,
    })
    const found = await spanFigures({ history }, span, UTC, (_, work) => work())
    const inSums = found.sums?.figures.some((one) => one.imported) ?? false
    assert.deepEqual([inSums, found.importedBefore ?? false], [of === 'sums', of === 'before'], of)
  }
})

test('totals have views and visitors, and begin when the site did', async () => {
  const source = new InventedSource(() => NOW)
  const totals = totalsOf(Object.assign(source, { firstDay: async () => '2026-11-30' }))
  assert.equal(await totals.firstDay?.(), '2026-11-30')
  const range = { from: NOW - DAY_MS, to: NOW, by: 'day' } as const
  const { figures } = await totals.history(range)
  assert.deepEqual(
    new Set(figures.flatMap(Object.keys)),
    new Set(['start', 'pageViews', 'visitors']),
  )
  assert.notDeepEqual(figures, (await source.history(range)).figures)
  assert.equal(totalsOf(new InventedSource(() => NOW)).firstDay, undefined)
})

test('figures are of the end of their range once they are complete, and not stale', () => {
  const asOf = (ms: number): string => new Date(ms).toISOString()
  for (const [at, of, stale] of [
    [NOW - 1, NOW - 1, true],
    [NOW, NOW, false],
    [NOW + 1, NOW, false],
  ] as const) {
    const dated = { figures: [], asOf: asOf(at), stale: true }
    assert.deepEqual(upTo(NOW, dated), { figures: [], asOf: asOf(of), stale })
  }
})
