import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Calendar, UTC } from '../support/calendar.js'
import { HOUR_MS } from '../support/clock.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { InventedSource } from './invented-source.fixture.js'
import { spanOf } from './span.js'
import { weekHours } from './times.js'

const whole = <T>(_what: string, work: () => Promise<T>): Promise<T> => work()
const at = (text: string): number => Date.parse(text)

/** The hours of a week in a range that is asked for at `now`; each has one view a millisecond. */
async function hoursOf(
  query: string,
  now: number,
  {
    calendar = UTC,
    asOf = now,
    firstDay = '2020-01-01',
  }: { calendar?: Calendar; asOf?: number; firstDay?: string | null } = {},
) {
  const source = new InventedSource(() => now)
  const asked: (readonly [from: number, to: number])[] = []
  Object.assign(source, {
    firstDay: async () => firstDay,
    hours: async ({ from, to }: { from: number; to: number }) => {
      asked.push([from, to])
      const figures = Array.from({ length: (to - from) / HOUR_MS }, (_, hour) => hour)
      return { figures, asOf: new Date(asOf).toISOString(), stale: false }
    },
  })
  const when = { now, calendar, firstDay: async () => firstDay }
  const span = await spanOf(new URLSearchParams(query), when)
  const answer = await weekHours(source, span, { now, calendar }, whole)
  const hours = new Map(answer!.figures.map((one) => [`${one.weekday} ${one.hour}`, one]))
  return { asked: asked[0], hours }
}

test('they are of the range, of four weeks to a year, up to this hour', async () => {
  const now = at('2026-11-22T10:40:00Z')
  for (const [query, from, to] of [
    ['range=today', '2026-10-26', '2026-11-22T10:00Z'],
    ['range=yesterday', '2026-10-25', '2026-11-22'],
    ['range=30d', '2026-10-24', '2026-11-22T10:00Z'],
    ['from=2026-06-01&to=2026-07-31', '2026-06-01', '2026-08-03'],
    ['range=12m', '2025-12-02', '2026-11-22T10:00Z'],
    ['range=12m&step=-1', '2024-12-02', '2025-12-01'],
  ] as const) {
    const { asked, hours } = await hoursOf(query, now)
    assert.deepEqual(asked, [at(from), at(to)], query)
    assert.equal(hours.size, 168)
  }
})

test('each is summed over its days, without the hours that are not complete', async () => {
  const now = at('2026-11-22T10:40:00Z')
  const { hours } = await hoursOf('range=today', now, { asOf: at('2026-11-22T08:59:59Z') })
  // 26 October was a Monday, and 22 November is a Sunday.
  assert.deepEqual(hours.get('0 0'), {
    weekday: 0,
    hour: 0,
    pageViews: 0 + 168 + 336 + 504,
    days: 4,
  })
  const sunday = (hour: number) => 6 * 24 + hour
  assert.deepEqual(hours.get('6 7'), {
    weekday: 6,
    hour: 7,
    pageViews: 4 * sunday(7) + 168 + 336 + 504,
    days: 4,
  })
  assert.deepEqual(hours.get('6 8')?.days, 3)
  assert.deepEqual(hours.get('6 10')?.days, 3)
})

test('hours are of the zone: one that clocks repeat is of one day', async () => {
  const calendar = calendarOf(timeZoneOption('Europe/Berlin'))
  const autumn = await hoursOf('from=2026-10-05&to=2026-11-01', at('2026-12-01'), { calendar })
  const first = autumn.asked![0]
  assert.equal(first, at('2026-10-05T00:00+02:00'))
  const repeated = ['2026-10-25T00:00Z', '2026-10-25T01:00Z'].map(
    (one) => (at(one) - first) / HOUR_MS,
  )
  const others = ['2026-10-11T00:00Z', '2026-10-18T00:00Z', '2026-11-01T01:00Z'].map(
    (one) => (at(one) - first) / HOUR_MS,
  )
  const sum = [...repeated, ...others].reduce((all, one) => all + one)
  assert.deepEqual(autumn.hours.get('6 2'), { weekday: 6, hour: 2, pageViews: sum, days: 4 })
  const spring = await hoursOf('from=2026-03-02&to=2026-03-29', at('2026-12-01'), { calendar })
  assert.deepEqual([spring.hours.get('6 2')?.days, spring.hours.get('6 3')?.days], [3, 4])
})

test('those before the first whole day are not known', async () => {
  const now = at('2026-11-22T10:40:00Z')
  const { asked } = await hoursOf('range=30d', now, { firstDay: '2026-11-19' })
  assert.deepEqual(asked, [at('2026-11-20'), at('2026-11-22T10:00Z')])
  for (const firstDay of ['2026-11-22', null]) {
    const none = await hoursOf('range=30d', now, { firstDay })
    assert.deepEqual([none.asked, none.hours.size], [undefined, 0])
  }
})
