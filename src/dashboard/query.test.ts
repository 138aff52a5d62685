import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import { historyQuery, QueryError, topQuery } from './query.js'

const NOW = Date.parse('2026-11-22T10:40:00Z')
const DIMENSIONS = ['page', 'referrer']
const at = (text: string): number => Date.parse(text)

describe('the query of history', () => {
  test('asks by default for the last 30 days, by day, today among them', () => {
    assert.deepEqual(historyQuery('/history.json', NOW, UTC).range, {
      from: at('2026-10-24T00:00:00Z'),
      to: at('2026-11-23T00:00:00Z'),
      by: 'day',
    })
  })

  test('is widened to whole hours or whole UTC days', () => {
    const range = 'from=2026-11-01T10:20:00Z&to=2026-11-01T12:40:00%2B01:00'
    assert.deepEqual(historyQuery(`/history.csv?${range}&by=hour`, NOW, UTC).range, {
      from: at('2026-11-01T10:00:00Z'),
      to: at('2026-11-01T12:00:00Z'),
      by: 'hour',
    })
    assert.deepEqual(historyQuery(`/history.csv?${range}`, NOW, UTC).range, {
      from: at('2026-11-01T00:00:00Z'),
      to: at('2026-11-02T00:00:00Z'),
      by: 'day',
    })
  })

  test('takes dates, and milliseconds since 1970', () => {
    const from = at('2026-11-01T00:00:00Z')
    const to = at('2026-11-02T00:00:00Z')
    for (const query of ['from=2026-11-01&to=2026-11-02', `from=${from}&to=${to}`]) {
      assert.deepEqual(historyQuery(`/?${query}`, NOW, UTC).range, { from, to, by: 'day' })
    }
  })
})

test('the query of top has ten values by default, and at most 1,000', () => {
  const { dimension, n } = topQuery('/top.json?dimension=referrer', NOW, DIMENSIONS, UTC)
  assert.deepEqual([dimension, n], ['referrer', 10])
  assert.equal(topQuery('/?dimension=page&n=1000', NOW, DIMENSIONS, UTC).n, 1000)
})

/** A query, the parameter that is wrong, and what the message says. */
const WRONG: [query: string, parameter: string, message: RegExp][] = [
  ['from=2026-11-02&to=2026-11-01', 'from', /allowed: a moment that is not after "to"/],
  ['from=yesterday', 'from', /"from" is "yesterday"; allowed: a date such as 2026-11-01/],
  ['from=', 'from', /a date such as/],
  ['from=2026-02-31', 'from', /a date such as/],
  ['to=2026-11-01T12:00:00', 'to', /a time with its zone/],
  ['to=-1', 'to', /milliseconds/],
  ['to=1e9', 'to', /milliseconds/],
  ['from=1970-01-01', 'from', /at most 3660 days before "to"/],
  ['from=2026-11-01&from=2026-11-02', 'from', /allowed: one value/],
  ['dimension=color', 'dimension', /"dimension" is "color"; allowed: page, referrer/],
  ['dimension=__proto__', 'dimension', /allowed: page, referrer/],
  ['n=0', 'n', /"n" is "0"; allowed: a whole number from 1 to 1000/],
  ['n=1000000', 'n', /from 1 to 1000/],
  ['n=1.5', 'n', /from 1 to 1000/],
  ['n=', 'n', /from 1 to 1000/],
  ['nn=1', 'nn', /no such parameter; there are dimension, from, to, n/],
]

for (const [query, parameter, message] of WRONG) {
  test(`${query} is refused, and "${parameter}" named`, () => {
    const whole = query.startsWith('dimension') ? query : `dimension=page&${query}`
    assert.throws(
      () => topQuery(`/top.json?${whole}`, NOW, DIMENSIONS, UTC),
      (error) =>
        error instanceof QueryError && error.parameter === parameter && message.test(error.message),
    )
  })
}

test('a period that there is not is refused, and so is no dimension', () => {
  assert.throws(
    () => historyQuery('/?by=year', NOW, UTC),
    /parameter "by" is "year"; allowed: hour, day, week, month/,
  )
  assert.throws(() => topQuery('/', NOW, DIMENSIONS, UTC), /parameter "dimension" is null/)
})

test('what is wrong is shown, but not at any length', () => {
  assert.throws(
    () => historyQuery(`/?by=${'x'.repeat(10_000)}`, NOW, UTC),
    (error) => error instanceof QueryError && error.message.length < 200,
  )
})

test('the longest ranges are those that docs/dashboard.md names', () => {
  const page = readFileSync(new URL('../../docs/dashboard.md', import.meta.url), 'utf8')
  const row = page.split('\n').find((line) => line.startsWith('| `by` |')) ?? ''
  const [hours = 0, all = 0] = Array.from(row.matchAll(/up to ([\d,]+)/g), ([, days = '']) =>
    Number(days.replace(',', '')),
  )
  const to = at('2026-11-22T00:00:00Z')
  const history = (by: string) => (from: number) =>
    historyQuery(`/history.csv?by=${by}&from=${from}&to=${to}`, NOW, UTC)
  const top = (from: number) =>
    topQuery(`/top.csv?dimension=page&from=${from}&to=${to}`, NOW, DIMENSIONS, UTC)
  for (const [days, query] of [
    [all, history('day')],
    [hours, history('hour')],
    [all, top],
  ] as const) {
    assert(days > 0, row)
    query(to - days * DAY_MS)
    assert.throws(() => query(to - days * DAY_MS - 1), {
      parameter: 'from',
      allowed: `at most ${days} days before "to"`,
    })
  }
})
