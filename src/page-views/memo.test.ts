import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Memo } from './memo.js'

test('a text is computed once, until there are more texts than the limit', () => {
  const computed: string[] = []
  const memo = new Memo(3, (text) => {
    computed.push(text)
    return text.toUpperCase()
  })
  const ask = (texts: string): string => [...texts].map((text) => memo.get(text)).join('')
  assert.equal(ask('abcabc'), 'ABCABC')
  assert.equal(computed.join(''), 'abc')
  ask('d')
  assert.equal(computed.join(''), 'abcd')
  ask('dabda')
  assert.equal(computed.join(''), 'abcdab', 'all are forgotten, and remembered anew')
})
