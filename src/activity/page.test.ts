import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { character } from '../../test/fast-check.js'
import { MAX_PAGE_BYTES, pageOf } from './page.js'

test('what cannot be stored becomes U+FFFD, and all else stays', () => {
  assert.equal(pageOf('/a\0b\r\nc\x7fd\x85e'), '/a\ufffdb\ufffd\ufffdc\ufffdd\ufffde')
  assert.equal(pageOf('/\ud83d'), '/\ufffd')
  assert.equal(pageOf('/\ude00\ud83d'), '/\ufffd\ufffd')
  assert.equal(pageOf('/grüße/日本/😀'), '/grüße/日本/😀')
})

test('a long page is cut at 1,024 bytes between two characters', () => {
  assert.equal(pageOf('x'.repeat(16_384)), 'x'.repeat(1024))
  for (const [character, bytes] of [
    ['é', 2],
    ['日', 3],
    ['😀', 4],
    ['\0', 3],
    ['\ud83d', 3],
  ] as const) {
    for (let offset = 0; offset < 4; offset++) {
      const page = pageOf('x'.repeat(offset) + character.repeat(2000))
      const whole = Math.floor((MAX_PAGE_BYTES - offset) / bytes)
      assert.equal(Buffer.byteLength(page), offset + whole * bytes)
    }
  }
})

test('any text becomes valid text of at most 1,024 bytes; doing so again changes nothing', () => {
  const text = fc.oneof(
    fc.string({ unit: character, maxLength: 3000 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 3000 })
      .map((units) => String.fromCharCode(...units)),
  )
  fc.assert(
    fc.property(text, (given) => {
      const page = pageOf(given)
      assert(Buffer.byteLength(page) <= MAX_PAGE_BYTES)
      assert.equal(Buffer.from(page).toString(), page)
      assert.doesNotMatch(page, /[\p{Cc}\p{Cs}]/u)
      assert.equal(pageOf(page), page)
      const characters = [...given]
      assert(
        [...page].every((character, at) => character === '\ufffd' || character === characters[at]),
      )
    }),
  )
})
