import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkServerLists } from '../../src/cli/doctor/records.js'
import { namespaced } from '../../src/connections/namespaced-cache.js'
import { GridRecord } from '../../src/wide-cache/ledger/grid-record.js'
import { sleep } from '../../src/support/clock.js'
import { explore, type Ports } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'
import { SILENT } from '../../src/support/logger.js'

/** Time after which a process puts a mark again. */
const LOOK_MS = 10_001

/** Marks in the cache's list, of which the next one begins it anew. */
const MARKS = 60

/** A collector that puts its marks; each is in the grid's row once the watermark has risen. */
async function collector({ cache, database, environment }: Ports): Promise<() => Promise<void>> {
  const { clock, newId } = environment
  const grid = {
    name: 'site',
    geometry: { width: 1, layerSeconds: 1 },
    drainAfterLayers: 2,
    flushMs: 50,
  }
  const record = new GridRecord({ ...grid, owner: newId(), scope: 'shared', newId })
  const { namespace } = namespaced(cache, {
    database,
    environment,
    logger: SILENT,
  })
  await record.enter(database, EPOCH, 0)
  await namespace.enter()
  return async () => {
    await sleep(clock, LOOK_MS)
    await namespace.look()
    const mark = namespace.newest
    assert(mark)
    await database.query('UPDATE wide_cache_grids SET mark = ?', [mark])
  }
}

test("the doctor finds the collectors' cache, though their list of marks begins anew", async () => {
  await explore(
    async (orders) => {
      const ports = orders.actor('collector')
      const mark = await orders.alone(() => collector(ports))
      await orders.alone(async () => {
        for (let count = 0; count < MARKS; count++) await mark()
      })
      const { database, cache } = orders.actor('doctor')
      await orders.together({
        collector: mark,
        doctor: async () => {
          const findings = await checkServerLists(database, cache)
          assert.deepEqual(
            findings.map(({ severity }) => severity),
            ['ok'],
          )
        },
      })
    },
    { preemptions: 1 },
  )
})
