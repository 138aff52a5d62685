import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SqlRow, SqlValue } from './database.js'
import { bytes, execute, joined, listOf, numberOrNull, raw, select, selectOne, sql } from './sql.js'

/** A database that answers each statement with `rows`, and what it was asked. */
function answering(rows: readonly SqlRow[]) {
  const asked: (readonly [sql: string, values: readonly SqlValue[] | undefined])[] = []
  const query = async (text: string, values?: readonly SqlValue[]) => {
    asked.push([text, values])
    return { rows, affectedRows: 0 }
  }
  return { query, asked }
}

test('values, lists and parts of a statement stand where they belong', async () => {
  const on = answering([])
  const isOwn = joined([sql`owner = ${'anna'}`, sql`at > ${null}`], ' OR ')
  await execute(on)`
    UPDATE ${raw('t')} SET n = ${1}
    WHERE id IN (${[2, 3n]}) AND (${isOwn}) AND b = ${Buffer.from('b')}`
  assert.deepEqual(on.asked, [
    [
      'UPDATE t SET n = ? WHERE id IN (?, ?) AND (owner = ? OR at > ?) AND b = ?',
      [1, 2, 3n, 'anna', null, Buffer.from('b')],
    ],
  ])
  assert.throws(() => sql`id IN (${[]})`, { name: 'AssertionError' }, 'no database takes IN ()')
})

test('rows have a field for each column, expression or subquery', async () => {
  const on = answering([{ layer_seconds: '3', map_key: Buffer.from('k'), oldest: null, later: 4 }])
  const columns = {
    layerSeconds: Number,
    key: [bytes, 'q.map_key'],
    oldest: [numberOrNull, 'MIN(used_at)'],
    later: [Number, sql`(SELECT COUNT(*) FROM u WHERE id > ${7})`],
  } as const
  const [text, values] = [
    'SELECT layer_seconds, q.map_key, MIN(used_at) AS oldest, ' +
      '(SELECT COUNT(*) FROM u WHERE id > ?) AS later FROM t AS q WHERE n = ?',
    [7, 8],
  ]
  const found = { layerSeconds: 3, key: Buffer.from('k'), oldest: null, later: 4 }
  assert.deepEqual(await select(on, columns)`FROM t AS q WHERE n = ${8}`, [found])
  assert.deepEqual(await selectOne(on, columns)`FROM t AS q WHERE n = ${8}`, found)
  assert.deepEqual(on.asked, [
    [text, values],
    [text, values],
  ])
  assert.equal(await selectOne(answering([]), columns)`FROM t`, undefined)
  assert.deepEqual(listOf({ n: [Number, 'SUM(n)'] }), ['SUM(n) AS n', []])
  await assert.rejects(
    () => select(answering([{ id: 'text' }]), { id: bytes })`FROM t`,
    /a value of SQL that is not binary/,
  )
})
