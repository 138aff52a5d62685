/** The first process that records under a name decides about its days, and all others take them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import request from 'supertest'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { checkTimeZones } from '../cli/doctor/time-zones.js'
import { unpacked } from '../dashboard/assets/packed.js'
import { createHits } from '../hits/item-hits.js'
import { expresses } from '../support/http.fixture.js'
import { type KeptLog, keptLog } from '../support/kept-log.fixture.js'
import { createActivity } from './site-activity.js'

const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]
const opened: { close(): Promise<unknown> }[] = []
after(() => Promise.all(opened.map((one) => one.close())))

/** 20:30 in Berlin, and the next morning in Tokyo. */
const EVENING = Date.UTC(2026, 2, 29, 18, 30)

function processOf(database: Database, timeZone: string | undefined, logger: KeptLog = keptLog()) {
  const options = { database, cache: memory(), collect: false as const, logger, timeZone }
  const activity = createActivity(options)
  const hits = createHits({ ...options, name: 'threads' })
  opened.push(activity, hits)
  return { activity, hits }
}

const zones = (database: Database) =>
  database
    .query('SELECT name, time_zone FROM wide_cache_names ORDER BY name')
    .then(({ rows }) => rows.map(({ name, time_zone: zone }) => [name, zone]))

test('who only reads decides nothing, and who records first decides for all', async () => {
  const database = sqlite(':memory:')
  const log = keptLog()
  const [reader, berlin, tokyo] = [
    processOf(database, undefined, log),
    processOf(database, 'Europe/Berlin'),
    processOf(database, 'Asia/Tokyo', log),
  ]
  const days = { from: '2026-03-29', to: '2026-03-30', by: 'day' } as const
  for (const { activity, hits } of [reader, tokyo]) {
    await activity.migrate()
    await hits.migrate()
    assert.equal((await activity.history(days))[0]?.pageViews, null)
  }
  assert.deepEqual(await zones(database), [
    ['activity', ''],
    ['hits.threads', ''],
  ])
  for (const { activity, hits } of [berlin, tokyo, reader]) {
    activity.record({ page: '/', visitor: 'anna', at: EVENING })
    hits.record('a', { viewer: 'anna' })
    for (const one of [activity, hits]) {
      await one.flush()
      await one.drain({ all: true })
    }
  }
  assert.deepEqual(await zones(database), [
    ['activity', 'Europe/Berlin'],
    ['hits.threads', 'Europe/Berlin'],
  ])
  for (const { activity, hits } of [reader, berlin, tokyo]) {
    const [day, ...others] = await activity.history(days)
    assert.equal(day?.start, '2026-03-29T00:00:00+01:00')
    assert.equal(day.pageViews, 3)
    assert.deepEqual(others, [])
    const [hour] = await activity.history({ from: EVENING, to: EVENING + 1, by: 'hour' })
    assert.equal(hour?.start, '2026-03-29T20:00:00+02:00')
    assert.match((await hits.history('a', { days: 1 }))[0]?.start ?? '', /T00:00:00\+0[12]:00$/)
    assert.equal((await activity.certificate('2026-03-29')).pageViews, 3)
  }
  assert.deepEqual(
    log.matching(/Asia\/Tokyo/).map((line) => /^wide-cache: the days of "(.*?)"/.exec(line)?.[1]),
    ['activity', 'hits.threads'],
  )
  assert.deepEqual(log.matching(/"timeZone"/).length, 2)
  const found = (await checkTimeZones(database)).map(({ cause }) => cause)
  assert.deepEqual(
    found.map((cause) => /^the days of "(.*?)" .*Tokyo$/.exec(cause)?.[1]),
    ['activity', 'hits.threads'],
  )
})

test('a process without the option that records first decides for UTC', async () => {
  const database = sqlite(':memory:')
  const [first, second] = [processOf(database, undefined), processOf(database, 'Europe/Berlin')]
  for (const { activity } of [first, second]) {
    activity.record({ page: '/', at: EVENING })
    await activity.flush()
    await activity.drain({ all: true })
  }
  const [day] = await second.activity.history({ from: EVENING, to: EVENING + 1, by: 'day' })
  assert.deepEqual([day?.start, day?.pageViews], ['2026-03-29T00:00:00.000Z', 2])
})

test('nothing is known of the hours before the first midnight of the zone', async () => {
  const { activity } = processOf(sqlite(':memory:'), 'Europe/Berlin')
  activity.record({ page: '/', at: EVENING })
  await activity.flush()
  await activity.drain({ all: true })
  const midnight = Date.UTC(2026, 2, 28, 23)
  const hours = { from: midnight - 3_600_000, to: midnight + 3_600_000, by: 'hour' } as const
  for (const known of [
    await activity.history(hours),
    await activity.history({ ...hours, dimension: 'page', value: '/' }),
  ]) {
    assert.deepEqual(
      known.map(({ start, pageViews }) => [start, pageViews]),
      [
        ['2026-03-28T23:00:00+01:00', null],
        ['2026-03-29T00:00:00+01:00', 0],
      ],
    )
  }
})

test('a dashboard shows the days of its zone, and no hits with days of another one', async () => {
  const database = sqlite(':memory:')
  const log = keptLog()
  const { activity, hits } = processOf(database, 'Europe/Berlin', log)
  const others = createHits({
    name: 'others',
    database,
    cache: memory(),
    collect: false,
    timeZone: 'Asia/Tokyo',
  })
  opened.push(others)
  activity.record({ page: '/', at: EVENING })
  for (const one of [hits, others]) {
    one.record('a')
    await one.flush()
    await one.drain({ all: true })
  }
  await activity.flush()
  await activity.drain({ all: true })
  const app = express().use(activity.dashboard({ authorize: () => true, hits: [hits, others] }))
  const range = 'from=2026-03-29&to=2026-03-29'
  const { text } = await request(app).get(`/figures.json?${range}`)
  const body = JSON.parse(text, unpacked)
  const { from, to, zone } = body.span
  assert.deepEqual([(to - from) / 3_600_000, zone], [23, 'Europe/Berlin'])
  assert.equal(body.sums.figures.length, 23)
  assert.equal(body.days[0].pageViews, 1)
  const { body: lists } = await request(app).get('/hits.json?range=today')
  assert.deepEqual(
    lists.map(({ items }: { items: unknown }) => items !== null),
    [true, false],
  )
  assert.equal(log.matching(/the days of the hits "others" are those of Asia\/Tokyo/).length, 1)
  const csv = await request(app).get('/history.csv?from=2026-03-29&to=2026-03-30&by=day')
  assert.match(csv.text, /^2026-03-29T00:00:00\+01:00,1,0/m)
  assert.match(csv.headers['content-disposition'] ?? '', /2026-03-29-2026-03-29\.csv/)
})
