import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Period, UTC } from './calendar.js'
import { dayIn } from './calendar-days.js'
import { DAY_MS, HOUR_MS } from './clock.js'
import { momentOf, rangeOf } from './periods.js'

/** The range of hours or days between two moments, or which end is wrong and what is allowed. */
function asked(from: unknown, to: unknown, by: Period = 'hour', max = 2): unknown {
  try {
    return rangeOf(
      { from, to },
      by,
      max,
      UTC,
      (end, allowed) => new Error(`${end}: ${allowed ?? 'a moment'}`),
    )
  } catch (error) {
    return String(error)
  }
}

test('a time is widened to whole hours or days', () => {
  assert.deepEqual(asked(HOUR_MS + 1, 3 * HOUR_MS - 1), { from: 1, to: 3 })
  assert.deepEqual(asked(DAY_MS, 2 * DAY_MS, 'day', 1), { from: 1, to: 2 })
  assert.deepEqual(asked(DAY_MS, DAY_MS, 'day', 1), { from: 1, to: 1 })
})

test('a time that touches more periods than allowed is refused', () => {
  assert.deepEqual(asked(0, 24 * HOUR_MS, 'hour', 24), { from: 0, to: 24 })
  assert.equal(asked(0, 24 * HOUR_MS + 1, 'hour', 24), 'Error: from: at most 1 days before "to"')
})

test('an end that is no moment is told, and so is a range that ends before it begins', () => {
  for (const given of [undefined, null, {}, '', 'yesterday', '2026-02-31', -1, NaN, 8.64e15]) {
    assert.equal(asked(given, 0), 'Error: from: a moment', String(given))
    assert.equal(asked(0, given), 'Error: to: a moment', String(given))
  }
  assert.equal(asked(2, 1), 'Error: from: a moment that is not after "to"')
})

test('a moment is a Date, a number, or a text in ISO 8601', () => {
  const noon = Date.UTC(2026, 4, 17, 12)
  for (const given of [
    noon,
    new Date(noon),
    '2026-05-17T12:00Z',
    '2026-05-17T14:00:00.000+02:00',
  ]) {
    assert.equal(momentOf(given, UTC), noon)
  }
  assert.equal(momentOf('2026-05-17', UTC), Date.UTC(2026, 4, 17))
  assert.equal(
    momentOf('2026-05-17T12:00', UTC),
    new Date(2026, 4, 17, 12).getTime(),
    'of this machine',
  )
  assert.equal(momentOf('17 May 2026', UTC), undefined)
})

test('a day that does not exist has no number', () => {
  assert.equal(dayIn('1970-01-02'), 1)
  assert.equal(dayIn('2024-02-29'), Date.UTC(2024, 1, 29) / DAY_MS)
  for (const text of ['2023-02-29', '2026-13-01', '2026-1-1', '2026-05-17T12:00', '']) {
    assert.equal(dayIn(text), undefined, text)
  }
})
