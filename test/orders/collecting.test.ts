import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector } from '../../src/wide-cache/collector/collector.js'
import { NameDrain } from '../../src/wide-cache/collector/name-drain.js'
import { DrainTurns } from '../../src/wide-cache/collector/drain-turns.js'
import { sleep } from '../../src/support/clock.js'
import { explore } from '../simulated-world/explorer.js'
import { drainOf, enterGrid, type Parts, partsOf, watermarkOf, writerOf } from './parts.js'
import { newReport } from '../../src/wide-cache/collector/drain-report.js'
import { committed, LAYER_MS } from './wide-cache.js'
import { Chores } from '../../src/wide-cache/collector/chores.js'

/** Time after which the first run has begun: it begins a little after a full second. */
const FIRST_RUN_MS = 1_050

/** `isReady`: what comes before all work, such as a migration. */
function collectingOf(parts: Parts, isReady = async (): Promise<unknown> => undefined): Collector {
  const nameDrain = new NameDrain(parts)
  return new Collector(
    {
      ...parts,
      chores: new Chores({
        ...parts,
        settings: {
          ...parts.settings,
          removeOld: undefined,
          afterDrain: undefined,
          afterRun: undefined,
        },
      }),
      database: { ...parts.database, migrate: async () => void (await isReady()) },
      nameDrain,
      turns: new DrainTurns(parts.environment, nameDrain),
      heartbeat: () => parts.sameCache.compare(),
    },
    '* * * * * *',
    1,
  )
}

test('a process that ends while it collects gives the lease back, after its run', async () => {
  const runs = new Set<number>()
  await explore(
    async (orders) => {
      const one = partsOf(orders.actor('one'))
      await enterGrid(orders, [one])
      const writer = writerOf(one)
      writer.append('a row')
      await orders.alone(() => writer.flush())
      await orders.pass(3 * LAYER_MS)
      let isEnded = false
      await orders.together({
        one: async () => {
          const collecting = collectingOf(one)
          await sleep(one.clock, FIRST_RUN_MS)
          await collecting.end()
          isEnded = true
        },
      })
      assert(isEnded)
      const rows = committed(orders)
      runs.add(rows.length)
      const [grid] = orders.look('SELECT lease_until, run_rows FROM wide_cache_grids')
      assert.equal(Number(grid!['lease_until']), 0)
      assert.equal(Number(grid!['run_rows'] ?? 0), rows.length)
      await orders.pass(3 * LAYER_MS)
      assert.deepEqual(committed(orders), rows, 'no run is begun after the end')
    },
    { preemptions: 1 },
  )
  assert.deepEqual(runs, new Set([1]))
})

test('a process that has asked for the lease, and got no answer, gives it back too', async () => {
  await explore(
    async (orders) => {
      const one = partsOf(orders.actor('one'))
      await enterGrid(orders, [one])
      await orders.together({
        one: async () => {
          const query = () => one.database.query('SELECT 1 FROM wide_cache_names')
          const collecting = collectingOf(one, () => query().catch(() => undefined))
          await sleep(one.clock, FIRST_RUN_MS)
          await collecting.end()
        },
      })
      // So that nothing is under way any more.
      await orders.pass(1)
      const [grid] = orders.look('SELECT lease_until FROM wide_cache_grids')
      const isHeard = !orders.trace.some((line) => /lease_owner = NULL.*, failed$/.test(line))
      assert.equal(Number(grid!['lease_until']) === 0, isHeard)
    },
    { preemptions: 1, failures: 1 },
  )
})

test('a collector that ends takes back nothing that the next one has published', async () => {
  await explore(async (orders) => {
    const [one, two] = [partsOf(orders.actor('one')), partsOf(orders.actor('two'))]
    await enterGrid(orders, [one, two])
    const collecting = collectingOf(one)
    await orders.pass(FIRST_RUN_MS)
    const present = (await two.database.now()) + LAYER_MS
    const { grid } = two.record
    await orders.together({
      one: () => collecting.end(),
      two: async () => {
        if (!(await two.record.lease(two.database, present - LAYER_MS, 1))) return
        const report = newReport()
        const [state] = await two.record.states(two.database)
        await drainOf(two).drain(present, state!, undefined, report)
      },
    })
    // So that nothing is under way any more.
    await orders.pass(1)
    const published = String(await orders.store.get(orders.keyStart() + grid!.keys.watermark))
    assert(parseInt(published) >= watermarkOf(orders), `${published} is published`)
  })
})
