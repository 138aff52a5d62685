import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Encoding, hashOf, HASHES, MAX_KEY_BYTES } from './encoding.js'
import { exactJson } from './exact-json.js'

const codec = exactJson<unknown>('value')
const keyCodec = exactJson<unknown>('key')

test('what JSON can hold comes back as it was, from any place of a buffer', () => {
  for (const value of [
    '',
    'ü"',
    0,
    -1.5,
    1e-300,
    2 ** 53 - 1,
    -(2 ** 53 - 1),
    true,
    null,
    [1, [2]],
    { a: { b: 'c' } },
  ]) {
    const target = Buffer.alloc(50, 'x')
    const end = codec.encode(value, target, 3)
    assert.deepEqual(codec.decode(target.subarray(3, end)), value)
    assert.equal(
      target.toString('latin1', 0, 3) + target.toString('latin1', end),
      'x'.repeat(53 - end),
    )
  }
})

test('what just fits is encoded, and a byte more is not', () => {
  const target = Buffer.alloc(7)
  assert.equal(codec.encode('12345', target, 0), 7)
  assert.equal(codec.encode('123456', target, 0), -1)
  assert.equal(codec.encode('1234', target, 1), 7)
  assert.equal(codec.encode('12345', target, 1), -1)
  assert.equal(codec.encode('üü1', target, 0), 7)
  assert.equal(codec.encode('üüü', target, 0), -1)
})

test('numbers that JSON would change are refused, wherever they are', () => {
  const target = Buffer.alloc(100)
  for (const number of [NaN, Infinity, -Infinity]) {
    for (const value of [number, [number], { a: { b: number } }]) {
      assert.throws(() => codec.encode(value, target, 0), {
        name: 'RangeError',
        message: /allowed: finite numbers/,
      })
    }
  }
  for (const number of [2 ** 53, -(2 ** 53), 1e300]) {
    assert.throws(() => codec.encode([number], target, 0), {
      name: 'RangeError',
      message: /allowed: whole numbers from -\(2\^53 - 1\) to 2\^53 - 1/,
    })
  }
})

test('what JSON cannot hold is refused', () => {
  for (const [value, shown] of [
    [undefined, 'undefined'],
    [() => 1, 'a function'],
    [Symbol('a'), 'Symbol(a)'],
    [2n, '2n'],
  ] as const) {
    const message = (option: string): string =>
      `wide-cache: option ${option} is ${shown}; allowed: what JSON can hold, or a codec of ` +
      'your own'
    const code = 'ERR_WIDE_CACHE_OPTION'
    assert.throws(() => codec.encode(value, Buffer.alloc(9), 0), {
      message: message('"value"'),
      code,
    })
    assert.throws(() => keyCodec.encode([value], Buffer.alloc(9), 0), {
      message: message('"0" in "key"'),
    })
  }
})

test('keys of which JSON leaves something out are refused, and values are not', () => {
  for (const value of [
    { u: undefined },
    { a: [{ f: () => 1 }] },
    [undefined],
    { s: Symbol('a') },
  ]) {
    assert.throws(() => keyCodec.encode(value, Buffer.alloc(99), 0), {
      name: 'TypeError',
      message: /option "\w" in "key" is (undefined|a function|Symbol\(a\)); allowed: what JSON/,
    })
    assert.notEqual(codec.encode(value, Buffer.alloc(99), 0), -1)
  }
  assert.notEqual(keyCodec.encode({ a: { b: [null, 'c'] } }, Buffer.alloc(99), 0), -1)
})

test('encoded keys and values are copies of a bounded length', () => {
  const keys = new Encoding('key', exactJson<string>('key'))
  const [one, other] = [keys.encode('a'), keys.encode('b')]
  assert.deepEqual([String(one), String(other), keys.decode(one)], ['"a"', '"b"', 'a'])
  assert.equal(keys.encode('x'.repeat(MAX_KEY_BYTES - 2)).length, MAX_KEY_BYTES)
  assert.throws(() => keys.encode('x'.repeat(MAX_KEY_BYTES - 1)), {
    name: 'RangeError',
    message: /a key of more than 700 bytes/,
  })
})

test('the hash of a key is the first four bytes of its SHA-256, on every machine', () => {
  // printf abc | sha256sum
  assert.equal(hashOf(Buffer.from('abc')), 0xba7816bf)
  assert(hashOf(Buffer.from('abc')) < HASHES)
})
