/**
 * The books balance, whatever is committed and closed (whole-way.test.ts has that as a property);
 * and what somebody changes beside wide-cache is found.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { eventually } from '../support/eventually.fixture.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { memory } from '../cache/memory.js'
import type { Database, SqlValue } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { shifted } from '../database/shifted.fixture.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { removeOldEntries } from '../wide-cache/ledger/retention.js'
import { SiteActivity } from './site-activity.js'
import { watchBalance } from './balance.js'
import { bookMetrics } from './book-metrics.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { certificateLine } from './certificate-line.js'
import { activitySettings } from './options.js'
import { recountRows } from './hour-recount.js'
import { Recounts } from './recount.js'
import { removeOldVisits } from './retention.js'

const DAY = Math.floor(Date.UTC(2026, 4, 17) / DAY_MS)
const START = DAY * DAY_MS
const LAYER_SECONDS = 3

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

const SERVERS: [name: string, url: () => string | Promise<string>][] = [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

/** A site with three visits of one day and two of the next; the first day is closed. */
async function siteOn(database: Database, name: string) {
  const activity = new SiteActivity(
    activitySettings({ name, database, cache: memory(), collect: false }),
  )
  const log = keptLog()
  const logger = new BurstLogger(log, () => 0)
  const record = async (ats: readonly number[]): Promise<void> => {
    for (const at of ats) activity.record({ page: '/', visitor: 'anna', at })
    await activity.flush()
    await activity.drain({ all: true })
  }
  const certified: ActivityCertificate[] = []
  const closeAt = async (now: number, rowsMs = 9 * DAY_MS): Promise<void> => {
    const kept = { rowsMs, valuesDays: 8, directSeconds: 75, vanishedSeconds: 3_600 }
    await removeOldVisits(database, { now, name }, kept, (one) => certified.push(one))
  }
  await record([START + HOUR_MS, START + HOUR_MS + 1_000, START + 2 * HOUR_MS, START + DAY_MS])
  await closeAt(START + DAY_MS + 2 * HOUR_MS)
  // Of the first day, and late.
  await record([START])
  const query = (sql: string, values: readonly SqlValue[] = []) => database.query(sql, values)
  const certificate = (day: number) => readCertificate(database, name, day, 0)
  return { database, activity, name, log, logger, certified, closeAt, record, query, certificate }
}

type Site = Awaited<ReturnType<typeof siteOn>>

/** Recounts each hour. */
async function walk({ database, name, logger }: Site, now: number): Promise<void> {
  const recounts = new Recounts({ name, logger })
  for (let run = 0; run < 10; run++) await recounts.run(database, now + run * 60_000)
}

const NOTHING = { quarantined: 0, dropped: 0, outstanding: 0, owed: 0, lost: 0, uncounted: 0 }

for (const [server, url] of SERVERS) {
  let sites = 0
  let database: Database | undefined
  const site = async () => {
    database ??= openDatabase(await url()).database
    if (sites === 0) opened.push(database)
    return siteOn(database, `certified-${process.pid}-${++sites}`)
  }
  const finds = (certificate: ActivityCertificate, pattern: RegExp): void => {
    assert.match(certificate.findings.join('\n'), pattern)
    assert.equal(certificate.balanced, false)
  }

  describe(`certificates, ${server}`, () => {
    test('what does not balance is in the metrics', async () => {
      const one = await site()
      const { activity, database, name, query, log, logger } = one
      await query('UPDATE activity_hours SET views = views + 2 WHERE name = ? AND late = 1', [name])
      await query('DELETE FROM activities WHERE name = ? AND created_at = ?', [
        name,
        START + DAY_MS,
      ])
      const watching = () => watchBalance(database, name, logger)
      await Promise.all([watching(), watching()])
      assert.equal(log.matching(/do not balance/).length, 1, 'one of two collectors says it')
      await walk(one, START + DAY_MS + 2 * HOUR_MS)
      const page = await activity.metrics()
      const value = (metric: string) =>
        Number(new RegExp(`^wide_cache_${metric}\\{[^}]*\\} (\\S+)$`, 'm').exec(page)?.[1])
      assert.equal(value('books_difference_rows'), -2)
      assert.equal(value('recounted_hours_unequal'), 1)
      assert.equal(value('recounted_hours_equal'), 2)
      const day = (START + DAY_MS) / 1_000
      await query('DELETE FROM activity_seconds WHERE name = ? AND second < ?', [name, day])
      assert.deepEqual(
        await bookMetrics.read(database, name),
        { difference: -2, hoursEqual: 0, hoursUnequal: 1 },
        'an hour whose rows are removed is in neither',
      )
      await activity.close()
    })

    test('of a closed day as it was then, of an open one as it is', async () => {
      const { activity, certified, certificate, closeAt, name, record } = await site()
      const first: ActivityCertificate = {
        day: '2026-05-17',
        firstDay: '2026-05-17',
        closed: true,
        pageViews: 3,
        visitors: 1,
        late: 0,
        allPageViews: 4,
        ledger: { issued: 4, committed: 4, ...NOTHING },
        keep: 'rows',
        hours: null,
        balanced: true,
        findings: [],
      }
      const second: ActivityCertificate = {
        ...first,
        day: '2026-05-18',
        closed: false,
        pageViews: 2,
        late: 1,
        allPageViews: 5,
        ledger: { issued: 5, committed: 5, ...NOTHING },
      }
      assert.deepEqual(certified, [first])
      assert.deepEqual(await certificate(DAY), first)
      assert.deepEqual(await activity.certificate('2026-05-17'), first)
      assert.deepEqual(await activity.certificate('2026-05-18'), second)
      await closeAt(START + 5 * DAY_MS)
      await record([START])
      assert.deepEqual(certified[1], { ...second, closed: true })
      assert.deepEqual(await certificate(DAY + 1), certified[1])
      assert.deepEqual(await certificate(DAY + 2), {
        ...first,
        day: '2026-05-19',
        pageViews: 0,
        visitors: 0,
        allPageViews: null,
        ledger: null,
      })
      assert.equal(
        certificateLine(name, first),
        `wide-cache: 2026-05-17 of "${name}" is closed: 3 page views, 1 visitor, 0 late; ` +
          'ledger: issued 4, committed 4, quarantined 0, dropped 0, outstanding 0, owed 0, ' +
          'lost 0, ' +
          'uncounted 0; no hour recounted; the books balance',
      )
      await activity.close()
    })

    test('rows that the ledger had before the first visit are left out of the law', async () => {
      const { activity, query, name, database, log, logger, certificate } = await site()
      for (const table of ['activity_books', 'activity_hours', 'activity_days']) {
        await query(`DELETE FROM ${table} WHERE name = ?`, [name])
      }
      activity.record({ page: '/', at: START + 3 * DAY_MS })
      await activity.flush()
      await activity.drain({ all: true })
      await watchBalance(database, name, logger)
      assert.deepEqual(log.lines, [])
      const { ledger, balanced } = await certificate(DAY + 3)
      assert.deepEqual([ledger?.uncounted, ledger?.committed, balanced], [5, 6, true])
      await activity.close()
    })

    test('the books balance when the ledger has forgotten its writers', async () => {
      const { activity, database, query, name, certificate } = await site()
      await activity.close()
      await removeOldEntries(database, name, Date.now() + 31 * DAY_MS)
      const { rows } = await query(
        'SELECT SUM(last_seen) AS seen FROM wide_cache_writers WHERE name = ?',
        [name],
      )
      assert.equal(Number(rows[0]?.['seen']), 0)
      const { ledger, findings } = await certificate(DAY + 1)
      assert.deepEqual([ledger?.issued, ledger?.committed, findings], [5, 5, []])
    })

    // What is changed beside wide-cache, and which day's certificate tells of it.
    const changes: [string, string, number, RegExp][] = [
      [
        'the views of an hour',
        `UPDATE activity_hours SET views = views + 1 WHERE name = ? AND hour = ${24 * DAY + 24}`,
        DAY + 1,
        new RegExp(
          '^the hours have 6 page views, and the ledger has committed 5 rows\\n' +
            'its seconds have 2 page',
        ),
      ],
      [
        'the views of an hour of a closed day',
        `UPDATE activity_hours SET views = views - 1 WHERE name = ? AND hour = ${24 * DAY + 1}`,
        DAY,
        /^its hour 01:00 has 1 page view \(0 late\) and 1 visitor, and had 2 page views \(0 late\)/,
      ],
      [
        'an hour that is gone',
        `DELETE FROM activity_hours WHERE name = ? AND hour = ${24 * DAY + 1}`,
        DAY,
        /^its hour 01:00 has 0 page views \(0 late\) and 0 visitors, and had 2 page views /,
      ],
      [
        'the ledger',
        'UPDATE wide_cache_writers SET committed = committed - 1 WHERE name = ?',
        DAY + 1,
        /^the hours have 5 page views, and the ledger has committed 4 rows$/,
      ],
    ]
    for (const [what, sql, day, finding] of changes) {
      test(`${what}: the collector says so once, and the certificate why`, async () => {
        const { activity, database, query, name, log, logger, certificate } = await site()
        const difference = async () => {
          const books = 'SELECT difference FROM activity_books WHERE name = ?'
          return Number((await query(books, [name])).rows[0]?.['difference'])
        }
        await watchBalance(database, name, logger)
        assert.deepEqual([log.lines, await difference()], [[], 0])
        await query(sql, [name])
        for (let looks = 0; looks < 3; looks++) await watchBalance(database, name, logger)
        assert.equal(log.lines.length, 1)
        assert.match(log.lines[0]!, /^wide-cache: the books of "[^"]+" do not balance: the hours /)
        finds(await certificate(day), finding)
        const found = await difference()
        assert.notEqual(found, 0)
        await query('UPDATE activity_books SET uncounted = uncounted + ? WHERE name = ?', [
          found,
          name,
        ])
        await watchBalance(database, name, logger)
        assert.match(log.lines[1]!, /balance again$/)
        assert.equal(await difference(), 0)
        await activity.close()
      })
    }

    test('the figures of a closed day', async () => {
      const { activity, query, name, certificate } = await site()
      await query('UPDATE activity_days SET late = late + 1 WHERE name = ?', [name])
      finds(
        await certificate(DAY),
        /^activity_days has 1 late page view of the day, and had 0 when it closed$/,
      )
      await activity.close()
    })

    const rowChanges: [string, string][] = [
      [
        'a row that is gone',
        `DELETE FROM activities WHERE name = ? AND created_at = ${START + HOUR_MS}`,
      ],
      [
        'the views of a second',
        'UPDATE activity_seconds SET views = views + 1 ' +
          `WHERE name = ? AND second = ${(START + HOUR_MS) / 1000}`,
      ],
    ]
    for (const [what, sql] of rowChanges) {
      test(`${what}: found by a recount, logged once, in the certificate`, async () => {
        const one = await site()
        const { activity, query, name, log, certificate } = one
        const now = START + 20 * HOUR_MS
        await walk(one, now)
        assert.deepEqual([(await certificate(DAY)).hours, log.lines], [2, []])
        await query(sql, [name])
        for (let walks = 0; walks < 3; walks++) await walk(one, now)
        assert.equal(log.lines.length, 1)
        assert.match(log.lines[0]!, /the hour that began at 2026-05-17T01:00:00.000Z, a recount f/)
        const found = await certificate(DAY)
        finds(found, /^a recount of its hour 01:00 found \d rows?, and sums of \d page views/m)
        assert.equal(found.hours, 1)
        await activity.close()
      })
    }

    test('nothing is found while visits are committed and removed, and days closed', async () => {
      const { activity, database, name, record, closeAt, certified, certificate } = await site()
      const secondsOf = (round: number): number[] =>
        Array.from({ length: 50 }, (_, i) => (DAY + 1 + round) * 86_400 + LAYER_SECONDS * i)
      let day = DAY + 1
      let under = true
      const looks = (async () => {
        while (under) {
          const [first = 0] = secondsOf(day - DAY - 1)
          const from = 1000 * first
          const { unequal } = await recountRows(database, name, from, from + 150_000)
          assert.equal(unequal, 0)
          assert.deepEqual((await certificate(day)).findings, [])
        }
      })()
      for (let round = 0; round < 4; round++, day++) {
        const ats = secondsOf(round).map((second) => second * 1000)
        await record(ats)
        // While more visits come, their day is closed, and the rows of its first 100 s removed.
        const closing = closeAt((day + 1) * DAY_MS + 2 * HOUR_MS, 26 * HOUR_MS - 100_000)
        await Promise.all([record(ats), closing])
      }
      under = false
      await looks
      assert.equal(certified.length, 5)
      assert.deepEqual(
        certified.flatMap(({ findings }) => findings),
        [],
      )
      await activity.close()
    })
  })
}

test('certificate() refuses what is no day that has begun, by name', async () => {
  const activity = new SiteActivity(
    activitySettings({ database: 'sqlite::memory:', cache: memory(), collect: false }),
  )
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  for (const day of ['2026-02-30', '2026-5-17', 'today', '', '1969-12-31', tomorrow]) {
    await assert.rejects(activity.certificate(day), {
      name: 'RangeError',
      message: /^wide-cache: option "day" is ".*"; allowed: a day in UTC that has begun, such as "/,
    })
  }
  const number: unknown = 20_000
  await assert.rejects(activity.certificate(number as string), { name: 'TypeError' })
  const today = new Date().toISOString().slice(0, 10)
  const { closed, pageViews, balanced } = await activity.certificate(today)
  assert.deepEqual([closed, pageViews, balanced], [false, 0, true])
  await activity.close()
})

test('a collector recounts, says what differs, and logs the certificate of a day', async () => {
  let ahead = 0
  const { database } = openDatabase('sqlite::memory:')
  opened.push(database)
  const clock = {
    ...systemEnvironment.clock,
    now: () => Date.now() + ahead,
    elapsed: () => performance.now() + ahead,
  }
  const log = keptLog()
  const anHourAgo = Date.now() - HOUR_MS
  const open = (collect: string | false) =>
    new SiteActivity(
      activitySettings({
        collect,
        cache: memory(),
        database: shifted(database, () => ahead),
        logger: log,
        retentionHours: 99,
      }),
      { ...systemEnvironment, clock },
    )
  const site = open(false)
  site.record({ page: '/', at: anHourAgo })
  await site.close()
  await database.query('UPDATE activity_seconds SET views = 2')
  const collector = open('* * * * * *')
  const said = (pattern: RegExp) =>
    eventually(String(pattern), () => log.lines.some((line) => pattern.test(line)))
  await said(/rows and sums of "activity" differ: .* found 1 row, and sums of 2 page views;/)
  const pass = async (ms: number): Promise<void> => {
    ahead += ms
    await database.query('UPDATE wide_cache_names SET safe_at = safe_at + ?', [ms])
  }
  await pass(2 * DAY_MS)
  await said(/is closed: 1 page view, 0 visitors, 0 late; .* it does not balance: .*; a recount of/)
  await database.query('DELETE FROM activity_hours')
  await pass(HOUR_MS)
  await said(/do not balance: the hours have 0 page views, and the ledger has committed 1 row/)
  assert.equal(log.lines.length, 3)
  await collector.close()
})
