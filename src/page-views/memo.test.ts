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

for (const none of [false, 0, '', null]) {
  test(`a text of which ${JSON.stringify(none)} is computed is computed once, too`, () => {
    let computed = 0
    const memo = new Memo(3, () => {
      computed++
      return none
    })
    assert.deepEqual([memo.get('a'), memo.get('a'), computed], [none, none, 1])
  })
}
