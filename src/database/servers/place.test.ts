import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../database.js'
import { located } from './place.js'

test('an error has its server, and the message of a lost one names it once', () => {
  const place = { name: 'mysql://a:3306/site', server: 'a:3306' }
  for (const [category, message, shown] of [
    ['unreachable', 'read ECONNRESET', 'mysql://a:3306/site: read ECONNRESET'],
    ['unreachable', 'mysql://a:3306/site is gone', 'mysql://a:3306/site is gone'],
    ['data', 'ER_DUP_ENTRY: …', 'ER_DUP_ENTRY: …'],
  ] as const) {
    const error = located(new DatabaseError('CODE', category, message, { unsent: true }), place)
    assert.deepEqual([error.message, error.server, error.unsent], [shown, 'a:3306', true])
  }
})
