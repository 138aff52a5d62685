/** Names of values for reading: none looks like the page's own words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { character } from '../../test/fast-check.js'
import { size } from './assets/grid.js'
import { fullName, label, ownWords } from './assets/label.js'

const DIMENSIONS = [
  'page',
  'referrer',
  'source',
  'section',
  'bot',
  'campaign',
  'country',
  'browser',
  'language',
  'device',
]

test('what has no value is in words of the page, but an item of hits', () => {
  const words = (dimension: string, value: string | null) => ownWords(dimension, value)?.[0]
  assert.deepEqual(
    DIMENSIONS.map((one) => words(one, null)),
    [
      'No value',
      'Direct',
      'Direct',
      'In no section',
      'No name',
      'No campaign',
      'Unknown country',
      'Unknown',
      'Unknown',
      'No value',
    ],
  )
  for (const dimension of DIMENSIONS) {
    assert.equal(words(dimension, '(other)'), 'All others')
    assert.equal(words(dimension, '/a'), undefined)
    const isReferrer = dimension === 'referrer'
    assert.equal(words(dimension, '(internal)'), isReferrer ? 'Inside the site' : undefined)
  }
  for (const item of [null, '(other)', '(internal)']) assert.equal(ownWords('', item), undefined)
})

test('no value reads as the words of the page do, whatever strangers send', () => {
  const own = new Set(
    DIMENSIONS.flatMap((one) =>
      [null, '(other)', '(internal)'].map((of) => ownWords(one, of)?.[0]),
    ),
  )
  assert(own.size > 8)
  for (const words of own) {
    if (words === undefined) continue
    for (const text of [words, words.toLowerCase(), words.toUpperCase()]) {
      for (const dimension of ['campaign', 'device', 'browser', 'referrer']) {
        assert.equal(label(dimension, text), `“${text}”`)
      }
    }
  }
  const anything = fc.oneof(
    fc.string({ unit: character }),
    fc.constantFrom('(none)', ' a', '-', ''),
  )
  fc.assert(
    fc.property(fc.constantFrom(...DIMENSIONS), anything, (dimension, value) => {
      const text = label(dimension, value)
      assert(/^[\p{L}\p{N}/“]/u.test(text), text)
      assert.doesNotMatch(text, /(?! )[\p{C}\p{Z}]/u, 'all of it can be seen')
      assert(!own.has(text))
    }),
  )
})

test('a page is decoded where it can be, and its tip has it as it was sent, too', () => {
  assert.equal(label('page', '/%E6%97%A5'), '/日')
  assert.equal(label('campaign', '%E6%97%A5'), '“%E6%97%A5”')
  assert.equal(label('page', '/%'), '/%')
  assert.equal(label('referrer', 'www.www.example'), 'www.example')
  assert.equal(label('page', 'www.example'), 'www.example')
  assert.equal(fullName('page', '/%E6%97%A5'), '/日\n/%E6%97%A5')
  assert.equal(fullName('page', '/a'), '/a')
  assert.equal(fullName('referrer', 'www.example'), 'example')
  assert.notEqual(label('country', 'DE'), 'DE')
  assert.notEqual(label('language', 'de'), 'de')
  assert.equal(label('device', 'DE'), 'DE')
})

test('amounts of bytes are in the unit in which they are short', () => {
  const digits = (text: string): string => text.replace(/[.,\u066b]/, '.')
  for (const [bytes, text] of [
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_000, '1 kB'],
    [1_250, '1.3 kB'],
    [1_000_000, '1 MB'],
    [12_340_000, '12.3 MB'],
  ] as const) {
    assert.equal(digits(size(bytes)), text)
  }
})
