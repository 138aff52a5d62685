/** Tests of `increment`. */
import assert from 'node:assert/strict'
import { bytes, type CacheTest, twoUsers } from './on-cache.js'

const MAX = Number.MAX_SAFE_INTEGER

export function testCacheNumbers(it: CacheTest): void {
  it('increment counts, from a stored number or from its initial one', async (cache, key) => {
    assert.equal(await cache.increment(key, 5, { initial: 7, ttlSeconds: 60 }), 7)
    assert.equal(await cache.increment(key, 5, { initial: 7, ttlSeconds: 60 }), 12)
    assert.equal(await cache.increment(key), 13)
    assert.equal(await cache.increment(key, 0), 13)
    assert.deepEqual(await cache.get(key), bytes('13'))
    await cache.set(key, bytes('99'), 60)
    assert.equal(await cache.increment(key), 100)
  })

  it('increment is right up to 2^53-1, in value, delta and initial', async (cache, key) => {
    assert.equal(
      await cache.increment(key, 1, { initial: MAX - 2 ** 40, ttlSeconds: 60 }),
      MAX - 2 ** 40,
    )
    assert.equal(await cache.increment(key, 2 ** 40), MAX)
    assert.equal(await cache.increment(`${key}:0`, MAX, { initial: 0, ttlSeconds: 60 }), 0)
    assert.equal(await cache.increment(`${key}:0`, MAX), MAX)
    assert.deepEqual(await cache.get(`${key}:0`), bytes(String(MAX)))
  })

  it('increment past 2^53-1 rejects with a RangeError', async (cache, key) => {
    await cache.increment(key, 1, { initial: MAX, ttlSeconds: 60 })
    await assert.rejects(cache.increment(key), RangeError)
  })

  it('increment refuses what is no number', async (cache, key) => {
    await cache.set(key, bytes('no number'), 60)
    await assert.rejects(cache.increment(key), { name: 'CacheError', code: 'CACHE_REFUSED' })
    assert.deepEqual(await cache.get(key), bytes('no number'))
  })

  it('many who increment at once are all counted', async (cache, key, open) => {
    const users = await twoUsers(cache, open)
    const sums = await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        users[i % 2]!.increment(key, 1, { initial: 1, ttlSeconds: 60 }),
      ),
    )
    assert.deepEqual(
      sums.map(Number).sort((a, b) => a - b),
      Array.from({ length: 500 }, (_, i) => i + 1),
    )
  })
}
