/** The answers of an activity, beside those of a recount. */
import assert from 'node:assert/strict'
import { otherMeasure } from '../../src/page-views/measures.js'
import type { Period } from '../../src/support/calendar.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import type { RecountedSite } from './recounted-site.js'
import type { Site } from './site.js'
import { HISTORY_DAYS } from './views-recount.js'

const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS } as const

export type Count = 'served' | 'seen'

const WINDOW_SECONDS = 600
export const VALUES = [
  ...['/a', '/b', '/none', '(other)'].map((value) => ({ dimension: 'page', value })),
  { dimension: 'referrer', value: 'a.example' },
  { dimension: 'device', value: 'phone' },
]

/** The days of a recount, which begin some days before the first view. */
export function daysOf(now: number): number[] {
  const today = Math.floor(now / DAY_MS)
  return Array.from({ length: 16 }, (_, ago) => today - 15 + ago)
}

export function periodsOf(by: Period, from: number, to: number): number[] {
  const ms = PERIOD_MS[by]
  return Array.from({ length: Math.round((to - from) / ms) }, (_, index) => from + index * ms)
}

/** Ranges whose ends are edges of periods, or a millisecond beside them, and their periods. */
export function edgesOf(
  by: Period,
  edge: number,
): { from: number; to: number; starts: string[] }[] {
  const ms = PERIOD_MS[by]
  const beside = [-1, 0, 1]
  return beside.flatMap((before) =>
    beside.map((after) => {
      const [from, to] = [edge + before, edge + 2 * ms + after]
      const first = Math.floor(from / ms) * ms
      const starts = periodsOf(by, first, Math.ceil(to / ms) * ms)
      return { from, to, starts: starts.map((start) => new Date(start).toISOString()) }
    }),
  )
}

/** Nothing is known of the days before the first one. */
export function isKnown({ firstDay = Infinity }: { firstDay?: number | undefined }, start: number) {
  return start >= firstDay * DAY_MS
}

/** The views that were served and not seen; not known where one is not. */
export function wantedUnseen(served: number | null, seen: number | null): number | null {
  return served === null || seen === null ? null : Math.max(0, served - seen)
}

/** The history as it must be. */
export function wantedHistory(site: RecountedSite, count: Count, by: Period, starts: number[]) {
  const other = otherMeasure(count)
  return starts.map((start) => {
    const end = start + PERIOD_MS[by]
    const of = (n: number, measure: Count): number | null =>
      n > 0 || isKnown(site.views[measure], start) ? n : null
    const [served, seen] = (['served', 'seen'] as const).map((measure) =>
      of(site.views[measure].views(start, end), measure),
    )
    const both = { served: served!, seen: seen! }
    return {
      start: new Date(start).toISOString(),
      pageViews: both[count],
      visitors: of(site.views[count].visitors(start, end), count),
      bots: of(site.views.bots.views(start, end), count),
      ...(site.views[other].all > 0 && {
        [other]: both[other],
        unseen: wantedUnseen(both.served, both.seen),
      }),
    }
  })
}

/** The values of a dimension as they must be, with those of the other measure. */
export function wantedTop(
  site: RecountedSite,
  count: Count,
  dimension: string,
  [from, to]: readonly [number, number],
): Map<string | null, object> {
  const other = otherMeasure(count)
  const beside = site.views[other].values(dimension, from, to)
  const none = beside.has('(other)') ? undefined : 0
  return new Map(
    [...site.views[count].values(dimension, from, to)].map(([value, pageViews]) => {
      const ofOther = beside.get(value) ?? (value === null ? 0 : none)
      const isKnown = beside.size > 0 && ofOther !== undefined
      return [value, { value, pageViews, ...(isKnown && { [other]: ofOther }) }]
    }),
  )
}

const WEEK_DAYS = 7

/** The first Monday of all days, and the end of the last Sunday, as days counted from 1970. */
function wholeWeeks(days: readonly number[]): [from: number, to: number] {
  const sinceMonday = (day: number): number => (day + 3) % WEEK_DAYS
  const [first, end] = [days[0]!, days.at(-1)! + 1]
  return [first - sinceMonday(first), end + ((WEEK_DAYS - sinceMonday(end)) % WEEK_DAYS)]
}

/** Weeks as they must be, of their days: what is known of them, and the most visitors of a day. */
function wantedWeeks(days: readonly object[]): object[] {
  return Array.from({ length: days.length / WEEK_DAYS }, (_, week) => {
    const ofWeek = days.slice(WEEK_DAYS * week, WEEK_DAYS * (week + 1)).map(Object.entries)
    const [first = []] = ofWeek
    const fields = first.map(([field, value], place): [string, unknown] => {
      if (field === 'start') return [field, value]
      const counts = ofWeek.map((day) => day[place]![1]).filter((count) => count !== null)
      const sum = counts.reduce((all, count) => all + count, 0)
      const known = field === 'visitors' ? Math.max(...counts) : sum
      return [field, counts.length > 0 ? known : null]
    })
    return Object.fromEntries(fields)
  })
}

export async function assertActivity(
  site: Site,
  name: string,
  count: Count,
  recounted: RecountedSite,
): Promise<void> {
  const { now } = site
  const views = recounted.views[count]
  const activity = site.activity({ name, count, historyDays: HISTORY_DAYS })
  await activity.drain({ all: true })
  const days = daysOf(now)
  const [from, to] = [days[0]! * DAY_MS, (days.at(-1)! + 1) * DAY_MS]
  for (const by of ['hour', 'day'] as const) {
    const starts = periodsOf(by, from, to)
    assert.deepEqual(
      await activity.history({ from, to, by }),
      wantedHistory(recounted, count, by, starts),
    )
    for (const { starts, ...range } of edgesOf(by, from)) {
      const history = await activity.history({ ...range, by })
      assert.deepEqual(
        history.map(({ start }) => start),
        starts,
      )
    }
    for (const key of VALUES) {
      assert.deepEqual(
        await activity.history({ from, to, by, ...key }),
        starts.map((start) => ({
          start: new Date(start).toISOString(),
          pageViews: isKnown(views, start)
            ? views.valueIn(key.dimension, key.value, by, start)
            : null,
        })),
        JSON.stringify(key),
      )
    }
  }
  const [monday, sunday] = wholeWeeks(days)
  const ofWeeks = periodsOf('day', monday * DAY_MS, sunday * DAY_MS)
  assert.deepEqual(
    await activity.history({ from, to, by: 'week' }),
    wantedWeeks(wantedHistory(recounted, count, 'day', ofWeeks)),
  )
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS
  for (const range of [
    [from, to],
    [to - 5 * DAY_MS, to - 3 * DAY_MS],
    [hour - 15 * HOUR_MS, hour + HOUR_MS],
    [from, hour],
  ] as const) {
    for (const dimension of ['page', 'referrer', 'device']) {
      const query = { from: range[0], to: range[1], n: 1_000 }
      const ofBots = await activity.top(dimension, { ...query, bots: true })
      assert.deepEqual(
        new Map(ofBots.map(({ value, pageViews }) => [value, pageViews])),
        recounted.views.bots.values(dimension, ...range),
      )
      const top = await activity.top(dimension, query)
      const wanted = wantedTop(recounted, count, dimension, range)
      assert.deepEqual(new Map(top.map((one) => [one.value, one])), wanted, dimension)
      const counts = top.map(({ pageViews }) => pageViews)
      assert.deepEqual(
        counts,
        [...counts].sort((a, b) => b - a),
      )
      const first = await activity.top(dimension, { from: range[0], to: range[1], n: 2 })
      assert.deepEqual(
        first.map(({ pageViews }) => pageViews),
        counts.slice(0, 2),
      )
    }
  }
  const end = Math.floor(now / 1000) * 1000
  const stats = await activity.stats()
  assert.equal(stats.asOf, new Date(end).toISOString())
  assert.deepEqual(
    [stats.pageViews, stats.lower, stats.upper],
    Array(3).fill(views.views(end - WINDOW_SECONDS * 1000, end)),
  )
  assert.equal((await activity.ledger()).committed, views.all)
  for (const day of days) {
    const text = new Date(day * DAY_MS).toISOString().slice(0, 10)
    const found = await activity.certificate(text)
    const ofDay = [day * DAY_MS, (day + 1) * DAY_MS] as const
    assert.deepEqual(
      [found.pageViews, found.visitors, found.late, found.closed, found.findings],
      [
        views.views(...ofDay),
        views.visitors(...ofDay),
        views.late(...ofDay),
        ofDay[1] <= views.openFrom,
        [],
      ],
      text,
    )
    const firstDay = views.firstDay
    const first = firstDay === undefined ? null : new Date(firstDay * DAY_MS).toISOString()
    assert.equal(found.firstDay, first && first.slice(0, 10))
  }
}
