/** Strangers choose what is asked of a shared dashboard: what that fills is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { systemEnvironment } from '../support/environment.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { placeOf } from './cached-read.js'
import { CachedReads } from './cached-reads.js'

/** A process, and a cache that notes what figures it was given. */
function bench() {
  const clock = new ManualClock(0)
  const cache = memory({ now: clock.now })
  const placed = new Map<string, number>()
  const set = cache.set.bind(cache)
  cache.set = (key, value, ttlSeconds) => {
    placed.set(key, value.length)
    return set(key, value, ttlSeconds)
  }
  const asked: string[] = []
  const newProcess = () => {
    const environment = { ...systemEnvironment, clock }
    const reads = new CachedReads({ cache, environment, name: 'name', ttlSeconds: 10 })
    return (key: string, characters: number, letter = '.') =>
      reads.read(key, async () => {
        asked.push(key)
        return { figures: `${key} `.padEnd(characters, letter), readAt: clock.now() }
      })
  }
  return { asked, placed, newProcess }
}

test('a flood of questions leaves few figures in the cache, none of them long', async () => {
  const { placed, newProcess } = bench()
  const ask = newProcess()
  for (let n = 0; n < 4_000; n++) await ask(`question ${n}`, 16_000 + (n % 2) * 1_000)
  assert(placed.size <= 1_024, `${placed.size} places`)
  assert(Math.max(...placed.values()) <= 16 * 1024)
})

test('a flood of long answers leaves some MiB in the process, the newest ones', async () => {
  const { asked, newProcess } = bench()
  const ask = newProcess()
  for (let n = 0; n < 30; n++) await ask(`question ${n}`, 1024 * 1024)
  for (let n = 29; n >= 0; n--) await ask(`question ${n}`, 1024 * 1024)
  // Those of the last four MiB are still there.
  assert.equal(asked.length, 30 + 26)
})

test('what is too long to be shared is read by each process, without a wait', async () => {
  const { asked, newProcess } = bench()
  const [one, other] = [newProcess(), newProcess()]
  for (const ask of [one, other, one, other]) {
    assert.equal((await ask('long', 20_000)).length, 20_000)
  }
  // Its bytes count, not its characters.
  for (const ask of [one, other, one, other]) await ask('Chinese', 6_000, '漢')
  assert.deepEqual(asked, ['long', 'long', 'Chinese', 'Chinese'])
})

test('questions that share a place in the cache have their own figures', async () => {
  const { newProcess } = bench()
  const keys = Array.from({ length: 3_000 }, (_, n) => `question ${n}`)
  const [first, ...others] = keys as [string, ...string[]]
  const second = others.find((key) => placeOf('name', key) === placeOf('name', first))!
  const [one, other] = [newProcess(), newProcess()]
  for (const ask of [one, other, one, other]) {
    for (const key of [first, second]) assert((await ask(key, 100)).startsWith(`${key} .`))
  }
})
