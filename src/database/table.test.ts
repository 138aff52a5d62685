import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dialect, Queryable, SqlValue } from './database.js'
import { table } from './table.js'

const HOURS = table('hours', ['name', 'hour'], ['views', 'add'], ['last', 'greatest'], 'first')

/** Notes what it is sent. */
function recorder(dialect: Dialect): Queryable & { sent: [sql: string, values: unknown][] } {
  const sent: [sql: string, values: unknown][] = []
  return {
    sent,
    dialect,
    maxStatementBytes: 1_000_000,
    query: async (sql: string, values?: readonly SqlValue[]) => {
      sent.push([sql, values])
      return { rows: [], affectedRows: 0 }
    },
    now: async () => 0,
  }
}

test('an upsert says of each column with a merge what becomes of it', async () => {
  const insert = 'INSERT INTO hours (name, hour, views, last, first) VALUES '
  const rows = [
    ['a', 1, 2, 3, 4],
    ['a', 2, 2, 3, 4],
  ] as const
  const mysql = recorder('mysql')
  await HOURS.upsert(mysql, rows)
  assert.deepEqual(mysql.sent, [
    [
      `${insert}(?, ?, ?, ?, ?), (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE ` +
        'views = hours.views + VALUES(views), ' +
        'last = CASE WHEN hours.last < VALUES(last) THEN VALUES(last) ' +
        'WHEN hours.last >= VALUES(last) THEN hours.last END',
      rows.flat(),
    ],
  ])
  const sqlite = recorder('sqlite')
  await HOURS.upsert(sqlite, rows.slice(0, 1))
  assert.deepEqual(sqlite.sent, [
    [
      `${insert}(?, ?, ?, ?, ?) ON CONFLICT (name, hour) DO UPDATE SET ` +
        'views = hours.views + excluded.views, ' +
        'last = CASE WHEN hours.last < excluded.last THEN excluded.last ' +
        'WHEN hours.last >= excluded.last THEN hours.last END',
      rows[0],
    ],
  ])
})

test('an upsert without merges only locks rows that exist', async () => {
  const on = recorder('mysql')
  await table('counters', ['name'], 'shards').upsert(on, [['a', 3]])
  assert.match(on.sent[0]![0], / ON DUPLICATE KEY UPDATE name = counters\.name$/)
})

test('rows are cut into statements of 500', async () => {
  const on = recorder('sqlite')
  const rows = Array.from({ length: 501 }, (_, hour) => ['a', hour, 1, 1, 1] as const)
  await HOURS.insert(on, rows)
  assert.deepEqual(
    on.sent.map(([, values]) => (values as SqlValue[]).length / 5),
    [500, 1],
  )
  assert.match(on.sent[1]![0], /VALUES \(\?, \?, \?, \?, \?\)$/)
})

test('a row with a value too few does not compile', async () => {
  // @ts-expect-error: no value for `first`
  await assert.rejects(HOURS.insert(recorder('mysql'), [['a', 1, 2, 3]]))
})
