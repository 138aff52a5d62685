/**
 * An hour lists six values at most, three once it is folded, and a closed day three. Run with
 * `?bounds`.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Folding } from '../../src/activity/folding.js'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import { MEASURES, measureName } from '../../src/page-views/measures.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import fc from '../fast-check.js'
import { VANISHED_SECONDS, ViewsRecount } from '../readers/views-recount.js'
import { Site } from '../readers/site.js'
import { fewOrMany } from '../scale.js'

const START = Date.UTC(2026, 4, 17)
const LISTED = 6
const FOLDED = 3
const OF_A_DAY = 3
const DIMENSIONS = ['page', 'device'] as const

const site = new Site(START)
after(() => site.close())

const measure = fc.constantFrom(...MEASURES)
/** The first `values` of all, as often as drawn, in one of two hours. */
const views = fc
  .integer({ min: 1, max: 16 })
  .chain((values) =>
    fc.array(
      fc.record({ hour: fc.constantFrom(0, 5), value: fc.integer({ min: 0, max: values - 1 }) }),
      { minLength: 1, maxLength: 25, size: 'max' },
    ),
  )
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ measure, views }) },
    { weight: 3, arbitrary: fc.record({ folds: measure }) },
    { weight: 1, arbitrary: fc.record({ closes: measure }) },
  ),
  { minLength: 4, maxLength: 12 },
)

/** What a name lists by the hour or the day, without `(other)`, and the sum of all. */
async function listed(name: string, by: 'hour' | 'day', dimension: string) {
  const { rows } = await site.database.query(
    `SELECT ${by} AS at, value, views FROM activity_${by}_values WHERE name = ? AND dimension = ?`,
    [name, dimension],
  )
  const periods = new Map<number, { sum: number; values: Map<string, number> }>()
  for (const { at, value, views } of rows) {
    const period = periods.get(Number(at)) ?? { sum: 0, values: new Map() }
    periods.set(Number(at), period)
    period.sum += Number(views)
    if (String(value) !== '') period.values.set(String(value), Number(views))
  }
  return periods
}

/** The values with the most views of a day's hours, and of equals those that come first. */
async function mostViewed(name: string, dimension: string, day: number) {
  const sums = new Map<string, number>()
  for (const [hour, { values }] of await listed(name, 'hour', dimension)) {
    if (Math.floor((hour * HOUR_MS) / DAY_MS) !== day) continue
    for (const [value, n] of values) sums.set(value, (sums.get(value) ?? 0) + n)
  }
  const byViews = [...sums].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
  return new Map(byViews.slice(0, OF_A_DAY))
}

/** However much came: the bound, the sum of all, and what is listed is no more than there was. */
async function assertListed(name: string, recount: ViewsRecount, bounds: { hour: number }) {
  for (const by of ['hour', 'day'] as const) {
    const ms = by === 'hour' ? HOUR_MS : DAY_MS
    const bound = by === 'hour' ? bounds.hour : OF_A_DAY
    for (const dimension of DIMENSIONS) {
      for (const [at, { sum, values }] of await listed(name, by, dimension)) {
        const [from, to] = [at * ms, (at + 1) * ms]
        const all = recount.values(dimension, from, to)
        assert(values.size <= bound, `${by} ${at} lists ${values.size} of ${dimension}`)
        assert.equal(sum, recount.views(from, to), `${dimension} of ${by} ${at}`)
        for (const [value, n] of values) assert(n <= (all.get(value) ?? 0), `${value}: ${n}`)
        // The hours of a day may each have listed others.
        const isWhole = by === 'hour' ? all.size <= FOLDED : all.size <= OF_A_DAY
        if (isWhole) assert.deepEqual(values, all, `no value is among the others`)
        if (by === 'day') assert.deepEqual(values, await mostViewed(name, dimension, at))
      }
    }
  }
}

test('no hour and no day lists more values than it may, and all add up', async () => {
  await site.database.migrate()
  // The first count of a new hour is due when it may have reached the limit, too.
  await site.database.query(
    'CREATE TRIGGER first_count AFTER INSERT ON activity_hours BEGIN UPDATE activity_hours ' +
      `SET count_after = ${LISTED} WHERE name = new.name AND hour = new.hour; END`,
  )
  let names = 0
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const ofSite = `l${names++}`
      site.now = START + 6 * HOUR_MS
      const counted = new Map(
        MEASURES.map((measure) => {
          const folding = new Folding(measureName(ofSite, measure))
          return [measure, { recount: new ViewsRecount(), folding }]
        }),
      )
      for (const step of steps) {
        const own = 'views' in step ? step.measure : 'folds' in step ? step.folds : step.closes
        const name = measureName(ofSite, own)
        const { recount, folding } = counted.get(own)!
        if ('views' in step) {
          const visits = step.views.map(({ hour, value }) => ({
            time: Math.floor(site.now / DAY_MS) * DAY_MS + hour * HOUR_MS,
            visitor: null,
            page: `/${Math.floor(value / 4)}`,
            dimensions: packDimensions(['device', `d${value}`]),
          }))
          if (visits.length > 0) await site.view(ofSite, own, visits)
          recount.add(visits, site.now)
          await assertListed(name, recount, { hour: LISTED })
        } else if ('folds' in step) {
          await folding.run(site.database)
          // Hours of closed days stay as they are.
          const open = Math.floor(recount.openFrom / HOUR_MS)
          for (const dimension of DIMENSIONS) {
            for (const [hour, { values }] of await listed(name, 'hour', dimension)) {
              if (hour >= open) assert(values.size <= FOLDED, `${values.size} after folding`)
            }
          }
          await assertListed(name, recount, { hour: LISTED })
        } else {
          site.now += DAY_MS
          const retention = { rowsMs: DAY_MS, valuesDays: 30, vanishedSeconds: VANISHED_SECONDS }
          while (await removeOldVisits(site.database, { now: site.now, name }, retention));
          recount.collect(site.now)
          await assertListed(name, recount, { hour: LISTED })
        }
      }
    }),
    { numRuns: fewOrMany(100, 1_000) },
  )
})
