import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DatabaseErrorCategory, DatabaseError } from './database.js'
import { identityOf } from './identity.js'

test('a database without the table has no identity; one that does not answer rejects', async () => {
  const failing = (category: DatabaseErrorCategory) => async () => {
    throw new DatabaseError('SOME_CODE', category, 'refused')
  }
  assert.equal(await identityOf(failing('usage')), undefined)
  assert.equal(await identityOf(async () => ({ rows: [], affectedRows: 0 })), undefined)
  await assert.rejects(identityOf(failing('unreachable')), { message: 'refused' })
  const mistake = () => Promise.reject(new TypeError('a mistake'))
  await assert.rejects(identityOf(mistake), { message: 'a mistake' })
})
