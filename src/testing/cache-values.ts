/** Tests of values: those that go into a cache come out again, until their time is over. */
import assert from 'node:assert/strict'
import { MAX_TTL_SECONDS } from '../cache/cache.js'
import { bytes, type CacheTest } from './on-cache.js'

export function testCacheValues(
  it: CacheTest,
  {
    itemLimitBytes,
    passSeconds,
  }: {
    itemLimitBytes: number | undefined
    passSeconds: (seconds: number) => unknown
  },
): void {
  it('a missing key has no value, cannot be appended to, deleted or incremented', async (cache, key) => {
    assert.equal(await cache.get(key), undefined)
    assert.equal(await cache.append(key, bytes('x')), false)
    assert.equal(await cache.delete(key), false)
    assert.equal(await cache.increment(key), undefined)
    assert.equal(await cache.get(key), undefined, 'nothing of that stored anything')
  })

  it('set stores bytes as they are and replaces what was there', async (cache, key) => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    assert.equal(await cache.set(key, all, 60), true)
    assert.deepEqual(await cache.get(key), all)
    assert.equal(await cache.set(key, Buffer.alloc(0), 60), true)
    assert.deepEqual(await cache.get(key), Buffer.alloc(0))
  })

  it('add stores only where nothing is', async (cache, key) => {
    assert.equal(await cache.add(key, bytes('first'), 60), true)
    assert.equal(await cache.add(key, bytes('second'), 60), false)
    assert.deepEqual(await cache.get(key), bytes('first'))
  })

  it('append puts bytes behind what is there, and concurrent ones lose nothing', async (cache, key) => {
    await cache.set(key, bytes('start'), 60)
    const pieces = Array.from({ length: 200 }, (_, i) => `<${i}>`)
    const stored = await Promise.all(pieces.map((piece) => cache.append(key, bytes(piece))))
    assert.ok(stored.every(Boolean))
    const value = String(await cache.get(key))
    for (const piece of pieces) {
      assert.equal(value.split(piece).length, 2, `${piece} is there exactly once`)
    }
    assert.equal(value.length, 'start'.length + pieces.join('').length)
  })

  it('delete removes, and tells that there was something', async (cache, key) => {
    await cache.set(key, bytes('x'), 60)
    assert.equal(await cache.delete(key), true)
    assert.equal(await cache.get(key), undefined)
    assert.equal(await cache.add(key, bytes('y'), 60), true)
  })

  it('getMany returns those keys that exist, each once, however many are asked for', async (cache, key) => {
    const all = Array.from({ length: 300 }, (_, i) => `${key}:${i}`)
    await Promise.all(
      all.filter((_, i) => i % 3 === 0).map((one) => cache.set(one, bytes(one), 60)),
    )
    const found = await cache.getMany([...all, all[0] ?? ''])
    assert.equal(found.size, 100)
    for (const [one, value] of found) assert.deepEqual(value, bytes(one))
    assert.deepEqual(await cache.getMany([]), new Map())
  })

  it('a value handed in or out may be changed without changing what is stored', async (cache, key) => {
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
  })

  it('a value ends with its TTL, which append and increment leave as it is', async (cache, key) => {
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
  })

  if (itemLimitBytes !== undefined) {
    it('what is over the item size limit is not stored', async (cache, key) => {
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
}
