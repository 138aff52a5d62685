import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import { spanOf } from './span.js'

const NOW = Date.UTC(2026, 10, 30, 12)
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

test('a span is compared with the time before it, or with that of a year ago', async () => {
  for (const [query, by, before, yearAgo] of [
    ['range=today', 'hour', '2026-11-23 2026-11-24', '2025-12-01 2025-12-02'],
    ['range=7d', 'day', '2026-11-17 2026-11-24', '2025-11-25 2025-12-02'],
    ['range=month', 'day', '2026-09-27 2026-10-27', '2025-11-02 2025-12-02'],
    ['range=12m', 'month', '2024-12-01 2025-12-01', '2024-12-01 2025-12-01'],
    ['from=2026-07-01&to=2026-09-30', 'week', '2026-03-23 2026-06-29', '2025-06-30 2025-10-06'],
    ['from=2026-01-01&to=2026-09-30', 'month', '2025-04-01 2026-01-01', '2025-01-01 2025-10-01'],
  ] as const) {
    for (const [against, wanted] of [
      ['before', before],
      ['year', yearAgo],
      ['none', undefined],
    ] as const) {
      const asked = new URLSearchParams(`${query}&against=${against}`)
      const span = await spanOf(asked, { now: NOW, calendar: UTC, firstDay: async () => null })
      const shown = span.before && `${day(span.before.from)} ${day(span.before.to)}`
      assert.deepEqual([span.by, shown ?? undefined], [by, wanted], `${query} ${against}`)
    }
  }
})

test('a range is shown by the hour, by day, by week or by month, as it is long', async () => {
  for (const [from, to, by] of [
    ['2026-11-29', '2026-11-29', 'hour'],
    ['2026-11-28', '2026-11-29', 'hour'],
    ['2026-11-27', '2026-11-29', 'day'],
    ['2026-10-30', '2026-11-29', 'day'],
    ['2026-10-29', '2026-11-29', 'week'],
    ['2026-05-30', '2026-11-29', 'week'],
    ['2026-05-29', '2026-11-29', 'month'],
  ] as const) {
    const asked = new URLSearchParams({ from, to })
    const span = await spanOf(asked, { now: NOW, calendar: UTC, firstDay: async () => null })
    assert.equal(span.by, by, `${from} to ${to}`)
  }
})

test('days stand between as many others, and whole months between months', async () => {
  for (const [days, earlier, later] of [
    ['2026-03-01 2026-03-31', '2026-02-01 2026-02-28', '2026-04-01 2026-04-30'],
    ['2026-03-02 2026-03-31', '2026-01-31 2026-03-01', '2026-04-01 2026-04-30'],
    ['2026-03-01 2026-03-30', '2026-01-30 2026-02-28', '2026-03-31 2026-04-29'],
    ['2026-02-01 2026-02-28', '2026-01-01 2026-01-31', '2026-03-01 2026-03-31'],
  ] as const) {
    const [from, to] = days.split(' ') as [string, string]
    const asked = new URLSearchParams({ from, to })
    const span = await spanOf(asked, { now: NOW, calendar: UTC, firstDay: async () => null })
    const shown = [span.earlier, span.later].map((one) => `${one?.['from']} ${one?.['to']}`)
    assert.deepEqual(shown, [earlier, later], days)
  }
})

test('no span begins before 1970, nor has more days than are answered at once', async () => {
  const asked = (query: string) =>
    spanOf(new URLSearchParams(query), { now: NOW, calendar: UTC, firstDay: async () => null })
  // 1 January 1970 was a Thursday: its week has begun in 1969.
  for (const query of ['from=1970-01-01&to=1970-01-03', 'from=1970-01-01&to=1970-02-28']) {
    const { from, before } = await asked(query)
    assert.deepEqual([from, before], [0, { from: 0, to: 0 }], query)
  }
  const most = 3_660 * DAY_MS
  const to = day(NOW)
  assert.equal((await asked(`from=${day(NOW + DAY_MS - most)}&to=${to}`)).by, 'month')
  await assert.rejects(asked(`from=${day(NOW - most)}&to=${to}`), { parameter: 'from' })
})
