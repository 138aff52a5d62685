import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
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
