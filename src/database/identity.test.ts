import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DatabaseErrorCategory, DatabaseError } from './database.js'
import { databaseId } from './identity.js'

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
