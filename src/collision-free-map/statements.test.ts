import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf, deleteRows, portions, ROWS_A_STATEMENT } from './statements.js'

const row = (bytes: number, keyBytes = 0) => ({ key: Buffer.alloc(keyBytes), value: Buffer.alloc(bytes) })
const sizes = (rows: readonly { key: Buffer; value?: Buffer }[]): number[] => [...portions(rows)].map((portion) => portion.length)

test('a portion has 500 rows at most, and some half a megabyte', () => {
  assert.deepEqual(sizes([]), [])
  assert.deepEqual(sizes([row(1)]), [1])
  assert.deepEqual(sizes(Array.from({ length: 1_001 }, () => row(1))), [500, 500, 1])
  // With what each row has besides, 4 of 128 KiB are more than 512 KiB, and 4 of 127 KiB are not.
  assert.deepEqual(sizes(Array.from({ length: 8 }, () => row(128 * 1024))), [3, 3, 2])
  assert.deepEqual(sizes(Array.from({ length: 8 }, () => row(127 * 1024))), [4, 4])
  assert.deepEqual(sizes(Array.from({ length: 8 }, () => row(0, 128 * 1024))), [3, 3, 2])
  assert.deepEqual(sizes(Array.from({ length: 8 }, () => ({ key: Buffer.alloc(128 * 1024) }))), [3, 3, 2])
  // 100 bytes are counted for a row beside its key and value.
  assert.deepEqual(sizes([row(256 * 1024 - 100), row(256 * 1024 - 100)]), [2])
  assert.deepEqual(sizes([row(256 * 1024 - 100), row(256 * 1024 - 99)]), [1, 1])
})

test('a row too large for a portion has one of its own', () => {
  assert.deepEqual(sizes([row(600 * 1024), row(1), row(600 * 1024)]), [1, 1, 1])
})

test('a portion after a full one begins to count anew', () => {
  assert.deepEqual(sizes(Array.from({ length: 20 }, () => row(200 * 1024))), Array<number>(10).fill(2))
})

test('rows are deleted as many at a time as a statement takes', async () => {
  const deleted: number[][] = []
  const on = { dialect: 'sqlite' as const, query: async (_: string, values?: readonly unknown[]) => {
    deleted.push(JSON.parse(String(values?.[0])) as number[])
    return { rows: [], affectedRows: 0 }
  } }
  const ids = Array.from({ length: 2 * ROWS_A_STATEMENT + 1 }, (_, i) => i)
  await deleteRows(on, 't', ids)
  assert.deepEqual(deleted.map(({ length }) => length), [500, 500, 1])
  assert.deepEqual(deleted.flat(), ids)
  await deleteRows(on, 't', [])
  assert.equal(deleted.length, 3)
})

test('a column that should have bytes and has none is named', () => {
  assert.deepEqual(bytesOf({ a: Buffer.from('x') }, 'a'), Buffer.from('x'))
  assert.throws(() => bytesOf({ a: 'x' }, 'a'), { name: 'TypeError', message: /the column a has no bytes/ })
})
