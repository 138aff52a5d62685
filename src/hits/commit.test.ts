import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SqlValue, Transaction } from '../database/database.js'
import { HOUR_MS } from '../support/clock.js'
import { commitHits } from './commit.js'
import type { Hit } from './hit.js'

const NOW = Date.UTC(2026, 0, 2, 12)
const REPEAT_MS = 600_000

/** The rows that a commit writes to each table, in their order. */
async function rowsOf(hits: readonly Hit[]): Promise<Map<string, (readonly SqlValue[])[]>> {
  const written = new Map<string, (readonly SqlValue[])[]>()
  const tx = {
    dialect: 'sqlite',
    maxStatementBytes: Infinity,
    async query(sql: string, values: readonly SqlValue[]) {
      const [, table, columns] = /^INSERT INTO (\w+) \(([^)]*)\)/.exec(sql) ?? []
      if (table && columns) {
        const rows = written.get(table) ?? []
        written.set(table, rows)
        const { length } = columns.split(',')
        for (let at = 0; at < values.length; at += length) rows.push(values.slice(at, at + length))
      }
      return { rows: [], affectedRows: 0 }
    },
  } as unknown as Transaction
  await commitHits(hits, tx, {
    name: 'threads',
    repeatMs: REPEAT_MS,
    now: NOW,
    add: async () => undefined,
  })
  return written
}

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

test('transactions lock viewings, hours and days in one order, however hits come', async () => {
  const hits = Array.from({ length: 40 }, (_, i): Hit => {
    const n = (i * 17) % 40
    const time = NOW - (n % 5) * HOUR_MS * 7
    return { time, item: `item ${n % 3}`, viewer: n % 4 === 0 ? null : Buffer.alloc(12, n) }
  })
  const written = await rowsOf(hits)
  // By window and hash; by hour and item; by day and item.
  assertAscending(written.get('hits_viewings')!, [1, 2])
  const all = await rowsOf(hits.map(({ time, item }) => ({ time, item, viewer: null })))
  assertAscending(all.get('hits_hours')!, [2, 1])
  assertAscending(all.get('hits_days')!, [2, 1])
})
