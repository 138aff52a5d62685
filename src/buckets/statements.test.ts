import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf, deleteRows, IDS_A_STATEMENT } from './statements.js'

test('rows are deleted as many at a time as a statement takes', async () => {
  const deleted: number[][] = []
  const on = {
    dialect: 'sqlite' as const,
    query: async (_: string, values?: readonly unknown[]) => {
      deleted.push(JSON.parse(String(values?.[0])) as number[])
      return { rows: [], affectedRows: 0 }
    },
  }
  const ids = Array.from({ length: 2 * IDS_A_STATEMENT + 1 }, (_, i) => i)
  await deleteRows(on, 't', ids)
  assert.deepEqual(
    deleted.map(({ length }) => length),
    [500, 500, 1],
  )
  assert.deepEqual(deleted.flat(), ids)
  await deleteRows(on, 't', [])
  assert.equal(deleted.length, 3)
})

test('a column that should have bytes and has none is named', () => {
  assert.deepEqual(bytesOf({ a: Buffer.from('x') }, 'a'), Buffer.from('x'))
  assert.throws(() => bytesOf({ a: 'x' }, 'a'), {
    name: 'TypeError',
    message: /the column a has no bytes/,
  })
})
