import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { systemEnvironment } from '../support/environment.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { CachedTotal } from './cached-total.js'

const KEY = 'total'
const SEEN_MS = 100
const ABANDONED_MS = 1_000
const REST_MS = 1_000
const MAX_BYTES = 4_000

/** A total of 1 in SQL, and what its cache is asked for. */
function bench() {
  const clock = new ManualClock(0)
  const store = memory()
  const asked: string[] = []
  const world = { fails: false }
  const noted = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    asked.push(what)
    if (world.fails) throw new CacheError('CACHE_TIMEOUT', 'no answer')
    return work()
  }
  const cache: Cache = wrapped(store, {
    get: (...given) => noted('get', () => store.get(...given)),
    add: (...given) => noted('add', () => store.add(...given)),
    append: (...given) => noted('append', () => store.append(...given)),
    delete: (...given) => noted('delete', () => store.delete(...given)),
  })
  const environment = { ...systemEnvironment, clock }
  const total = new CachedTotal(cache, environment, 60)
  return { clock, store, asked, world, total, get: () => total.get(KEY, async () => 1) }
}

test('an increment that has seen no total deletes the entry', async () => {
  const { total, store, get } = bench()
  const seen = await total.before(KEY)
  assert.equal(seen.token, undefined)
  await get()
  await total.after(KEY, seen, 10)
  assert.equal(await store.get(KEY), undefined)
})

test('an entry that is gone is no longer seen', async () => {
  const { clock, total, store, get } = bench()
  await get()
  assert((await total.before(KEY)).token)
  await store.delete(KEY)
  await clock.advance(SEEN_MS)
  assert.equal((await total.before(KEY)).token, undefined)
})

test('the entry that an increment has seen serves the next ones for 100 ms', async () => {
  const { clock, total, asked, get } = bench()
  await get()
  asked.length = 0
  await total.before(KEY)
  await clock.advance(SEEN_MS - 1)
  await total.before(KEY)
  assert.deepEqual(asked, ['get'])
  await clock.advance(1)
  await total.before(KEY)
  assert.deepEqual(asked, ['get', 'get'])
})

test('an increment is appended and the entry looked at in one round trip', async () => {
  const { total, asked, get } = bench()
  await get()
  const seen = await total.before(KEY)
  asked.length = 0
  const told = total.after(KEY, seen, 10)
  assert.deepEqual(asked, ['append', 'get'])
  await told
  assert.equal(await get(), 11)
})

test('a reading under way is left alone for a second, then another one follows', async () => {
  const { clock, store, asked, get } = bench()
  await store.add(KEY, Buffer.from(`${'a'.repeat(32)};`), 60)
  await get()
  await clock.advance(ABANDONED_MS - 1)
  await get()
  assert.deepEqual(asked, ['get', 'add', 'get', 'add'])
  await clock.advance(1)
  await get()
  assert.deepEqual(asked.slice(4), ['get', 'delete', 'add', 'append'])
})

test('after a failure the cache is told of no increment for a second', async () => {
  const { clock, total, world, asked } = bench()
  world.fails = true
  await total.before(KEY)
  await clock.advance(REST_MS - 1)
  await total.after(KEY, { token: undefined }, 10)
  assert.deepEqual(asked, ['get'])
  await clock.advance(1)
  await total.after(KEY, { token: undefined }, 10)
  assert.deepEqual(asked, ['get', 'delete'])
})

test('an entry that has grown past 4,000 bytes is read anew', async () => {
  const { total, store, get } = bench()
  await get()
  const sizeOf = async () => (await store.get(KEY))?.length ?? 0
  for (let size = await sizeOf(); size <= MAX_BYTES; size = await sizeOf()) {
    assert((await get()) > 0)
    await total.after(KEY, await total.before(KEY), 1)
  }
  assert.equal(await get(), 1)
  assert((await sizeOf()) < MAX_BYTES)
})

test('an entry that is cut or broken, or whose total is not exact, is not believed', async () => {
  const token = 'a'.repeat(32)
  const total = `${token};${token}=57;`
  for (const [entry, wanted] of [
    [`${total}${token}+3;`, 60],
    [`${total}${token}+3`, 1],
    [`${total}${token}3;`, 1],
    [`${token};${token}=${Number.MAX_SAFE_INTEGER};${token}+1;`, 1],
    [`${token};${token}=-${Number.MAX_SAFE_INTEGER};${token}+-1;`, 1],
    [total.slice(1), 1],
  ] as const) {
    const { store, get } = bench()
    await store.set(KEY, Buffer.from(entry), 60)
    assert.equal(await get(), wanted, entry)
  }
})
