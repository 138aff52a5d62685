/** A value that is removed is nowhere any more, and every sum of views is what it was. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { readCertificate } from './certificate.js'
import { commitVisits } from './commit.js'
import { packDimensions } from './packed-dimensions.js'
import { readTop } from './history.js'
import { removeValue } from './remove-value.js'
import { removeOldVisits } from './retention.js'
import type { Visit } from './visit.js'

const START = Date.UTC(2026, 4, 17)

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

for (const [dialect, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  describe(`removing a value, ${dialect}`, () => {
    let names = 0

    /** Two days of visits, of which the first is closed. */
    async function site(pages: readonly string[]) {
      const { database } = openDatabase(await url())
      opened.push(database)
      await database.migrate()
      const name = `removed-${++names}`
      const visitsOf = (day: number): Visit[] =>
        pages.map((page, index) => ({
          time: START + day * DAY_MS + (index % 2) * HOUR_MS,
          visitor: null,
          page,
          dimensions: packDimensions(['referrer', index % 2 ? '/secret' : 'example.com']),
        }))
      const commit = (visits: readonly Visit[], now: number) =>
        database.transaction((tx) => commitVisits(visits, tx, { name, now }))
      await commit(visitsOf(0), START + DAY_MS - 1)
      const now = START + DAY_MS + 12 * HOUR_MS
      await removeOldVisits(
        database,
        { name, now },
        { rowsMs: 9 * DAY_MS, valuesDays: 8, vanishedSeconds: 3600 },
      )
      await commit(visitsOf(1), now)
      const top = async (dimension: string, from: number, to: number) => {
        const range = { from: from / HOUR_MS, to: to / HOUR_MS }
        const values = await readTop(database, name, dimension, range, { n: 100 })
        const found: Record<string, number> = {}
        for (const { value, pageViews } of values) found[String(value)] = pageViews
        return found
      }
      const stored = async () => {
        const { rows } = await database.query(
          'SELECT page, COUNT(*) AS n FROM activities WHERE name = ? GROUP BY page',
          [name],
        )
        return Object.fromEntries(rows.map(({ page, n }) => [page, Number(n)]))
      }
      return { database, name, commit, top, stored, now }
    }

    test('its views count as (other), and visits have another page', async () => {
      const { database, name, top, stored } = await site(['/a', '/secret', '/secret', '/secrets'])
      assert.deepEqual(await removeValue(database, name, 'page', '/secret'), {
        hours: 4,
        days: 1,
        rows: 4,
      })
      for (const [from, to, times] of [
        [START, START + DAY_MS, 1],
        [START + DAY_MS, START + 2 * DAY_MS, 1],
        [START - HOUR_MS, START + 2 * DAY_MS, 2],
      ] as const) {
        assert.deepEqual(await top('page', from, to), {
          '/a': times,
          '/secrets': times,
          '(other)': 2 * times,
        })
      }
      assert.deepEqual(await top('page', START + HOUR_MS, START + 2 * HOUR_MS), {
        '/secrets': 1,
        '(other)': 1,
      })
      assert.deepEqual(await stored(), { '/a': 2, '/secrets': 2, '(removed)': 4 })
      assert.deepEqual(await removeValue(database, name, 'page', '/secret'), {
        hours: 0,
        days: 0,
        rows: 0,
      })
      assert.equal((await top('referrer', START, START + DAY_MS))['/secret'], 2)
    })

    test('a value of another dimension is removed from the sums alone', async () => {
      const { database, name, top, stored } = await site(['/a', '/secret'])
      await removeValue(database, name, 'referrer', '/secret')
      assert.deepEqual(await top('referrer', START, START + 2 * DAY_MS), {
        'example.com': 2,
        '(other)': 2,
      })
      assert.deepEqual(await stored(), { '/a': 2, '/secret': 2 })
    })

    test('a page longer than a value is removed with all that share the value', async () => {
      for (const [start, character, count] of [
        ['/', 'é', 127],
        ['/ab', '😀', 63],
      ] as const) {
        const long = start + character.repeat(count)
        const other = `${start}${character.repeat(count - 1)}a`
        const { database, name, top, stored } = await site([`${long}?a=1`, `${long}?a=2`, other])
        await removeValue(database, name, 'page', `${long}?a=1`)
        assert.deepEqual(await top('page', START, START + DAY_MS), { '(other)': 2, [other]: 1 })
        assert.deepEqual(await stored(), { '(removed)': 4, [other]: 2 })
      }
    })

    test('all rows of a page are replaced, in as many steps as they need', async () => {
      const { database, name, commit, stored, now } = await site(['/secret', '/a'])
      const visit: Visit = { time: now, visitor: null, page: '/secret' }
      await commit(Array<Visit>(2_500).fill(visit), now)
      assert.equal((await removeValue(database, name, 'page', '/secret')).rows, 2_502)
      assert.deepEqual(await stored(), { '/a': 2, '(removed)': 2_502 })
    })

    test('the closing of a day knows nothing of what was removed before', async () => {
      const { database, name, now } = await site(['/secret', '/a'])
      await removeValue(database, name, 'page', '/secret')
      const closing = now + DAY_MS
      await removeOldVisits(
        database,
        { name, now: closing },
        { rowsMs: 9 * DAY_MS, valuesDays: 8, vanishedSeconds: 3600 },
      )
      for (const day of [START, START + DAY_MS]) {
        const certificate = await readCertificate(database, name, day / DAY_MS, closing)
        assert(certificate.closed)
        // The test has no ledger.
        const ofValues = certificate.findings.filter((finding) => finding.includes('its values'))
        assert.deepEqual(ofValues, [], certificate.day)
      }
    })

    test('no view is lost that is committed meanwhile', async () => {
      const { database, name, commit, top, now } = await site(['/secret'])
      const visit: Visit = { time: now, visitor: null, page: '/secret' }
      await Promise.all([
        ...Array.from({ length: 5 }, () => commit([visit], now)),
        removeValue(database, name, 'page', '/secret'),
        removeValue(database, name, 'page', '/secret'),
      ])
      const views = Object.values(await top('page', START, START + 2 * DAY_MS))
      assert.equal(
        views.reduce((sum, n) => sum + n, 0),
        7,
      )
    })
  })
}
