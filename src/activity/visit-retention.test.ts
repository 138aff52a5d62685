import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commit } from '../../test/orders/activity.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { type Database, DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { table } from '../database/table.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { enterName } from '../wide-cache/ledger/name-settings.js'
import { HOUR_VALUES } from './dimension-values.js'
import { VisitRetention } from './visit-retention.js'

const HOUR_MS = 3_600_000
const NAME = 'a'
/** A process that keeps less than others, and gives a day up sooner. */
const SHORT = {
  name: NAME,
  keepSeconds: 3_600,
  retentionGiven: false,
  historyDays: 1,
  vanishedSeconds: 60,
  keep: 'rows',
} as const

test('a collector goes by what SQL has of the name, and says how each day closed', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const seconds = { cellTtlSeconds: 60, directSeconds: 75, vanishedSeconds: 7_200 }
  const nameSettings = {
    keepSeconds: { value: 10 * 86_400, counts: 'longest' },
    historyDays: { value: 9, counts: 'longest' },
  } as const
  await enterName(database, { name: NAME, kind: 'activity', ...seconds, nameSettings })
  const end = 20_001 * 24 * HOUR_MS
  for (const days of [5, 3, 1]) {
    const time = end - days * 24 * HOUR_MS
    await commit({ database }, [{ time, visitor: null, page: '/' }], time, NAME)
  }
  const said: string[] = []
  const logger = new BurstLogger(
    {
      info: (line) => said.push(`info ${line}`),
      warn: (line) => said.push(`warn ${line}`),
      error: (line) => said.push(`error ${line}`),
    },
    () => 0,
  )
  const retention = new VisitRetention({ ...SHORT, clock: new ManualClock(0), logger })
  const collect = async (now: number): Promise<number[]> => {
    while (await retention.removeOld(database, { now, name: NAME }));
    const { rows } = await database.query(
      'SELECT (SELECT COUNT(*) FROM activities) AS kept, (SELECT COUNT(*) FROM ' +
        'activity_hour_values) AS listed, open_day FROM activity_books',
    )
    return Object.values(rows[0]!).map(Number)
  }
  assert.deepEqual(await collect(end + HOUR_MS), [3, 3, 20_000], 'one may still come')
  assert.deepEqual(
    said.map((line) => line.split(' ')[0]),
    ['info', 'info'],
  )
  await database.query('UPDATE activity_hours SET views = 5 WHERE hour = 20000 * 24')
  assert.deepEqual(await collect(end + 2 * HOUR_MS), [3, 3, 20_001])
  assert(said.slice(2).every((line) => line.startsWith('error')))
  assert.match(said.at(-1)!, /2024-10-04/)
  await database.close()
})

test('a removal that leaves rows ends soon, and later ones take a third of the time', async () => {
  const real = sqlite(':memory:')
  await real.migrate()
  let elapsed = 0
  const retention = new VisitRetention({
    ...SHORT,
    clock: wrapped(new ManualClock(0), { elapsed: () => elapsed }),
    logger: new BurstLogger(SILENT, () => 0),
  })
  const slow: Database = wrapped(real, {
    query: (sql, parameters) => {
      elapsed += 25
      return real.query(sql, parameters)
    },
  })
  const now = 20_000 * 24 * HOUR_MS
  const addOld = () =>
    real.query(
      'INSERT INTO activity_seconds (name, second, views) WITH RECURSIVE s (second) AS ' +
        "(VALUES (1) UNION ALL SELECT second + 1 FROM s WHERE second < 12000) SELECT 'a', " +
        'second, 0 FROM s',
    )
  /** How long a call takes, after so many milliseconds in which others collect. */
  const lasts = async (ms: number): Promise<number> => {
    elapsed += ms
    const began = elapsed
    assert.equal(await retention.removeOld(slow, { now, name: NAME }), true)
    return elapsed - began
  }
  /** One piece may end later. */
  const about = (is: number, wanted: number) => assert(is >= wanted && is < wanted + 150, `${is}`)
  await addOld()
  about(await lasts(0), 250)
  about(await lasts(1_250), 500)
  about(await lasts(60_000), 2_500)
  while (await retention.removeOld(slow, { now, name: NAME }));
  await addOld()
  about(await lasts(60_000), 250)
  await real.close()
})

for (const category of ['lock', 'unreachable'] as const) {
  for (const where of ['the books', 'seconds']) {
    test(`what fails as "${category}" at ${where} is done later, or thrown`, async () => {
      const real = sqlite(':memory:')
      await real.migrate()
      const books = table('activity_books', ['name'], 'open_day', 'open_hour', 'views', 'changes')
      await books.insert(real, [[NAME, 20_000, 20_000 * 24, 0, 1]])
      await HOUR_VALUES.insert(real, [[NAME, 'page', 1, Buffer.from('/'), 1]])
      // The books do not balance, which is to be noted.
      const hours = table('activity_hours', ['name', 'hour'], 'views', 'late')
      await hours.insert(real, [[NAME, 1, 1, 0]])
      await table('activity_seconds', ['name', 'second'], 'views').insert(real, [[NAME, 1, 0]])
      const error = new DatabaseError('ANY', category, 'no')
      let fails = true
      const failing = wrapped(real, {
        query: async (sql, parameters) => {
          const isBooks = sql.startsWith('UPDATE activity_books')
          if (fails && where === 'the books' && isBooks) throw error
          return real.query(sql, parameters)
        },
        transaction: async (work) => {
          if (fails && where === 'seconds') throw error
          return real.transaction(work)
        },
      })
      const logger = new BurstLogger(SILENT, () => 0)
      const retention = new VisitRetention({ ...SHORT, clock: new ManualClock(0), logger })
      const now = 20_000 * 24 * HOUR_MS
      const removed = retention.removeOld(failing, { now, name: NAME })
      if (category === 'lock') assert.equal(await removed, false)
      else await assert.rejects(removed, error)
      fails = false
      assert.equal(await retention.removeOld(failing, { now, name: NAME }), false)
      for (const removedFrom of ['activity_seconds', 'activity_hour_values']) {
        const { rows } = await real.query(`SELECT * FROM ${removedFrom}`)
        assert.deepEqual(rows, [], removedFrom)
      }
      await real.close()
    })
  }
}

test('who keeps visits for a shorter time than others is told how to change that', async () => {
  for (const name of ['a', 'a.seen']) {
    const database = sqlite(':memory:')
    await database.migrate()
    const seconds = { cellTtlSeconds: 60, directSeconds: 75, vanishedSeconds: 7_200 }
    const nameSettings = { keepSeconds: { value: 86_400, counts: 'longest' } } as const
    await enterName(database, { name, kind: 'activity', ...seconds, nameSettings })
    const log = keptLog()
    const logger = new BurstLogger(log, () => 0)
    const own = { ...SHORT, name, retentionGiven: true, clock: new ManualClock(0), logger }
    await new VisitRetention(own).removeOld(database, { now: 0, name })
    const line = log.lines[0]!
    assert.match(line, /"a(\.seen)?" are kept for 24 h, .* not for 1 h /)
    assert.match(line, /= 3600 WHERE name IN \('a', 'a\.seen', 'a\.bots', 'a\.gone'\)$/)
    await database.close()
  }
})
