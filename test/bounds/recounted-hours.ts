/**
 * An hour of more rows, visitors and pages than the bounds is recounted in pieces of three rows.
 * Run with `?bounds`.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { commitVisits } from '../../src/activity/commit.js'
import { recountHour } from '../../src/activity/hour-recount.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import { DatabaseError } from '../../src/database/database.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { wrappedDatabase } from '../servers/wrapped.js'

const HOUR = 24 * Math.floor(Date.UTC(2026, 4, 17) / DAY_MS) + 3
const START = HOUR * HOUR_MS
const NOW = START + 2 * HOUR_MS

const database = sqlite(':memory:')
after(() => database.close())

/** A visitor by the first byte of the hash. Of 12 page views, visitors up to 63 are compared. */
const visit = (second: number, visitor: number, page: string) => ({
  time: START + second * 1_000,
  visitor: Buffer.alloc(12, visitor),
  page,
})

const commit = (name: string, visits: readonly ReturnType<typeof visit>[]): Promise<void> =>
  database.transaction((tx) => commitVisits(visits, tx, { now: NOW, name }))

let hours = 0
/** Twelve page views in five seconds, one of which has four. Three visitors are compared. */
async function hourOf(pages = ['/a', '/b']) {
  const name = `hour-${++hours}`
  if (hours === 1) await database.migrate()
  const seconds = [1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 5, 5]
  await commit(
    name,
    seconds.map((second, n) =>
      visit(second, [1, 2, 63, 64, 200][n % 5]!, pages[n % pages.length]!),
    ),
  )
  return { name, query: (sql: string) => database.query(sql.replace('?', `'${name}'`)) }
}

/** Recounts it, with `during` after the second piece. */
async function recounted(name: string, during = async (): Promise<unknown> => undefined) {
  const recount = recountHour(database, name, HOUR)
  for (let pieces = 1; ; pieces++) {
    const { done, value } = await recount.next()
    if (done) return { pieces, value }
    if (pieces === 2) await during()
  }
}

test('an hour is recounted second by second, in pieces of three rows or one second', async () => {
  const { name } = await hourOf()
  assert.deepEqual(await recounted(name), { pieces: 4, value: '' })
})

for (const [what, sql, found] of [
  [
    'a row of the last piece',
    'DELETE FROM activities WHERE name = ? AND number = 12',
    /^11 rows, a/,
  ],
  [
    'a row between two seconds',
    `UPDATE activities SET created_at = ${START + 3_600_000 - 1} WHERE name = ? AND number = 12`,
    /^2 seconds with other rows than sums$/,
  ],
  [
    'a visitor',
    "DELETE FROM activity_visitors WHERE name = ? AND HEX(visitor) LIKE '3F%'",
    /^3 visitors in its rows, and sums of 2 visitors$/,
  ],
  [
    'a visitor who is not compared',
    "DELETE FROM activity_visitors WHERE name = ? AND HEX(visitor) LIKE '40%'",
    /^$/,
  ],
  [
    'a page',
    "UPDATE activity_hour_values SET views = views + 2 WHERE name = ? AND HEX(value) = '2F62'",
    /^2 page views of pages without a row$/,
  ],
] as const) {
  test(`a change of ${what} is found where it is compared`, async () => {
    const { name, query } = await hourOf()
    assert.equal((await query(sql)).affectedRows, 1)
    assert.match((await recounted(name)).value ?? 'left out', found)
  })
}

test('pages are left out of an hour that has more than are compared', async () => {
  const { name, query } = await hourOf(['/a', '/b', '/c', '/d'])
  await query(
    "UPDATE activity_hour_values SET views = views + 2 WHERE name = ? AND HEX(value) = '2F62'",
  )
  assert.equal((await recounted(name)).value, '')
})

test('an hour that changes between its pieces is left out, but for rows that differ', async () => {
  const changes = [
    (name: string) => commit(name, [visit(1, 5, '/a')]),
    (name: string) =>
      removeOldVisits(
        database,
        { now: START + 2_000, name },
        { rowsMs: 0, valuesDays: 9, vanishedSeconds: 3_600 },
      ),
  ]
  for (const change of changes) {
    const { name, query } = await hourOf()
    assert.equal((await recounted(name, () => change(name))).value, undefined)
    assert.equal((await recounted(name)).value, '')
    await query('DELETE FROM activities WHERE name = ? AND number = 12')
    const { value } = await recounted(name, () => commit(name, [visit(1, 5, '/a')]))
    assert.match(value ?? '', /^\d+ rows, and sums of \d+ page views$/)
  }
})

test('visitors stay as long as others lock their rows', async () => {
  const { name } = await hourOf()
  const locked = wrappedDatabase(database, {}, (tx) => ({
    query: async (sql, values) => {
      if (sql.startsWith('DELETE FROM activities')) throw new DatabaseError('X', 'lock', 'locked')
      return tx.query(sql, values)
    },
  }))
  const remove = (through: typeof locked) =>
    removeOldVisits(
      through,
      { now: START + 3 * DAY_MS, name },
      { rowsMs: 0, valuesDays: 9, vanishedSeconds: 3_600 },
    )
  const left = async () =>
    (
      await database.query(
        'SELECT COUNT(*) AS visitors, (SELECT removed FROM activity_hours WHERE name = ?) AS ' +
          'removed FROM activity_visitors WHERE name = ?',
        [name, name],
      )
    ).rows[0]
  await remove(locked)
  assert.deepEqual(await left(), { visitors: 5, removed: 0 })
  assert.equal((await recounted(name)).value, '')
  await remove(database)
  assert.deepEqual(await left(), { visitors: 0, removed: 12 })
})
