/** Figures do not leap with the watermark over a time in which SQL took no writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completeUpTo } from '../../src/wide-cache/complete.js'
import { readUsedGrids } from '../../src/wide-cache/used-grids.js'
import { explore } from '../simulated-world/explorer.js'
import { drainAgain, enterGrid, partsOf, watermarkOf, writerOf } from './parts.js'
import { committed, LAYER_MS, NAME } from './wide-cache.js'

/** Longer than a cell lives. */
const OUTAGE_MS = 30_000

/** Time in which a writer that lives has asked SQL again. */
const ASKED_MS = 15_000

test('after an outage figures wait until writers have brought what cells have lost', async () => {
  /** Whether the row is in SQL, and the watermark past it, when figures have been read. */
  const met = new Set<string>()
  await explore(
    async (orders) => {
      const collector = partsOf(orders.actor('collector'))
      const reader = partsOf(orders.actor('reader'))
      const writing = partsOf(orders.actor('writer'))
      await enterGrid(orders, [collector, reader, writing])
      const writer = writerOf(writing)
      const look = async (): Promise<number> => {
        const now = await reader.database.now()
        const used = await readUsedGrids(reader.database, NAME, now)
        return completeUpTo(used, now, now).asOf
      }
      const at = writing.clock.now()
      const layer = collector.record.grid!.layers.at(at)
      writer.append('row')
      await orders.alone(() => writer.flush())
      // Nothing reaches SQL.
      await orders.pass(OUTAGE_MS)
      await orders.together({
        collector: () => drainAgain(collector),
        reader: async () => {
          const asOf = await look()
          const isThere = committed(orders).includes('row')
          assert(isThere || at >= asOf, `figures go ${asOf - at} ms past a row that its writer has`)
          met.add(`${isThere}, ${watermarkOf(orders) > layer}`)
        },
      })
      await orders.alone(() => writer.close())
      assert.deepEqual(committed(orders), ['row'])
      for (let passed = 0; passed <= ASKED_MS; passed += LAYER_MS) {
        await orders.pass(LAYER_MS)
        await orders.alone(() => drainAgain(collector))
      }
      const ago = reader.clock.now() - (await orders.alone(look))
      assert(ago <= 4 * LAYER_MS, `figures are ${ago} ms old`)
    },
    { preemptions: 1 },
  )
  assert(met.has('false, true'), [...met].join('; '))
})
