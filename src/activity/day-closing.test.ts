/** Days without visits close in pieces: however many there are, none holds commits up for long. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { openDatabase } from '../database/open.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { openBooksOf } from './books.js'
import { readCertificate } from './certificate.js'
import { commitVisits } from './commit.js'
import { closeDays } from './day-closing.js'

const TODAY = Math.floor(Date.UTC(2026, 4, 17) / DAY_MS)
/** Days that one closing keeps, at most. */
const MOST = 366

const opened: { close(): Promise<void> }[] = []
after(() => Promise.all(opened.map((one) => one.close())))

for (const [server, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  test(`${server}: after a visit of 1970 a year of empty days closes at a time`, async () => {
    const { database } = openDatabase(await url())
    opened.push(database)
    await database.migrate()
    const name = 'new-site'
    const days = async (): Promise<number> => {
      const { rows } = await database.query(
        'SELECT COUNT(*) AS n FROM activity_certificates WHERE name = ?',
        [name],
      )
      return Number(rows[0]?.['n'])
    }
    const closings: number[] = []
    const watched = wrappedDatabase(
      database,
      {
        async transaction(work) {
          const before = await days()
          const result = await database.transaction(work)
          closings.push((await days()) - before)
          return result
        },
      },
      () => ({}),
    )
    const now = (TODAY + 1) * DAY_MS
    const visits = [0, TODAY * DAY_MS].map((time) => ({ time, visitor: null, page: '/' }))
    await database.transaction((tx) => commitVisits(visits, tx, { now, name }))
    const closed: string[] = []
    while (await closeDays(watched, name, now, 0, ({ day }) => closed.push(day)));
    assert.deepEqual(closed, ['1970-01-01', '2026-05-17'])
    assert(Math.max(...closings) <= MOST, `${Math.max(...closings)} days in one closing`)
    assert.equal(await days(), TODAY + 1)
    const { closed: isClosed, findings } = await readCertificate(database, name, 9_999, now)
    assert.deepEqual({ isClosed, findings }, { isClosed: true, findings: [] })
  })
}

test('an hour is open from the first one of the oldest open day on', async () => {
  const { database } = openDatabase('sqlite::memory:')
  opened.push(database)
  await database.migrate()
  const [now, name] = [TODAY * DAY_MS + 2 * HOUR_MS, 'site']
  const visits = [{ time: now, visitor: null, page: '/' }]
  await database.transaction((tx) => commitVisits(visits, tx, { now, name }))
  const { rows } = await database.query('SELECT open_hour FROM activity_books')
  const first = Number(rows[0]?.['open_hour'])
  const areOpen = await Promise.all(
    [first - 1, first, first + 1].map((hour) =>
      database.transaction((tx) => openBooksOf(tx, name, hour)),
    ),
  )
  assert.deepEqual(areOpen, [false, true, true])
})
