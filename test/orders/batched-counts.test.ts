import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchedCounts } from '../../src/hits/batched-counts.js'
import { explore, type Orders } from '../simulated-world/explorer.js'

const ITEM = 'thread'

/** Counts that stand in the cache. They are asked for, and never used again. */
function batched(orders: Orders): BatchedCounts {
  const { cache, environment } = orders.actor('site')
  const counts = async (): Promise<Map<string, number>> =>
    new Map([[ITEM, Number((await cache.get(ITEM))?.toString() ?? 0)]])
  return new BatchedCounts(counts, environment.clock, 0)
}

test('who asks for a count after a commit has it, though an older question is out', async () => {
  await explore(async (orders) => {
    const counts = batched(orders)
    const { cache } = orders.actor('writer')
    await orders.together({
      reader: async () => {
        const count = await counts.read(ITEM)
        assert(count <= 1)
      },
      writer: async () => {
        await cache.set(ITEM, Buffer.from('1'), 60)
        assert.equal(await counts.read(ITEM), 1)
      },
    })
  })
})

test('a question that fails is that of those who share it; the next one is asked', async () => {
  await explore(
    async (orders) => {
      const counts = batched(orders)
      await orders.store.set(ITEM, Buffer.from('7'), 60)
      const read = (): Promise<number | string> =>
        counts.read(ITEM).catch((error: { code: string }) => error.code)
      const ask = async (): Promise<void> => {
        const first = await read()
        assert(first === 7 || first === 'CACHE_TIMEOUT', String(first))
        // At most one fails.
        const second = await read()
        assert.equal(second === 'CACHE_TIMEOUT' ? await read() : second, 7)
      }
      await orders.together({ one: ask, two: ask })
    },
    { preemptions: 1, failures: 1 },
  )
})
