/** Tests of what a cache refuses: wrong arguments, and calls after its end. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'
import { bytes, type CacheTest, callsWith } from './on-cache.js'

const MAX = Number.MAX_SAFE_INTEGER
/** Every character of keys. */
const CHARACTERS = Array.from({ length: 0x7e - 0x20 }, (_, i) => String.fromCharCode(0x21 + i))
/** Time for calls that a `close()` has met; long, because nothing but a fault ever takes it. */
const SETTLE_MS = 5_000

export function testCacheRefusals(it: CacheTest): void {
  it('keys no cache could take are refused before they do harm', async (cache, key) => {
    const wrong = ['', ' ', 'a b', 'a\n', 'a\0', '\x7f', 'ä', 'k'.repeat(251)]
    for (const one of wrong) {
      for (const call of callsWith(cache, one)) {
        await assert.rejects(call, RangeError)
      }
    }
    await assert.rejects(cache.getMany([key, 'a b']), RangeError)
    // @ts-expect-error a key that is no string
    await assert.rejects(cache.get(7), TypeError)
  })

  it('keys that differ in one character are different keys', async (cache, key) => {
    const start = `${key}:`
    const others = ['%41', '%2F', 'a/../b', 'a/b', 'a//b', 'a.', 'a:', '&amp;'].map(
      (one) => start + one,
    )
    const longest = CHARACTERS.map((character) => start.padEnd(249, '~') + character)
    const all = [...CHARACTERS.map((character) => start + character), ...others, ...longest]
    for (const one of all) assert.equal(await cache.set(one, bytes(one), 60), true)
    assert.deepEqual(await cache.getMany(all), new Map(all.map((one) => [one, bytes(one)])))
    for (const one of all) assert.deepEqual(await cache.get(one), bytes(one))
  })

  it('TTLs, numbers and values of a wrong type or range are refused', async (cache, key) => {
    for (const ttl of [0, -1, 1.5, NaN, MAX_TTL_SECONDS + 1]) {
      await assert.rejects(cache.set(key, bytes('x'), ttl), RangeError)
      await assert.rejects(cache.add(key, bytes('x'), ttl), RangeError)
      await assert.rejects(cache.increment(key, 1, { initial: 1, ttlSeconds: ttl }), RangeError)
    }
    for (const number of [-1, 0.5, NaN, MAX + 1, Infinity]) {
      await assert.rejects(cache.increment(key, number), RangeError)
      await assert.rejects(cache.increment(key, 1, { initial: number, ttlSeconds: 60 }), RangeError)
    }
    // @ts-expect-error a value that is no Buffer
    await assert.rejects(cache.set(key, 'text', 60), TypeError)
    // @ts-expect-error a value that is no Buffer
    await assert.rejects(cache.append(key, 7), TypeError)
    assert.equal(await cache.get(key), undefined)
  })

  it('after close, which is idempotent, everything rejects', async (cache, key) => {
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

  it('close leaves no call without an answer', async (cache, key) => {
    const calls = [...callsWith(cache, key)]
    const settled = Promise.allSettled(calls)
    await cache.close()
    const timer = new AbortController()
    const results = await Promise.race([
      settled,
      delay(SETTLE_MS, undefined, { signal: timer.signal }),
    ])
    timer.abort()
    assert.ok(results, `calls under way have no answer ${SETTLE_MS / 1000} s after close`)
    for (const result of results) {
      if (result.status === 'fulfilled') continue
      assert.ok(result.reason instanceof CacheError, String(result.reason))
      assert.equal(result.reason.code, 'CACHE_CLOSED')
    }
  })
}
