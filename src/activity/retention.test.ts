import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { shifted } from '../database/shifted.fixture.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { table } from '../database/table.js'
import { systemEnvironment } from '../support/environment.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { commitVisits } from './commit.js'
import { SiteActivity } from './site-activity.js'
import { activitySettings } from './options.js'
import { packDimensions } from './packed-dimensions.js'
import { removeOldVisits } from './retention.js'
import { sliceOf } from './sums.js'

const HOUR_MS = 3_600_000

test('a collector keeps visits for the longest time that any process has given', async (t) => {
  let ahead = 0
  const real = sqlite(':memory:')
  const database = shifted(real, () => ahead)
  const clock = {
    ...systemEnvironment.clock,
    now: () => Date.now() + ahead,
    elapsed: () => performance.now() + ahead,
  }
  let looks = 0
  const looked = new Proxy(database, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (property !== 'query') return value
      return (sql: string, values?: []) => {
        if (sql.startsWith('SELECT second, views FROM activity_seconds')) looks++
        return target.query(sql, values)
      }
    },
  })
  const log = keptLog()
  const open = (retentionHours: number, collect: string | false) =>
    new SiteActivity(
      activitySettings({
        retentionHours,
        collect,
        cache: memory(),
        database: looked,
        logger: log,
        windowSeconds: 60,
        cellTtlSeconds: 60,
      }),
      { ...systemEnvironment, clock },
    )
  const [short, long] = [open(1, '* * * * * *'), open(3, false)]
  t.after(async () => {
    await Promise.all([short.close(), long.close()])
    await real.close()
  })
  short.record({ page: '/' })
  await short.flush()
  await short.drain({ all: true })
  await long.migrate()
  const views = async () =>
    (await real.query('SELECT COUNT(*) AS n FROM activities')).rows[0]?.['n']
  const removal = async (hours: number): Promise<void> => {
    ahead = hours * HOUR_MS
    await real.query('UPDATE wide_cache_names SET safe_at = ?', [Date.now() + ahead])
    const before = looks
    await eventually('the collector looks for what is old', () => looks > before)
  }
  await removal(2)
  // At least a minute later: what the first run may still have been at is done.
  await removal(2.5)
  assert.equal(await views(), 1)
  await removal(4)
  await eventually('the visit goes', async () => (await views()) === 0)
  assert.equal(
    log.lines.filter((line) =>
      line.endsWith(
        'are kept for 3 h, the longest time that a process has given, and not for 1 h as this ' +
          'one has; if no process needs them so long, run: UPDATE wide_cache_names SET ' +
          "keep_seconds = 3600 WHERE name IN ('activity', 'activity.seen', 'activity.bots', " +
          "'activity.gone')",
      ),
    ).length,
    1,
  )
})

test('a clock that is 26 hours ahead for a quarter of an hour closes no day', async (t) => {
  const real = sqlite(':memory:')
  // The database and the process have one clock, as on a machine with SQLite.
  const time = { passed: 0, wrong: 0 }
  const database = shifted(real, () => time.passed + time.wrong)
  const clock = {
    ...systemEnvironment.clock,
    now: () => Date.now() + time.passed + time.wrong,
    elapsed: () => performance.now() + time.passed,
  }
  let looks = 0
  const looked = wrapped(database, {
    query: (sql, values) => {
      if (sql.startsWith('SELECT second, views FROM activity_seconds')) looks++
      return database.query(sql, values)
    },
  })
  const log = keptLog()
  const activity = new SiteActivity(
    activitySettings({ collect: '* * * * * *', cache: memory(), database: looked, logger: log }),
    { ...systemEnvironment, clock },
  )
  t.after(async () => {
    await activity.close()
    await real.close()
  })
  const visit = async (): Promise<void> => {
    activity.record({ page: '/' })
    await activity.flush()
    await activity.drain({ all: true })
  }
  const minute = async (): Promise<void> => {
    const before = looks
    time.passed += 60_000
    await eventually('the collector looks for what is old', () => looks > before)
  }
  await visit()
  await minute()
  time.wrong = 26 * HOUR_MS
  for (let minutes = 0; minutes < 15; minutes++) await minute()
  await visit()
  time.wrong = 0
  await minute()
  await visit()
  const today = Math.floor((Date.now() + time.passed) / (24 * HOUR_MS))
  const { rows } = await real.query(
    'SELECT open_day, (SELECT SUM(late) FROM activity_hours) AS late FROM activity_books',
  )
  assert(Number(rows[0]?.['open_day']) <= today, 'a visit of today is of an open day')
  assert.equal(Number(rows[0]?.['late']), 0)
  assert.deepEqual(log.matching(/is closed/), [])
})

test('visitors of closed days are removed one statement at a time', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['wide-cache', 'activity'])
  const day = 20_000
  const now = (day + 30) * 24 * HOUR_MS
  const books = table('activity_books', ['name'], 'open_day', 'views', 'changes')
  await books.insert(database, [['a', day + 9, 0, 1]])
  const second = day * 24 * 3_600
  const slice = sliceOf(second)
  const key = ['name', 'day', 'visitor'] as const
  const visitors = table('activity_visitors', key, 'last_second', 'last_slice', 'hours')
  await visitors.insert(
    database,
    [1, 2, 3].map((byte) => ['a', day, Buffer.alloc(12, byte), second, slice, 1]),
  )
  let underWay = 0
  const slow: Database = wrapped(database, {
    query: async (sql, parameters) => {
      assert.equal(++underWay, 1)
      await turn()
      const answer = await database.query(sql, parameters)
      underWay--
      return answer
    },
  })
  const kept = { rowsMs: HOUR_MS, valuesDays: 1, directSeconds: 75, vanishedSeconds: 3_600 }
  await removeOldVisits(slow, { now, name: 'a' }, kept)
  assert.equal(underWay, 0)
  const { rows: left } = await database.query('SELECT COUNT(*) AS n FROM activity_visitors')
  assert.deepEqual(left, [{ n: 0 }])
  await database.close()
})

test('a call says that there is more to do as long as days wait to be closed', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [day, name] = [20_000, 'a']
  const now = (day + 53) * 24 * HOUR_MS
  const times = Array.from({ length: 52 }, (_, index) => (day + index) * 24 * HOUR_MS)
  const visits = times.map((time) => ({ time, visitor: null, page: '/' }))
  await database.transaction((tx) => commitVisits(visits, tx, { name, now }))
  const kept = { rowsMs: now, valuesDays: 366, vanishedSeconds: 3_600 }
  let closed = 0
  while (await removeOldVisits(database, { now, name }, kept, () => void closed++));
  assert.equal(closed, times.length)
  await database.close()
})

test('rows of one millisecond are removed, however many they are', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [time, name] = [20_000 * 24 * HOUR_MS, 'a']
  const visits = Array.from({ length: 5_001 }, () => ({ time, visitor: null, page: '/' }))
  await database.transaction((tx) => commitVisits(visits, tx, { name, now: time }))
  const kept = { rowsMs: HOUR_MS, valuesDays: 1, vanishedSeconds: 3_600 }
  await removeOldVisits(database, { now: time + 2 * HOUR_MS, name }, kept)
  const { rows } = await database.query('SELECT COUNT(*) AS n FROM activities')
  assert.deepEqual(rows, [{ n: 0 }])
  await database.close()
})

test('values by the hour stay a day longer than readers ask for them', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [now, name] = [20_000 * 24 * HOUR_MS, 'a']
  const hoursAgo = [49, 48, 25, 24]
  const visits = hoursAgo.map((ago) => ({ time: now - ago * HOUR_MS, visitor: null, page: '/' }))
  await database.transaction((tx) => commitVisits(visits, tx, { name, now }))
  const kept = { rowsMs: now, valuesDays: 1, vanishedSeconds: 0 }
  while (await removeOldVisits(database, { now, name }, kept));
  const { rows } = await database.query('SELECT hour FROM activity_hour_values ORDER BY hour')
  const left = rows.map(({ hour }) => now / HOUR_MS - Number(hour))
  assert.deepEqual(left, [48, 25, 24])
  await database.close()
})

test('the hour from which all values are kept never falls, whichever goes last', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [start, name] = [20_000 * 24, 'a']
  const visits = [0, 1, 2].map((hour) => ({
    time: (start + hour) * HOUR_MS,
    visitor: null,
    page: '/',
    // After the pages, by its name, and in the first hour alone.
    dimensions: hour === 0 ? packDimensions(['zone', 'x']) : undefined,
  }))
  const now = (start + 96) * HOUR_MS
  await database.transaction((tx) => commitVisits(visits, tx, { name, now }))
  const kept = { rowsMs: now, valuesDays: 1, vanishedSeconds: 0 }
  while (await removeOldVisits(database, { now, name }, kept));
  const { rows } = await database.query('SELECT values_from FROM activity_books')
  assert.deepEqual(rows, [{ values_from: start + 3 }])
  await database.close()
})

test('values are removed some hours at a time, and the rest when a collector goes on', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [start, name] = [20_000 * 24, 'a']
  const hours = [0, 1, 2, 3, 4]
  const visits = hours.map((hour) => ({
    time: (start + hour) * HOUR_MS,
    visitor: null,
    page: '/',
  }))
  const now = (start + 96) * HOUR_MS
  await database.transaction((tx) => commitVisits(visits, tx, { name, now }))
  const kept = { rowsMs: now, valuesDays: 1, vanishedSeconds: 0 }
  let left = hours.length
  for (let areMore = true; areMore;) {
    areMore = await removeOldVisits(database, { now, name }, kept, undefined, () => false)
    const { rows } = await database.query('SELECT COUNT(*) AS n FROM activity_hour_values')
    const remaining = Number(rows[0]!['n'])
    assert(remaining < left && left - remaining < hours.length)
    left = remaining
    assert.equal(areMore, left > 0)
  }
  await database.close()
})

test('what is removed is not looked for again before there can be more', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const [hour, name] = [20_000 * 24, 'a']
  const visits = [{ time: hour * HOUR_MS, visitor: Buffer.alloc(12, 1), page: '/' }]
  const now = (hour + 96) * HOUR_MS
  await database.transaction((tx) => commitVisits(visits, tx, { name, now }))
  const asked = new Set<string>()
  const looked = wrapped(database, {
    query: (sql, values) => {
      asked.add(/FROM (\w+)/.exec(sql)?.[1] ?? '')
      return database.query(sql, values)
    },
  })
  const kept = { rowsMs: HOUR_MS, valuesDays: 1, vanishedSeconds: 0, removed: {} }
  const tables = ['activity_visitors', 'activity_hour_values']
  for (const [hoursLater, isAsked] of [
    [0, true],
    [0, false],
    [24, true],
    [24, false],
  ] as const) {
    asked.clear()
    await removeOldVisits(looked, { now: now + hoursLater * HOUR_MS, name }, kept)
    assert.deepEqual(
      tables.filter((table) => asked.has(table)),
      isAsked ? tables : [],
    )
  }
  await database.close()
})
