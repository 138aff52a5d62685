/**
 * Every reader of a site says what a recount does, whatever was seen, served or sent to bots, in
 * whatever order days were closed, values folded and removed, and items renamed.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { importDays, removeImport } from '../../src/activity/imported-days.js'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import type { Transaction } from '../../src/database/database.js'
import { MEASURES } from '../../src/page-views/measures.js'
import { UTC } from '../../src/support/calendar.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import fc from '../fast-check.js'
import { fewOrMany } from '../scale.js'
import { assertActivity } from './activity-answers.js'
import { assertDashboard } from './dashboard-answers.js'
import { assertHits } from './hits-answers.js'
import { RecountedSite, type Step } from './recounted-site.js'
import { Site } from './site.js'

const START = Date.UTC(2026, 4, 17, 5)
/** No more than are kept one by one where the laws run with bounds of three. */
const PAGES = ['/a', '/b', '/\u{1f389}']
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

/** All rows of the names that have a text in them, by their tables. */
async function rowsOf(text: string): Promise<Map<string, unknown>> {
  const { database } = site
  const { rows: tables } = await database.query(
    'SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ' +
      "ON c.name = 'name' WHERE m.type = 'table'",
  )
  const found = new Map<string, unknown>()
  for (const { name } of tables) {
    const table = String(name)
    const { rows } = await database.query(`SELECT * FROM ${table} WHERE instr(name, '${text}') > 0`)
    found.set(table, rows)
  }
  return found
}

test('what is done to a name changes no row of another one', async () => {
  site.now = START
  const run = <T>(work: (tx: Transaction) => Promise<T>) => site.database.transaction(work)
  const [acted, left] = ['acted', 'left'].map((name) => new RecountedSite(site, name))
  const today = Math.floor(START / DAY_MS)
  for (const [one, name] of [
    [acted!, 'acted'],
    [left!, 'left'],
  ] as const) {
    await one.enter()
    const days = new Map([
      [today - 40, { line: 2, views: 3, visitors: null, pages: new Map([['/a', 3]]) }],
    ])
    await importDays(run, { name, id: `${name}.csv`, days, calendar: UTC, today })
    for (const measure of MEASURES) {
      const visitor = Buffer.alloc(12, 1)
      const ago = 2 * HOUR_MS
      await one.take({ measure, visits: PAGES.map((page) => ({ ago, time: 0, visitor, page })) })
      const hits = ITEMS.map((item) => ({ ago, time: 0, viewer: visitor, item }))
      await one.take({ measure, hits })
    }
    await site.activity({ name }).note('2026-05-16', 'A note')
  }
  const acts: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['another note', () => site.activity({ name: 'acted' }).note('2026-05-16', 'Another')],
    ['no note', () => site.activity({ name: 'acted' }).note('2026-05-16', null)],
    ['rename', () => acted!.take({ item: 'a', to: 'b' })],
    ['delete', () => acted!.take({ item: 'c', to: undefined })],
    ['removal', () => acted!.take({ measure: 'served', dimension: 'page', removed: '/a' })],
    [
      'closing',
      async () => {
        await acted!.take({ hours: 12 * 24 })
        for (const collects of MEASURES) await acted!.take({ collects, keepHours: 1 })
      },
    ],
    ['removal of the import', () => removeImport(run, 'acted', 'acted.csv')],
  ]
  const untouched = await rowsOf('left')
  for (const [act, work] of acts) {
    const before = await rowsOf('acted')
    await work()
    assert.notDeepEqual(await rowsOf('acted'), before, act)
    assert.deepEqual(await rowsOf('left'), untouched, act)
  }
})
