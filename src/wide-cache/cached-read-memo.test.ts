/** Tests the memory of one process for figures that several share. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { memory } from '../cache/memory.js'
import { systemEnvironment } from '../support/environment.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { CachedRead, placeOf } from './cached-read.js'

const FIGURES = placeOf('name', 'test')
const LEASE = 'read:name:test:lease'
const TTL_SECONDS = 10

/** A process that reads, and its cache, whose time goes with the process's. */
function bench() {
  const clock = new ManualClock(0)
  const cache = new FaultyCache(memory({ now: clock.now }))
  const world = { fails: false, queries: 0 }
  const newProcess = (): CachedRead<number> =>
    new CachedRead({
      cache,
      environment: { ...systemEnvironment, clock },
      key: 'test',
      name: 'name',
      ttlSeconds: TTL_SECONDS,
      async query() {
        world.queries++
        if (world.fails) throw new Error('SQL is away')
        return { figures: world.queries, readAt: clock.now() }
      },
    })
  return {
    clock,
    cache,
    world,
    read: newProcess(),
    newProcess,
    /** Another process shares figures that it has read so many milliseconds ago. */
    others: (figures: number, agoMs = 0) => {
      const reading = { key: 'read:name:test', figures, readAt: clock.now() - agoMs }
      return cache.set(FIGURES, Buffer.from(JSON.stringify(reading)), 100)
    },
  }
}

test('a process that has read figures asks the cache again after half a second', async () => {
  const { clock, world, read, others } = bench()
  assert.equal(await read.read(), 1)
  await others(50)
  await clock.advance(499)
  assert.equal(await read.read(), 1)
  await clock.advance(1)
  assert.equal(await read.read(), 50)
  await others(60)
  await clock.advance(499)
  assert.equal(await read.read(), 50)
  await clock.advance(1)
  assert.equal(await read.read(), 60)
  assert.equal(world.queries, 1)
})

test('while the query fails, newer figures of another process serve for a second', async () => {
  const { clock, world, read, others } = bench()
  assert.equal(await read.read(), 1)
  world.fails = true
  await clock.advance(TTL_SECONDS * 1000 + 1)
  await others(50)
  assert.equal(await read.read(), 50)
  await others(60)
  await clock.advance(999)
  assert.equal(await read.read(), 50)
  await clock.advance(1)
  assert.equal(await read.read(), 60)
})

test("without the cache's figures a process serves its own while the query fails", async () => {
  const { clock, cache, world, read } = bench()
  assert.equal(await read.read(), 1)
  world.fails = true
  await clock.advance(TTL_SECONDS * 1000 + 1)
  await cache.delete(FIGURES)
  assert.equal(await read.read(), 1)
  assert.equal(await read.read(), 1)
  assert.equal(world.queries, 2, 'asked once')
})

test('where there never were figures, SQL is asked once a second, however many ask', async () => {
  const { clock, world, read } = bench()
  world.fails = true
  // Nobody else reads: the lease ends with the failure's second.
  for (let i = 0; i < 99; i++) {
    await assert.rejects(read.read(), /SQL is away/)
    await clock.advance(10)
  }
  assert.equal(world.queries, 1)
  world.fails = false
  await clock.advance(TTL_SECONDS * 1000)
  assert.equal(await read.read(), 2)
})

test('older figures in the cache replace no newer ones of this process', async () => {
  const { clock, world, read, others } = bench()
  assert.equal(await read.read(), 1)
  await clock.advance(1_000)
  await others(50)
  assert.equal(await read.read(), 50)
  // From a cache that was away for an hour.
  await others(60, 3600_000)
  await clock.advance(1_000)
  assert.equal(await read.read(), 50)
  assert.equal(world.queries, 1)
})

test('figures of a cache that has gone back are shown by new processes, for a period', async () => {
  const { clock, cache, world, read, newProcess } = bench()
  assert.equal(await read.read(), 1)
  const snapshot = await cache.snapshot()
  await clock.advance(1_000 * TTL_SECONDS)
  assert.equal(await read.read(), 2)
  await cache.restore(snapshot)
  // Of the snapshot, only the lease ends meanwhile.
  await cache.set(LEASE, Buffer.from('1'), TTL_SECONDS)
  const other = newProcess()
  for (let seconds = 0; seconds < TTL_SECONDS; seconds++) {
    assert.deepEqual([await read.read(), await other.read()], [2, 1], `after ${seconds} s`)
    await clock.advance(1_000)
  }
  assert.deepEqual([await other.read(), await read.read()], [3, 3])
  assert.equal(world.queries, 3)
})

test("where the database's clock has gone back, SQL is asked in the end", async () => {
  const { clock, cache, world, read, others } = bench()
  assert.equal(await read.read(), 1)
  for (let seconds = 0; seconds < 3 * TTL_SECONDS; seconds++) {
    await clock.advance(1_000)
    // Others read, by the clock as it is now.
    await cache.set(LEASE, Buffer.from('1'), TTL_SECONDS)
    await others(50 + seconds, 3600_000)
    if (seconds < 3 * TTL_SECONDS - 1) assert.equal(await read.read(), 1, `after ${seconds} s`)
  }
  assert.equal(await read.read(), 2)
  assert.equal(world.queries, 2)
})

test('where the process that was to read has died, another one reads after 2 s', async () => {
  const { clock, cache, world, read } = bench()
  await cache.set(LEASE, Buffer.from('1'), TTL_SECONDS)
  const figures = read.read()
  await clock.advance(1_999)
  assert.equal(world.queries, 0)
  await clock.advance(1)
  assert.equal(await figures, 1)
})
