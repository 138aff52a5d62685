/**
 * Tests that every adapter of the Cache port must pass: one suite for all of them, also for those
 * of other packages. It needs only `node:assert`.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import type { RegisterTest } from './runner.js'

/** Abilities and limits of a cache that the port leaves open. */
export interface CacheCapabilities {
  /**
   * Bytes of key and value past which the cache does not store an item; `undefined` if there is no
   * limit worth testing. @default undefined
   */
  readonly itemLimitBytes?: number | undefined
  /**
   * Lets so many seconds pass by the cache's clock. @default waits for as long
   */
  readonly passSeconds?: ((seconds: number) => unknown) | undefined
}

/** A cache to test. */
export interface CacheUnderTest {
  /** Registers a test: `test` of `node:test`, or of any other runner. */
  readonly test: RegisterTest
  /** The names of the tests begin with it. @default 'cache' */
  readonly name?: string | undefined
  /**
   * Opens the cache. It may hold anything, but must take keys that begin with `suite:`. The suite
   * closes it.
   */
  readonly create: () => Cache | Promise<Cache>
  /** Abilities and limits of the adapter. @default none beyond the port */
  readonly capabilities?: CacheCapabilities | undefined
}

const MAX = Number.MAX_SAFE_INTEGER
let keys = 0

/**
 * Registers the tests that every adapter of {@link Cache} passes.
 *
 * @example
 * import { test } from 'node:test'
 * testCache({ test, name: 'my cache', create: () => myCache() })
 */
export function testCache({
  test,
  name = 'cache',
  create,
  capabilities: { itemLimitBytes, passSeconds = (seconds: number) => delay(seconds * 1000) } = {},
}: CacheUnderTest): void {
  const start = `suite:${process.pid}:${Date.now()}`
  const newKey = () => `${start}:${keys++}`
  const check = (sentence: string, body: (cache: Cache, key: string) => Promise<void>) =>
    test(`${name}: ${sentence}`, async () => {
      const cache = await create()
      try {
        await body(cache, newKey())
      } finally {
        await cache.close()
      }
    })

  check('it says whether other processes share it', async ({ scope }) => {
    assert(scope === 'shared' || scope === 'private', `scope is ${scope}`)
  })

  check('it says whether it may go back to an earlier state', async ({ neverGoesBack }) => {
    assert(typeof neverGoesBack === 'boolean', `neverGoesBack is ${neverGoesBack}`)
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
        await assert.rejects(call, { name: 'RangeError', message: /key/ })
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
