/** The answers and files of the dashboard, beside those of a recount. */
import assert from 'node:assert/strict'
import express from 'express'
import request from 'supertest'
import { unpacked } from '../../src/dashboard/assets/packed.js'
import { otherMeasure } from '../../src/page-views/measures.js'
import { DAY_MS } from '../../src/support/clock.js'
import {
  type Count,
  daysOf,
  isKnown,
  periodsOf,
  VALUES,
  wantedHistory,
  wantedTop,
} from './activity-answers.js'
import type { RecountedSite } from './recounted-site.js'
import type { Site } from './site.js'
import { HISTORY_DAYS } from './views-recount.js'

const WEEK_MS = 7 * DAY_MS

export async function assertDashboard(
  site: Site,
  name: string,
  count: Count,
  recounted: RecountedSite,
): Promise<void> {
  const { now } = site
  const hits = site.hits({ name, count })
  const activity = site.activity({ name, count, historyDays: HISTORY_DAYS })
  const app = express()
  app.use(activity.dashboard({ authorize: () => true, hits: [hits] }))
  const ask = (path: string, query: object) => request(app).get(path).query(query).expect(200)
  const days = daysOf(now)
  const [from, to] = [days[0]! * DAY_MS, (days.at(-1)! + 1) * DAY_MS]
  const other = otherMeasure(count)
  const hasOther = recounted.views[other].all > 0

  for (const by of ['hour', 'day'] as const) {
    const wanted = wantedHistory(recounted, count, by, periodsOf(by, from, to))
    const json = await ask('/history.json', { from, to, by })
    assert.deepEqual(json.body.figures, wanted)
    const beside = hasOther ? [other, 'unseen'] : []
    const columns = ['start', 'pageViews', 'visitors', 'bots', ...beside]
    const csv = await ask('/history.csv', { from, to, by })
    assert.deepEqual(rowsOf(csv.text), [columns, ...wanted.map((one) => texts(one, columns))])
  }
  for (const { dimension, value } of VALUES) {
    const csv = await ask('/history.csv', { from, to, by: 'day', dimension, value })
    const views = recounted.views[count]
    const counts = periodsOf('day', from, to).map((start) =>
      isKnown(views, start) ? String(views.valueIn(dimension, value, 'day', start) ?? '') : '',
    )
    assert.deepEqual(
      rowsOf(csv.text)
        .slice(1)
        .map(([, pageViews]) => pageViews),
      counts,
    )
  }
  for (const dimension of ['page', 'referrer']) {
    const wanted = wantedTop(recounted, count, dimension, [from, to])
    const { body } = await ask('/top.json', { dimension, from, to, n: 100 })
    assert.deepEqual(byValue(body.figures), wanted)
    const [columns = [], ...rows] = rowsOf((await ask('/top.csv', { dimension, from, to })).text)
    assert.equal(
      columns.includes(other),
      [...wanted.values()].some((one) => other in one),
    )
    assert.deepEqual(
      new Map(rows.map((row) => [row[0], row])),
      new Map(
        [...wanted].map(([value, one]) => {
          const row = texts({ ...one, value: value ?? '(none)' }, columns)
          return [row[0], row]
        }),
      ),
    )
  }
  const ofPages = wantedTop(recounted, count, 'page', [from, to])
  for (const under of ['/', '/a']) {
    const { body } = await ask('/top.json', { dimension: `under:${under}`, from, to, n: 100 })
    const wanted = [...ofPages].filter(([value]) => value?.startsWith(under))
    assert.deepEqual(byValue(body.figures), new Map(wanted), under)
  }
  const since = ((recounted.views[count].firstDay ?? Infinity) + 1) * DAY_MS
  await assertSpans(ask, { now, count, recounted, name, since })
}

type Get = (path: string, query: object) => PromiseLike<request.Response>

/** Whole days that are over, and the same of a week before. */
async function assertSpans(
  ask: Get,
  asked: { now: number; count: Count; recounted: RecountedSite; name: string; since: number },
): Promise<void> {
  const { now, count, recounted, name, since } = asked
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const yesterday = [today - DAY_MS, today] as const
  const before = [yesterday[0] - WEEK_MS, yesterday[1] - WEEK_MS] as const
  const { text } = await ask('/figures.json', { range: 'yesterday' })
  const body = JSON.parse(text, unpacked)
  assert.deepEqual(
    body.sums.figures,
    wantedHistory(recounted, count, 'hour', periodsOf('hour', ...yesterday)),
  )
  assert.deepEqual(
    body.before,
    wantedHistory(recounted, count, 'hour', periodsOf('hour', ...before)).map(({ pageViews }) =>
      before[0] < since ? null : pageViews,
    ),
  )
  assert.deepEqual(
    body.days,
    wantedHistory(recounted, count, 'day', periodsOf('day', ...yesterday)),
  )
  for (const { dimension, top } of body.lists) {
    const wanted = wantedTop(recounted, count, dimension, yesterday)
    const sooner = recounted.views[count].values(dimension, ...before)
    const compared = [...wanted.entries()].map(([value, one]): [string | null, object] => {
      const { pageViews } = one as { pageViews: number }
      const listed = sooner.get(value) ?? (sooner.has('(other)') ? undefined : 0)
      const then = before[0] < since ? undefined : listed
      return [value, { ...one, ...(then !== undefined && { over: pageViews, before: then }) }]
    })
    assert.deepEqual(byValue(top.figures), new Map(compared), dimension)
  }
  const { body: times } = await ask('/times.json', { range: 'yesterday' })
  const fourWeeks = [yesterday[1] - 28 * DAY_MS, yesterday[1]] as const
  const hours = periodsOf('hour', ...fourWeeks).filter((start) => start >= since)
  const sums = new Map<string, object>()
  for (const start of hours) {
    const date = new Date(start)
    const [weekday, hour] = [(date.getUTCDay() + 6) % 7, date.getUTCHours()]
    const of = hours.filter((one) => (one - start) % WEEK_MS === 0)
    const pageViews = of.reduce(
      (sum, one) => sum + recounted.views[count].views(one, one + DAY_MS / 24),
      0,
    )
    sums.set(`${weekday} ${hour}`, { weekday, hour, pageViews, days: of.length })
  }
  assert.deepEqual(
    new Map(
      times.figures.map((one: { weekday: number; hour: number }) => [
        `${one.weekday} ${one.hour}`,
        one,
      ]),
    ),
    sums,
  )
  const hits = recounted.hits[count]
  const [list] = (await ask('/hits.json', { range: 'yesterday' })).body
  const [items, then] = [hits.items(...yesterday), hits.items(...before)]
  const isCompared = before[0] > (hits.firstDay ?? Infinity) * DAY_MS
  assert.deepEqual(
    new Map(list.items.map((one: { item: string }) => [one.item, one])),
    new Map(
      [...items].map(([item, n]) => [
        item,
        { item, hits: n, ...(isCompared && { over: n, before: then.get(item) ?? 0 }) },
      ]),
    ),
  )
  assert.equal(
    list.total,
    [...items.values()].reduce((sum, n) => sum + n, 0),
  )
  const shown = await ask('/shown.csv', { range: 'yesterday' })
  const [columns = [], ...rows] = rowsOf(shown.text)
  assert.deepEqual(
    rows.map((row) => [row[columns.indexOf('pageViews')], row[columns.indexOf('before')]]),
    periodsOf('hour', ...yesterday).map((start) => {
      const ago = start - WEEK_MS
      const views = (from: number) => recounted.views[count].views(from, from + DAY_MS / 24)
      const shown = isKnown(recounted.views[count], start) ? String(views(start)) : ''
      return [shown, ago < since ? '' : String(views(ago))]
    }),
  )
  const file = await ask('/shown.csv', { range: 'yesterday', hits: name })
  assert.deepEqual(
    new Map(
      rowsOf(file.text)
        .slice(1)
        .map(([item, n]) => [item, Number(n)]),
    ),
    items,
  )
}

function rowsOf(csv: string): string[][] {
  return csv
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(','))
}

function texts(one: object, columns: readonly string[]): string[] {
  const fields = new Map(Object.entries(one))
  return columns.map((column) => String(fields.get(column) ?? ''))
}

function byValue(
  figures: readonly { readonly value: string | null }[],
): Map<string | null, object> {
  return new Map(figures.map((one) => [one.value, one]))
}
