/** Hits by hour and day are a recount of what counts, after any commits, moves and removals. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { type Database, DatabaseError, type Transaction } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { type PeriodRange, UTC } from '../support/calendar.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { commitHits } from './commit.js'
import type { Hit } from './hit.js'
import { DAYS, HOURS, readTopOf, removeHours } from './history.js'
import { moveHits } from './move.js'
import { readItemHistory, readItemRange, type RecordedHits } from './read-history.js'

const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS } as const

const NOW = Date.UTC(2026, 4, 17, 12, 30)
const ITEMS = ['a', 'b', 'c', '日本']

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

async function commit(database: Database, name: string, hits: readonly Hit[]): Promise<void> {
  for (;;) {
    try {
      return await database.transaction((tx) =>
        commitHits(hits, tx, { name, repeatMs: 1_800_000, calendar: UTC, now: NOW }),
      )
    } catch (error) {
      if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
    }
  }
}

function hoursUpToNow(hours: number): PeriodRange {
  const to = Math.floor(NOW / HOUR_MS) + 1
  return { from: to - hours, to }
}

function site(name: string): RecordedHits {
  return { name, count: 'served', hasOther: false, calendar: UTC }
}

const hits = fc.array(
  fc.record({
    time: fc.integer({ min: -80, max: 1 }).map((hours) => NOW + hours * HOUR_MS),
    viewer: fc.constantFrom(null, Buffer.alloc(12, 1), Buffer.alloc(12, 2)),
    item: fc.constantFrom(...ITEMS),
  }),
  { maxLength: 25 },
)

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ hits }) },
    {
      weight: 1,
      arbitrary: fc.record({
        from: fc.constantFrom(...ITEMS),
        to: fc.option(fc.constantFrom(...ITEMS), { nil: undefined }),
      }),
    },
  ),
  { maxLength: 6 },
)

for (const [dialect, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  describe(`history of items, ${dialect}`, () => {
    const database = (async () => {
      const { database } = openDatabase(await url())
      opened.push(database)
      await database.migrate()
      return database
    })()
    database.catch(() => undefined)
    let names = 0
    const newName = (): string => `items-${++names}`

    test('hours and days are a recount, after any commits, deletions and renames', async () => {
      const db = await database
      await fc.assert(
        fc.asyncProperty(steps, async (steps) => {
          const name = newName()
          let counted: { item: string; time: number }[] = []
          const seen = new Set<string>()
          for (const step of steps) {
            if ('hits' in step) {
              const half = Math.floor(step.hits.length / 2)
              await Promise.all([
                commit(db, name, step.hits.slice(0, half)),
                commit(db, name, step.hits.slice(half)),
              ])
              for (const { time, viewer, item } of step.hits) {
                const at = Math.min(time, NOW)
                const key = `${viewer?.toString('hex')} ${item} ${Math.floor(at / 1_800_000)}`
                if (viewer && seen.has(key)) continue
                seen.add(key)
                counted.push({ item, time: at })
              }
            } else if (step.from !== step.to) {
              const { from, to } = step
              await db.transaction((tx) => moveHits(tx, name, from, to))
              counted = counted.flatMap((hit) =>
                hit.item !== from ? [hit] : to === undefined ? [] : [{ ...hit, item: to }],
              )
            }
          }
          for (const item of ITEMS) {
            const days = await readItemHistory(db, site(name), item, NOW, 6)
            const expected = days.map(({ start }) => {
              const from = Date.parse(start)
              return counted.filter(
                (hit) => hit.item === item && hit.time >= from && hit.time < from + 24 * HOUR_MS,
              ).length
            })
            assert.deepEqual(
              days.map(({ hits }) => hits ?? 0),
              expected,
            )
            for (const by of ['hour', 'day'] as const) {
              const ms = PERIOD_MS[by]
              const range = { by, from: Math.floor(NOW / ms) - 90, to: Math.floor(NOW / ms) + 2 }
              for (const { start, hits } of await readItemRange(db, site(name), item, NOW, range)) {
                const from = Date.parse(start)
                const expected = counted.filter(
                  (hit) => hit.item === item && hit.time >= from && hit.time < from + ms,
                )
                assert.equal(hits ?? 0, expected.length, `${by} ${start}`)
              }
            }
          }
          for (const [part, periods] of [
            [HOURS, 30],
            [DAYS, 2],
          ] as const) {
            const to = Math.floor(NOW / PERIOD_MS[part.period]) + 1
            const range = { from: to - periods, to }
            const top = new Map(await readTopOf(db, part, name, 10, range))
            for (const item of ITEMS) {
              const expected = counted.filter(
                ({ item: one, time }) =>
                  one === item &&
                  time >= range.from * PERIOD_MS[part.period] &&
                  time < to * PERIOD_MS[part.period],
              )
              assert.equal(top.get(item) ?? 0, expected.length, `${part.period} ${item}`)
            }
          }
        }),
        { numRuns: fewOrMany(12, 30) },
      )
    })

    test('hits that are committed while an item is moved stay with the item', async () => {
      const db = await database
      // A transaction of SQLite is alone.
      if (db.dialect === 'sqlite') return
      const name = newName()
      const hit = (hours: number): Hit[] => [
        { time: NOW - hours * HOUR_MS, viewer: null, item: 'a' },
      ]
      await commit(db, name, hit(1))
      let committed: Promise<void> | undefined
      await db.transaction(async (tx) => {
        const watched: Transaction = {
          dialect: tx.dialect,
          maxStatementBytes: tx.maxStatementBytes,
          now: () => tx.now(),
          beforeCommit: (hook) => tx.beforeCommit(hook),
          query(sql, parameters) {
            if (sql.startsWith('SELECT')) committed ??= commit(db, name, hit(30))
            return tx.query(sql, parameters)
          },
        }
        await moveHits(watched, name, 'a', 'b')
      })
      await committed
      const top = await readTopOf(db, HOURS, name, 5, hoursUpToNow(50))
      assert.deepEqual(new Map(top), new Map(Object.entries({ a: 1, b: 1 })))
      for (const item of ['a', 'b']) {
        const days = await readItemHistory(db, site(name), item, NOW, 3)
        assert.equal(
          days.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
          1,
        )
      }
    })

    test('hours go after eight days, one a call; days stay', async () => {
      const db = await database
      const name = newName()
      const ago = (hours: number) => ({ time: NOW - hours * HOUR_MS, viewer: null, item: 'a' })
      await commit(db, name, [ago(194), ago(193), ago(192), ago(0)])
      assert.equal(await removeHours(db, name, NOW, UTC), true)
      assert.equal(await removeHours(db, name, NOW, UTC), false)
      assert.equal(await removeHours(db, name, NOW, UTC), false)
      assert.deepEqual(await readTopOf(db, HOURS, name, 1, hoursUpToNow(1_000)), [['a', 2]])
      const days = await readItemHistory(db, site(name), 'a', NOW, 10)
      assert.equal(
        days.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
        4,
      )
      const hour = Math.floor(NOW / HOUR_MS)
      const all = { by: 'hour', from: hour - 193, to: hour + 1 } as const
      const hours = await readItemRange(db, site(name), 'a', NOW, all)
      // Nobody knows any more what the first one had.
      assert.deepEqual(
        hours.map(({ hits }) => hits),
        [null, 1, ...Array<number>(191).fill(0), 1],
      )
      const [oldest] = await readItemRange(db, { ...site(name), hasOther: true }, 'a', NOW, all)
      const { start, ...unknown } = oldest!
      assert.equal(start, UTC.textOf((hour - 193) * HOUR_MS))
      assert.deepEqual(unknown, { hits: null, bots: null, seen: null, unseen: null })
    })
  })
}
