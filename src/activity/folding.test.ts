/** Values of an hour stay within their bounds, however many new ones come, and all views count. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ALL } from '../../test/scale.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { commitVisits } from './commit.js'
import { Folding } from './folding.js'
import { packDimensions } from './packed-dimensions.js'
import type { Visit } from './visit.js'

const START = Date.UTC(2026, 4, 17)
const NOW = START + DAY_MS

/** Values that an hour may have after a commit, and after folding, with `(other)`. */
const MOST = 20_000
const MOST_FOLDED = 10_000

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

async function open(url: string): Promise<Database> {
  const { database } = openDatabase(url)
  opened.push(database)
  await database.migrate()
  return database
}

const viewsOf = (page: string, views: number, time = START): Visit[] =>
  Array.from({ length: views }, () => ({ time, visitor: null, page }))

const newPages = (count: number, of: string, time = START): Visit[] =>
  Array.from({ length: count }, (_, i) => ({ time, visitor: null, page: `/new/${of}/${i}` }))

async function commit(database: Database, name: string, visits: readonly Visit[]): Promise<void> {
  await database.transaction((tx) => commitVisits(visits, tx, { now: NOW, name }))
}

interface Values {
  readonly values: number
  readonly views: number
}

/** The values of a dimension in an hour, `(other)` among them. */
async function valuesOf(
  database: Database,
  name: string,
  { dimension = 'page', hour = START / HOUR_MS } = {},
): Promise<Values> {
  const { rows } = await database.query(
    'SELECT COUNT(*) AS n, COALESCE(SUM(views), 0) AS views FROM activity_hour_values ' +
      'WHERE name = ? AND dimension = ? AND hour = ?',
    [name, dimension, hour],
  )
  return { values: Number(rows[0]!['n']), views: Number(rows[0]!['views']) }
}

/** Views of single values; `undefined`: not listed. */
async function viewsByValue(
  database: Database,
  name: string,
  ...values: string[]
): Promise<(number | undefined)[]> {
  const { rows } = await database.query(
    'SELECT value, views FROM activity_hour_values WHERE name = ?',
    [name],
  )
  const views = new Map(rows.map((row) => [String(row['value']), Number(row['views'])]))
  return values.map((value) => views.get(value))
}

let names = 0
const newName = (): string => `folding-${++names}`

for (const [title, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  const database = (async () => open(await url()))()
  database.catch(() => undefined)
  /** A test of many values, whose statements other tests send to each database. */
  const large = (name: string, run: () => Promise<void>): void => {
    if (ALL || title === 'MariaDB') test(name, run)
  }

  describe(`values of an hour, ${title}`, () => {
    test('over 10,000 values of an hour the smallest become (other)', async () => {
      const db = await database
      const name = newName()
      await commit(db, name, [...viewsOf('/real', 30), ...newPages(10_500, 'a')])
      await new Folding(name).run(db)
      assert.deepEqual(await valuesOf(db, name), { values: MOST_FOLDED, views: 10_530 })
      assert.deepEqual(await viewsByValue(db, name, '/real', ''), [30, 502])
    })

    large('60,000 new pages are never more than 20,000 values, and then 10,000', async () => {
      const db = await database
      const name = newName()
      const folding = new Folding(name)
      const listed = ['/listed/1', '/listed/2']
      await commit(
        db,
        name,
        listed.flatMap((page) => viewsOf(page, 3)),
      )
      for (let round = 1; round <= 3; round++) {
        await commit(db, name, [
          ...newPages(20_000, String(round)),
          ...listed.flatMap((page) => viewsOf(page, 5)),
          ...(round === 3 ? viewsOf('/popular', 10) : []),
        ])
        const { values, views } = await valuesOf(db, name)
        assert(values <= MOST, `${values} values`)
        assert.equal(views, 6 + round * 20_010 + (round === 3 ? 10 : 0))
        await folding.run(db)
        assert.deepEqual(await valuesOf(db, name), { values: MOST_FOLDED, views })
      }
      await commit(db, name, viewsOf('/popular', 1))
      assert.deepEqual(await viewsByValue(db, name, ...listed, '/popular'), [18, 18, 11])
    })

    large('commits that nobody folds after list no more, and go on counting what is', async () => {
      const db = await database
      const name = newName()
      await commit(db, name, [...newPages(14_000, 'first'), ...viewsOf('(other)', 2)])
      for (let round = 0; round < 4; round++) {
        await commit(db, name, [
          ...newPages(10_000, String(round)),
          ...newPages(10, 'first'),
          ...viewsOf(`/twice/${round}`, 2),
        ])
      }
      const { values, views } = await valuesOf(db, name)
      assert(values <= MOST, `${values} values`)
      assert.equal(views, 14_002 + 4 * 10_012)
      assert.deepEqual(await viewsByValue(db, name, '/new/first/9', '/twice/0'), [5, 2])
    })

    large('small commits with new pages of two hours pass no bound either', async () => {
      const db = await database
      const name = newName()
      const old = START - HOUR_MS
      await commit(db, name, [...newPages(19_000, 'a'), ...newPages(14_500, 'old', old)])
      const [now, before] = [{ hour: START / HOUR_MS }, { hour: old / HOUR_MS }]
      let most = 0
      for (let round = 0; round < 12; round++) {
        const pages = `small/${round}`
        await commit(db, name, [...newPages(900, pages), ...newPages(600, pages, old)])
        for (const place of [now, before]) {
          most = Math.max(most, (await valuesOf(db, name, place)).values)
        }
      }
      assert(most <= MOST, `${most} values`)
      assert.equal((await valuesOf(db, name, now)).views, 19_000 + 12 * 900)
      assert.equal((await valuesOf(db, name, before)).views, 14_500 + 12 * 600)
      await new Folding(name).run(db)
      for (const place of [now, before]) {
        assert.equal((await valuesOf(db, name, place)).values, MOST_FOLDED)
      }
    })

    large('of 15 commits to an hour with few values, two count them', async () => {
      const db = await database
      const name = newName()
      let counts = 0
      const watched = wrappedDatabase(db, {}, (tx) => ({
        query(sql, values) {
          if (sql.startsWith('SELECT dimension, COUNT(*)')) counts++
          return tx.query(sql, values)
        },
      }))
      const visits = Array.from({ length: 30 }, () => newPages(100, 'few')).flat()
      for (let i = 0; i < 15; i++) await commit(watched, name, visits)
      assert.equal(counts, 2)
      assert.deepEqual(await valuesOf(db, name), { values: 100, views: 45_000 })
    })

    large('each dimension has its own bound, and its folded values are all counted', async () => {
      const db = await database
      const name = newName()
      const visits = newPages(25_000, 'd').map((visit, i) => ({
        ...visit,
        dimensions: packDimensions(
          i % 5 < 4 ? ['referrer', `r${i}.example`, 'device', 'phone'] : ['device', 'tablet'],
        ),
      }))
      await commit(db, name, visits)
      await new Folding(name).run(db)
      assert.deepEqual(
        [
          await valuesOf(db, name),
          await valuesOf(db, name, { dimension: 'referrer' }),
          await valuesOf(db, name, { dimension: 'device' }),
        ],
        [
          { values: MOST_FOLDED, views: 25_000 },
          { values: MOST_FOLDED, views: 20_000 },
          { values: 2, views: 25_000 },
        ],
      )
    })

    test('a piece of folding has 250 values at most, without those viewed since', async () => {
      const db = await database
      const name = newName()
      await commit(db, name, newPages(12_000, 'p'))
      const pieces: number[] = []
      let viewed = false
      const watched = wrappedDatabase(db, {}, (tx) => ({
        async query(sql, values) {
          const result = await tx.query(sql, values)
          if (sql.startsWith('DELETE')) pieces.push(result.affectedRows)
          return result
        },
      }))
      const interrupted = wrappedDatabase(
        watched,
        {
          async transaction(work) {
            // Of values with equal views the last one is folded first.
            if (!viewed) await commit(db, name, viewsOf('/new/p/9999', 1))
            viewed = true
            return watched.transaction(work)
          },
        },
        () => ({}),
      )
      const folding = new Folding(name)
      await folding.run(interrupted)
      assert.equal(Math.max(...pieces), 250)
      assert.deepEqual(await viewsByValue(db, name, '/new/p/9999'), [2])
      assert.deepEqual(await valuesOf(db, name), { values: MOST_FOLDED + 1, views: 12_001 })
      await folding.run(db)
      assert.deepEqual(await valuesOf(db, name), { values: MOST_FOLDED, views: 12_001 })
    })

    test('nothing is folded of a day that closes before the books are held', async () => {
      const db = await database
      const name = newName()
      await commit(db, name, newPages(10_500, 'closing'))
      const closing = wrappedDatabase(
        db,
        {
          async transaction(work) {
            await db.query('UPDATE activity_books SET open_day = ?, open_hour = ? WHERE name = ?', [
              NOW / DAY_MS,
              NOW / HOUR_MS,
              name,
            ])
            return db.transaction(work)
          },
        },
        () => ({}),
      )
      await new Folding(name).run(closing)
      assert.deepEqual(await valuesOf(db, name), { values: 10_500, views: 10_500 })
    })

    test('two who commit and two who fold at once pass no bound and lose no view', async () => {
      const db = await database
      const name = newName()
      let most = 0
      let committing = 2
      await Promise.all([
        ...[0, 1].map(async (index) => {
          for (let round = 0; round < 5; round++) {
            const visits = [...newPages(6_000, `${index}/${round}`), ...viewsOf('/real', 4)]
            await commit(db, name, visits)
            most = Math.max(most, (await valuesOf(db, name)).values)
          }
          committing--
        }),
        ...[0, 1].map(async () => {
          const folding = new Folding(name)
          do await folding.run(db)
          while (committing > 0)
        }),
      ])
      assert(most <= MOST, `${most} values`)
      await new Folding(name).run(db)
      assert.deepEqual(await valuesOf(db, name), { values: MOST_FOLDED, views: 60_040 })
      assert.deepEqual(await viewsByValue(db, name, '/real'), [40])
    })
  })
}
