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

/** One hit a day. */
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

test('a value has the first day of the activity, and an item that of its hits', async () => {
  const source = new Begun(() => NOW)
  const firstDay = () => source.firstDay()
  const when = { now: NOW, calendar: UTC, firstDay }
  const span = await spanOf(new URLSearchParams({ range: '7d' }), when)
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

test('the history of an item has the sums of whole weeks', async () => {
  const source = new Begun(() => NOW)
  const when = { now: NOW, calendar: UTC, firstDay: () => source.firstDay() }
  const span = await spanOf(new URLSearchParams('from=2026-09-07&to=2026-10-25'), when)
  const subject = { hits: { ...hits, firstDay: async () => '2026-01-01' }, value: 'a' }
  const { sums, before } = await subjectFigures(source, subject, span, when, (_, work) => work())
  assert.deepEqual(
    sums?.figures.map(({ start, pageViews }) => [start.slice(0, 10), pageViews]),
    ['09-07', '09-14', '09-21', '09-28', '10-05', '10-12', '10-19'].map((of) => [`2026-${of}`, 7]),
  )
  assert.deepEqual(before, Array(7).fill(7))
})
