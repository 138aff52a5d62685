import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { NumberInCache } from './number-in-cache.js'

test('what the cache has is a number only if it is a whole one up to 2^53-1', async () => {
  const cache = memory()
  const number = new NumberInCache(cache, 'test')
  const read: (number | undefined)[] = []
  for (const value of ['7', '9007199254740991', '9007199254740992', '18446744073709551615']) {
    await cache.set('key', Buffer.from(value), 60)
    read.push(await number.get({ number: 1, key: 'key', shards: 1 }))
  }
  assert.deepEqual(read, [7, 2 ** 53 - 1, undefined, undefined])
  for (const value of ['', 'x', '1.5', '1e400']) {
    await cache.set('key', Buffer.from(value), 60)
    assert.equal(await number.get({ number: 1, key: 'key', shards: 1 }), undefined, value)
  }
  await cache.close()
})
