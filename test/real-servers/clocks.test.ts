/**
 * Promise 5 and 8 on real servers: clocks step, of the database and of a web process, and nothing
 * stands still or is counted twice.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity } from '../../src/activity/site-activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { withClockAhead } from '../servers/wrapped.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'
import { startRecorder } from './recorder.js'

const EACH_SECOND = '* * * * * *'
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Greatest difference of another process's clock, and a layer. */
const AHEAD_AT_MOST_MS = 2_000
/** The longest that a process's requests may be kept waiting, in CPU time. */
const LONGEST_TURN_MS = 200
const SAYS_THAT_A_CLOCK_STEPPED = /clock/i

describe('a clock steps', { concurrency: true }, () => {
  test('the database’s clock is 2 hours ahead for 15 s: figures are soon fresh again', async () => {
    let aheadMs = 0
    const sql = mysql(await sharedMysqlUrl())
    const log = keptLog()
    const activity = createActivity({
      name: uniqueName(),
      cache: `memcached://${await sharedMemcached()}`,
      database: withClockAhead(sql, () => aheadMs),
      collect: EACH_SECOND,
      layerSeconds: 1,
      drainAfterLayers: 2,
      windowSeconds: 600,
      statsTtlSeconds: 1,
      cellTtlSeconds: 60,
      confirmSeconds: 20,
      logger: log,
    })
    let recorded = 0
    const record = (): void => {
      for (let i = 0; i < 20; i++) activity.record({ visitor: `visitor ${recorded++}`, page: '/' })
    }
    const shown = (): Promise<unknown> =>
      eventually(
        `${recorded} views are shown`,
        async () => (await activity.stats()).pageViews === recorded,
      )
    try {
      await activity.migrate()
      record()
      await shown()
      aheadMs = 2 * HOUR_MS
      for (let second = 0; second < 15; second++) {
        record()
        await delay(1_000)
      }
      aheadMs = 0
      // By then the process has read the clock anew.
      await delay(12_000)
      const early = recorded
      record()
      const rightly = 2 * (recorded - early)
      // What was recorded by a clock that was ahead comes when its time has come.
      await eventually('all is shown that was recorded with the right time', async () => {
        const { pageViews, stale } = await activity.stats()
        return !stale && pageViews >= rightly && pageViews < recorded
      })
      const { asOf } = await activity.stats()
      assert(
        Date.parse(asOf) <= Date.now() + AHEAD_AT_MOST_MS,
        `asOf is ${asOf}, and it is ${new Date().toISOString()}`,
      )
      // They move on with time.
      await eventually('asOf moves on', async () => (await activity.stats()).asOf > asOf)
      assert.notDeepEqual(log.matching(SAYS_THAT_A_CLOCK_STEPPED), [])
    } finally {
      await activity.close()
      await sql.close()
    }
  })

  test('the database’s clock is 31 days ahead: no writer forgotten, no row doubled', async () => {
    let aheadMs = 0
    const sql = mysql(await sharedMysqlUrl())
    const database = withClockAhead(sql, () => aheadMs)
    await createRecorded(sql)
    const cache = `memcached://${await sharedMemcached()}`
    const options = {
      name: uniqueName(),
      logger: keptLog(),
      cellTtlSeconds: 60,
      confirmSeconds: 3600,
    }
    const writer = openRecorded({ cache, database, collect: false }, options)
    const silent = openRecorded({ cache, database, collect: false }, options)
    const collector = openRecorded({ cache, database, collect: EACH_SECOND }, options)
    try {
      for (const row of rowsOf(0, 0, 100)) writer.append(row)
      for (const row of rowsOf(1, 0, 100)) silent.append(row)
      await silent.close()
      await eventually(
        'the first rows are collected',
        async () => (await countRecorded(sql)) === 200,
      )
      aheadMs = 31 * DAY_MS
      await delay(10_000)
      aheadMs = 0
      await delay(2_000)
      for (const row of rowsOf(0, 100, 200)) writer.append(row)
      await eventually('new rows are collected', async () => (await countRecorded(sql)) >= 300)
      await Promise.all([writer.close(), collector.close()])
      await assertRecorded(sql, [...rowsOf(0, 0, 200), ...rowsOf(1, 0, 100)])
      const reader = openRecorded({ cache, database, collect: false }, options)
      assertLedger(await reader.ledger(), 300)
      await reader.close()
    } finally {
      await Promise.all([writer.close(), collector.close()])
      await sql.close()
    }
  })

  test('a writer holds frames while the clock is 31 days ahead: all committed once', async () => {
    let aheadMs = 0
    const sql = mysql(await sharedMysqlUrl())
    const database = withClockAhead(sql, () => aheadMs)
    await createRecorded(sql)
    const cache = `memcached://${await sharedMemcached()}`
    const options = {
      name: uniqueName(),
      logger: keptLog(),
      cellTtlSeconds: 60,
      confirmSeconds: 3600,
    }
    const writer = openRecorded({ cache, database, collect: false }, options)
    for (const row of rowsOf(0, 0, 100)) writer.append(row)
    await writer.flush()
    const first = openRecorded({ cache, database, collect: false }, options)
    await first.drain({ all: true })
    await first.close()
    assert.equal(await countRecorded(sql), 100)
    aheadMs = 31 * DAY_MS
    // What is old is removed about once a minute, and first when a collector starts.
    const collector = openRecorded({ cache, database, collect: EACH_SECOND }, options)
    try {
      await delay(5_000)
      aheadMs = 0
      // It brings to SQL all that it does not know to be there.
      await Promise.all([writer.close(), collector.close()])
      await assertRecorded(sql, rowsOf(0, 0, 100))
    } finally {
      await Promise.all([writer.close(), collector.close()])
      await sql.close()
    }
  })

  for (const [what, stepMs] of [
    ['10 minutes back', -10 * MINUTE_MS],
    ['30 days forward', 30 * DAY_MS],
  ] as const) {
    test(`the wall clock of a collecting web process steps ${what}: all goes on`, async () => {
      const database = await sharedMysqlUrl()
      const sql = mysql(database)
      await createRecorded(sql)
      const cache = `memcached://${await sharedMemcached()}`
      const options = { name: uniqueName(), cellTtlSeconds: 60, confirmSeconds: 3600 }
      const writer = openRecorded({ cache, database: sql, collect: false }, options)
      const web = await startRecorder({ ...options, cache, database, collect: EACH_SECOND })
      try {
        let recorded = 0
        const recordAndWait = async (): Promise<void> => {
          for (const row of rowsOf(0, recorded, recorded + 50)) writer.append(row)
          recorded += 50
          await eventually(
            `${recorded} rows are collected`,
            async () => (await countRecorded(sql)) >= recorded,
          )
        }
        await recordAndWait()
        await web.longestTurn()
        await web.moveClock(stepMs)
        await delay(3_000)
        const turn = await web.longestTurn()
        for (let i = 0; i < 3; i++) await recordAndWait()
        assert(turn < LONGEST_TURN_MS, `the event loop was held for ${Math.round(turn)} ms`)
        assert(
          web.lines.some((line) => SAYS_THAT_A_CLOCK_STEPPED.test(line)),
          'the log says that a clock stepped',
        )
        await assertRecorded(sql, rowsOf(0, 0, recorded))
      } finally {
        await web.kill()
        await writer.close()
        await sql.close()
      }
    })
  }
})
