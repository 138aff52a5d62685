import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { systemEnvironment } from '../support/environment.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { CachedRead } from './cached-read.js'

/** A cache whose time is the clock's. */
function cacheBy(clock: ManualClock): Cache {
  return memory({ now: clock.now })
}

function reading(cache: Cache, clock: ManualClock, query: () => Promise<number>) {
  return new CachedRead<number>({
    cache,
    environment: { ...systemEnvironment, clock },
    key: 'test',
    name: 'name',
    ttlSeconds: 2,
    async query() {
      const readAt = clock.now()
      return { figures: await query(), readAt }
    },
  })
}

/** A query that answers when it is told to. */
function heldQuery() {
  const answers: ((figures: number) => void)[] = []
  return {
    answers,
    query: () => new Promise<number>((resolve) => answers.push(resolve)),
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
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  const { query, answers } = heldQuery()
  const processes = Array.from({ length: 5 }, () => reading(cache, clock, query))
  const figures = Promise.all(Array.from({ length: 1000 }, (_, i) => processes[i % 5]!.read()))
  await clock.advance(120)
  assert.equal(answers.length, 1)
  answers[0]!(1)
  await clock.advance(50)
  assert.deepEqual([...new Set(await figures)], [1])
  assert.equal(answers.length, 1)
  await cache.close()
})

test('figures are read anew once their time is over, by one process for all', async () => {
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  let queries = 0
  const [first, second] = [1, 2].map(() => reading(cache, clock, async () => ++queries))
  assert.equal(await first!.read(), 1)
  assert.equal(await second!.read(), 1)
  await clock.advance(3000)
  assert.equal(await second!.read(), 2)
  assert.equal(await first!.read(), 2)
  assert.equal(queries, 2)
  await cache.close()
})

test('the last good figures are served while the query fails, to new processes too', async () => {
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  let away = false
  const query = async () => {
    if (away) throw new Error('SQL is away')
    return 7
  }
  const read = reading(cache, clock, query)
  assert.equal(await read.read(), 7)
  away = true
  await clock.advance(3000)
  assert.equal(await read.read(), 7)
  assert.equal(await reading(cache, clock, query).read(), 7)
  await clock.advance(23 * 3_600_000)
  assert.equal(await reading(cache, clock, query).read(), 7, 'for a day')
  await clock.advance(3_600_000)
  await assert.rejects(reading(cache, clock, query).read(), /SQL is away/)
  await cache.close()
})

test('while the query hangs, the last good figures are served after a second', async () => {
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  const { query, answers } = heldQuery()
  const answerLast = async (figures: number) => {
    answers.at(-1)!(figures)
    await flushPromises()
  }
  /** Reads while the query hangs: the figures come after a second, and not before. */
  const readSlowly = async (read: CachedRead<number>): Promise<number> => {
    let figures: number | undefined
    void read.read().then((got) => (figures = got))
    await clock.advance(999)
    assert.equal(figures, undefined)
    await clock.advance(1)
    assert(figures !== undefined)
    return figures
  }
  const first = reading(cache, clock, query)
  const cold = first.read()
  await flushPromises()
  await answerLast(7)
  assert.equal(await cold, 7)
  for (const read of [first, reading(cache, clock, query)]) {
    await clock.advance(3000)
    assert.equal(await readSlowly(read), 7)
    assert.equal(await read.read(), 7)
    await answerLast(7)
  }
  await clock.advance(3000)
  assert.equal(await readSlowly(first), 7)
  await answerLast(8)
  assert.equal(await first.read(), 8, 'what came slowly is used')
  assert.equal(answers.length, 4)
  await cache.close()
})

test("without any figures the query's own error is thrown", async () => {
  const fails = () => Promise.reject(new Error('SQL is away'))
  const read = reading(memory(), new ManualClock(0), fails)
  await assert.rejects(read.read(), /SQL is away/)
})

test('without a cache each process asks once a period', async () => {
  const clock = new ManualClock(0)
  let queries = 0
  const read = reading(down, clock, async () => ++queries)
  assert.deepEqual(await Promise.all([read.read(), read.read(), read.read()]), [1, 1, 1])
  await clock.advance(1999)
  assert.equal(await read.read(), 1)
  await clock.advance(1)
  assert.equal(await read.read(), 2)
})

test('a cache that stops answering after the query does not cause another one', async () => {
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  cache.set = () => Promise.reject(new CacheError('CACHE_TIMEOUT', 'silent'))
  let queries = 0
  const read = reading(cache, clock, async () => ++queries)
  assert.equal(await read.read(), 1)
  await clock.advance(1999)
  assert.equal(await read.read(), 1, 'read for this process alone, it serves for the whole time')
  await cache.close()
})

test('a lease holder that reads for too long does not replace newer figures', async () => {
  const clock = new ManualClock(0)
  const cache = cacheBy(clock)
  const { query, answers } = heldQuery()
  const [slow, other] = [reading(cache, clock, query), reading(cache, clock, async () => 2)]
  const first = slow.read()
  await flushPromises()
  await clock.advance(3_000)
  assert.equal(await other.read(), 2)
  answers[0]!(1)
  assert.equal(await first, 1)
  assert.equal(await reading(cache, clock, async () => 3).read(), 2, 'the cache has the newer ones')
  await cache.close()
})
