import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { historyQuery, QueryError, topQuery } from '../dashboard/query.js'
import { UTC } from '../support/calendar.js'
import { dayIn } from '../support/calendar-days.js'
import { DAY_MS } from '../support/clock.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { checkedHistory, checkedTop } from './ranges.js'

const NOW = Date.UTC(2026, 4, 17, 12)

/** Ranges around all bounds: a year of hours, ten years of days. */
const ranges = fc.record({
  to: fc.integer({ min: NOW - 400 * DAY_MS, max: NOW }),
  days: fc.oneof(...[30, 365, 3_659].map((days) => fc.integer({ min: days - 1, max: days + 3 }))),
})

/** Returns what `ask` makes of a request, or `undefined` if the dashboard refuses it with a 400. */
function letThrough<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    assert(error instanceof QueryError, String(error))
    return undefined
  }
}

test('history() and top() take every range that the dashboard lets through', () => {
  let taken = 0
  fc.assert(
    fc.property(ranges, ({ to, days }) => {
      const range = `from=${to - days * DAY_MS}&to=${to}`
      for (const by of ['hour', 'day']) {
        const asked = letThrough(() => historyQuery(`/?${range}&by=${by}`, NOW, UTC))
        if (asked) taken += checkedHistory(asked.range, UTC).range.to
      }
      const top = letThrough(() => topQuery(`/?${range}&dimension=page`, NOW, ['page'], UTC))
      if (top) taken += checkedTop({ from: top.from, to: top.to, n: top.n }, UTC).n
    }),
  )
  assert(taken > 0)
})

test('hours of as many days are taken where more days are longer than shorter', () => {
  const days = calendarOf(timeZoneOption('Europe/Berlin'))
  const [autumn, next] = ['2025-10-26', '2026-10-27'].map((day) => days.startOfDay(dayIn(day)!))
  const { range } = checkedHistory({ by: 'hour', from: autumn!, to: next! }, days)
  assert.equal(range.to - range.from, 366 * 24 + 1)
  const more = { by: 'hour', from: autumn!, to: next! + 1 } as const
  assert.throws(() => checkedHistory(more, days), /at most 366 days before "to"/)
})

test('a moment that is none is refused by its name: of a wrong type, or of a wrong value', () => {
  const of = (from: unknown) => () =>
    checkedHistory({ by: 'hour', from: from as number, to: NOW }, UTC)
  for (const from of [NaN, Infinity, 'yesterday', new Date(NaN)]) {
    assert.throws(of(from), { name: 'RangeError', message: /option "from" is/ })
  }
  for (const from of [null, true, {}]) {
    assert.throws(of(from), { name: 'TypeError', message: /option "from" is/ })
  }
})
