/** Nothing is removed that has come meanwhile, and no view is lost when values are folded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCertificate } from '../../src/activity/certificate.js'
import { readHistory, readTop } from '../../src/activity/history.js'
import { recounted } from '../../src/activity/recounted.fixture.js'
import { removeValue } from '../../src/activity/remove-value.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import { OTHER } from '../../src/activity/sums.js'
import { Folding } from '../../src/activity/folding.js'
import { DatabaseError } from '../../src/database/database.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { ALL } from '../scale.js'
import { explore, type Orders, type Ports } from '../simulated-world/explorer.js'
import { wrappedDatabase } from '../servers/wrapped.js'
import { assertBooks, BOUNDS, close, CLOSING, commit, DAY, NAME, START, visit } from './activity.js'

/** Removes all that may be removed at `now`, when days are open for `openDays` more. */
const removeAll = ({ database }: Ports, now: number, openDays = 0): Promise<boolean> =>
  removeOldVisits(
    database,
    { now, name: NAME },
    { rowsMs: 0, valuesDays: 0, vanishedSeconds: openDays * 86_400 },
  )

/** Laws that do not hold once what is old has been removed. */
const REMOVED = [
  'a closed day has its visitors',
  'the pages of an hour are its views',
  'rows are the views of their seconds',
]

test('a late visit to a second that is removed has a row, or is gone with it', async () => {
  // The other one has no visit yet, and lies between two that have.
  for (const second of [START, START + 1_000]) {
    const left = new Set<string>()
    await explore(async (orders) => {
      const [writer, collector] = [orders.actor('writer'), orders.actor('collector')]
      await orders.alone(() => commit(writer, [visit(START, 1), visit(START + 2_000, 2)]))
      const now = START + 3 * DAY_MS
      await orders.together({
        collector: () => removeAll(collector, now, 9),
        writer: () => commit(writer, [visit(second, 3)], now),
      })
      assertBooks(orders, 3)
      left.add(orders.look('SELECT created_at FROM activities').length.toString())
      // Visitors and values of an open day stay, however old they are.
      await orders.alone(() => close(collector))
      assertBooks(orders, 3)
    }, BOUNDS)
    assert.deepEqual(left, new Set(['0', '1']))
  }
})

test('a recount finds no difference, whatever is removed meanwhile', async () => {
  await explore(async (orders) => {
    const [collector, remover] = [orders.actor('collector'), orders.actor('remover')]
    // More seconds than are removed at a time, and another hour after them.
    const visits = Array.from({ length: 101 }, (_, n) => visit(START + n * 1_000, n))
    await orders.alone(() => commit(collector, [...visits, visit(START + HOUR_MS, 101)]))
    await orders.alone(() => close(collector))
    await orders.together({
      remover: () => removeAll(remover, CLOSING + 4 * DAY_MS),
      collector: async () => {
        for (const hour of [DAY * 24, DAY * 24 + 1]) {
          assert.equal((await recounted(collector.database, NAME, hour)) ?? '', '')
        }
      },
    })
  }, BOUNDS)
})

test('the figures of a closed day stay while its rows and visitors are removed', async () => {
  await explore(async (orders) => {
    const [collector, reader] = [orders.actor('collector'), orders.actor('reader')]
    // More than one statement removes.
    const visits = Array.from({ length: 502 }, (_, n) => visit(START + (n % 2) * HOUR_MS, n))
    await orders.alone(() => commit(reader, visits))
    await orders.alone(() => close(collector))
    const figures = async ({ database }: Ports) => ({
      days: await readHistory(database, NAME, 'day', { from: DAY, to: DAY + 1 }),
      hours: await readHistory(database, NAME, 'hour', { from: DAY * 24, to: DAY * 24 + 24 }),
      top: await readTop(database, NAME, 'page', { from: DAY * 24, to: DAY * 24 + 24 }, { n: 10 }),
      certificate: await readCertificate(database, NAME, DAY, 0),
    })
    const before = await orders.alone(() => figures(reader))
    await orders.together({
      collector: () => removeAll(collector, CLOSING + 4 * DAY_MS),
      reader: async () => assert.deepEqual(await figures(reader), before),
    })
    assert.deepEqual(await orders.alone(() => figures(reader)), before)
    const gone = ['activities', 'activity_seconds', 'activity_visitors', 'activity_hour_values']
    for (const table of gone) assert.deepEqual(orders.look(`SELECT * FROM ${table}`), [], table)
  }, BOUNDS)
})

for (const category of ['lock', 'capacity'] as const) {
  const outcome = category === 'lock' ? 'are left for the next run' : 'stay, and the error is told'
  test(`seconds that cannot be removed (${category}) ${outcome}`, async () => {
    await explore(async (orders) => {
      const collector = orders.actor('collector')
      await orders.alone(() => commit(collector, [visit(START, 1)]))
      const error = new DatabaseError('CODE', category, 'fails')
      const database = wrappedDatabase(collector.database, {}, (tx) => ({
        query: async (sql, values) => {
          if (sql.startsWith('DELETE FROM activities')) throw error
          return tx.query(sql, values)
        },
      }))
      await orders.together({
        collector: async () => {
          const removal = removeAll({ ...collector, database }, START + 3 * DAY_MS, 9)
          if (category === 'lock') assert.equal(await removal, false)
          else await assert.rejects(removal, error)
        },
      })
      assertBooks(orders, 1)
      assert.equal(orders.look('SELECT * FROM activities').length, 1)
    }, BOUNDS)
  })
}

test('a day closes with all its visitors and values, though old ones go', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.alone(() => commit(one, [visit(START, 1), visit(START + HOUR_MS, 2)]))
    const now = CLOSING + 3 * DAY_MS
    await orders.together({ one: () => removeAll(one, now), two: () => removeAll(two, now) })
    assertBooks(orders, 2, REMOVED)
    assert.deepEqual(orders.look('SELECT views, visitors FROM activity_days'), [
      { views: 2, visitors: 2 },
    ])
  }, BOUNDS)
})

test('a value is removed from hours and days, while visits come and its day closes', async () => {
  await explore(async (orders) => {
    const [writer, remover] = [orders.actor('writer'), orders.actor('remover')]
    await orders.alone(() => commit(writer, [visit(START, 1, '/secret'), visit(START, 2)]))
    await orders.together({
      writer: async () => {
        await commit(writer, [visit(START, 3), visit(START + DAY_MS, 4)])
        await close(writer)
      },
      remover: () => removeValue(remover.database, NAME, 'page', '/secret'),
    })
    assertBooks(orders, 4)
    for (const table of ['activity_hour_values', 'activity_day_values']) {
      const found = orders.look(`SELECT SUM(views) AS n FROM ${table} WHERE value = ?`, [
        Buffer.from('/secret'),
      ])
      assert.deepEqual(found, [{ n: null }], table)
    }
    assert.deepEqual(orders.look("SELECT * FROM activities WHERE page = '/secret'"), [])
  }, BOUNDS)
})

test('views of a value that comes while it is removed count under it, or as (other)', async () => {
  await explore(async (orders) => {
    const [writer, remover] = [orders.actor('writer'), orders.actor('remover')]
    await orders.alone(() => commit(writer, [visit(START, 1, '/secret')]))
    await orders.together({
      writer: () => commit(writer, [visit(START, 2, '/secret')]),
      remover: () => removeValue(remover.database, NAME, 'page', '/secret'),
    })
    assertBooks(orders, 2)
    const range = { from: DAY * 24, to: DAY * 24 + 1 }
    const top = await orders.alone(() => readTop(writer.database, NAME, 'page', range, { n: 10 }))
    const views = new Map(top.map(({ value, pageViews }) => [value, pageViews]))
    assert.equal((views.get(OTHER) ?? 0) + (views.get('/secret') ?? 0), 2)
    assert((views.get(OTHER) ?? 0) > 0)
    await orders.alone(() => removeValue(remover.database, NAME, 'page', '/secret'))
    const all = await orders.alone(() => readTop(writer.database, NAME, 'page', range, { n: 10 }))
    assert.deepEqual(all, [{ value: OTHER, pageViews: 2 }])
    assertBooks(orders, 2)
  }, BOUNDS)
})

/** Values that an hour may have before the smallest are folded. */
const MOST = 10_000
const MORE = 3

/** Commits a page view, and brings the pages of its hour to `pages`, with a view each. */
async function overfill(orders: Orders, ports: Ports, pages = MOST + MORE): Promise<void> {
  await orders.alone(() => commit(ports, [visit(START, 1)]))
  orders.look(
    'INSERT INTO activity_hour_values WITH RECURSIVE n(i) AS ' +
      `(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${pages - 1}) ` +
      "SELECT ?, 'page', ?, CAST('/forged/' || i AS BLOB), 1 FROM n",
    [NAME, DAY * 24],
  )
  orders.look('UPDATE activity_hours SET views = ?', [pages])
}

const fold = ({ database }: Pick<Ports, 'database'>): Promise<void> =>
  new Folding(NAME).run(database)

const SUMS = 'SELECT COUNT(*) AS n, SUM(views) AS views FROM activity_hour_values'

test('two collectors fold the smallest values of an hour, and no more than they must', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await overfill(orders, one)
    await orders.together({ one: () => fold(one), two: () => fold(two) })
    assert.deepEqual(orders.look(SUMS), [{ n: MOST, views: MOST + MORE }])
  }, BOUNDS)
})

test('a view of a value that is folded meanwhile is not lost', async () => {
  await explore(async (orders) => {
    const [writer, collector] = [orders.actor('writer'), orders.actor('collector')]
    await overfill(orders, writer)
    await orders.together({
      collector: () => fold(collector),
      // Of values with equal views the last goes first.
      writer: () => commit(writer, [visit(START, 2, '/forged/9999')]),
    })
    const [sums] = orders.look(SUMS)
    assert.equal(sums!['views'], MOST + MORE + 1)
  }, BOUNDS)
})

/** A law each of whose many orders fills an hour anew. Run by `npm run test:all`. */
function large(name: string, law: () => Promise<void>): void {
  if (ALL) test(name, law)
}

/** Values that commits may list in an hour, `(other)` among them. */
const LIMIT = 20_000

large('two commits at once list what there is room for, and the rest is (other)', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    // The first of them has room for its pages and `(other)`, and need not count.
    await overfill(orders, one, LIMIT - 3)
    const newPages = (of: string) => ['a', 'b'].map((page) => visit(START, 1, `/new/${of}/${page}`))
    await orders.together({
      one: () => commit(one, newPages('one')),
      two: () => commit(two, newPages('two')),
    })
    assert.deepEqual(orders.look(SUMS), [{ n: LIMIT, views: LIMIT + 1 }])
  }, BOUNDS)
})

large('no value of an hour is folded once its day is closed', async () => {
  await explore(async (orders) => {
    const [collector, closing] = [orders.actor('collector'), orders.actor('closing')]
    await overfill(orders, collector)
    let closed: unknown
    await orders.together({
      collector: () => fold(collector),
      closing: async () => {
        await close(closing)
        closed = orders.look(SUMS)
      },
    })
    assert.deepEqual(orders.look(SUMS), closed)
  }, BOUNDS)
})

test('visitors and values of open days stay, whatever is removed of closed ones', async () => {
  await explore(async (orders) => {
    const collector = orders.actor('collector')
    await orders.alone(() => commit(collector, [visit(START, 1), visit(START + DAY_MS, 2)]))
    await orders.together({ collector: () => removeAll(collector, START + 9 * DAY_MS, 8) })
    const hours = orders.look('SELECT hour FROM activity_hour_values')
    assert.deepEqual(hours, [{ hour: (DAY + 1) * 24 }])
    assert.deepEqual(orders.look('SELECT day FROM activity_visitors'), [{ day: DAY + 1 }])
  }, BOUNDS)
})

test('a removed value that comes meanwhile is in rows, hours and days, or in none', async () => {
  await explore(async (orders) => {
    const [writer, remover] = [orders.actor('writer'), orders.actor('remover')]
    const secret = '/secret'
    await orders.alone(() => commit(writer, [visit(START, 1, secret)]))
    await orders.together({
      writer: async () => {
        await commit(writer, [visit(START, 2, secret)])
        await close(writer)
      },
      remover: () => removeValue(remover.database, NAME, 'page', secret),
    })
    await orders.alone(() => close(writer))
    const viewsIn = (table: string): unknown =>
      orders.look(`SELECT COALESCE(SUM(views), 0) AS n FROM ${table} WHERE value = ?`, [
        Buffer.from(secret),
      ])[0]!['n']
    const views = viewsIn('activity_hour_values')
    assert.equal(viewsIn('activity_day_values'), views)
    const { length } = orders.look('SELECT * FROM activities WHERE page = ?', [secret])
    assert(length <= Number(views), `${length} rows of ${views} views`)
    const found = await orders.alone(() => recounted(remover.database, NAME, DAY * 24))
    assert.equal(found, '')
    assertBooks(orders, 2)
  }, BOUNDS)
})

test('one piece of old visitors is removed at a time, so that nobody waits for all', async () => {
  await explore(async (orders) => {
    const { database } = orders.actor('collector')
    await orders.alone(() => commit({ database }, [visit(START, 1)]))
    orders.look(
      'INSERT INTO activity_visitors (name, day, visitor, last_second, last_slice, hours) ' +
        'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) ' +
        'SELECT name, day, CAST(i AS BLOB), last_second, last_slice, hours ' +
        'FROM activity_visitors, n',
    )
    const left: unknown[] = []
    await orders.together({
      collector: () =>
        removeOldVisits(
          database,
          { now: CLOSING + DAY_MS, name: NAME },
          { rowsMs: 0, valuesDays: 0, vanishedSeconds: 3_600 },
          undefined,
          () => {
            left.push(orders.look('SELECT COUNT(*) AS n FROM activity_visitors')[0]!['n'])
            return true
          },
        ),
    })
    assert.deepEqual(left, [501])
    assert.deepEqual(orders.look('SELECT * FROM activity_visitors'), [])
  }, BOUNDS)
})
