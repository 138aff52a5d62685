import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  dayText,
  mondayOf,
  monthOf,
  monthsBetween,
  summedBy,
  wholePeriods,
} from './calendar-days.js'
import { DAY_MS } from './clock.js'

const dayOf = (text: string): number => Date.parse(text) / DAY_MS

test('weeks begin on Monday, also across a year, and months have 28 to 31 days', () => {
  for (const [day, monday, first, next] of [
    ['2026-11-29', '2026-11-23', '2026-11-01', '2026-12-01'],
    ['2026-11-30', '2026-11-30', '2026-11-01', '2026-12-01'],
    ['2027-01-03', '2026-12-28', '2027-01-01', '2027-02-01'],
    ['2024-02-29', '2024-02-26', '2024-02-01', '2024-03-01'],
    ['1970-01-05', '1970-01-05', '1970-01-01', '1970-02-01'],
  ] as const) {
    assert.equal(dayText(mondayOf(dayOf(day))), monday)
    assert.equal(dayText(monthOf(dayOf(day))), first)
    assert.equal(dayText(monthOf(dayOf(day), 1)), next)
  }
  assert.equal(dayText(monthOf(dayOf('2026-01-31'), -11)), '2025-02-01')
  assert.equal(monthsBetween(dayOf('2025-12-31'), dayOf('2026-11-01')), 11)
})

test('a range is widened to whole weeks or months, and an empty one stays', () => {
  const days = { from: dayOf('2026-11-18'), to: dayOf('2026-12-01') }
  const texts = ({ from, to }: typeof days) => [dayText(from), dayText(to)]
  assert.deepEqual(texts(wholePeriods(days, 'week')), ['2026-11-16', '2026-12-07'])
  assert.deepEqual(texts(wholePeriods(days, 'month')), ['2026-11-01', '2026-12-01'])
  const whole = { from: dayOf('2026-11-16'), to: dayOf('2026-11-23') }
  assert.deepEqual(wholePeriods(whole, 'week'), whole)
  const empty = { from: days.from, to: days.from }
  assert.deepEqual(wholePeriods(empty, 'month'), empty)
})

test('counts are the sums of the known days, visitors those of the day with the most', () => {
  const day = (
    start: string,
    pageViews: number | null,
    visitors: number | null,
    seen: number | null = null,
  ) => ({ start: `${start}T00:00:00.000Z`, pageViews, visitors, seen })
  const days = [
    day('2026-11-28', null, null),
    day('2026-11-29', null, null),
    day('2026-11-30', null, null),
    day('2026-12-01', 5, 4, 2),
    day('2026-12-02', 7, 3, 1),
  ]
  assert.deepEqual(summedBy(days.slice(2), 'week'), [day('2026-11-30', 12, 4, 3)])
  assert.deepEqual(summedBy(days, 'month'), [
    day('2026-11-28', null, null),
    day('2026-12-01', 12, 4, 3),
  ])
  assert.deepEqual(summedBy([], 'week'), [])
})
