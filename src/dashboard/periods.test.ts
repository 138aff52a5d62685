/** The periods of a range beside those before, as the page names and adds them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, setZone } from './assets/format.js'
import {
  bothOf,
  complete,
  namesOf,
  sharesSeen,
  shortTitle,
  titleOf,
  total,
  withToday,
} from './assets/periods.js'

const DAY = 86_400_000
const HOUR = 3_600_000
const START = Date.UTC(2026, 4, 11)
const text = (ms: number): string => new Date(ms).toISOString()

interface Given {
  readonly asOf: number
  readonly views: readonly (number | null)[]
  readonly before?: readonly (number | null)[] | null
  readonly earlier?: Readonly<Record<string, readonly (number | null)[]>>
  readonly step?: number
}

/** Periods from {@link START} on, with those of a week before. */
function both({ asOf, views, before = null, earlier, step = DAY }: Given) {
  const to = START + views.length * step
  const span = {
    from: START,
    to,
    by: 'day' as const,
    before: before && { from: START - 7 * DAY, to: to - 7 * DAY },
    earlier: {},
    later: null,
  }
  const sums = {
    asOf: text(asOf),
    stale: false,
    figures: views.map((pageViews, of) => ({ start: text(START + of * step), pageViews })),
  }
  const figures = { span, sums, before, earlier: earlier ?? null, firstDay: null }
  return bothOf(figures as never, sums)
}

test('a period is open from its start up to its end, and to come before', () => {
  const views = [1, 2, 3]
  for (const [asOf, open, coming] of [
    [START - 1, [false, false, false], [true, true, true]],
    [START, [true, false, false], [false, true, true]],
    [START + DAY - 1, [true, false, false], [false, true, true]],
    [START + DAY, [false, true, false], [false, false, true]],
    [START + 3 * DAY, [false, false, false], [false, false, false]],
  ] as const) {
    const periods = both({ asOf, views })
    assert.deepEqual(
      [periods.map(({ isOpen }) => isOpen), periods.map(({ isComing }) => isComing)],
      [open, coming],
    )
    assert.deepEqual(
      periods.map(({ from, to }) => [from, to]),
      views.map((_, of) => [START + of * DAY, START + (of + 1) * DAY]),
    )
  }
})

test('only whole periods that are known in both are compared', () => {
  const periods = both({
    asOf: START + 4.5 * DAY,
    views: [10, null, 30, 40, 50, 60],
    before: [1, 2, null, 4, 5, 6],
    earlier: { visitors: [7, 8, 9, null, 1, 2] },
  })
  const { now, then } = complete(periods)
  assert.deepEqual([total(now), total(then)], [50, 5])
  assert.deepEqual(
    then.map((one) => one.visitors),
    [7, null],
  )
  assert.equal(total(periods), 190)
  const middles = periods.map(({ thenAt }) => thenAt)
  assert.deepEqual(middles[0], START - 6.5 * DAY)
  assert.equal(both({ asOf: START, views: [1] })[0]!.then, undefined)
})

test('what came since is in the newest period of the open day, and never less', () => {
  const sums = (asOf: number, step = HOUR) => ({
    asOf: text(asOf),
    stale: false,
    figures: [3, 4, null].map((pageViews, of) => ({ start: text(START + of * step), pageViews })),
  })
  const day = text(START).slice(0, 10)
  const viewsOf = (asOf: number, views: number, of = day) =>
    withToday(sums(asOf), { day: of, views }).figures.map(({ pageViews }) => pageViews)
  assert.deepEqual(viewsOf(START + HOUR, 9), [3, 6, null])
  assert.deepEqual(viewsOf(START + HOUR - 1, 9), [5, 4, null])
  assert.deepEqual(viewsOf(START + 2 * HOUR, 9), [3, 4, 2])
  assert.deepEqual(viewsOf(START + HOUR, 6), [3, 4, null])
  assert.deepEqual(viewsOf(START - 1, 9), [3, 4, null])
  assert.deepEqual(viewsOf(START + HOUR, 9, '2026-05-10'), [3, 4, null])
  assert.deepEqual(withToday(sums(START), undefined), sums(START))
  const ofDays = withToday(sums(START + DAY, DAY), {
    day: text(START + DAY).slice(0, 10),
    views: 9,
  })
  assert.deepEqual(
    ofDays.figures.map(({ pageViews }) => pageViews),
    [3, 9, null],
  )
})

test('the two hours of one name have that of their zone, and no other hour has', () => {
  setZone('Europe/Berlin')
  const night = Date.UTC(2026, 9, 24, 22)
  const hours = Array.from({ length: 25 }, (_, hour) => night + hour * HOUR)
  const periods = hours.map((from) => ({ from, to: from + HOUR, isOpen: false }))
  const names = namesOf(periods as never, 'hour').map(({ short }) => short)
  assert.deepEqual(
    names.flatMap((name, of) => (name === at('time', hours[of]!) ? [] : of)),
    [2, 3],
  )
  assert.deepEqual(
    [names[2], names[3]],
    [hours[2]!, hours[3]!].map((ms) => at('timeOfZone', ms)),
  )
  // Two days have the same hours, a day apart.
  const twoDays = Array.from({ length: 48 }, (_, hour) => START + hour * HOUR)
  const ofTwo = twoDays.map((from) => ({ from, to: from + HOUR, isOpen: false }))
  assert.deepEqual(
    namesOf(ofTwo as never, 'hour').map(({ short }) => short),
    twoDays.map((ms) => at('time', ms)),
  )
  setZone('UTC')
})

test('up to eight bars are named by their weekday, and the newest by what it is', () => {
  const daysOf = (count: number, by: 'day' | 'month' = 'day') => {
    const periods = Array.from({ length: count }, (_, of) => {
      const [from, to] =
        by === 'day'
          ? [START + of * DAY, START + (of + 1) * DAY]
          : [Date.UTC(2025, 10 + of, 1), Date.UTC(2025, 11 + of, 1)]
      return { from, to, isOpen: of === count - 1 }
    })
    return namesOf(periods as never, by).map(({ short }) => short)
  }
  assert.deepEqual(daysOf(8).slice(6), [at('weekday', START + 6 * DAY), 'Today'])
  assert.deepEqual(daysOf(9).slice(7), [at('day', START + 7 * DAY), at('day', START + 8 * DAY)])
  const month = (of: number) => Date.UTC(2025, 10 + of, 1)
  assert.deepEqual(daysOf(4, 'month'), [
    at('monthOfYear', month(0)),
    at('month', month(1)),
    at('monthOfYear', month(2)),
    'This month',
  ])
})

test('the title of one day is a day, and a year is named where it is another one', () => {
  const range = (from: number, days: number) => ({ from, to: from + days * DAY })
  const asked = (from: number, days: number, by: 'hour' | 'day') =>
    titleOf({ ...range(from, days), by } as never)
  assert.equal(asked(START, 1, 'hour'), at('longDay', START))
  assert.notEqual(asked(START, 2, 'hour'), at('longDay', START))
  const now = Date.now()
  const today = now - (now % DAY)
  assert.equal(shortTitle(range(today, 1), 'day'), at('day', today))
  const lastYear = Date.UTC(new Date(now).getUTCFullYear() - 1, 4, 4)
  assert.equal(shortTitle(range(lastYear, 1), 'day'), at('dayOfYear', lastYear))
})

test('the share of browsers is of what has come, and that before of whole periods', () => {
  const periods = both({
    asOf: START + 2.5 * DAY,
    views: [10, 10, 10, 0],
    before: [20, 20, 20, 20],
    earlier: { seen: [10, 5, 20, 20] },
  }).map((one, of) => ({ ...one, seen: [5, 1, 3, 9][of] }))
  assert.deepEqual(sharesSeen(periods as never), { now: 9 / 30, then: 15 / 40 })
})
