import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequire } from 'node:module'
import fc, { character } from '../../test/fast-check.js'
import { deleteRows, IDS_A_LIST, statementsOf } from './bulk.js'
import type { SqlValue } from './database.js'
import { MAX_VALUES_PER_STATEMENT } from './dialect.js'

const mysql2 = createRequire(import.meta.url)('mysql2') as typeof import('mysql2')
const SQL = { head: 'INSERT INTO t (a, b) VALUES ', columns: 2, tail: ' ON DUPLICATE KEY' }

const value = fc.oneof(
  fc.string({ unit: character, maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom('\\', `'`, '"', '\0', '\n', '漢', '\ud800', 'a'),
    maxLength: 60,
  }),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
  fc.constant(null),
)

test('all rows arrive once and in order, and only single rows may exceed the packet limit', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(value, value), { maxLength: 80 }),
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 1, max: 30 }),
      (rows, maxBytes, maxRows) => {
        const arrived: SqlValue[] = []
        for (const { sql, values } of statementsOf(rows, SQL, { maxBytes, maxRows })) {
          const count = values.length / 2
          assert.ok(count >= 1 && count <= maxRows)
          assert.equal(sql, SQL.head + Array(count).fill('(?, ?)').join(', ') + SQL.tail)
          const bytes = Buffer.byteLength(mysql2.format(sql, [...values]))
          assert.ok(
            count === 1 || bytes <= maxBytes,
            `${count} rows of ${bytes} bytes, allowed ${maxBytes}`,
          )
          arrived.push(...values)
        }
        assert.deepEqual(arrived, rows.flat())
      },
    ),
    { numRuns: 1_000 },
  )
})

test('statements are as long as the placeholders allow where nothing else limits them', () => {
  const rows = Array.from({ length: 40_000 }, (_, index) => [index, null])
  const counts = [...statementsOf(rows, SQL, { maxBytes: Infinity })].map(
    ({ values }) => values.length / 2,
  )
  assert.deepEqual(counts, [
    MAX_VALUES_PER_STATEMENT / 2,
    MAX_VALUES_PER_STATEMENT / 2,
    40_000 - MAX_VALUES_PER_STATEMENT,
  ])
})

test('a source may reuse one array, and is asked for a row only when it is wanted', () => {
  const row: SqlValue[] = [0, 'x']
  let asked = 0
  function* source() {
    for (; asked < 10; asked++) {
      row[0] = asked
      yield row
    }
  }
  const statements = statementsOf(source(), SQL, { maxBytes: Infinity, maxRows: 3 })
  assert.deepEqual(statements.next().value?.values, [0, 'x', 1, 'x', 2, 'x'])
  assert.equal(asked, 3, 'the fourth, which did not fit, waits')
  assert.deepEqual(
    [...statements].map(({ values }) => values.filter((value) => value !== 'x')),
    [[3, 4, 5], [6, 7, 8], [9]],
  )
})

test('no rows are no statement', () => {
  assert.deepEqual([...statementsOf([], SQL, { maxBytes: 100 })], [])
})

test('a row with a value too few or too many is a mistake of ours', () => {
  for (const row of [[1], [1, 2, 3]]) {
    assert.throws(() => [...statementsOf([row], SQL, { maxBytes: Infinity })], {
      code: 'ERR_ASSERTION',
    })
  }
})

test('rows are deleted as many at a time as a statement takes', async () => {
  const deleted: number[][] = []
  const on = {
    dialect: 'sqlite' as const,
    query: async (_: string, values?: readonly unknown[]) => {
      deleted.push(JSON.parse(String(values?.[0])) as number[])
      return { rows: [], affectedRows: 0 }
    },
  }
  const ids = Array.from({ length: 2 * IDS_A_LIST + 1 }, (_, i) => i)
  await deleteRows(on, 't', ids)
  assert.deepEqual(
    deleted.map(({ length }) => length),
    [500, 500, 1],
  )
  assert.deepEqual(deleted.flat(), ids)
  await deleteRows(on, 't', [])
  assert.equal(deleted.length, 3)
})
