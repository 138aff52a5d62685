/**
 * What every adapter of the Cache port must do: one suite for all of them, for those of other
 * packages too. What an adapter cannot do is a named flag, never a test of its own.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type Cache, MAX_TTL_SECONDS } from './cache.js'

export interface CacheSuite {
  /** Registers a test: `test` of node:test, or any other runner's. */
  test: (name: string, body: () => Promise<void>) => unknown
  /**
   * A cache to test. It may hold anything, but must take keys beginning with `suite:`. Closed by
   * the suite.
   */
  open: () => Cache | Promise<Cache>
  /** Lets so many seconds pass by the cache's clock. */
  passSeconds: (seconds: number) => Promise<unknown>
  /**
   * Bytes of key and value past which an item is not stored; `undefined` if there is no limit worth
   * testing.
   */
  itemLimitBytes: number | undefined
  /** Runs of the model-based test. @default 50 */
  runs?: number
}

const MAX = Number.MAX_SAFE_INTEGER
let keys = 0

/** Registers the suite's tests, their names beginning with `name`. */
export function cacheSuite(
  name: string,
  { test, open, passSeconds, itemLimitBytes, runs = 50 }: CacheSuite,
): void {
  const start = `suite:${process.pid}:${Date.now()}`
  const newKey = () => `${start}:${keys++}`
  const check = (sentence: string, body: (cache: Cache, key: string) => Promise<void>) =>
    test(`${name}: ${sentence}`, async () => {
      const cache = await open()
      try {
        await body(cache, newKey())
      } finally {
        await cache.close()
      }
    })

  check(
    'a missing key has no value, cannot be appended to, deleted or incremented',
    async (cache, key) => {
      assert.equal(await cache.get(key), undefined)
      assert.equal(await cache.append(key, bytes('x')), false)
      assert.equal(await cache.delete(key), false)
      assert.equal(await cache.increment(key), undefined)
      assert.equal(await cache.get(key), undefined, 'nothing of that stored anything')
    },
  )

  check('set stores bytes as they are and replaces what was there', async (cache, key) => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    assert.equal(await cache.set(key, all, 60), true)
    assert.deepEqual(await cache.get(key), all)
    assert.equal(await cache.set(key, Buffer.alloc(0), 60), true)
    assert.deepEqual(await cache.get(key), Buffer.alloc(0))
  })

  check('add stores only where nothing is', async (cache, key) => {
    assert.equal(await cache.add(key, bytes('first'), 60), true)
    assert.equal(await cache.add(key, bytes('second'), 60), false)
    assert.deepEqual(await cache.get(key), bytes('first'))
  })

  check(
    'append puts bytes behind what is there, and concurrent ones lose nothing',
    async (cache, key) => {
      await cache.set(key, bytes('start'), 60)
      const pieces = Array.from({ length: 200 }, (_, i) => `<${i}>`)
      const stored = await Promise.all(pieces.map((piece) => cache.append(key, bytes(piece))))
      assert.ok(stored.every(Boolean))
      const value = String(await cache.get(key))
      for (const piece of pieces) {
        assert.equal(value.split(piece).length, 2, `${piece} is there exactly once`)
      }
      assert.equal(value.length, 'start'.length + pieces.join('').length)
    },
  )

  check('delete removes, and tells that there was something', async (cache, key) => {
    await cache.set(key, bytes('x'), 60)
    assert.equal(await cache.delete(key), true)
    assert.equal(await cache.get(key), undefined)
    assert.equal(await cache.add(key, bytes('y'), 60), true)
  })

  check(
    'getMany returns those keys that exist, each once, however many are asked for',
    async (cache, key) => {
      const all = Array.from({ length: 300 }, (_, i) => `${key}:${i}`)
      await Promise.all(
        all.filter((_, i) => i % 3 === 0).map((one) => cache.set(one, bytes(one), 60)),
      )
      const found = await cache.getMany([...all, all[0] ?? ''])
      assert.equal(found.size, 100)
      for (const [one, value] of found) assert.deepEqual(value, bytes(one))
      assert.deepEqual(await cache.getMany([]), new Map())
    },
  )

  check(
    'a value ends with its TTL, which append and increment leave as it is',
    async (cache, key) => {
      await cache.set(`${key}:append`, bytes('1'), 2)
      await cache.set(`${key}:number`, bytes('1'), 2)
      await cache.increment(`${key}:initial`, 1, { initial: 5, ttlSeconds: 2 })
      await cache.add(`${key}:add`, bytes('1'), 2)
      await cache.set(`${key}:long`, bytes('1'), MAX_TTL_SECONDS)
      await cache.append(`${key}:append`, bytes('2'))
      await cache.increment(`${key}:number`)
      // memcached's clock ticks in whole seconds, of which one may be about to end.
      await passSeconds(3.1)
      for (const gone of ['append', 'number', 'initial', 'add']) {
        assert.equal(await cache.get(`${key}:${gone}`), undefined, gone)
      }
      assert.deepEqual(await cache.get(`${key}:long`), bytes('1'))
      assert.equal(await cache.append(`${key}:append`, bytes('3')), false)
      assert.equal(await cache.add(`${key}:append`, bytes('3'), 60), true)
    },
  )

  check(
    'increment counts, from a decimal number stored or from its initial one',
    async (cache, key) => {
      assert.equal(await cache.increment(key, 5, { initial: 7, ttlSeconds: 60 }), 7)
      assert.equal(await cache.increment(key, 5, { initial: 7, ttlSeconds: 60 }), 12)
      assert.equal(await cache.increment(key), 13)
      assert.equal(await cache.increment(key, 0), 13)
      assert.deepEqual(await cache.get(key), bytes('13'))
      await cache.set(key, bytes('99'), 60)
      assert.equal(await cache.increment(key), 100)
    },
  )

  check('increment is right up to 2^53-1, in value, delta and initial', async (cache, key) => {
    assert.equal(
      await cache.increment(key, 1, { initial: MAX - 2 ** 40, ttlSeconds: 60 }),
      MAX - 2 ** 40,
    )
    assert.equal(await cache.increment(key, 2 ** 40), MAX)
    assert.equal(await cache.increment(`${key}:0`, MAX, { initial: 0, ttlSeconds: 60 }), 0)
    assert.equal(await cache.increment(`${key}:0`, MAX), MAX)
    assert.deepEqual(await cache.get(`${key}:0`), bytes(String(MAX)))
  })

  check('increment past 2^53-1 rejects with a RangeError', async (cache, key) => {
    await cache.increment(key, 1, { initial: MAX, ttlSeconds: 60 })
    await assert.rejects(cache.increment(key), RangeError)
  })

  check('increment refuses what is no number', async (cache, key) => {
    await cache.set(key, bytes('no number'), 60)
    await assert.rejects(cache.increment(key), { name: 'CacheError', code: 'CACHE_REFUSED' })
    assert.deepEqual(await cache.get(key), bytes('no number'))
  })

  check('many who increment at once with an initial number are all counted', async (cache, key) => {
    const sums = await Promise.all(
      Array.from({ length: 500 }, () => cache.increment(key, 1, { initial: 1, ttlSeconds: 60 })),
    )
    assert.deepEqual(
      sums.map(Number).sort((a, b) => a - b),
      Array.from({ length: 500 }, (_, i) => i + 1),
    )
  })

  check('keys no cache could take are refused before they do harm', async (cache, key) => {
    const wrong = ['', ' ', 'a b', 'a\n', 'a\0', '\x7f', 'ä', 'k'.repeat(251)]
    for (const one of wrong) {
      for (const call of callsWith(cache, one)) {
        await assert.rejects(call, { name: 'RangeError', message: /option "key"/ })
      }
    }
    // @ts-expect-error a key that is no string
    await assert.rejects(cache.get(7), TypeError)
    const longest = key.padEnd(250, '~')
    assert.equal(await cache.set(longest, bytes('x'), 60), true)
    assert.deepEqual(await cache.get(longest), bytes('x'))
  })

  check(
    'TTLs, deltas and initial numbers out of range are refused, and so are values that are ' +
      'no Buffers',
    async (cache, key) => {
      for (const ttl of [0, -1, 1.5, NaN, MAX_TTL_SECONDS + 1]) {
        await assert.rejects(cache.set(key, bytes('x'), ttl), RangeError)
        await assert.rejects(cache.add(key, bytes('x'), ttl), RangeError)
        await assert.rejects(cache.increment(key, 1, { initial: 1, ttlSeconds: ttl }), RangeError)
      }
      for (const number of [-1, 0.5, NaN, MAX + 1, Infinity]) {
        await assert.rejects(cache.increment(key, number), RangeError)
        await assert.rejects(
          cache.increment(key, 1, { initial: number, ttlSeconds: 60 }),
          RangeError,
        )
      }
      // @ts-expect-error a value that is no Buffer
      await assert.rejects(cache.set(key, 'text', 60), TypeError)
      // @ts-expect-error a value that is no Buffer
      await assert.rejects(cache.append(key, 7), TypeError)
      assert.equal(await cache.get(key), undefined)
    },
  )

  check(
    'a value handed in or out may be changed without changing what is stored',
    async (cache, key) => {
      const value = bytes('abc')
      const setting = cache.set(key, value, 60)
      value.fill('!')
      await setting
      const read = await cache.get(key)
      assert.deepEqual(read, bytes('abc'))
      await cache.append(key, bytes('def'))
      assert.deepEqual(read, bytes('abc'), 'an append does not reach what was read before')
      read?.fill('?')
      assert.deepEqual(await cache.get(key), bytes('abcdef'))
    },
  )

  if (itemLimitBytes !== undefined) {
    check('what is over the item size limit is not stored', async (cache, key) => {
      const over = Buffer.alloc(itemLimitBytes + 1)
      assert.equal(await cache.add(key, over, 60), false)
      assert.equal(await cache.set(key, over, 60), false)
      assert.equal(await cache.get(key), undefined)
      const half = Buffer.alloc(Math.ceil(itemLimitBytes / 2), 'h')
      assert.equal(await cache.set(key, half, 60), true)
      assert.equal(await cache.append(key, half), false)
      assert.deepEqual(
        await cache.get(key),
        half,
        'an append over the limit leaves the value as it was',
      )
    })
  }

  check(
    'after close, which is idempotent, everything rejects with CACHE_CLOSED',
    async (cache, key) => {
      await cache.set(key, bytes('x'), 60)
      await Promise.all([cache.close(), cache.close()])
      for (const call of callsWith(cache, key)) {
        await assert.rejects(call, { name: 'CacheError', code: 'CACHE_CLOSED' })
      }
      await assert.rejects(
        cache.getMany([key], () => undefined),
        { code: 'CACHE_CLOSED' },
      )
    },
  )

  check('any sequence of operations does what it does to a plain Map', async (cache, key) => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 40 }), async (operations) => {
        const real = `${key}:${run++}:`
        const model = new Map<string, string>()
        for (const step of operations) {
          assert.deepEqual(
            await inCache(cache, real, step),
            inModel(model, step),
            JSON.stringify(step),
          )
        }
        const left = await cache.getMany(NAMES.map((one) => real + one))
        assert.deepEqual(
          new Map(
            [...left].map(([one, value]) => [one.slice(real.length), value.toString('latin1')]),
          ),
          model,
        )
      }),
      { numRuns: runs },
    )
  })
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Each operation called once on `key`. */
function* callsWith(cache: Cache, key: string): Generator<Promise<unknown>> {
  yield cache.get(key)
  yield cache.getMany([key])
  yield cache.set(key, bytes('x'), 60)
  yield cache.add(key, bytes('x'), 60)
  yield cache.append(key, bytes('x'))
  yield cache.delete(key)
  yield cache.increment(key)
}

const NAMES = ['a', 'b', 'c']
type Operation =
  | { do: 'get' | 'delete'; name: string }
  | { do: 'set' | 'add' | 'append'; name: string; value: string }
  | { do: 'increment'; name: string; delta: number; initial: number | undefined }

const nameOf = fc.constantFrom(...NAMES)
/**
 * Often a number, so that increments find some. What is neither a plain number nor plainly none
 * (` 7`, `+7`, `007`) stays out: the port says nothing about it, and memcached takes some of it.
 */
const numberOf = fc.integer({ min: 1 })
const valueOf = fc.oneof(fc.stringMatching(/^[a-z]{0,20}$/), numberOf.map(String))
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constantFrom('get', 'delete'), name: nameOf }),
  fc.record({ do: fc.constantFrom('set', 'add', 'append'), name: nameOf, value: valueOf }),
  fc.record({
    do: fc.constant('increment' as const),
    name: nameOf,
    delta: fc.nat(),
    initial: fc.option(numberOf, { nil: undefined }),
  }),
)

async function inCache(cache: Cache, prefix: string, step: Operation): Promise<unknown> {
  const key = prefix + step.name
  switch (step.do) {
    case 'get':
      return (await cache.get(key))?.toString('latin1')
    case 'delete':
      return cache.delete(key)
    case 'append':
      return cache.append(key, bytes(step.value))
    case 'set':
    case 'add':
      return cache[step.do](key, bytes(step.value), 60)
    case 'increment': {
      const onMiss =
        step.initial === undefined ? undefined : { initial: step.initial, ttlSeconds: 60 }
      return cache
        .increment(key, step.delta, onMiss)
        .catch((error: unknown) => (error instanceof RangeError ? 'over' : 'refused'))
    }
  }
}

function inModel(model: Map<string, string>, step: Operation): unknown {
  const stored = model.get(step.name)
  switch (step.do) {
    case 'get':
      return stored
    case 'delete':
      return model.delete(step.name)
    case 'set':
      model.set(step.name, step.value)
      return true
    case 'add':
      if (stored === undefined) model.set(step.name, step.value)
      return stored === undefined
    case 'append':
      if (stored !== undefined) model.set(step.name, stored + step.value)
      return stored !== undefined
    case 'increment': {
      if (stored === undefined && step.initial === undefined) return undefined
      if (stored !== undefined && (!/^\d{1,20}$/.test(stored) || BigInt(stored) >= 2n ** 64n)) {
        return 'refused'
      }
      const sum =
        stored === undefined
          ? BigInt(step.initial ?? 0)
          : BigInt.asUintN(64, BigInt(stored) + BigInt(step.delta))
      model.set(step.name, String(sum))
      return sum > BigInt(MAX) ? 'over' : Number(sum)
    }
  }
}
