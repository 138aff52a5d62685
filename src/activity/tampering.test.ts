/**
 * What somebody changes beside wide-cache is found in the certificate of its day, by its figure;
 * and the certificates of all other days balance.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { fewOrMany } from '../../test/scale.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import type { Database } from '../database/database.js'
import { hex } from '../database/dialect.js'
import { openDatabase } from '../database/open.js'
import { table } from '../database/table.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { enterName } from '../wide-cache/ledger/name-settings.js'
import { commitVisits } from './commit.js'
import { packDimensions } from './packed-dimensions.js'
import { Recounts } from './recount.js'
import { removeValue } from './remove-value.js'
import { removeOldVisits } from './retention.js'
import type { Visit } from './visit.js'

const OLDEST = Math.floor(Date.UTC(2026, 4, 17) / DAY_MS)
/** No visit is of this closed day. */
const EMPTY = OLDEST + 1
const CLOSED = OLDEST + 2
/** It is not closed when the next one is a few minutes old. */
const TODAY = OLDEST + 3
const DAYS = [OLDEST, EMPTY, CLOSED, TODAY]
/** The hours of visits, and the first one of each day. */
const HOURS = [3, 4, 5] as const
const hourOf = (day: number, hour: number = HOURS[0]): number => day * 24 + hour
const NOW = TODAY * DAY_MS + 7 * HOUR_MS

const WRITERS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'add'],
  ['committed', 'add'],
  ['last_seen', 'greatest'],
)

/** Ten page views of a day, by five visitors. */
const visitsOf = (day: number): Visit[] =>
  Array.from({ length: 10 }, (_, n) => ({
    time: (day * 24 + HOURS[n % HOURS.length]!) * HOUR_MS + n * 60_000,
    visitor: Buffer.alloc(12, n % 5),
    page: ['/a', '/b', '/b', '/日本', `/${'é'.repeat(200)}`][n % 5]!,
    dimensions: packDimensions(['referrer', n % 3 === 0 ? 'a.example' : 'b.example']),
  }))

async function commit(database: Database, name: string, visits: Visit[], now = NOW): Promise<void> {
  await database.transaction(async (tx) => {
    const { length } = visits
    await commitVisits(visits, tx, { now, name })
    await WRITERS.upsert(tx, [[name, Buffer.alloc(16), length, length, now]])
  })
}

/** A site with two closed days with visits, one without between them, and an open one. */
async function siteOn(database: Database, name: string) {
  const removeOld = (now: number, kept: { rowsMs?: number; valuesDays?: number } = {}) =>
    removeOldVisits(
      database,
      { now, name },
      { rowsMs: 9 * DAY_MS, valuesDays: 8, vanishedSeconds: 3_600, ...kept },
    )
  for (const day of [OLDEST, CLOSED]) {
    await commit(database, name, visitsOf(day), (day + 1) * DAY_MS)
    await removeOld((day + 1) * DAY_MS + 2 * HOUR_MS)
  }
  // Ten are late.
  await commit(database, name, [...visitsOf(TODAY), ...visitsOf(CLOSED)])
  const log = keptLog()
  const recounts = new Recounts({
    name,
    logger: new BurstLogger(log, () => 0),
  })
  /** Recounts all hours. */
  const recount = async (now = NOW): Promise<void> => {
    for (let run = 0; run < 20; run++) await recounts.run(database, now + run * 60_000)
  }
  const certificates = (): Promise<ActivityCertificate[]> =>
    Promise.all(DAYS.map((day) => readCertificate(database, name, day, NOW)))
  const query = async (sql: string): Promise<number> => {
    const digits = (_: string, column: string) => `UPPER(${hex(database.dialect, column, 'bytes')})`
    return (await database.query(sql.replace(/HEX\((\w+)\)/g, digits), [name])).affectedRows
  }
  return { database, name, removeOld, recount, certificates, query, log }
}

type Change = readonly [what: string, day: number, finding: RegExp, ...sql: string[]]

const THERE = 'WHERE name = ? AND'
const referrer = "dimension = 'referrer'"

/** Changes that the next certificate finds. */
const CHANGES: readonly Change[] = [
  [
    'a closed day is deleted',
    OLDEST,
    /activity_days has 0 page views of the day, and had 10 when it closed/,
    `DELETE FROM activity_days ${THERE} day = ${OLDEST}`,
  ],
  [
    'a closed day is deleted everywhere',
    OLDEST,
    /^the day is closed, and activity_certificates does not have what it was then$/m,
    `DELETE FROM activity_days ${THERE} day = ${OLDEST}`,
    `DELETE FROM activity_hours ${THERE} hour < ${24 * EMPTY}`,
    `DELETE FROM activity_day_values ${THERE} day = ${OLDEST}`,
    `DELETE FROM activity_hour_values ${THERE} hour < ${24 * EMPTY}`,
    `DELETE FROM activity_certificates ${THERE} day = ${OLDEST}`,
    `DELETE FROM activity_closed_values ${THERE} day = ${OLDEST}`,
  ],
  ...['views', 'visitors', 'late'].map((column): Change => [
    `${column} of a closed day`,
    CLOSED,
    /^activity_days has \d+ (late )?(page view|visitor)s? of the day, and had \d+ when it closed$/,
    `UPDATE activity_days SET ${column} = ${column} + 1 ${THERE} day = ${CLOSED}`,
  ]),
  [
    'a day is added',
    EMPTY,
    /^activity_days has 7 page views of the day, and had 0 when it closed$/,
    `INSERT INTO activity_days (name, day, views, late, visitors) VALUES (?, ${EMPTY}, 7, 0, 0)`,
  ],
  [
    'an hour of a closed day is deleted',
    CLOSED,
    new RegExp(
      '^its hour 04:00 has 0 page views \\(0 late\\) and 0 visitors, and had 3 page views ' +
        '\\(0 late\\) and 3 visitors when it closed$',
      'm',
    ),
    `DELETE FROM activity_hours ${THERE} hour = ${hourOf(CLOSED, 4)}`,
  ],
  [
    'an hour is added to a day without visits',
    EMPTY,
    /^its hour 03:00 has 2 page views/m,
    `INSERT INTO activity_hours (name, hour, views, late) VALUES (?, ${hourOf(EMPTY)}, 2, 0)`,
  ],
  ...['views', 'visitors', 'late'].map((column): Change => [
    `${column} of an hour of a closed day`,
    OLDEST,
    /^its hour 03:00 has /m,
    `UPDATE activity_hours SET ${column} = ${column} + 1 ${THERE} hour = ${hourOf(OLDEST)}`,
  ]),
  [
    'page views move from hour to hour',
    CLOSED,
    /^its hour 04:00 has 4 page views/m,
    `UPDATE activity_hours SET views = views + 1 ${THERE} hour = ${hourOf(CLOSED, 4)}`,
    `UPDATE activity_hours SET views = views - 1 ${THERE} hour = ${hourOf(CLOSED, 5)}`,
  ],
  [
    'an hour of an open day is deleted',
    TODAY,
    /^its seconds have 20 page views, and its hours have 17$/m,
    `DELETE FROM activity_hours ${THERE} hour = ${hourOf(TODAY, 4)}`,
  ],
  [
    'page views of an hour of an open day',
    TODAY,
    /^the hours have 41 page views, and the ledger has committed 40 rows$/m,
    `UPDATE activity_hours SET views = views + 1 ${THERE} hour = ${hourOf(TODAY, 4)}`,
  ],
  [
    'a value of a closed day is deleted',
    OLDEST,
    /^its values of page in activity_day_values have 8 page views, and had 10 when it closed$/,
    `DELETE FROM activity_day_values ${THERE} day = ${OLDEST} AND HEX(value) = '2F61'`,
  ],
  [
    'all values of a dimension are deleted',
    OLDEST,
    /^its values of referrer in activity_day_values have 0 page views, and had 10 when it closed$/,
    `DELETE FROM activity_day_values ${THERE} ${referrer} AND day = ${OLDEST}`,
  ],
  [
    'a value is added to a closed day, of a new dimension',
    CLOSED,
    /^its values of device in activity_day_values have 1 page view, and had 0 when it closed$/,
    'INSERT INTO activity_day_values (name, dimension, day, value, views) VALUES ' +
      `(?, 'device', ${CLOSED}, 'phone', 1)`,
  ],
  [
    'two values of a closed day are swapped',
    CLOSED,
    /^page views have moved between its values of referrer in activity_day_values since it closed$/,
    `UPDATE activity_day_values SET views = 10 - views ${THERE} ${referrer} AND day = ${CLOSED}`,
  ],
  [
    'a value of an hour of a closed day is deleted',
    OLDEST,
    /^its values of referrer in activity_hour_values have \d page views, and had 10 when it clos/,
    `DELETE FROM activity_hour_values ${THERE} ${referrer} AND hour = ${hourOf(OLDEST)} AND ` +
      "HEX(value) = '612E6578616D706C65'",
  ],
  [
    'the first hour of values of a closed day is deleted',
    OLDEST,
    /^its values of referrer in activity_hour_values have 6 page views, and had 10 when it closed$/,
    `DELETE FROM activity_hour_values ${THERE} ${referrer} AND hour = ${hourOf(OLDEST)}`,
  ],
  [
    'page views of a value move from hour to hour',
    CLOSED,
    /^page views have moved between its values of referrer in activity_hour_values since it clos/,
    `UPDATE activity_hour_values SET views = views + 1 ${THERE} ${referrer} AND ` +
      `hour = ${hourOf(CLOSED, 4)} AND HEX(value) LIKE '62%'`,
    `UPDATE activity_hour_values SET views = views - 1 ${THERE} ${referrer} AND ` +
      `hour = ${hourOf(CLOSED, 5)} AND HEX(value) LIKE '62%'`,
  ],
  [
    'a value is added to an hour of an open day',
    TODAY,
    /^its values of page by the hour have 25 page views, and its hours have 20$/,
    'INSERT INTO activity_hour_values (name, dimension, hour, value, views) VALUES ' +
      `(?, 'page', ${hourOf(TODAY)}, '/x', 5)`,
  ],
  [
    'seconds of a closed day are deleted',
    CLOSED,
    /^its seconds have 9 page views, and its hours have 10$/m,
    `DELETE FROM activity_seconds ${THERE} second = ${hourOf(CLOSED) * 3_600}`,
  ],
  [
    'a second is added to an open day',
    TODAY,
    /^its seconds have 21 page views, and its hours have 20$/m,
    'INSERT INTO activity_seconds (name, second, views) ' +
      `VALUES (?, ${hourOf(TODAY) * 3_600 + 1}, 1)`,
  ],
  [
    'a day is opened again',
    CLOSED,
    /^the day was closed, and activity_books has it open again$/,
    `UPDATE activity_books SET open_day = ${CLOSED} WHERE name = ?`,
  ],
  [
    'a day is closed by hand',
    TODAY,
    /^the day is closed, and activity_certificates does not have what it was then$/,
    `UPDATE activity_books SET open_day = ${TODAY + 1} WHERE name = ?`,
  ],
  [
    'the closing of a day is deleted',
    CLOSED,
    /^the day is closed, and activity_certificates does not have what it was then$/m,
    `DELETE FROM activity_certificates ${THERE} day = ${CLOSED}`,
  ],
  [
    'the closing of a day without visits is deleted',
    EMPTY,
    /^the day is closed, and activity_certificates does not have what it was then$/,
    `DELETE FROM activity_certificates ${THERE} day = ${EMPTY}`,
  ],
  ...['all_views', 'committed', 'uncounted'].map((column): Change => [
    `${column} of a closing`,
    CLOSED,
    /^the hours have \d+ page views?, and the ledger has committed \d+ rows/m,
    `UPDATE activity_certificates SET ${column} = ${column} + 1 ${THERE} day = ${CLOSED}`,
  ]),
  ...['views', 'late', 'visitors'].map((column): Change => [
    `${column} of a closing`,
    CLOSED,
    /^activity_days has \d+ (late )?(page view|visitor)s? of the day, and had \d+ when it closed$/,
    `UPDATE activity_certificates SET ${column} = ${column} + 1 ${THERE} day = ${CLOSED}`,
  ]),
  [
    'the hours of a closing',
    CLOSED,
    /^its hour 03:00 has 4 page views .*, and had 0 page views /m,
    `UPDATE activity_certificates SET hours = '' ${THERE} day = ${CLOSED}`,
  ],
  [
    'the values of a closing',
    CLOSED,
    /^its values of page in activity_day_values have 10 page views, and had 0 when it closed$/m,
    `DELETE FROM activity_closed_values ${THERE} day = ${CLOSED} AND dimension = 'page'`,
  ],
  [
    'page views of an hour are said to be removed',
    OLDEST,
    /^its seconds have 10 page views, 4 were removed by age, and its hours have 10$/,
    `UPDATE activity_hours SET removed = 4 ${THERE} hour = ${hourOf(OLDEST)}`,
  ],
  [
    'the ledger',
    TODAY,
    /^the hours have 40 page views, and the ledger has committed 39 rows$/,
    'UPDATE wide_cache_writers SET committed = committed - 1 WHERE name = ?',
  ],
]

const HOUR_START = hourOf(CLOSED, 4) * HOUR_MS
const HOUR_END = HOUR_START + HOUR_MS
const IN_HOUR = `created_at >= ${HOUR_START} AND created_at < ${HOUR_END}`

/** Changes that a recount finds. */
const ROW_CHANGES: readonly Change[] = [
  [
    'rows are deleted',
    CLOSED,
    new RegExp(
      '^a recount of its hour 04:00 found 0 rows, and sums of 3 page views, ' +
        '0 visitors in its rows, and sums of 3 visitors',
    ),
    `DELETE FROM activities ${THERE} ${IN_HOUR}`,
  ],
  [
    'rows are deleted, and said to be removed',
    CLOSED,
    new RegExp(
      '^its seconds have 10 page views, 3 were removed by age, and its hours have 10\\n' +
        'a recount of its hour 04:00 found 0 rows, and sums of 3 page views$',
    ),
    `DELETE FROM activities ${THERE} ${IN_HOUR}`,
    `UPDATE activity_hours SET removed = 3 ${THERE} hour = ${hourOf(CLOSED, 4)}`,
  ],
  [
    'rows move from second to second',
    TODAY,
    /^a recount of its hour 05:00 found 2 seconds with other rows than sums$/,
    `UPDATE activities SET created_at = created_at + 1000 ${THERE} created_at = ` +
      String(hourOf(TODAY, 5) * HOUR_MS + 120_000),
  ],
  [
    'rows and their seconds are deleted',
    CLOSED,
    /^its seconds have 7 page views, and its hours have 10$/,
    `DELETE FROM activities ${THERE} ${IN_HOUR}`,
    `DELETE FROM activity_seconds ${THERE} second >= ${HOUR_START / 1000} AND ` +
      `second < ${HOUR_END / 1000}`,
  ],
  [
    'a row is added',
    TODAY,
    /^a recount of its hour 05:00 found 4 rows, and sums of 3 page views$/,
    'INSERT INTO activities (name, created_at, number, page) VALUES ' +
      `(?, ${hourOf(TODAY, 5) * HOUR_MS + 120_000}, 99, '/b')`,
  ],
  [
    'a visitor of a closed day is deleted',
    CLOSED,
    /^a recount of its hour 03:00 found 4 visitors in its rows, and sums of 3 visitors$/m,
    `DELETE FROM activity_visitors ${THERE} day = ${CLOSED} AND HEX(visitor) LIKE '00%'`,
  ],
  [
    'a visitor is added to an open day',
    TODAY,
    /^a recount of its hour 03:00 found 4 visitors in its rows, and sums of 5 visitors$/,
    'INSERT INTO activity_visitors (name, day, visitor, last_second, last_slice, hours) VALUES ' +
      `(?, ${TODAY}, 'abcdefghijkl', ${hourOf(TODAY) * 3_600}, ${hourOf(TODAY) * 12}, 8)`,
  ],
  [
    'pages of an hour of an open day are swapped',
    TODAY,
    /^a recount of its hour 03:00 found 1 page view of pages without a row$/,
    `UPDATE activity_hour_values SET views = views + 1 ${THERE} hour = ${hourOf(TODAY)} AND ` +
      "HEX(value) = '2F61'",
    `UPDATE activity_hour_values SET views = views - 1 ${THERE} hour = ${hourOf(TODAY)} AND ` +
      "HEX(value) = '2F62'",
  ],
  [
    'the page of a row',
    CLOSED,
    /^a recount of its hour 03:00 found \d page views? of pages without a row$/,
    `UPDATE activities SET page = '/x' ${THERE} page = '/a' AND created_at < ${HOUR_START} AND ` +
      `created_at >= ${hourOf(CLOSED) * HOUR_MS}`,
  ],
]

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

/** In `npm test` a server sees every twelfth change: tests of the dialects show what differs. */
const PARTS = fewOrMany(12, 1)

for (const [server, url, part, parts] of [
  ['SQLite', () => 'sqlite::memory:', 0, 1],
  ['MariaDB', sharedMysqlUrl, 0, PARTS],
  ['PostgreSQL', sharedPostgresUrl, 1, PARTS],
] as const) {
  const its = <T>(changes: readonly T[]): T[] =>
    changes.filter((_, index) => index % parts === part % parts)
  let sites = 0
  const site = async () => {
    if (opened.length === 0 || sites === 0) {
      opened.push(openDatabase(await url()).database)
      await opened.at(-1)!.migrate()
    }
    return siteOn(opened.at(-1)!, `tampered-${process.pid}-${++sites}`)
  }

  /** Only the certificate of `day` has findings, and they match. */
  const findsOnly = (found: readonly ActivityCertificate[], day: number, pattern: RegExp): void => {
    for (const [index, { day: text, findings, balanced }] of found.entries()) {
      assert.equal(balanced, findings.length === 0)
      if (DAYS[index] === day) assert.match(findings.join('\n'), pattern)
      else assert.deepEqual(findings, [], `${text} is innocent`)
    }
  }
  const balance = (found: readonly ActivityCertificate[]): void => {
    for (const { day, findings } of found) assert.deepEqual(findings, [], day)
  }

  describe(`changes beside wide-cache, ${server}`, () => {
    for (const [what, day, pattern, ...statements] of its(CHANGES)) {
      test(`${what}: found by its day`, async () => {
        const { query, certificates } = await site()
        balance(await certificates())
        for (const sql of statements) assert(await query(sql), sql)
        findsOnly(await certificates(), day, pattern)
      })
    }

    for (const [what, day, pattern, ...statements] of its(ROW_CHANGES)) {
      test(`${what}: found by a recount, by its day`, async () => {
        const { query, recount, certificates } = await site()
        await recount()
        balance(await certificates())
        for (const sql of statements) assert(await query(sql), sql)
        await recount()
        findsOnly(await certificates(), day, pattern)
      })
    }

    test('a dimension that is deleted whole is found by each day that had it', async () => {
      const { query, certificates } = await site()
      for (const values of ['activity_day_values', 'activity_hour_values']) {
        assert(await query(`DELETE FROM ${values} ${THERE} ${referrer}`))
      }
      const finding = /^its values of referrer in activity_day_values have 0 .*, and had 10 /m
      for (const [index, { findings }] of (await certificates()).entries()) {
        if ([OLDEST, CLOSED].includes(DAYS[index]!)) assert.match(findings.join('\n'), finding)
        else assert.deepEqual(findings, [])
      }
    })

    test('a change of an open day is a finding of that day alone, when closed, too', async () => {
      const { query, certificates, removeOld } = await site()
      await query(`UPDATE activity_hours SET views = views + 2 ${THERE} hour = ${hourOf(TODAY)}`)
      await removeOld((TODAY + 1) * DAY_MS + 2 * HOUR_MS)
      const found = await certificates()
      findsOnly(
        found,
        TODAY,
        /^the hours have 42 page views, and the ledger has committed 40 rows$/m,
      )
      assert.equal(found.at(-1)!.closed, true)
      const { database, name } = await site()
      await commit(database, name, visitsOf(TODAY + 1), NOW + DAY_MS)
      assert.deepEqual((await readCertificate(database, name, TODAY + 1, NOW)).findings, [])
    })

    test('one of two open days is changed, and the other is innocent', async () => {
      const { database, name, query, removeOld, certificates } = await site()
      await commit(database, name, visitsOf(TODAY + 1), NOW + DAY_MS)
      const tomorrow = () => readCertificate(database, name, TODAY + 1, NOW)
      for (const sql of [
        `UPDATE activity_hours SET views = views + 2 ${THERE} hour = ${hourOf(TODAY)}`,
        `DELETE FROM activity_seconds ${THERE} second < ${hourOf(TODAY, 5) * 3_600}`,
      ]) {
        await query(sql)
        assert.notDeepEqual((await certificates()).at(-1)!.findings, [])
      }
      const other = await site()
      await commit(other.database, other.name, visitsOf(TODAY + 1), NOW + DAY_MS)
      await other.query(`DELETE FROM activity_hours ${THERE} hour = ${hourOf(TODAY)}`)
      const after = await readCertificate(other.database, other.name, TODAY + 1, NOW)
      assert.deepEqual(after.findings, [])
      // And once the changed one has closed.
      await other.removeOld((TODAY + 1) * DAY_MS + 8 * HOUR_MS)
      const closed = await readCertificate(other.database, other.name, TODAY + 1, NOW)
      assert.deepEqual(closed.findings, [])
      findsOnly(
        await other.certificates(),
        TODAY,
        /^the hours have 46 page views, and the ledger has committed 50 rows$/m,
      )
      await removeOld(NOW)
      await tomorrow()
    })

    test('an open day is innocent of another one of which rows have been removed', async () => {
      const { database, name, query, removeOld } = await site()
      await commit(database, name, visitsOf(TODAY + 1), NOW + DAY_MS)
      await removeOld(NOW, { rowsMs: 2 * HOUR_MS })
      await query(`UPDATE activity_hours SET views = views + 2 ${THERE} hour = ${hourOf(TODAY)}`)
      const { findings } = await readCertificate(database, name, TODAY + 1, NOW)
      assert.deepEqual(findings, [])
    })

    test('nothing is found when what is old is removed, and values', async () => {
      const { database, name, removeOld, recount, certificates, query } = await site()
      await removeValue(database, name, 'page', '/b')
      await removeValue(database, name, 'referrer', 'a.example')
      await recount()
      balance(await certificates())
      // And what was changed before a value was removed is still a finding.
      for (const rowsMs of [30, 20, 5, 1]) {
        await removeOld(NOW, { rowsMs: rowsMs * HOUR_MS, valuesDays: 0 })
        await recount()
        balance(await certificates())
      }
      for (const day of [4, 3, 2, 1]) {
        while (await removeOld(NOW + (5 - day) * DAY_MS, { rowsMs: 0, valuesDays: day - 1 }));
        await recount()
        balance(await certificates())
      }
      assert.equal(await query('DELETE FROM activities WHERE name = ?'), 0)
    })

    test('folded pages are no finding', async () => {
      const { query, recount, certificates } = await site()
      const ofHour = `${THERE} dimension = 'page' AND hour = ${hourOf(TODAY)}`
      assert(
        await query(`UPDATE activity_hour_values SET value = '' ${ofHour} AND HEX(value) = '2F62'`),
      )
      await recount()
      balance(await certificates())
    })

    test('pages that end in spaces, or are of long characters, are no finding', async () => {
      const { database, name, recount, certificates } = await site()
      const pages = ['/a', '/a ', '/a  ', `/${'😀'.repeat(255)}`, `/${'😀'.repeat(64)}`]
      const visits = visitsOf(TODAY).map((visit, n) => ({ ...visit, page: pages[n % 5]! }))
      await commit(database, name, visits)
      await recount()
      balance(await certificates())
    })

    test('visits of which only sums are kept are not recounted, and are no finding', async () => {
      const { database, name, recount, certificates } = await site()
      await enterName(database, {
        name,
        kind: 'activity',
        cellTtlSeconds: 3_600,
        directSeconds: 75,
        vanishedSeconds: 3_600,
        nameSettings: { keep: { value: 'sums', counts: 'last' } },
      })
      await commit(database, name, visitsOf(TODAY))
      await recount()
      const found = await certificates()
      balance(found)
      assert.deepEqual([found.at(-1)!.keep, found.at(-1)!.hours], ['sums', 4])
    })

    test('a removed value hides no change of before', async () => {
      const { database, name, query, certificates } = await site()
      await query(
        'UPDATE activity_day_values SET views = 10 - views ' +
          `${THERE} ${referrer} AND day = ${CLOSED}`,
      )
      await removeValue(database, name, 'referrer', 'a.example')
      findsOnly(
        await certificates(),
        CLOSED,
        /^page views have moved between its values of referrer/,
      )
    })

    test('a repaired hour balances after its next recount', async () => {
      const { query, recount, certificates, log } = await site()
      const change = `${THERE} day = ${TODAY} AND HEX(visitor) LIKE '01%'`
      await query(`UPDATE activity_visitors SET hours = hours + 64 ${change}`)
      await query(`UPDATE activity_visitors SET hours = hours - 64 ${change}`)
      await query(`UPDATE activity_visitors SET hours = hours - 8 ${change}`)
      await recount()
      findsOnly(await certificates(), TODAY, /its hour 03:00 found 4 visitors in its rows/)
      await recount()
      assert.equal(log.lines.length, 1)
      assert.match(
        log.lines[0]!,
        new RegExp(
          '^wide-cache: rows and sums of "[^"]+" differ: of the hour that began at ' +
            '2026-05-20T03:00:00.000Z, a recount found 4 visitors in its rows, and sums of ' +
            '3 visitors; find out what else has changed the tables',
        ),
      )
      await query(`UPDATE activity_visitors SET hours = hours + 8 ${change}`)
      await recount()
      const found = await certificates()
      balance(found)
      assert.deepEqual(
        found.map(({ hours }) => hours),
        [3, null, 3, 4],
      )
    })

    test('rows on their way are owed by nobody while the safe clock is behind', async () => {
      const { database, name, removeOld, certificates } = await site()
      await enterName(database, {
        name,
        kind: 'activity',
        cellTtlSeconds: 3_600,
        directSeconds: 75,
        vanishedSeconds: 3_600,
        nameSettings: {},
      })
      await WRITERS.upsert(database, [[name, Buffer.alloc(16), 3, 0, await database.now()]])
      await removeOld((TODAY + 1) * DAY_MS + 2 * HOUR_MS)
      const { closed, ledger } = (await certificates()).at(-1)!
      assert.deepEqual([closed, ledger?.outstanding, ledger?.owed], [true, 3, 0])
    })

    test('the first day is one with page views, though the one before it has closed', async () => {
      const { database } = await site()
      const name = `first-${process.pid}`
      const settings = { rowsMs: 9 * DAY_MS, valuesDays: 8, vanishedSeconds: 3_600 }
      await commit(database, name, visitsOf(TODAY))
      for (const now of [NOW, NOW + DAY_MS, NOW + 2 * DAY_MS]) {
        await removeOldVisits(database, { now, name }, settings)
        for (const day of [TODAY - 1, TODAY]) {
          const { firstDay, findings } = await readCertificate(database, name, day, now)
          assert.deepEqual([firstDay, findings], ['2026-05-20', []])
        }
      }
    })

    test('a day before the first one with page views says so', async () => {
      const { database, name } = await site()
      const before = await readCertificate(database, name, OLDEST - 1, NOW)
      assert.deepEqual(
        [before.firstDay, before.day, before.pageViews, before.balanced],
        ['2026-05-17', '2026-05-16', 0, true],
      )
    })
  })
}
