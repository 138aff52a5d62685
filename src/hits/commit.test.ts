import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SqlRow, SqlValue, Transaction } from '../database/database.js'
import { HOUR_MS } from '../support/clock.js'
import { commitHits, windowOf } from './commit.js'
import type { Hit } from './hit.js'
import { moveHits } from './move.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { UTC } from '../support/calendar.js'

const NOW = Date.UTC(2026, 0, 2, 12)
const REPEAT_MS = 600_000

/** The rows that a transaction writes to each table, or deletes, in their order. */
async function rowsOf(
  work: (tx: Transaction) => Promise<unknown>,
  answers: (sql: string) => SqlRow[] = () => [],
): Promise<Map<string, (readonly SqlValue[])[]>> {
  const written = new Map<string, (readonly SqlValue[])[]>()
  const tx = {
    dialect: 'sqlite',
    maxStatementBytes: Infinity,
    async query(sql: string, values: readonly SqlValue[]) {
      const [, table, columns] =
        /^INSERT INTO (\w+) \(([^)]*)\)/.exec(sql) ??
        /^DELETE FROM (\w+) WHERE (.*)/.exec(sql) ??
        []
      if (table && columns) {
        const rows = written.get(table) ?? []
        written.set(table, rows)
        const { length } = columns.split(/,|AND/)
        for (let at = 0; at < values.length; at += length) rows.push(values.slice(at, at + length))
      }
      return { rows: answers(sql), affectedRows: 0 }
    },
  } as unknown as Transaction
  await work(tx)
  return written
}

const committed = (hits: readonly Hit[]) =>
  rowsOf((tx) =>
    commitHits(hits, tx, { name: 'threads', repeatMs: REPEAT_MS, calendar: UTC, now: NOW }),
  )

/** Asserts that rows stand in ascending order of these columns. */
function assertAscending(rows: readonly (readonly SqlValue[])[], columns: readonly number[]): void {
  const keys = rows.map((row) => columns.map((column) => row[column]))
  const compared = (a: SqlValue | undefined, b: SqlValue | undefined): number =>
    Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.compare(b) : Number(a) - Number(b)
  const sorted = keys.toSorted(
    (a, b) => a.map((value, i) => compared(value, b[i])).find((order) => order !== 0) ?? 0,
  )
  assert(keys.length > 1)
  assert.deepEqual(keys, sorted)
}

test('commits lock viewings, counts, hours and days in one order, however hits come', async () => {
  const hits = Array.from({ length: 40 }, (_, i): Hit => {
    const n = (i * 17) % 40
    const time = NOW - (n % 5) * HOUR_MS * 7
    return { time, item: `item ${n % 3}`, viewer: n % 4 === 0 ? null : Buffer.alloc(12, n) }
  })
  const written = await committed(hits)
  // By window and hash; by item; by item and hour; by item and day.
  assertAscending(written.get('hits_viewings')!, [1, 2])
  const all = await committed(hits.map(({ time, item }) => ({ time, item, viewer: null })))
  assertAscending(all.get('hits_counts')!, [1])
  assertAscending(all.get('hits_hours')!, [1, 2])
  assertAscending(all.get('hits_days')!, [1, 2])
  assert.deepEqual([...all.keys()], ['hits_counts', 'hits_hours', 'hits_days'])
})

test('a rename locks counts, hours and days in the same order as a commit', async () => {
  for (const [from, to] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const written = await rowsOf(
      (tx) => moveHits(tx, 'threads', from, to),
      (sql) =>
        sql.includes('hits_counts')
          ? [{ item: from, hits: 3 }]
          : [1, 2].map((period) => ({ period, hits: period })),
    )
    assert.deepEqual([...written.keys()], ['hits_counts', 'hits_hours', 'hits_days'])
    assertAscending(written.get('hits_counts')!.slice(0, 2), [1])
    for (const table of ['hits_hours', 'hits_days']) {
      const rows = written.get(table)!
      assert.equal(rows.length, 4)
      assertAscending(rows, [1, 2])
    }
  }
})

test('windows are counted from the start of a day, and end with it', () => {
  const startsOf = (zone: string, seconds: number, ...times: string[]): string[] => {
    const calendar = calendarOf(timeZoneOption(zone))
    return times.map((time) =>
      calendar.textOf(windowOf(Date.parse(time), seconds * 1000, calendar)).slice(11, 19),
    )
  }
  assert.deepEqual(
    startsOf('Europe/Berlin', 86_400, '2026-10-25T00:00+02:00', '2026-10-25T23:59+01:00'),
    ['00:00:00', '00:00:00'],
    'a day of 25 hours is one window',
  )
  assert.deepEqual(startsOf('Asia/Kolkata', 3_600, '2026-10-25T00:10+05:30'), ['00:00:00'])
  assert.deepEqual(
    startsOf('UTC', 50_000, '2026-10-25T13:00Z', '2026-10-25T14:00Z', '2026-10-26T00:00Z'),
    ['00:00:00', '13:53:20', '00:00:00'],
  )
})
