import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { InventedSource } from './invented-source.fixture.js'
import type { DashboardHits } from './source.js'
import { spanOf } from './span.js'
import { subjectFigures } from './subject.js'

const NOW = Date.UTC(2026, 10, 30, 12)

class Begun extends InventedSource {
  async firstDay() {
    return '2026-11-27'
  }
}

test('a value has the first day of the activity, and an item that of its hits', async () => {
  const source = new Begun(() => NOW)
  const firstDay = () => source.firstDay()
  const when = { now: NOW, calendar: UTC, firstDay }
  const span = await spanOf(new URLSearchParams({ range: '7d' }), when)
  const hits: DashboardHits = {
    name: 'threads',
    firstDay: async () => '2026-11-18',
    top: async () => [],
    history: async (_item, { from, to }) =>
      Array.from({ length: (to - from) / 86_400_000 }, (_, day) => ({
        start: new Date(from + day * 86_400_000).toISOString(),
        hits: 1,
      })),
  }
  const of = (subject: Parameters<typeof subjectFigures>[1]) =>
    subjectFigures(source, subject, span, when, (_, work) => work())
  const value = await of({ dimension: 'page', value: '/' })
  assert.deepEqual(
    [value.firstDay, value.before?.every((views) => views === null)],
    ['2026-11-27', true],
  )
  const item = await of({ hits, value: 'a' })
  assert.equal(item.firstDay, '2026-11-18')
  // The first whole day is the 19th.
  assert.deepEqual(item.before, [null, null, 1, 1, 1, 1, 1])
  const elsewhere = { ...hits, timeZone: async () => 'Asia/Tokyo' }
  await assert.rejects(of({ hits: elsewhere, value: 'a' }), /are those of Asia\/Tokyo/)
})
