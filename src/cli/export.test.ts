import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { commitVisits } from '../activity/commit.js'
import { removeValue } from '../activity/remove-value.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { openDatabase } from '../database/open.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { SILENT } from '../support/logger.js'
import { exportSums } from './export.js'

const folder = temporaryFolder('export')
const url = `sqlite:${join(folder, 'site.db')}`
const HISTORY_DAYS = 2
const activity = createActivity({
  name: 'site',
  database: url,
  cache: memory(),
  collect: false,
  historyDays: HISTORY_DAYS,
  logger: SILENT,
})
after(async () => {
  await activity.close()
  removeFolder(folder)
})

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
/** Hours before the day of today. */
const HOURS_AGO = [1, 11, 12, 20, 30, 49, 70, 71, 100, 121]

before(async () => {
  for (const [at, hours] of HOURS_AGO.entries()) {
    for (const page of ['/a', '/b'].slice(0, 1 + (at % 2))) {
      activity.record({ page, visitor: `v${at % 3}`, at: TODAY - hours * HOUR_MS + 1 })
    }
  }
  await activity.flush()
  await activity.drain({ all: true })
})

type Flags = Parameters<typeof exportSums>[0]
const UNSET = {
  database: url,
  name: 'site',
  format: 'ndjson',
  by: undefined,
  top: undefined,
  n: undefined,
  dimension: undefined,
  value: undefined,
}

async function exported(flags: Partial<Flags>, out?: Writable): Promise<unknown[]> {
  let text = ''
  const kept = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
  await exportSums({ ...UNSET, ...flags } as Flags, SILENT, out ?? kept)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown

/** Ranges, in hours before today: within a day and over several, known by the hour or not. */
const RANGES = [
  [24, 0],
  [13, 10],
  [30, 20],
  [48, 24],
  [60, 12],
  [71, 70],
  [90, 80],
  [110, 71],
  [130, 0],
] as const

for (const [first, last] of RANGES) {
  const range = { from: TODAY - first * HOUR_MS, to: TODAY - last * HOUR_MS }
  const flags = {
    from: new Date(range.from).toISOString(),
    to: new Date(range.to).toISOString(),
  }

  test(`${first} to ${last} hours before today: an export has what the methods say`, async () => {
    assert.deepEqual(await exported({ ...flags, top: 'page' }), await activity.top('page', range))
    assert.deepEqual(
      await exported({ ...flags, top: 'page', n: 1 }),
      await activity.top('page', { ...range, n: 1 }),
    )
    for (const by of ['hour', 'day'] as const) {
      assert.deepEqual(
        await exported({ ...flags, by }),
        asJson(await activity.history({ ...range, by })),
      )
      const one = { dimension: 'page', value: '/b' }
      assert.deepEqual(
        await exported({ ...flags, by, ...one }),
        asJson(await activity.history({ ...range, by, ...one })),
      )
    }
  })
}

test('a reader of the pipe that has left ends an export, and another failure is one', async () => {
  const flags = { from: new Date(TODAY - DAY_MS).toISOString(), to: new Date(TODAY).toISOString() }
  const failing = (code: string) =>
    new Writable({ write: (_chunk, _, done) => done(Object.assign(new Error(code), { code })) })
  assert.deepEqual(await exported(flags, failing('EPIPE')), [])
  await assert.rejects(exported(flags, failing('ENOSPC')), { code: 'ENOSPC' })
})

test('values of which the other measure is not known have its column, too', async () => {
  const { database } = openDatabase(url)
  const options = { database, cache: memory(), collect: false, logger: SILENT } as const
  const both = createActivity({ ...options, name: 'both' })
  const time = TODAY + 1
  for (const page of ['/a', '/a', '/b']) both.record({ page, at: time })
  await both.flush()
  await both.drain({ all: true })
  const seen = ['/b', '/secret'].map((page) => ({ time, visitor: null, page }))
  await database.transaction((tx) =>
    commitVisits(seen, tx, { now: Date.now(), name: 'both.seen' } as never),
  )
  // Its views, which are now among the others, may have been of any page.
  await removeValue(database, 'both.seen', 'page', '/secret')
  const days = { from: new Date(TODAY).toISOString(), to: new Date(TODAY + DAY_MS).toISOString() }
  assert.deepEqual(await exported({ ...days, name: 'both', top: 'page' }), [
    { value: '/a', pageViews: 2, seen: null },
    { value: '/b', pageViews: 1, seen: 1 },
  ])
  await both.close()
  await database.close()
})
