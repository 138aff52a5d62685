/**
 * Totals are a recount of everything recorded, whatever came in whatever order, through the closing
 * of days and the removal of rows; and what is closed never changes.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { type Database, DatabaseError } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import type { Period } from '../support/calendar.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { commitVisits } from './commit.js'
import { packDimensions, packedPairs, unpackPair } from './packed-dimensions.js'
import type { MeasuredPeriod, ValuePeriod } from '../dashboard/site-figures.js'
import { readHistory, readTop } from './history.js'
import { removeOldVisits } from './retention.js'
import { readStats } from './stats.js'
import { readValueHistory } from './value-history.js'
import type { Visit } from './visit.js'

const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS } as const

const START = Date.UTC(2026, 4, 17)
const VANISHED_SECONDS = 3600

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

async function open(url: string): Promise<Database> {
  const { database } = openDatabase(url)
  opened.push(database)
  await database.migrate()
  return database
}

const visitorOf = (number: number): Buffer => Buffer.alloc(12, number)

/** Commits as the ledger does, and again after a deadlock. */
async function commit(database: Database, name: string, visits: readonly Visit[], now: number) {
  for (; visits.length > 0;) {
    try {
      return await database.transaction((tx) => commitVisits([...visits], tx, { now, name }))
    } catch (error) {
      if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
    }
  }
}

/** A collecting run's removal, until there is no more to do. */
async function removeOld(database: Database, name: string, now: number, rowsMs = DAY_MS, days = 8) {
  const retention = {
    rowsMs,
    valuesDays: days,
    directSeconds: 75,
    vanishedSeconds: VANISHED_SECONDS,
  }
  while (await removeOldVisits(database, { now, name }, retention));
}

interface Key {
  readonly dimension: string
  readonly value: string
}

const KEYS: readonly Key[] = [
  { dimension: 'page', value: '/' },
  { dimension: 'page', value: '/😀' },
  { dimension: 'referrer', value: 'example.org' },
  { dimension: 'device', value: 'phone' },
  { dimension: 'nothing', value: 'phone' },
]

/** The first hour whose values are kept, in milliseconds. */
async function valuesFrom(db: Database, name: string): Promise<number> {
  const { rows } = await db.query('SELECT values_from FROM activity_books WHERE name = ?', [name])
  return Number(rows[0]?.['values_from'] ?? 0) * HOUR_MS
}

/** Recorded visits, each with the time that it counts at. */
class Recount {
  readonly #visits: (Visit & { late: boolean })[] = []
  #openFrom = 0

  add(visits: readonly Visit[], now: number): void {
    for (const visit of visits) {
      const time = Math.min(visit.time, now)
      const late = time < this.#openFrom
      this.#visits.push({ ...visit, time: Math.max(time, this.#openFrom), late })
    }
  }

  /** All days that ended `VANISHED_SECONDS` ago are closed. */
  close(now: number): void {
    const openFrom = Math.floor((now - VANISHED_SECONDS * 1000) / DAY_MS) * DAY_MS
    if (this.#visits.length > 0) this.#openFrom = Math.max(this.#openFrom, openFrom)
  }

  history(by: Period, from: number, to: number): MeasuredPeriod[] {
    const ms = PERIOD_MS[by]
    return Array.from({ length: (to - from) / ms }, (_, index) => {
      const start = from + index * ms
      const visits = this.#of(start, start + ms)
      return {
        start: new Date(start).toISOString(),
        pageViews: visits.length,
        visitors: new Set(
          visits.flatMap(({ visitor, time }) =>
            visitor ? [`${Math.floor(time / DAY_MS)} ${visitor.toString('hex')}`] : [],
          ),
        ).size,
      }
    })
  }

  top(dimension: string, from: number, to: number): Map<string | null, number> {
    const counts = new Map<string | null, number>()
    for (const { page, dimensions = '' } of this.#of(from, to)) {
      const values = new Map(packedPairs(dimensions).map(unpackPair))
      const value = dimension === 'page' ? page : (values.get(dimension) ?? null)
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return counts
  }

  /** Hours before `keptFrom` have no values of their own any more. */
  valueHistory(key: Key, by: Period, from: number, to: number, keptFrom: number): ValuePeriod[] {
    const ms = PERIOD_MS[by]
    return this.history(by, from, to).map(({ start, pageViews }, index) => {
      const at = from + index * ms
      if (at < this.#firstDay) return { start, pageViews: null }
      if (by === 'hour' && at < keptFrom && pageViews > 0) return { start, pageViews: null }
      return { start, pageViews: this.top(key.dimension, at, at + ms).get(key.value) ?? 0 }
    })
  }

  /** Nothing is known of the days before. */
  get #firstDay(): number {
    const first = Math.min(...this.#visits.map(({ time }) => time))
    return Math.floor(first / DAY_MS) * DAY_MS
  }

  get late(): number {
    return this.#visits.filter(({ late }) => late).length
  }

  #of(from: number, to: number) {
    return this.#visits.filter(({ time }) => time >= from && time < to)
  }
}

async function topOf(db: Database, name: string, dimension: string, from: number, to: number) {
  const range = { from: from / HOUR_MS, to: to / HOUR_MS }
  const top = await readTop(db, name, dimension, range, { n: 1_000 })
  return new Map(top.map(({ value, pageViews }) => [value, pageViews]))
}

async function lateOf(db: Database, name: string): Promise<number> {
  const { rows } = await db.query('SELECT SUM(late) AS n FROM activity_hours WHERE name = ?', [
    name,
  ])
  return Number(rows[0]?.['n'] ?? 0)
}

/** A visit up to two days before `now`, or a minute ahead, often at an edge of an hour. */
const visitsAt = fc.array(
  fc.record({
    ago: fc.oneof(
      fc.integer({ min: -60_000, max: 2 * DAY_MS }),
      fc.integer({ min: 0, max: 48 }).map((hours) => hours * HOUR_MS),
      fc.constant(0),
    ),
    visitor: fc.option(fc.integer({ min: 0, max: 5 }).map(visitorOf), { freq: 5 }),
    page: fc.constantFrom('/', '/a', '/b', '/😀'),
    dimensions: fc.constantFrom(
      undefined,
      packDimensions(['referrer', 'example.com']),
      packDimensions(['referrer', 'example.org', 'device', 'phone']),
      packDimensions(['device', 'tablet']),
    ),
  }),
  { maxLength: 30 },
)

/** Time goes on; then some commit, one of them twice at once, or old rows are removed. */
const steps = fc.array(
  fc.record({
    hours: fc.integer({ min: 0, max: 30 }),
    visits: fc.option(visitsAt, { freq: 4 }),
    keepHours: fc.integer({ min: 1, max: 24 }),
  }),
  { maxLength: 7 },
)

for (const [dialect, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  describe(`history, ${dialect}`, () => {
    const database = (async () => open(await url()))()
    database.catch(() => undefined)
    let names = 0
    const newName = (): string => `history-${++names}`

    test('after any visits, closings and removals all totals equal a recount', async () => {
      const db = await database
      await fc.assert(
        fc.asyncProperty(steps, async (steps) => {
          const name = newName()
          const recount = new Recount()
          let now = START
          for (const { hours, visits, keepHours } of steps) {
            now += hours * HOUR_MS
            if (visits) {
              const all = visits.map(({ ago, ...rest }) => ({ ...rest, time: now - ago }))
              const half = Math.floor(all.length / 2)
              await Promise.all([
                commit(db, name, all.slice(0, half), now),
                commit(db, name, all.slice(half), now),
              ])
              recount.add(all, now)
            } else {
              await removeOld(db, name, now, keepHours * HOUR_MS)
              recount.close(now)
            }
          }
          const [from, to] = [START - 3 * DAY_MS, Math.ceil(now / DAY_MS) * DAY_MS + DAY_MS]
          const range = (ms: number) => ({ from: from / ms, to: to / ms })
          assert.deepEqual(
            await readHistory(db, name, 'hour', range(HOUR_MS)),
            recount.history('hour', from, to),
          )
          assert.deepEqual(
            await readHistory(db, name, 'day', range(DAY_MS)),
            recount.history('day', from, to),
          )
          for (const dimension of ['page', 'referrer', 'device', 'nothing']) {
            for (const [from, to] of [
              [START - 3 * DAY_MS, now + HOUR_MS],
              [START + 5 * HOUR_MS, START + 7 * HOUR_MS],
              [START - 20 * HOUR_MS, START + 30 * HOUR_MS],
            ] as const) {
              const [first, last] = [Math.floor(from / HOUR_MS), Math.floor(to / HOUR_MS)]
              assert.deepEqual(
                await topOf(db, name, dimension, first * HOUR_MS, last * HOUR_MS),
                recount.top(dimension, first * HOUR_MS, last * HOUR_MS),
              )
            }
          }
          const keptFrom = await valuesFrom(db, name)
          for (const by of ['hour', 'day'] as const) {
            for (const key of KEYS) {
              assert.deepEqual(
                await readValueHistory(db, name, by, range(PERIOD_MS[by]), key),
                recount.valueHistory(key, by, from, to, keptFrom),
              )
            }
          }
          assert.equal(await lateOf(db, name), recount.late)
        }),
        { numRuns: fewOrMany(25, 60) },
      )
    })

    test('a value that is not listed has views that are unknown, and never 0', async () => {
      const db = await database
      const name = newName()
      const commitAll = (pages: readonly string[], time: number) =>
        commit(
          db,
          name,
          pages.map((page) => ({ time, visitor: null, page })),
          START + DAY_MS,
        )
      await commitAll(['/a', '/a', '/b'], START)
      await commitAll(['/a', '(other)'], START + HOUR_MS)
      const pageViews = async (by: Period, value: string) => {
        const periods = { hour: 3, day: 1 }
        const from = START / PERIOD_MS[by]
        const key = { dimension: 'page', value }
        const range = { from, to: from + periods[by] }
        const found = await readValueHistory(db, name, by, range, key)
        return found.map(({ pageViews }) => pageViews)
      }
      assert.deepEqual(await pageViews('hour', '/a'), [2, 1, 0])
      assert.deepEqual(await pageViews('hour', '/b'), [1, null, 0])
      assert.deepEqual(await pageViews('hour', '/c'), [0, null, 0])
      assert.deepEqual(await pageViews('hour', '(other)'), [0, 1, 0])
      for (const days of [0, 3]) {
        await removeOld(db, name, START + days * DAY_MS)
        assert.deepEqual(await pageViews('day', '/a'), [3])
        // A closed day lists what its hours list.
        assert.deepEqual(await pageViews('day', '/b'), [days === 0 ? null : 1])
        assert.deepEqual(await pageViews('day', '/c'), [null])
        assert.deepEqual(await pageViews('day', '(other)'), [1])
      }
      await removeOld(db, name, START + 3 * DAY_MS, DAY_MS, 1)
      assert.deepEqual(await pageViews('hour', '/a'), [null, null, 0])
      assert.deepEqual(await pageViews('day', '/a'), [3])
    })

    test('a visit of a closed day counts as late at the start of the next day', async () => {
      const db = await database
      const name = newName()
      const visit = (time: number): Visit => ({ time, visitor: visitorOf(1), page: '/' })
      await commit(db, name, [visit(START + 1)], START + 2)
      const closed = START + DAY_MS + VANISHED_SECONDS * 1000
      await removeOld(db, name, closed - 1, 2 * DAY_MS)
      await commit(db, name, [visit(START + 3)], closed - 1)
      await removeOld(db, name, closed, 2 * DAY_MS)
      await commit(db, name, [visit(START + 4)], closed)
      const days = { from: START / DAY_MS, to: START / DAY_MS + 2 }
      assert.deepEqual(
        (await readHistory(db, name, 'day', days)).map(({ pageViews }) => pageViews),
        [2, 1],
      )
      const { rows } = await db.query(
        'SELECT created_at FROM activities WHERE name = ? ORDER BY created_at',
        [name],
      )
      assert.deepEqual(
        rows.map((row) => row['created_at']),
        [START + 1, START + 3, START + DAY_MS],
      )
      assert.equal(await lateOf(db, name), 1)
    })

    test('one hash of two days is two visitors', async () => {
      const db = await database
      const name = newName()
      const now = START + DAY_MS
      const visits = [now - 1, now].map((time) => ({ time, visitor: visitorOf(1), page: '/' }))
      await commit(db, name, visits, now)
      const days = await readHistory(db, name, 'day', {
        from: START / DAY_MS,
        to: START / DAY_MS + 2,
      })
      assert.deepEqual(
        days.map(({ visitors }) => visitors),
        [1, 1],
      )
    })

    test('a visitor is known until their day is closed, however short rows are kept', async () => {
      const db = await database
      const name = newName()
      const noon = START + 12 * HOUR_MS
      await commit(db, name, [{ time: noon, visitor: visitorOf(1), page: '/' }], noon)
      await removeOld(db, name, noon + 3 * HOUR_MS, HOUR_MS)
      const evening = noon + 8 * HOUR_MS
      await commit(db, name, [{ time: evening, visitor: visitorOf(1), page: '/' }], evening)
      await removeOld(db, name, START + 3 * DAY_MS, HOUR_MS)
      const [day] = await readHistory(db, name, 'day', {
        from: START / DAY_MS,
        to: START / DAY_MS + 1,
      })
      assert.deepEqual([day?.pageViews, day?.visitors], [2, 1])
      const context = { name, asOf: START + 3 * DAY_MS, stale: false }
      assert.equal((await readStats(db, context, 4 * 86_400)).visitors, 0)
    })

    test('a day is closed once, though many collectors and writers are at it', async () => {
      const db = await database
      const name = newName()
      const now = START + DAY_MS + VANISHED_SECONDS * 1000
      const visits = Array.from({ length: 40 }, (_, i) => ({
        time: START + (i % 24) * HOUR_MS,
        visitor: visitorOf(i),
        page: '/',
      }))
      await commit(db, name, visits, START + DAY_MS - 1)
      await Promise.all(
        Array.from({ length: 8 }, async (_, i) => {
          if (i % 2 === 0) return removeOld(db, name, now)
          return commit(db, name, visits.slice(i, i + 1), now)
        }),
      )
      const range = { from: START / DAY_MS, to: START / DAY_MS + 2 }
      const days = await readHistory(db, name, 'day', range)
      assert.equal(days[0]!.pageViews + days[1]!.pageViews, 44)
      const before = days[0]
      await commit(db, name, visits, now + 1)
      await removeOld(db, name, now + DAY_MS)
      const after = await readHistory(db, name, 'day', range)
      assert.deepEqual(after[0], before)
      assert.equal(after[0]!.pageViews + after[1]!.pageViews, 84)
    })

    test('a day is closed with what comes while the collector looks for it', async () => {
      const db = await database
      const name = newName()
      const [old, young] = [START, START + 2 * DAY_MS]
      const visitsAt = (time: number): Visit[] => [{ time, visitor: visitorOf(1), page: '/' }]
      await commit(db, name, visitsAt(young), young)
      let came = false
      const slow: Database = {
        dialect: db.dialect,
        maxStatementBytes: db.maxStatementBytes,
        now: () => db.now(),
        migrate: () => db.migrate(),
        close: async () => undefined,
        query: (sql, parameters) => db.query(sql, parameters),
        async transaction(work) {
          if (!came) await commit(db, name, visitsAt(old), young)
          came = true
          return db.transaction(work)
        },
      }
      await removeOld(slow, name, START + 4 * DAY_MS, 9 * DAY_MS)
      const days = { from: START / DAY_MS, to: START / DAY_MS + 3 }
      assert.deepEqual(
        (await readHistory(db, name, 'day', days)).map(({ pageViews }) => pageViews),
        [1, 0, 1],
      )
      assert(came)
    })

    test('a closed day lists 1,000 values, and all of them add up to its views', async () => {
      const db = await database
      const name = newName()
      const visits = Array.from({ length: 1_200 }, (_, i) =>
        Array.from({ length: i < 1_000 ? 2 : 1 }, () => ({
          time: START + (i % 24) * HOUR_MS,
          visitor: null,
          page: `/${i}`,
          dimensions: i < 100 ? packDimensions(['device', 'phone']) : undefined,
        })),
      ).flat()
      await commit(db, name, visits, START + DAY_MS - 1)
      await removeOld(db, name, START + 20 * DAY_MS)
      const pages = await topOf(db, name, 'page', START, START + DAY_MS)
      assert.equal(pages.size, 1_000)
      assert.equal(pages.get('(other)'), 200)
      assert.equal(pages.get('/999') ?? pages.get('/998'), 2)
      assert.deepEqual(
        await topOf(db, name, 'device', START, START + DAY_MS),
        new Map([
          [null, 2_000],
          ['phone', 200],
        ]),
      )
      const { rows } = await db.query(
        'SELECT COUNT(*) AS n FROM activity_hour_values WHERE name = ?',
        [name],
      )
      assert.equal(Number(rows[0]!['n']), 0)
    })
  })
}
