import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { systemEnvironment } from '../support/environment.js'
import { CachedRead } from './cached-read.js'

/** A clock that a test moves; its timers are real, and keep the test alive. */
function movableClock() {
  let moved = 0
  return {
    now: () => Date.now() + moved,
    elapsed: () => performance.now() + moved,
    after(ms: number, callback: () => void) {
      const timeout = setTimeout(callback, ms)
      return { cancel: () => clearTimeout(timeout) }
    },
    move: (ms: number) => {
      moved += ms
    },
  }
}

function reading(cache: Cache, query: () => Promise<number>, clock = movableClock()) {
  return {
    clock,
    read: new CachedRead({
      cache,
      environment: { ...systemEnvironment, clock },
      key: 'test',
      keyStart: async () => 'wide-cache:test:',
      ttlSeconds: 2,
      query,
    }),
  }
}

/** A cache that gives no answer. */
const down: Cache = new Proxy(memory(), {
  get: (target, property) =>
    property === 'scope'
      ? 'shared'
      : typeof Reflect.get(target, property) === 'function'
        ? () => Promise.reject(new CacheError('CACHE_UNREACHABLE', 'down'))
        : undefined,
})

test('a thousand callers of several processes on a cold cache cause one query', async () => {
  const cache = memory()
  let queries = 0
  const query = async () => {
    await new Promise((resolve) => setTimeout(resolve, 120))
    return ++queries
  }
  const processes = Array.from({ length: 5 }, () => reading(cache, query).read)
  const figures = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => processes[i % 5]!.read()),
  )
  assert.deepEqual([...new Set(figures)], [1])
  assert.equal(queries, 1)
  await cache.close()
})

test('figures are read anew once their time is over, by one process for all', async () => {
  let now = 0
  const cache = memory({ now: () => now })
  let queries = 0
  const first = reading(cache, async () => ++queries)
  const second = reading(cache, async () => ++queries)
  assert.equal(await first.read.read(), 1)
  assert.equal(await second.read.read(), 1)
  now += 3000
  first.clock.move(3000)
  second.clock.move(3000)
  assert.equal(await second.read.read(), 2)
  assert.equal(await first.read.read(), 2)
  assert.equal(queries, 2)
  await cache.close()
})

test('the last good figures are served while the query fails, to new processes too', async () => {
  let now = 0
  const cache = memory({ now: () => now })
  let away = false
  const query = async () => {
    if (away) throw new Error('SQL is away')
    return 7
  }
  const { read } = reading(cache, query)
  assert.equal(await read.read(), 7)
  away = true
  now += 3000
  assert.equal(await reading(cache, query).read.read(), 7)
  await cache.close()
})

test('while the query hangs, the last good figures are served after a second', async () => {
  let now = 0
  const cache = memory({ now: () => now })
  let answer: ((figures: number) => void) | undefined
  const query = () =>
    new Promise<number>((resolve) => {
      answer = resolve
    })
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20))
  const first = reading(cache, query)
  const cold = first.read.read()
  await settled()
  answer!(7)
  assert.equal(await cold, 7)
  for (const { read, clock } of [first, reading(cache, query)]) {
    now += 3000
    clock.move(3000)
    assert.equal(await read.read(), 7)
    assert.equal(await read.read(), 7)
    answer!(7)
    await settled()
  }
  now += 3000
  first.clock.move(3000)
  assert.equal(await first.read.read(), 7)
  answer!(8)
  await settled()
  assert.equal(await first.read.read(), 8, 'what came late is used')
  await cache.close()
})

test("without any figures the query's own error is thrown", async () => {
  const { read } = reading(memory(), () => Promise.reject(new Error('SQL is away')))
  await assert.rejects(read.read(), /SQL is away/)
})

test('without a cache each process asks once a period', async () => {
  let queries = 0
  const { read, clock } = reading(down, async () => ++queries)
  assert.deepEqual(await Promise.all([read.read(), read.read(), read.read()]), [1, 1, 1])
  clock.move(1900)
  assert.equal(await read.read(), 1)
  clock.move(200)
  assert.equal(await read.read(), 2)
})

test('a cache that stops answering after the query does not cause another one', async () => {
  const cache = memory()
  cache.set = () => Promise.reject(new CacheError('CACHE_TIMEOUT', 'silent'))
  let queries = 0
  const { read, clock } = reading(cache, async () => ++queries)
  assert.equal(await read.read(), 1)
  clock.move(1900)
  assert.equal(await read.read(), 1, 'read for this process alone, it serves for the whole time')
  await cache.close()
})
