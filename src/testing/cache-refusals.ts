/** Tests of what a cache refuses: wrong arguments, and calls after its end. */
import assert from 'node:assert/strict'
import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import { bytes, type CacheTest } from './on-cache.js'

const MAX = Number.MAX_SAFE_INTEGER

export function testCacheRefusals(it: CacheTest): void {
  it('keys no cache could take are refused before they do harm', async (cache, key) => {
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

  it(
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

  it('after close, which is idempotent, everything rejects with CACHE_CLOSED', async (cache, key) => {
    await cache.set(key, bytes('x'), 60)
    await Promise.all([cache.close(), cache.close()])
    for (const call of callsWith(cache, key)) {
      await assert.rejects(call, { name: 'CacheError', code: 'CACHE_CLOSED' })
    }
    await assert.rejects(
      cache.getMany([key], () => undefined),
      { code: 'CACHE_CLOSED' },
    )
  })
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
