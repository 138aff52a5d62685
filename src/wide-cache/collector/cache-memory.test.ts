import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_TTL_SECONDS } from '../../cache/cache.js'
import { Grid } from '../grid.js'
import { CacheMemory, MEMORY_KEYS, type MemoryRead } from './cache-memory.js'

const grid = new Grid(Buffer.alloc(16, 1), { width: 2, layerSeconds: 3 })
const START = 1_800_000_000_000
const layerOf = (moment: number): number => grid.layers.at(moment)

/** A cache that keeps what is added, and collectors that read it. */
function bench() {
  const stored = new Map<string, Buffer>()
  const ttls: number[] = []
  const cache = {
    async add(key: string, value: Buffer, ttlSeconds: number) {
      ttls.push(ttlSeconds)
      if (!stored.has(key)) stored.set(key, value)
      return true
    },
  }
  const read = (): MemoryRead => ({
    memory: [...stored.values()].map((value) => Number(value.toString())),
    forgotten: MEMORY_KEYS.filter((key) => !stored.has(key)),
  })
  const collector = () => {
    const memory = new CacheMemory(cache as never, grid)
    return async (now: number, isFirst = false): Promise<number> => {
      await memory.look(read(), now, isFirst)
      return memory.lostTo
    }
  }
  const lose = (count: number) => {
    for (const key of [...stored.keys()].slice(0, count)) stored.delete(key)
  }
  return { stored, ttls, collector, lose }
}

test('where no collector has come before, nothing is lost', async () => {
  const { stored, collector } = bench()
  assert.equal(await collector()(START, true), 1)
  assert.equal(stored.size, MEMORY_KEYS.length)
  assert.equal(await collector()(START + 1_000), 1, 'nor for the next collector')
})

test('what a server had before it lost its memory is lost, for all collectors', async () => {
  const { stored, collector, lose } = bench()
  const first = collector()
  await first(START, true)
  lose(9)
  const lost = START + 60_000
  assert.equal(await first(lost), layerOf(lost) + 1)
  assert.equal(stored.size, MEMORY_KEYS.length)
  assert.equal(await first(lost + 3_000), layerOf(lost) + 1, 'and no more than that')
  assert.equal(await collector()(lost + 3_000), layerOf(lost) + 1, 'of which the next one knows')
  lose(2)
  assert.equal(await first(lost + 6_000), layerOf(lost + 6_000) + 1)
})

test('a key that is evicted, or has run out, is no loss', async () => {
  const { ttls, collector, lose } = bench()
  const look = collector()
  await look(START, true)
  assert.equal(new Set(ttls).size, MEMORY_KEYS.length, 'no two run out together')
  assert(Math.max(...ttls) <= MAX_TTL_SECONDS && Math.min(...ttls) > MAX_TTL_SECONDS / 2)
  lose(1)
  assert.equal(await look(START + 60_000), 1)
})

test('what a clock that was ahead has stored counts for nothing, nor does nonsense', async () => {
  const { stored, collector } = bench()
  await collector()(START, true)
  const [one, other] = stored.keys()
  stored.set(one!, Buffer.from(String(START + 86_400_000)))
  stored.set(other!, Buffer.from('nonsense'))
  assert.equal(await collector()(START + 1_000), 1)
})

test('a loss that is seen while the clock is ahead is of before it went back', async () => {
  const { collector, lose } = bench()
  const look = collector()
  await look(START, true)
  lose(9)
  const ahead = START + 30 * 86_400_000
  assert.equal(await look(ahead), layerOf(ahead) + 1)
  const back = START + 60_000
  assert.equal(await look(back), layerOf(back) + 1)
  assert.equal(await look(back + 60_000), layerOf(back) + 1)
})

test('a cache that does not take the keys stops no drain', async () => {
  const away = { add: () => Promise.reject(new Error('away')) }
  const memory = new CacheMemory(away as never, grid)
  await memory.look({ memory: [], forgotten: MEMORY_KEYS }, START, false)
  assert.equal(memory.lostTo, layerOf(START) + 1)
})
