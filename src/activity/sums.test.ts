/**
 * The sums are what the rows say, after whatever was committed and removed, by however many at
 * once.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import {
  type Database,
  type SqlRow,
  DatabaseError,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { enterName } from '../wide-cache/ledger/name-settings.js'
import type { Keep } from './keep.js'
import { commitVisits } from './commit.js'
import { recountRows } from './hour-recount.js'
import { removeOldVisits } from './retention.js'
import { readStats } from './stats.js'
import type { Visit } from './visit.js'

const SECOND = 1000
const LAYER_MS = 3 * SECOND
const NOW = Date.UTC(2026, 4, 17, 12)

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

async function open(url: string): Promise<Database> {
  const { database } = openDatabase(url)
  opened.push(database)
  await database.migrate()
  return database
}

const visitorOf = (number: number): Buffer =>
  Buffer.alloc(12, number % 256).fill(Math.floor(number / 256), 0, 6)

/** Commits as the ledger does, and again after a deadlock. */
async function commit(
  database: Database,
  name: string,
  visits: readonly Visit[],
  now = NOW,
): Promise<void> {
  for (;;) {
    try {
      return await database.transaction((tx) => commitVisits(visits, tx, { now, name }))
    } catch (error) {
      if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
    }
  }
}

const removeOld = (
  database: Database,
  name: string,
  rowsMs: number,
  now = NOW,
  mayGoOn?: () => boolean,
) =>
  removeOldVisits(
    database,
    { now, name },
    { rowsMs, valuesDays: 8, vanishedSeconds: 3600 },
    undefined,
    mayGoOn,
  )

/**
 * Compares sums and rows: by second, by visitor, and as the figures of windows that end at
 * different times, as far back as rows are kept. A visitor of an open day stays longer than their
 * rows.
 */
async function assertSumsAreRows(
  database: Database,
  name: string,
  keptFrom = -Infinity,
): Promise<number> {
  const rows = (
    await database.query('SELECT created_at, visitor FROM activities WHERE name = ?', [name])
  ).rows
  const views = new Map<number, number>()
  const last = new Map<string, number>()
  for (const { created_at: createdAt, visitor } of rows) {
    const second = Math.floor(Number(createdAt) / SECOND)
    views.set(second, (views.get(second) ?? 0) + 1)
    if (!Buffer.isBuffer(visitor)) continue
    const key = `${Math.floor(second / 86_400)} ${visitor.toString('hex')}`
    last.set(key, Math.max(last.get(key) ?? 0, second))
  }
  const seconds = (
    await database.query('SELECT second, views FROM activity_seconds WHERE name = ?', [name])
  ).rows
  assert.deepEqual(
    new Map(seconds.map(({ second, views }) => [Number(second), Number(views)])),
    views,
  )
  const seen = (
    await database.query('SELECT day, visitor, last_second FROM activity_visitors WHERE name = ?', [
      name,
    ])
  ).rows
  const visitors = new Map(
    seen.map((row) => [
      `${row['day']} ${(row['visitor'] as Buffer).toString('hex')}`,
      Number(row['last_second']),
    ]),
  )
  for (const visitor of new Set([...last.keys(), ...visitors.keys()])) {
    const second = visitors.get(visitor)!
    assert(second === last.get(visitor) || second * SECOND < keptFrom, `${visitor}: ${second}`)
  }
  for (const asOf of [NOW, NOW - SECOND, NOW - 40 * LAYER_MS, NOW - 300 * LAYER_MS]) {
    const from = asOf - 600 * SECOND
    if (from < keptFrom) continue
    const within = rows.filter(({ created_at: at }) => Number(at) >= from && Number(at) < asOf)
    const came = new Set(within.flatMap(({ visitor }) => hexOf(visitor)))
    const truth = came.size
    const pageViews = within.length
    const stats = await readStats(database, { name, asOf, stale: false }, 600)
    const { visitors, visitorsUpper = visitors } = stats
    assert(visitors <= truth && truth <= visitorsUpper, `${visitors} to ${visitorsUpper}: ${truth}`)
    // Of rows that have been removed, the sums still know the first second.
    if (keptFrom === -Infinity) {
      const unsure = unsureOf(rows, from, asOf)
      const sure = [...came].filter((visitor) => !unsure.has(visitor)).length
      assert.deepEqual([visitors, visitorsUpper], [sure, sure + unsure.size])
    }
    const isExact = visitorsUpper === visitors
    assert.deepEqual(stats, {
      windowSeconds: 600,
      pageViews,
      visitors,
      ...(!isExact && { visitorsUpper }),
      asOf: new Date(asOf).toISOString(),
      stale: false,
      lower: pageViews,
      upper: pageViews,
    })
  }
  return rows.length
}

const hexOf = (visitor: unknown): string[] =>
  Buffer.isBuffer(visitor) ? [visitor.toString('hex')] : []

/** Visitors who came before a window and after it, so that sums cannot tell whether within it. */
function unsureOf(rows: readonly SqlRow[], from: number, to: number): Set<string> {
  const who = (isOf: (at: number) => boolean) =>
    new Set(rows.flatMap((row) => (isOf(Number(row['created_at'])) ? hexOf(row['visitor']) : [])))
  const before = who((at) => at < from)
  return new Set([...who((at) => at >= to)].filter((visitor) => before.has(visitor)))
}

/** All sums of a name, without what tells which views have rows. */
async function sumsOf(database: Database, name: string): Promise<unknown> {
  const sums = [
    'second, views FROM activity_seconds WHERE name = ? ORDER BY second',
    'day, visitor, last_second, first_second, hours FROM activity_visitors WHERE name = ? ' +
      'ORDER BY day, visitor',
    'hour, views, late, visitors FROM activity_hours WHERE name = ? ORDER BY hour',
    'dimension, hour, value, views FROM activity_hour_values WHERE name = ? ' +
      'ORDER BY dimension, hour, value',
    'day, views, late, visitors FROM activity_days WHERE name = ? ORDER BY day',
    'open_day, views, changes FROM activity_books WHERE name = ?',
  ]
  const found: unknown[] = []
  for (const sum of sums) found.push((await database.query(`SELECT ${sum}`, [name])).rows)
  return [...found, await readStats(database, { name, asOf: NOW, stale: false }, 600)]
}

/** Returns how many rows a name has, after a recount of all its seconds. */
async function assertRecounted(database: Database, name: string): Promise<number> {
  const { rows } = await database.query('SELECT second FROM activity_seconds WHERE name = ?', [
    name,
  ])
  let found = 0
  for (const { second } of rows) {
    const from = 1000 * Number(second)
    const { rows, views, unequal } = await recountRows(database, name, from, from + 1000)
    assert.deepEqual([rows, unequal], [views, 0], `second ${second}`)
    found += rows
  }
  const all = await database.query('SELECT COUNT(*) AS n FROM activities WHERE name = ?', [name])
  assert.equal(Number(all.rows[0]?.['n']), found)
  return found
}

/** A process enters that gives the option `keep`. */
const keep = (database: Database, name: string, kept: Keep) =>
  enterName(database, {
    name,
    kind: 'activity',
    cellTtlSeconds: 3600,
    directSeconds: 75,
    vanishedSeconds: 3600,
    nameSettings: { keep: { value: kept, counts: 'last' } },
  })

const visits = fc.array(
  fc.record(
    {
      // From ten minutes and a bit ago to a clock that is a minute fast, with edges of layers among
      // them.
      time: fc.oneof(
        fc.integer({ min: NOW - 620 * SECOND, max: NOW + 60 * SECOND }),
        fc.integer({ min: -220, max: 20 }).map((layers) => NOW + layers * LAYER_MS),
      ),
      visitor: fc.option(fc.integer({ min: 0, max: 20 }).map(visitorOf), { freq: 5 }),
      page: fc.constantFrom(
        '/',
        '/😀',
        `/${'é'.repeat(511)}`,
        `/${'日'.repeat(341)}`,
        '/\ufffd',
        `/' OR 1=1; -- "\\ %`,
        ' trailing ',
      ),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 60 },
)

for (const [name, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  const database = (async () => open(await url()))()
  database.catch(() => undefined)
  let grids = 0
  const gridName = (): string => `grid-${++grids}`

  test(`${name}: after any commits and removals the sums are what the rows say`, async () => {
    const db = await database
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ visits }) },
      {
        weight: 1,
        arbitrary: fc.record({ retentionMs: fc.integer({ min: 0, max: 620 * SECOND }) }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const grid = gridName()
        let keptFrom = -Infinity
        for (const step of steps) {
          if ('visits' in step) await commit(db, grid, step.visits)
          else {
            await removeOld(db, grid, step.retentionMs)
            keptFrom = Math.max(keptFrom, NOW - step.retentionMs)
          }
        }
        await assertSumsAreRows(db, grid, keptFrom)
      }),
      { numRuns: fewOrMany(8, 40) },
    )
  })

  test(`${name}: whatever is kept and whenever it changes, the sums are the same`, async () => {
    const db = await database
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ visits, kept: fc.constantFrom('rows', 'sums') }) },
      {
        weight: 1,
        arbitrary: fc.record({ retentionMs: fc.integer({ min: 0, max: 620 * SECOND }) }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const [rows, sums, either] = [gridName(), gridName(), gridName()]
        await keep(db, sums, 'sums')
        for (const step of steps) {
          if ('visits' in step) {
            await keep(db, either, step.kept as Keep)
            for (const grid of [rows, sums, either]) await commit(db, grid, [...step.visits])
          } else {
            for (const grid of [rows, sums, either]) await removeOld(db, grid, step.retentionMs)
          }
        }
        const wanted = await sumsOf(db, rows)
        assert.deepEqual(await sumsOf(db, sums), wanted)
        assert.deepEqual(await sumsOf(db, either), wanted)
        await assertRecounted(db, rows)
        await assertRecounted(db, either)
        assert.equal(await assertRecounted(db, sums), 0)
      }),
      { numRuns: fewOrMany(4, 15) },
    )
  })

  test(`${name}: visitors end where the window does; bounds have others`, async () => {
    const db = await database
    const grid = gridName()
    // A window of 600 s that ended 200 s ago. Who came how long ago, in seconds:
    const came = { within: [700], after: [100], around: [900, 100], always: [900, 700, 100] }
    const again = { first: [700, 100], atTheEnd: [201, 200], before: [801], atTheBegin: [800, 1] }
    for (const [index, times] of Object.values({ ...came, ...again }).entries()) {
      const visitor = Buffer.alloc(12, index + 1)
      const some = times.map((ago): Visit => ({ time: NOW - ago * SECOND, visitor, page: '/' }))
      for (const visit of some.toReversed()) await commit(db, grid, [visit])
    }
    const asOf = NOW - 200 * SECOND
    const stats = await readStats(db, { name: grid, asOf, stale: false }, 600)
    // Sure are those within, first, at the end and at the begin; not sure those around and always.
    assert.deepEqual([stats.visitors, stats.visitorsUpper, stats.pageViews], [4, 6, 5])
    const { visitors, visitorsUpper } = await readStats(
      db,
      { name: grid, asOf: NOW, stale: false },
      900,
    )
    assert.deepEqual([visitors, visitorsUpper], [8, undefined])
    await assertSumsAreRows(db, grid)
  })

  test(`${name}: rows are stored unchanged, oldest first, never in the future`, async () => {
    const db = await database
    const grid = gridName()
    const page = `/${'日'.repeat(341)}`
    await commit(db, grid, [
      { time: NOW + 5000, visitor: visitorOf(1), page: '/future' },
      { time: NOW - 1, visitor: null, page },
      { time: 0, visitor: Buffer.from('000102ff0a0d5c2700223f7f', 'hex'), page: '/😀' },
    ])
    const { rows } = await db.query(
      'SELECT created_at, visitor, page FROM activities WHERE name = ? ORDER BY number',
      [grid],
    )
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { created_at: 0, visitor: Buffer.from('000102ff0a0d5c2700223f7f', 'hex'), page: '/😀' },
        { created_at: NOW - 1, visitor: null, page },
        { created_at: NOW, visitor: visitorOf(1), page: '/future' },
      ],
    )
  })

  test(`${name}: one commit takes thousands of rows, visitors and layers`, async () => {
    const db = await database
    const grid = gridName()
    const many = Array.from({ length: 5_000 }, (_, i): Visit => ({
      time: NOW - ((i * 7919) % 5_000) * LAYER_MS,
      visitor: visitorOf(i),
      page: `/${i}`,
    }))
    await commit(db, grid, many)
    assert.equal(await assertSumsAreRows(db, grid), 5_000)
  })

  test(`${name}: retention removes whole seconds of old rows and nothing else`, async () => {
    const db = await database
    const [grid, other] = [gridName(), gridName()]
    const old = Array.from({ length: 12_000 }, (_, i): Visit => ({
      time: NOW - 100 * LAYER_MS + Math.floor(i / 6_000),
      visitor: visitorOf(i % 1_200),
      page: '/old',
    }))
    await commit(db, grid, [
      ...old,
      ...[-99, -98, -10, 0].map((layers) => ({
        time: NOW + layers * LAYER_MS,
        visitor: visitorOf(7),
        page: '/',
      })),
    ])
    await commit(db, other, old.slice(0, 10))
    await removeOld(db, grid, 99 * LAYER_MS)
    const { rows } = await db.query(
      'SELECT second FROM activity_seconds WHERE name = ? ORDER BY second',
      [grid],
    )
    assert.deepEqual(
      rows.map(({ second }) => Number(second) - NOW / SECOND),
      [-99, -98, -10, 0].map((layers) => 3 * layers),
    )
    assert.equal(await assertSumsAreRows(db, grid, NOW - 99 * LAYER_MS), 4)
    assert.equal(await assertSumsAreRows(db, other), 10)
  })

  test(`${name}: a long absence is made up for a piece at a time`, async () => {
    const db = await database
    const grid = gridName()
    await commit(
      db,
      grid,
      Array.from({ length: 250 }, (_, i): Visit => ({
        time: NOW - (i + 10) * LAYER_MS,
        visitor: visitorOf(i),
        page: '/',
      })),
    )
    const left: [more: boolean, rows: number][] = []
    for (let calls = 0; calls < 3; calls++) {
      const more = await removeOld(db, grid, 0, NOW, () => false)
      left.push([more, await assertSumsAreRows(db, grid, NOW)])
    }
    assert.deepEqual(left, [
      [true, 150],
      [true, 50],
      [false, 0],
    ])
  })

  test(`${name}: concurrent commits and removals keep sums and rows equal`, async () => {
    const db = await database
    const grid = gridName()
    // Old layers, for which removal and late visits compete, and visitors who come back while they
    // are removed.
    const round = (worker: number): Visit[] =>
      Array.from({ length: 80 }, (_, i): Visit => ({
        time: NOW - Math.floor(Math.random() * 12) * LAYER_MS,
        visitor: i % 9 === 0 ? null : visitorOf(Math.floor(Math.random() * 40)),
        page: `/${worker}`,
      }))
    let running = 6
    const committers = Array.from({ length: running }, async (_, worker) => {
      for (let i = 0; i < 25; i++) await commit(db, grid, round(worker))
      running--
    })
    const removers = [0, 1].map(async () => {
      while (running > 0) await removeOld(db, grid, 6 * LAYER_MS)
    })
    await Promise.all([...committers, ...removers])
    await assertSumsAreRows(db, grid, NOW - 6 * LAYER_MS)
    await removeOld(db, grid, -LAYER_MS)
    assert.equal(await assertSumsAreRows(db, grid, NOW + LAYER_MS), 0)
    const kept = gridName()
    await Promise.all(
      Array.from({ length: 6 }, async (_, worker) => {
        for (let i = 0; i < 10; i++) await commit(db, kept, round(worker))
      }),
    )
    assert.equal(await assertSumsAreRows(db, kept), 6 * 10 * 80)
  })
}

/**
 * `database`, in whose transactions `meanwhile` goes first where a statement begins with `before`.
 */
function interrupted(
  database: Database,
  before: string,
  meanwhile: () => Promise<unknown>,
): Database {
  return {
    dialect: database.dialect,
    maxStatementBytes: database.maxStatementBytes,
    query: (...args) => database.query(...args),
    now: () => database.now(),
    migrate: () => database.migrate(),
    close: () => database.close(),
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          dialect: tx.dialect,
          maxStatementBytes: tx.maxStatementBytes,
          now: () => tx.now(),
          beforeCommit: (hook) => tx.beforeCommit(hook),
          query: async (sql, parameters) => {
            if (sql.startsWith(before)) await meanwhile()
            return tx.query(sql, parameters)
          },
        }),
      ),
  }
}

test('MariaDB: a late visit waits while its layer is removed, and then counts', async () => {
  const url = await sharedMysqlUrl()
  const [db, other] = [await open(url), await open(url)]
  const visit = (page: string): Visit => ({
    time: NOW - 100 * LAYER_MS,
    visitor: visitorOf(1),
    page,
  })
  await commit(db, 'late', [visit('/')])
  let late: Promise<void> | undefined
  await removeOld(
    interrupted(db, 'DELETE FROM activity_seconds', async () => {
      late = commit(other, 'late', [visit('/late')])
      await Promise.race([late, new Promise((resolve) => setTimeout(resolve, 500))])
    }),
    'late',
    0,
  )
  await late
  assert.equal(await assertSumsAreRows(db, 'late', NOW), 1)
})

test('MariaDB: a late visit stays whole while two remove the second that it is in', async () => {
  const url = await sharedMysqlUrl()
  const [db, other] = [await open(url), await open(url)]
  const visit = (layers: number): Visit => ({
    time: NOW - layers * LAYER_MS,
    visitor: visitorOf(1),
    page: '/',
  })
  await commit(db, 'twice', [visit(100), visit(99)])
  // Between the look of one and its lock, the other removes the first second of both.
  const overtaken = interrupted(db, 'SELECT second, views FROM activity_seconds', () =>
    removeOld(other, 'twice', 99 * LAYER_MS),
  )
  let late: Promise<void> | undefined
  await removeOld(
    interrupted(overtaken, 'DELETE FROM activity_seconds', async () => {
      late ??= commit(other, 'twice', [visit(100)])
      await late
    }),
    'twice',
    0,
  )
  assert(late)
  assert.equal(await assertSumsAreRows(db, 'twice', NOW), 1)
})

test('locks have one order: books, seconds, hours, rows, visitors, values', async () => {
  const layers: unknown[] = []
  const times: unknown[] = []
  const visitors: string[] = []
  const taken: string[] = []
  const every = (values: readonly SqlValue[], columns: number, column: number): SqlValue[] =>
    values.filter((_, i) => i % columns === column)
  const tx: Transaction = {
    dialect: 'mysql',
    maxStatementBytes: Infinity,
    now: async () => NOW,
    beforeCommit: () => undefined,
    async query(sql, values = []) {
      const table = /^INSERT INTO (\w+)/.exec(sql)?.[1] ?? sql
      if (taken.at(-1) !== table) taken.push(table)
      if (table === 'activity_seconds') layers.push(...every(values, 4, 1))
      if (table === 'activities') times.push(...every(values, 5, 1))
      if (table === 'activity_visitors') {
        visitors.push(...every(values, 7, 2).map((visitor) => (visitor as Buffer).toString('hex')))
      }
      return {
        rows: sql.startsWith('SELECT open_day') ? [{ open_day: 0, open_hour: 0 }] : [],
        affectedRows: 0,
      }
    },
  }
  const visits = Array.from({ length: 5_000 }, (_, i): Visit => ({
    time: NOW - ((i * 7919) % 2_500) * LAYER_MS,
    visitor: randomBytes(12),
    page: '/',
  }))
  await commitVisits(visits, tx, { now: NOW, name: 'order' })
  assert.deepEqual(
    taken.filter((table) => !table.startsWith('SELECT')),
    [
      'activity_books',
      'activity_seconds',
      'activity_hours',
      'activities',
      'activity_visitors',
      'activity_hour_values',
    ],
  )
  assert.deepEqual([layers.length, times.length, visitors.length], [2_500, 5_000, 5_000])
  assert.deepEqual(
    layers,
    [...layers].sort((a, b) => Number(a) - Number(b)),
  )
  assert.deepEqual(
    times,
    [...times].sort((a, b) => Number(a) - Number(b)),
  )
  assert.deepEqual(visitors, [...visitors].sort())
})

test('MariaDB: visits are committed without waiting while a busy layer is removed', async () => {
  const url = await sharedMysqlUrl()
  const [db, other] = [await open(url), await open(url)]
  const grid = 'busy'
  for (let i = 0; i < 40; i++) {
    await commit(
      db,
      grid,
      Array.from({ length: 5_000 }, (): Visit => ({
        time: NOW - 100 * LAYER_MS,
        visitor: randomBytes(12),
        page: '/',
      })),
    )
  }
  let removed = false
  const removing = removeOld(db, grid, 0).then(() => {
    removed = true
  })
  let meanwhile = 0
  while (!removed) {
    await commit(other, grid, [{ time: NOW, visitor: visitorOf(meanwhile % 100), page: '/' }])
    if (!removed) meanwhile++
  }
  await removing
  assert(meanwhile > 5, `${meanwhile} commits while 200,000 rows were removed`)
  await assertSumsAreRows(db, grid, NOW)
})
