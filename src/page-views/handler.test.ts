import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRequest } from './handler.js'

test('a request is told from other arguments by its headers, whatever they are', () => {
  const throwing = {
    get headers() {
      throw new Error('none')
    },
  }
  for (const other of [
    undefined,
    null,
    7,
    'text',
    {},
    { headers: null },
    { headers: 'text' },
    throwing,
  ]) {
    assert.equal(isRequest(other), false)
  }
  assert.equal(isRequest({ headers: {} }), true)
})
