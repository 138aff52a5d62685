/** Figures never say that they have the rows of a grid with long layers before SQL does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../../src/database/database.js'
import { NameDrain } from '../../src/wide-cache/collector/name-drain.js'
import { completeUpTo } from '../../src/wide-cache/complete.js'
import { WatermarkMoved } from '../../src/wide-cache/ledger/grid-record.js'
import { readUsedGrids } from '../../src/wide-cache/used-grids.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { DRAIN_AFTER_LAYERS, enterGrid, GEOMETRY, type Parts, partsOf, writerOf } from './parts.js'
import { committed, LAYER_MS, NAME } from './wide-cache.js'

/** Age at which what lies in long layers is in SQL, after a run. */
const PASSED_MS = (DRAIN_AFTER_LAYERS + 2) * LAYER_MS

const LONG = { ...GEOMETRY, layerSeconds: 600 }
interface Row {
  readonly row: string
  readonly at: number
}

/** A writer in long layers beside a collector and a reader in short ones. */
async function start(orders: Orders) {
  const writer = partsOf(orders.actor('writer'), { geometry: LONG })
  const collector = partsOf(orders.actor('collector'))
  const reader = partsOf(orders.actor('reader'))
  await enterGrid(orders, [collector, reader])
  await orders.alone(async () => {
    await writer.record.enter(writer.database, await writer.database.now(), 5)
  })
  const nameDrain = new NameDrain(collector)
  const recorded: Row[] = []
  const writing = writerOf(writer)
  return {
    reader,
    /** Records a row, and places it. */
    append: async (row: string): Promise<void> => {
      recorded.push({ row, at: writer.clock.now() })
      writing.append(row)
      await writing.flush()
    },
    drain: async (): Promise<void> => {
      await nameDrain.drain().catch((error: unknown) => {
        if (error instanceof WatermarkMoved) throw error
      })
    },
    look: () => look(orders, reader, recorded),
  }
}

function unlessDatabaseFails(error: unknown): undefined {
  if (!(error instanceof DatabaseError)) throw error
}

/** Returns the moment up to which figures are complete, once SQL has all that it should. */
async function look(orders: Orders, reader: Parts, recorded: readonly Row[]): Promise<number> {
  const now = await reader.database.now()
  const { asOf } = completeUpTo(await readUsedGrids(reader.database, NAME, now), now, now)
  const rows = committed(orders)
  for (const { row, at } of recorded) {
    assert(at >= asOf || rows.includes(row), `${row} is ${asOf - at} ms older than the figures`)
  }
  return asOf
}

test('what lies in long layers is in SQL when figures go past it', async () => {
  const passed = new Set<boolean>()
  await explore(
    async (orders) => {
      const { append, drain, look } = await start(orders)
      await orders.alone(() => append('before'))
      const at = orders.actor('reader').environment.clock.now()
      await orders.pass(PASSED_MS)
      await orders.together({
        collector: drain,
        reader: async () => {
          const asOf = await look().catch(unlessDatabaseFails)
          if (asOf !== undefined) passed.add(asOf > at)
        },
      })
      await orders.alone(look)
    },
    { failures: 1, preemptions: 1 },
  )
  assert.deepEqual(passed, new Set([false, true]))
})

test('a process with long layers that comes back during a run is not overtaken', async () => {
  await explore(
    async (orders) => {
      const { append, drain, look } = await start(orders)
      await orders.alone(drain)
      await orders.pass(PASSED_MS)
      await orders.together({
        collector: drain,
        writer: () => append('back'),
        reader: async () => void (await look()),
      })
      await orders.pass(PASSED_MS)
      await orders.together({ collector: drain, reader: async () => void (await look()) })
      assert.deepEqual(committed(orders), ['back'])
      const asOf = await orders.alone(look)
      const now = orders.actor('reader').environment.clock.now()
      assert(asOf > now - PASSED_MS, 'and figures are not older')
    },
    { preemptions: 1 },
  )
})
