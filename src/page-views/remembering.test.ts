import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remembering } from './remembering.js'

test('a text is looked at once, unless it is long: then at its beginning, each time', () => {
  const looked: string[] = []
  const look = remembering((text) => {
    looked.push(text)
    return text.length
  })
  const long = 'x'.repeat(600)
  assert.deepEqual(
    ['a', 'bc', 'a', long, long].map((text) => look(text)),
    [1, 2, 1, 512, 512],
  )
  assert.deepEqual(looked, ['a', 'bc', long.slice(0, 512), long.slice(0, 512)])
})
