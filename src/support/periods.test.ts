import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS } from './clock.js'
import { startOfDay, wholePeriods } from './periods.js'

test('a time is widened to whole hours or days', () => {
  assert.deepEqual(wholePeriods(HOUR_MS + 1, 3 * HOUR_MS - 1, 'hour', 2), { from: 1, to: 3 })
  assert.deepEqual(wholePeriods(DAY_MS, 2 * DAY_MS, 'day', 1), { from: 1, to: 2 })
  assert.deepEqual(wholePeriods(DAY_MS, DAY_MS, 'day', 1), { from: 1, to: 1 })
})

test('a time that touches more periods than allowed is none', () => {
  assert.equal(wholePeriods(HOUR_MS - 1, 2 * HOUR_MS + 1, 'hour', 2), undefined)
})

test('a day that does not exist has no start', () => {
  assert.equal(startOfDay('1970-01-02'), DAY_MS)
  assert.equal(startOfDay('2024-02-29'), Date.UTC(2024, 1, 29))
  for (const text of ['2023-02-29', '2026-13-01', '2026-1-1', '2026-05-17T12:00', '']) {
    assert.equal(startOfDay(text), undefined, text)
  }
})
