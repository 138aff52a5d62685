import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printable, printableJson } from './printable.js'

test('what a terminal would obey is shown as its code, and all other text as it is', () => {
  assert.equal(printable('a\u001b[2Jb\r\n\u0000\u009b'), 'a\\u{1b}[2Jb\\u{d}\\u{a}\\u{0}\\u{9b}')
  assert.equal(printable('\u202eabc\u200b\u2028\ud800'), '\\u{202e}abc\\u{200b}\\u{2028}\\u{d800}')
  const text = 'Grüße, 你好 😀 "x" \\n'
  assert.equal(printable(text), text)
})

test('JSON that is safe to print reads back as it was', () => {
  const value = { a: '\u001b[2J\u009b\u202e\u{e0001}\ud800', b: ['Grüße 😀', 1, null] }
  const text = printableJson(value)
  assert.deepEqual(JSON.parse(text), value)
  assert.equal(text, printable(text))
  assert(text.includes('\\u009b\\u202e\\udb40\\udc01\\ud800'))
})
