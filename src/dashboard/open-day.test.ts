import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { withToday } from './open-day.js'

test('the open day and its hours have the greater of both figures, and no other time has', () => {
  const today = { day: '2026-11-30', views: 10, hours: [4, 6] }
  const period = (start: string, pageViews: number | null) => ({ start, pageViews })
  for (const [by, start, known, wanted] of [
    ['day', '2026-11-30T00:00:00.000Z', 9, 10],
    ['day', '2026-11-30T00:00:00.000Z', 10, 10],
    ['day', '2026-11-30T00:00:00.000Z', 11, 11],
    ['day', '2026-11-30T00:00:00.000Z', null, 10],
    ['day', '2026-11-29T00:00:00.000Z', 9, 9],
    ['day', '2026-12-01T00:00:00.000Z', null, null],
    ['hour', '2026-11-30T00:00:00.000Z', 3, 4],
    ['hour', '2026-11-30T00:00:00.000Z', 5, 5],
    ['hour', '2026-11-30T01:00:00.000Z', 3, 6],
    ['hour', '2026-11-30T02:00:00.000Z', null, null],
    ['hour', '2026-11-29T23:00:00.000Z', 3, 3],
  ] as const) {
    const periods = withToday([period(start, known)], by, today, UTC)
    assert.deepEqual(periods, [period(start, wanted)], `${by} ${start} ${known}`)
  }
})
