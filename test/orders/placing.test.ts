import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../src/cache/cache.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import {
  CONFIRM_SECONDS,
  drainOf,
  drainOnce,
  enterGrid,
  held,
  type Parts,
  partsOf,
  placerOf,
  writerOf,
} from './parts.js'
import { committed, LAYER_MS } from './wide-cache.js'

const BEHIND = { skewMs: -2 * LAYER_MS }
const WRITER = Buffer.alloc(16, 1)

/** Places a frame with a clock that is behind while its layer is drained. */
async function placeWhileDrained(
  orders: Orders,
  before: (writer: Parts, sender: Sender) => Promise<void> = async () => undefined,
): Promise<void> {
  const writer = partsOf(orders.actor('writer', BEHIND))
  const collector = partsOf(orders.actor('collector'))
  await enterGrid(orders, [collector, writer])
  const drain = drainOf(collector)
  await orders.alone(() => drainOnce(collector, drain))
  // So long that it is known to no writer any more.
  await orders.store.delete(orders.keyStart() + writer.record.grid!.keys.watermark)
  await orders.pass(3 * LAYER_MS)
  const sender = new Sender(WRITER)
  await orders.alone(() => before(writer, sender))
  const frame = held(sender.frame(sender.issued, { rows: ['last'] }), writer)
  await orders.together({
    writer: async () => assert(await placerOf(writer).place(frame, () => true, Infinity)),
    collector: () => drainOnce(collector, drain),
  })
  await orders.pass(3 * LAYER_MS)
  await orders.alone(() => drainOnce(collector, drain))
}

test('a frame placed while its layer is drained is found, or placed again above', async () => {
  await explore(async (orders) => {
    await placeWhileDrained(orders)
    assert.deepEqual(committed(orders), ['last'])
  })
})

test('so it is where the cell was there before, and is deleted meanwhile', async () => {
  await explore(async (orders) => {
    await placeWhileDrained(orders, async (writer, sender) => {
      const frame = held(sender.frame(0, { rows: ['first'] }), writer)
      assert(await placerOf(writer).place(frame, () => true, Infinity))
    })
    assert.deepEqual(committed(orders), ['first', 'last'])
  })
})

test('where no watermark is published, a frame that is missed comes from its writer', async () => {
  await explore(
    async (orders) => {
      const writer = partsOf(orders.actor('writer', BEHIND))
      const ports = orders.actor('collector')
      const set = async () => {
        throw new CacheError('CACHE_TIMEOUT', 'no answer')
      }
      const collector = partsOf({ ...ports, cache: { ...ports.cache, set } })
      await enterGrid(orders, [collector, writer])
      const drain = drainOf(collector)
      await orders.alone(() => drainOnce(collector, drain))
      await orders.pass(3 * LAYER_MS)
      const sender = writerOf(writer)
      sender.append('a row')
      await orders.together({
        writer: () => sender.flush(),
        collector: () => drainOnce(collector, drain),
      })
      await orders.pass(CONFIRM_SECONDS * 1000 + 2 * LAYER_MS)
      assert.deepEqual(committed(orders), ['a row'])
      await orders.alone(() => sender.close())
    },
    { preemptions: 1 },
  )
})
