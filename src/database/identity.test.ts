import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DatabaseErrorCategory, DatabaseError } from './database.js'
import { databaseId, enterMark, namespaceOf, ownMarks, removeOldMarks } from './identity.js'
import { sqlite } from './sqlite/sqlite.js'

test('a database without the table has no identity; one that does not answer rejects', async () => {
  const failing = (category: DatabaseErrorCategory) => async () => {
    throw new DatabaseError('SOME_CODE', category, 'refused')
  }
  assert.equal(await databaseId(failing('usage')), undefined)
  assert.equal(await databaseId(async () => ({ rows: [], affectedRows: 0 })), undefined)
  await assert.rejects(databaseId(failing('unreachable')), { message: 'refused' })
  const mistake = () => Promise.reject(new TypeError('a mistake'))
  await assert.rejects(databaseId(mistake), { message: 'a mistake' })
})

test('a database tells its own marks from others, and the number of the newest one', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['identity'])
  const mark = (n: number): string => Buffer.alloc(16, n).toString('hex')
  for (const n of [1, 2, 3]) await enterMark(database, Buffer.alloc(16, n))
  const namespace = await namespaceOf(database)
  const none = { namespace, own: new Set(), newest: 0 }
  assert.deepEqual(await ownMarks(database, []), none)
  assert.deepEqual(await ownMarks(database, [mark(9)]), none)
  const own = new Set([mark(1), mark(2)])
  const asked = [mark(2), mark(9), mark(1)]
  assert.deepEqual(await ownMarks(database, asked), { namespace, own, newest: 2 })
  // 50,000 are kept below a new one.
  await removeOldMarks(database, 50_002)
  const left = { namespace, own: new Set([mark(2), mark(3)]), newest: 3 }
  assert.deepEqual(await ownMarks(database, [1, 2, 3].map(mark)), left)
  await database.close()
})
