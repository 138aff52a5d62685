/**
 * Every reader of a site says what a recount does, whatever was seen, served or sent to bots, in
 * whatever order days were closed, values folded and removed, and items renamed.
 */
import { after, test } from 'node:test'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import { MEASURES } from '../../src/page-views/measures.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import fc from '../fast-check.js'
import { fewOrMany } from '../scale.js'
import { assertActivity } from './activity-answers.js'
import { assertDashboard } from './dashboard-answers.js'
import { assertHits } from './hits-answers.js'
import { RecountedSite, type Step } from './recounted-site.js'
import { Site } from './site.js'

const START = Date.UTC(2026, 4, 17, 5)
const PAGES = ['/a', '/b', '/c']
const ITEMS = ['a', 'b', 'c']

const site = new Site(START)
after(() => site.close())

/** Often at the edge of an hour or of a day, and sometimes late. */
const ago = fc.oneof(
  fc.integer({ min: 0, max: 30 * HOUR_MS }),
  fc.integer({ min: -1, max: 30 }).map((hours) => hours * HOUR_MS),
  fc.constantFrom(0, 1, 599_999, 600_000, HOUR_MS, DAY_MS, DAY_MS + HOUR_MS),
)
const measure = fc.constantFrom(...MEASURES)
const person = fc.option(
  fc.integer({ min: 0, max: 4 }).map((n) => Buffer.alloc(12, n)),
  { freq: 5 },
)
const time = fc.constant(0)

const visit = fc.record({
  ago,
  time,
  visitor: person,
  page: fc.constantFrom(...PAGES),
  dimensions: fc.constantFrom(
    undefined,
    packDimensions(['referrer', 'a.example']),
    packDimensions(['referrer', 'b.example', 'device', 'phone']),
    packDimensions(['device', 'tablet']),
  ),
})
const hit = fc.record({ ago, time, viewer: person, item: fc.constantFrom(...ITEMS) })
const removal = fc.record({
  measure,
  dimension: fc.constant('page'),
  removed: fc.constantFrom(...PAGES),
})
const move = fc.record({
  item: fc.constantFrom(...ITEMS),
  to: fc.option(fc.constantFrom(...ITEMS), { nil: undefined }),
})

/** All measures are viewed; then time goes on, and collectors of some measures come. */
const round = fc.record({
  views: fc.array(fc.record({ measure, visits: fc.array(visit, { maxLength: 8 }) }), {
    maxLength: 4,
  }),
  hits: fc.array(fc.record({ measure, hits: fc.array(hit, { maxLength: 8 }) }), { maxLength: 3 }),
  hours: fc.constantFrom(0, 1, 5, 24, 25, 30, 50, 100),
  collects: fc.subarray([...MEASURES]),
  keepHours: fc.integer({ min: 1, max: 24 }),
  removals: fc.array(removal, { maxLength: 2 }),
  moves: fc.array(move, { maxLength: 1 }),
})
const steps = fc
  .array(round, { minLength: 1, maxLength: 5 })
  .map((rounds) =>
    rounds.flatMap(({ views, hits, hours, collects, keepHours, removals, moves }): Step[] => [
      ...views,
      ...hits,
      { hours },
      ...collects.map((measure) => ({ collects: measure, keepHours })),
      ...removals,
      ...moves,
    ]),
  )

test('every reader says what a recount does', async () => {
  let names = 0
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const name = `n${names++}`
      site.now = START
      const recounted = new RecountedSite(site, name)
      await recounted.enter()
      for (const step of steps) await recounted.take(step)
      for (const count of ['served', 'seen'] as const) {
        await assertActivity(site, name, count, recounted)
        await assertHits(site, name, count, recounted)
        await assertDashboard(site, name, count, recounted)
      }
    }),
    { numRuns: fewOrMany(10, 150) },
  )
})
