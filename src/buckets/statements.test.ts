import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf } from './statements.js'

test('a column that should have bytes and has none is named', () => {
  assert.deepEqual(bytesOf({ a: Buffer.from('x') }, 'a'), Buffer.from('x'))
  assert.throws(() => bytesOf({ a: 'x' }, 'a'), {
    name: 'TypeError',
    message: /the column a has no bytes/,
  })
})
