import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Encoding, hashOf, HASHES, MAX_KEY_BYTES } from '../buckets/encoding.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { keptLog } from './kept-log.fixture.js'
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

class Point {
  readonly x = 3
}

/** What each door says of it; `undefined`: it takes it, and gives it back. */
const AT_EACH_DOOR: readonly (readonly [value: unknown, refused?: RegExp])[] = [
  [{ a: [{ b: null }], c: 'd', e: -1.5, f: false }],
  [new Point()],
  [Object.create(null)],
  [runInNewContext('({ a: [1, {}] })')],
  [{ at: new Date(0) }, /"at" in "\w+" is a Date, which JSON cannot represent/],
  [new Date(0), /"\w+" is a Date/],
  [{ m: new Map([[1, 2]]) }, /"m" in "\w+" is a Map/],
  [[new Set([1])], /"0" in "\w+" is a Set/],
  [{ b: Buffer.from('a') }, /"b" in "\w+" is a Buffer/],
  [{ b: new Uint8Array(2) }, /"b" in "\w+" is a Uint8Array/],
  [{ e: new Error('x') }, /"e" in "\w+" is a Error/],
  [{ u: new URL('http://x') }, /"u" in "\w+" is a URL/],
  [[undefined], /"0" in "\w+" is undefined/],
  [{ f: () => 1 }, /"f" in "\w+" is a function/],
  [{ s: Symbol('a') }, /"s" in "\w+" is Symbol\(a\)/],
  [{ n: 1n }, /"n" in "\w+" is 1n/],
  [{ n: NaN }, /"n" in "\w+" is NaN; allowed: finite numbers/],
  [{ n: 2 ** 53 }, /"n" in "\w+" is (?:9007199254740992|a longer one); allowed: whole numbers/],
  [cyclic(), /nested too deep, or within itself/],
]

function cyclic(): unknown {
  const one: { itself?: unknown } = {}
  one.itself = [one]
  return one
}

const database = sqlite(':memory:')
after(() => database.close())
let names = 0
const alone = () => ({
  name: `json${++names}`,
  cache: memory(),
  database,
  collect: false as const,
})

/** Each door gives back what came in. */
const DOORS: Readonly<Record<string, (value: unknown) => Promise<unknown>>> = {
  'a key of a map': async (value) => {
    const keys = new Encoding('key', exactJson('key'))
    return keys.decode(keys.encode(value))
  },
  'a value of a map, an entry of a queue': async (value) => {
    const values = new Encoding('value', exactJson('value'))
    return values.decode(values.encode(value))
  },
  'append()': async (value) => {
    const logger = keptLog()
    const taken: unknown[] = []
    const commit = async (rows: readonly unknown[]) => void taken.push(...rows)
    const wide = new WideCache({ ...alone(), commit, logger })
    wide.append(value)
    await wide.flush()
    await wide.drain({ all: true })
    const { dropped } = await wide.ledger()
    await wide.close()
    if (dropped > 0) throw new Error(logger.lines.join('\n'))
    return taken[0]
  },
  'read()': async (value) => {
    const wide = new WideCache({
      ...alone(),
      commit: async () => undefined,
      read: async () => value,
    })
    try {
      const first = await wide.read()
      assert.deepEqual(await wide.read(), first)
      return first
    } finally {
      await wide.close()
    }
  },
}

for (const [door, through] of Object.entries(DOORS)) {
  test(`${door}: comes back as it was, or is refused by name`, async () => {
    for (const [value, refused] of AT_EACH_DOOR) {
      if (refused) await assert.rejects(through(value), refused)
      else assert.equal(JSON.stringify(await through(value)), JSON.stringify(value))
    }
  })
}

test('a property that is undefined is left out, and refused in a key', () => {
  const target = Buffer.alloc(99)
  const end = codec.encode({ a: 1, u: undefined }, target, 0)
  assert.deepEqual(codec.decode(target.subarray(0, end)), { a: 1 })
  assert.throws(() => keyCodec.encode({ u: undefined }, target, 0), /"u" in "key" is undefined/)
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
