import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PostgresSession } from './session.js'

test('what fails says at which server, in a statement and in a transaction', async () => {
  const place = { name: 'postgres://h:5432/site', server: 'h:5432' }
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const session = new PostgresSession(
    { query: () => Promise.reject(reset) },
    place,
    () => undefined,
  )
  const lost = { category: 'unreachable', server: place.server, message: /postgres:\/\/h:5432\/s/ }
  await assert.rejects(session.query('SELECT 1'), lost)
  await assert.rejects(
    session.transaction(() => Promise.resolve()),
    lost,
  )
})
