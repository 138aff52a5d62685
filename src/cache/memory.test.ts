import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testCache } from '../testing/cache.js'
import { memory } from './memory.js'
import { testCacheModel } from './model.suite.js'

const MIB = 1024 * 1024
let elapsed = 0
const now = () => elapsed

testCache({
  test,
  name: 'memory',
  create: () => memory({ now }),
  capabilities: {
    itemLimitBytes: MIB,
    passSeconds: (seconds) => (elapsed += seconds * 1000),
  },
})
testCacheModel(test, 'memory', () => memory({ now }), 200)

test('memory: a key that no cache could take is named as the option that it is', async () => {
  await assert.rejects(memory().get('a b'), { name: 'RangeError', message: /option "key"/ })
})

test('memory: is private to its process', () => {
  assert.equal(memory().scope, 'private')
})

test('memory: past maxBytes the least recently used items go', async () => {
  const cache = memory({ maxBytes: 4 * MIB })
  const block = Buffer.alloc(MIB / 4)
  for (let i = 0; i < 12; i++) {
    await cache.set(`k${i}`, block, 60)
    await cache.append('k0', Buffer.from('still used'))
  }
  for (let i = 12; i < 20; i++) await cache.set(`k${i}`, block, 60)
  assert.notEqual(await cache.get('k0'), undefined, 'used last of the first dozen')
  assert.equal(await cache.get('k1'), undefined)
  assert.notEqual(await cache.get('k19'), undefined)
})

test('memory: small items are bounded too, by what they really cost', async () => {
  const cache = memory({ maxBytes: MIB })
  for (let i = 0; i < 20_000; i++) await cache.set(`k${i}`, Buffer.alloc(0), 60)
  const left = await cache.getMany(Array.from({ length: 20_000 }, (_, i) => `k${i}`))
  assert.ok(left.size < MIB / 100, `${left.size} items`)
  assert.ok(left.has('k19999'))
})

test('memory: appended bytes count against maxBytes', async () => {
  const cache = memory({ maxBytes: 2 * MIB })
  for (let i = 0; i < 8; i++) {
    await cache.set(`k${i}`, Buffer.alloc(1), 60)
    for (let j = 0; j < 9; j++) await cache.append(`k${i}`, Buffer.alloc(MIB / 10))
  }
  const left = await cache.getMany(Array.from({ length: 8 }, (_, i) => `k${i}`))
  assert.ok(left.size <= 2)
  assert.ok(left.has('k7'))
})

test('memory: an append makes room at once, at the cost of what is used least', async () => {
  const cache = memory({ maxBytes: 2 * MIB })
  for (const [key, tenths] of [
    ['first', 9],
    ['second', 5],
    ['third', 4],
  ] as const) {
    await cache.set(key, Buffer.alloc((MIB / 10) * tenths), 60)
  }
  assert(await cache.append('third', Buffer.alloc(MIB / 5)))
  assert.equal(await cache.get('first'), undefined)
  assert.notEqual(await cache.get('second'), undefined)
})

test('memory: deleting, replacing, expiring and counting gives the room back', async () => {
  const cache = memory({ maxBytes: MIB, maxItemBytes: MIB / 2, now })
  const big = Buffer.alloc(400 * 1024)
  await cache.set('keep', big, 3600)
  for (let i = 0; i < 50; i++) {
    await cache.set('k', big, 1)
    await cache.set('n', Buffer.from('1'), 3600)
    for (let j = 0; j < 200; j++) await cache.increment('n')
    if (i % 3 === 0) await cache.delete('k')
    if (i % 3 === 1) {
      elapsed += 2000
      assert.equal(await cache.get('k'), undefined)
      assert.equal(await cache.add('k', big, 1), true)
    }
  }
  assert.notEqual(await cache.get('keep'), undefined)
})

test('memory: a set over the item limit deletes the old value, as in memcached', async () => {
  const cache = memory()
  await cache.set('k', Buffer.from('old'), 60)
  assert.equal(await cache.set('k', Buffer.alloc(MIB), 60), false)
  assert.equal(await cache.get('k'), undefined)
})

test('memory: an item may take all of the item limit, and not a byte more', async () => {
  const cache = memory({ maxItemBytes: 2_000 })
  assert.equal(await cache.set('key', Buffer.alloc(1_997), 60), true)
  assert.equal(await cache.set('key', Buffer.alloc(1_998), 60), false)
})

test('memory: other work runs once for each 4 MiB that are read', async (context) => {
  const cache = memory()
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`)
  for (const key of keys) await cache.set(key, Buffer.alloc(MIB / 2), 60)
  const { mock } = context.mock.method(globalThis, 'setImmediate')
  assert.equal((await cache.getMany(keys)).size, 40)
  assert.equal(mock.callCount(), 5)
})

test('memory: reading many large items lets the process do other work', async () => {
  const cache = memory()
  const keys = Array.from({ length: 15 }, (_, i) => `k${i}`)
  for (const key of keys) await cache.set(key, Buffer.alloc(MIB - 100), 60)
  let worked = false
  setImmediate(() => (worked = true))
  assert.equal((await cache.getMany(keys)).size, 15)
  assert.ok(worked)
  const interrupted = cache.getMany(keys)
  await cache.close()
  await assert.rejects(interrupted, { code: 'CACHE_CLOSED' })
})

test('memory: wrong options are refused by name', () => {
  assert.throws(() => memory({ maxBytes: 1.5 }), {
    name: 'RangeError',
    message: /option "maxBytes" is 1.5; allowed/,
  })
  assert.throws(() => memory({ maxItemBytes: 64 * MIB }), {
    name: 'RangeError',
    message: /option "maxItemBytes"/,
  })
  // @ts-expect-error no such option
  assert.throws(() => memory({ maxbytes: MIB }), {
    name: 'TypeError',
    message: /option "maxbytes" is unknown/,
  })
  // @ts-expect-error no function
  assert.throws(() => memory({ now: 5 }), { name: 'TypeError', message: /option "now"/ })
})

test('memory: what is appended piece by piece is moved a few times only', async (t) => {
  const cache = memory()
  await cache.set('k', Buffer.alloc(1), 60)
  const { mock } = t.mock.method(Buffer, 'allocUnsafeSlow')
  for (let i = 0; i < 5_000; i++) await cache.append('k', Buffer.alloc(10))
  assert.ok(mock.callCount() <= 20, `${mock.callCount()} times`)
  assert.equal((await cache.get('k'))?.length, 50_001)
})

test('memory: appending ends at the item limit, and an increment at 20 digits', async () => {
  const cache = memory({ maxItemBytes: 2_000 })
  await cache.set('key', Buffer.alloc(1_000), 60)
  assert.equal(await cache.append('key', Buffer.alloc(998)), false)
  assert.equal(await cache.append('key', Buffer.alloc(997)), true)
  assert.equal(await cache.append('key', Buffer.alloc(1)), false)
  await cache.set('digits', Buffer.from(`${'0'.repeat(20)}7`), 60)
  await assert.rejects(cache.increment('digits'), { code: 'CACHE_REFUSED' })
  await cache.set('digits', Buffer.from(`${'0'.repeat(19)}7`), 60)
  assert.equal(await cache.increment('digits'), 8)
})

test('memory: a value is there until its last millisecond, whatever changes it', async () => {
  const cache = memory({ now })
  const begun = elapsed
  await cache.set('appended', Buffer.from('1'), 60)
  await cache.increment('counted', 1, { initial: 1, ttlSeconds: 60 })
  await cache.add('added', Buffer.from('1'), 60)
  const keys = ['appended', 'counted', 'added']
  elapsed = begun + 59_999
  await cache.append('appended', Buffer.from('2'))
  await cache.increment('counted')
  assert.deepEqual([...(await cache.getMany(keys)).keys()], keys)
  elapsed = begun + 60_000
  assert.equal((await cache.getMany(keys)).size, 0)
})
