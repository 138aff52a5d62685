import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from '../simulated-world/explorer.js'
import { committed, emptyTable, LAYER_MS, openWideCache } from './wide-cache.js'

test('a row placed while its layer is drained is committed once, whoever is first', async () => {
  await explore(async (orders) => {
    emptyTable(orders)
    const writer = openWideCache(orders.actor('writer'))
    const collector = openWideCache(orders.actor('collector'))
    await orders.alone(async () => {
      writer.append('first')
      await writer.flush()
      await collector.drain()
    })
    await orders.pass(2 * LAYER_MS)
    await orders.together({
      writer: async () => {
        writer.append('second')
        await writer.flush()
      },
      collector: () => collector.drain(),
    })
    await orders.pass(5 * LAYER_MS)
    await orders.alone(() => collector.drain({ all: true }))
    assert.deepEqual(committed(orders), ['first', 'second'])
  })
})
