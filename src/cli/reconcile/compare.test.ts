import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../../support/calendar.js'
import { dayText } from '../../support/calendar-days.js'
import { compare } from './compare.js'
import type { Counted, CountedDay } from './counted.js'
import { Tally } from './tally.js'

const DAY = 20_000

/** What a log has, as pages by the hour since the day began, and what was counted on the day. */
function compared(
  lines: readonly (readonly [hour: number, path: string])[],
  counted: Partial<CountedDay> = {},
  books: Partial<Counted> = {},
) {
  const range = { from: DAY, to: DAY + 1 }
  const tally = new Tally({ calendar: UTC, range, host: undefined, mayCount: () => true })
  for (const [hour, uri] of lines) {
    const time = `${(DAY * 24 + hour) * 3_600}.000`
    const page = { method: 'GET', status: '200', type: 'text/html', accept: 'text/html' }
    tally.add(JSON.stringify({ time, uri, ...page, 'user-agent': 'Mozilla/5.0 Firefox/140.0' }))
  }
  const pages = counted.pages ?? new Map<string, number>()
  const views = [...pages.values()].reduce((sum, one) => sum + one, 0)
  const day = { views, bots: 0, late: 0, hours: 0, ...counted, pages }
  const days = new Map([[DAY, day]])
  const own = {
    range,
    calendar: UTC,
    openDay: DAY + 1,
    firstDay: DAY - 1,
    days,
    pages: new Set(''),
  }
  return compare(tally, { ...own, ...books })
}

const AROUND = [
  [-1, '/'],
  [24, '/'],
] as const

test('a day that the log has in part, or that is not counted whole, is left out by name', () => {
  const hours = 1 << 13
  for (const [found, why] of [
    [compared([]), /the log has no line/],
    [compared([[0.1, '/'], AROUND[1]]), /begins at \S+T00:06:00: give the file before it/],
    [compared([AROUND[0], [23, '/']]), /ends at \S+T23:00:00: give the file after it/],
    [compared([...AROUND, [12, '/']], { hours }), /has no line of the hour at \S+T13:00:00/],
    [compared(AROUND, {}, { openDay: DAY }), /it is not closed yet/],
    [compared(AROUND, {}, { firstDay: DAY + 1 }), /nothing was counted yet/],
    [compared(AROUND, {}, { firstDay: DAY }), /counting began in the course of it/],
  ] as const) {
    assert.deepEqual([found.days, found.left.length, found.left[0]?.day], [[], 1, dayText(DAY)])
    assert.match(found.left[0]!.why, why)
  }
  const whole = compared([...AROUND, [13.5, '/a']], { hours, pages: new Map([['/a', 1]]) })
  assert.deepEqual([whole.left, whole.pages, whole.days[0]?.difference], [[], [], 0])
  const exact = compared(
    [
      [0, '/'],
      [24, '/'],
    ],
    { pages: new Map([['/', 1]]) },
  )
  assert.deepEqual([exact.left, exact.days[0]?.pages], [[], { log: 1, counted: 1 }])
})

test('views that have moved between pages differ, though the sum of the day does not', () => {
  const lines = [...AROUND, ...['/a', '/a', '/b', '/c'].map((path) => [1, path] as const)]
  const { days, pages } = compared(lines, {
    pages: new Map([
      ['/a', 1],
      ['/b', 2],
      ['', 1],
    ]),
  })
  assert.deepEqual(days[0]?.pages, { log: 4, counted: 4 })
  assert.equal(days[0].difference, 25)
  assert.deepEqual(
    pages.map(({ page, log, counted }) => [page, log, counted]),
    [
      ['/a', 2, 1],
      ['/b', 1, 2],
    ],
  )
})

test('pages that differ most come first, whichever side has more', () => {
  const [log, counted] = [
    { '/a': 5, '/b': 3, '/c': 1, '/d': 2 },
    { '/a': 6, '/b': 1, '/c': 5, '/d': 2 },
  ].map((views) => new Map(Object.entries(views))) as [Map<string, number>, Map<string, number>]
  const lines = [...log].flatMap(([path, views]) => Array<[number, string]>(views).fill([1, path]))
  const { pages } = compared([...AROUND, ...lines], { pages: counted })
  assert.deepEqual(
    pages.map(({ page }) => page),
    ['/c', '/b', '/a'],
  )
})
