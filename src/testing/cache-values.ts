/** Tests of values: those that go into a cache come out again, until their time is over. */
import assert from 'node:assert/strict'
import { MAX_TTL_SECONDS } from '../cache/cache.js'
import { ALL_BYTES, bytes, type CacheTest, twoUsers } from './on-cache.js'

/** More keys than a client would put into one request, or a server would answer at once. */
const MANY_KEYS = 3_000
/** More than one packet of a network, and less than memcached's item limit. */
const LARGE_BYTES = 200_000

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
  it('a missing key cannot be read, appended to, deleted or incremented', async (cache, key) => {
    assert.equal(await cache.get(key), undefined)
    assert.equal(await cache.append(key, bytes('x')), false)
    assert.equal(await cache.delete(key), false)
    assert.equal(await cache.increment(key), undefined)
    assert.equal(await cache.get(key), undefined, 'nothing of that stored anything')
  })

  it('set stores bytes as they are and replaces what was there', async (cache, key) => {
    const large = Buffer.alloc(Math.min(LARGE_BYTES, (itemLimitBytes ?? Infinity) / 2), ALL_BYTES)
    for (const value of [ALL_BYTES, large, Buffer.alloc(0)]) {
      assert.equal(await cache.set(key, value, 60), true)
      assert.deepEqual(await cache.get(key), value)
    }
  })

  it('add stores only where nothing is', async (cache, key) => {
    assert.equal(await cache.add(key, ALL_BYTES, 60), true)
    assert.equal(await cache.add(key, bytes('second'), 60), false)
    assert.deepEqual(await cache.get(key), ALL_BYTES)
    assert.equal(await cache.add(`${key}:empty`, Buffer.alloc(0), 60), true)
    assert.equal(await cache.add(`${key}:empty`, bytes('second'), 60), false)
    assert.deepEqual(await cache.get(`${key}:empty`), Buffer.alloc(0))
  })

  it('of many who add at once exactly one stores', async (cache, key, open) => {
    const users = await twoUsers(cache, open)
    const values = Array.from({ length: 100 }, (_, i) => bytes(`value ${i}`))
    const stored = await Promise.all(values.map((value, i) => users[i % 2]!.add(key, value, 60)))
    assert.deepEqual(
      [await cache.get(key)],
      values.filter((_, i) => stored[i]),
      'the value of the one who stored it, and of no other',
    )
  })

  it('append puts bytes behind what is there, and keeps both as they are', async (cache, key) => {
    await cache.set(key, ALL_BYTES, 60)
    assert.equal(await cache.append(key, ALL_BYTES), true)
    assert.equal(await cache.append(key, Buffer.alloc(0)), true)
    assert.equal(await cache.append(key, bytes('end')), true)
    assert.deepEqual(await cache.get(key), Buffer.concat([ALL_BYTES, ALL_BYTES, bytes('end')]))
    await cache.set(key, Buffer.alloc(0), 60)
    assert.equal(await cache.append(key, bytes('end')), true)
    assert.deepEqual(await cache.get(key), bytes('end'))
  })

  it('concurrent appends lose nothing', async (cache, key, open) => {
    const users = await twoUsers(cache, open)
    await cache.set(key, bytes('start'), 60)
    const pieces = Array.from({ length: 200 }, (_, i) => `<${i}>`)
    const stored = await Promise.all(
      pieces.map((piece, i) => users[i % 2]!.append(key, bytes(piece))),
    )
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

  it('getMany returns each key that exists, however many are asked for', async (cache, key) => {
    const all = Array.from({ length: MANY_KEYS }, (_, i) => `${key}:${i}`)
    const valueOf = (one: string) => Buffer.concat([bytes(one), ALL_BYTES])
    const there = all.filter((_, i) => i % 3 === 0)
    await Promise.all(there.map((one) => cache.set(one, valueOf(one), 60)))
    const unanswered: string[] = []
    const found = await cache.getMany([...all, all[0] ?? ''], (one) => unanswered.push(one))
    assert.deepEqual([...found.keys()].sort(), [...there].sort())
    for (const [one, value] of found) assert.deepEqual(value, valueOf(one))
    assert.deepEqual(unanswered, [], 'a missing key has been answered')
    assert.deepEqual(await cache.getMany([]), new Map())
  })

  it('a changed Buffer, handed in or out, changes nothing that is stored', async (cache, key) => {
    const value = bytes('abc')
    const setting = cache.set(key, value, 60)
    value.fill('!')
    await setting
    const read = await cache.get(key)
    assert.deepEqual(read, bytes('abc'))
    const end = bytes('def')
    const appending = cache.append(key, end)
    end.fill('!')
    await appending
    assert.deepEqual(read, bytes('abc'), 'an append does not reach what was read before')
    read?.fill('?')
    assert.deepEqual(await cache.get(key), bytes('abcdef'))
    const others = [`${key}:1`, `${key}:2`]
    for (const other of others) await cache.set(other, bytes(other), 60)
    const first = await cache.getMany([key])
    const next = await cache.getMany(others)
    assert.deepEqual(first.get(key), bytes('abcdef'), 'the next getMany does not reach it')
    next.get(others[0]!)?.fill('?')
    assert.deepEqual(next.get(others[1]!), bytes(others[1]!))
    assert.deepEqual((await cache.getMany(others)).get(others[0]!), bytes(others[0]!))
  })

  it('a value ends with its TTL, which append and increment keep', async (cache, key) => {
    const store = async (start: string, ttlSeconds: number): Promise<void> => {
      assert.equal(await cache.set(`${start}:append`, bytes('1'), ttlSeconds), true)
      assert.equal(await cache.set(`${start}:number`, bytes('1'), ttlSeconds), true)
      assert.equal(await cache.add(`${start}:add`, bytes('1'), ttlSeconds), true)
      assert.equal(await cache.increment(`${start}:initial`, 1, { initial: 5, ttlSeconds }), 5)
      assert.equal(await cache.append(`${start}:append`, bytes('2')), true)
      assert.equal(await cache.increment(`${start}:number`), 2)
    }
    await store(key, 2)
    await store(`${key}:long`, 60)
    await cache.set(`${key}:longest`, bytes('1'), MAX_TTL_SECONDS)
    // memcached's clock ticks in whole seconds, of which one may be about to end.
    await passSeconds(3.1)
    for (const one of ['append', 'number', 'add', 'initial']) {
      assert.equal(await cache.get(`${key}:${one}`), undefined, one)
      assert.notEqual(await cache.get(`${key}:long:${one}`), undefined, one)
    }
    assert.deepEqual(await cache.get(`${key}:longest`), bytes('1'))
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
