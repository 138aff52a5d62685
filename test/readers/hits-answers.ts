/** The answers of hits, beside those of a recount. */
import assert from 'node:assert/strict'
import { otherMeasure } from '../../src/page-views/measures.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import {
  type Count,
  daysOf,
  edgesOf,
  isKnown,
  periodsOf,
  wantedUnseen,
} from './activity-answers.js'
import { keptFrom } from './hits-recount.js'
import type { RecountedSite } from './recounted-site.js'
import type { Site } from './site.js'

const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS } as const

const ITEMS = ['a', 'b', 'c', 'none']

export async function assertHits(
  site: Site,
  name: string,
  count: Count,
  recounted: RecountedSite,
): Promise<void> {
  const { now } = site
  const own = recounted.hits[count]
  const other = otherMeasure(count)
  const hits = site.hits({ name, count })
  const all = new Map(ITEMS.map((item) => [item, own.count(item)]))
  assert.deepEqual(await hits.counts(ITEMS), all)
  assert.equal(await hits.count('a'), own.count('a'))
  assert.deepEqual(new Map(await hits.top(10)), own.items())
  const days = daysOf(now)
  const [from, to] = [days[0]! * DAY_MS, (days.at(-1)! + 1) * DAY_MS]
  const hour = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
  for (const hours of [1, 30, 190]) {
    const top = await hits.top(10, { hours })
    assert.deepEqual(new Map(top), own.items(hour - hours * HOUR_MS, hour), `${hours} hours`)
  }
  for (const range of [
    { from, to },
    { from: to - 3 * DAY_MS, to: to - DAY_MS },
  ]) {
    assert.deepEqual(new Map(await hits.top(10, range)), own.items(range.from, range.to))
  }
  for (const by of ['hour', 'day'] as const) {
    for (const { starts, ...range } of edgesOf(by, from)) {
      const history = await hits.history('a', { ...range, by })
      assert.deepEqual(
        history.map(({ start }) => start),
        starts,
      )
    }
  }
  for (const item of ITEMS) {
    for (const by of ['hour', 'day'] as const) {
      assert.deepEqual(
        await hits.history(item, { from, to, by }),
        periodsOf(by, from, to).map((start) => {
          const end = start + PERIOD_MS[by]
          const isKept = by === 'day' || start >= keptFrom(now)
          const of = (measure: Count | 'bots', counted: Count): number | null => {
            const n = recounted.hits[measure].count(item, start, end)
            return isKept && (n > 0 || isKnown(recounted.hits[counted], start)) ? n : null
          }
          const periods = {
            hits: of(count, count),
            bots: of('bots', count),
            [other]: of(other, other),
            unseen: wantedUnseen(of('served', 'served'), of('seen', 'seen')),
          }
          return { start: new Date(start).toISOString(), ...periods }
        }),
      )
    }
    const last = await hits.history(item, { days: 3 })
    assert.deepEqual(last, await hits.history(item, { from: to - 3 * DAY_MS, to, by: 'day' }))
  }
}
