import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GridKeys } from '../../src/wide-cache/grid-keys.js'
import {
  enterName,
  type GivenSetting,
  KindDiffersError,
  type OwnName,
  readNameSettings,
} from '../../src/wide-cache/ledger/name-settings.js'
import { removeOldEntries } from '../../src/wide-cache/ledger/retention.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { removeName } from '../../src/wide-cache/operations/remove-name.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { drainOf, drainOnce, enterGrid, type Parts, partsOf, rememberKeys } from './parts.js'
import { LAYER_MS, NAME, openWideCache } from './wide-cache.js'

const MONTH_MS = 31 * 24 * 3600 * 1000
/** Few cells lie in the time from which a name's cells are removed. */
const FEW_LAYERS = { width: 1, layerSeconds: 300 }
const LEASE_MS = 20_000
const WRITER = Buffer.alloc(16, 1)
const OWN: OwnName = {
  name: NAME,
  kind: 'a',
  cellTtlSeconds: 100,
  directSeconds: 75,
  vanishedSeconds: 100,
  nameSettings: {},
}

async function enter({ record, database }: Parts): Promise<void> {
  await record.enter(database, await database.now(), 5)
}

async function lease({ record, database }: Parts, run?: Parameters<typeof record.lease>[3]) {
  return record.lease(database, await database.now(), 1, run)
}

function grids(orders: Orders) {
  return orders.look('SELECT * FROM wide_cache_grids')
}

test('two processes that start at once have one grid, and both know it', async () => {
  await explore(async (orders) => {
    const [one, two] = [partsOf(orders.actor('one')), partsOf(orders.actor('two'))]
    await orders.together({ one: () => enter(one), two: () => enter(two) })
    const [grid, ...others] = grids(orders)
    assert.equal(others.length, 0)
    for (const { record } of [one, two]) assert.deepEqual(record.grid!.id, grid!['id'])
  })
})

test('a grid that a process enters while old grids are removed is there', async () => {
  await explore(async (orders) => {
    const [chores, one] = [partsOf(orders.actor('chores')), partsOf(orders.actor('one'))]
    await enterGrid(orders, [one])
    await orders.pass(MONTH_MS)
    await orders.together({
      chores: async () => removeOldEntries(chores.database, NAME, await chores.database.now()),
      one: () => enter(one),
    })
    assert.deepEqual(grids(orders)[0]!['id'], one.record.grid!.id)
  })
})

test('a grid in which a drain finds frames is not removed as old', async () => {
  await explore(async (orders) => {
    const [chores, one] = [partsOf(orders.actor('chores')), partsOf(orders.actor('one'))]
    await enterGrid(orders, [one])
    await orders.pass(MONTH_MS)
    await rememberKeys(orders)
    const { record, clock } = one
    const grid = record.grid!
    const drain = drainOf(one)
    await orders.store.set(
      orders.keyStart() + grid.keys.cell(grid.layers.at(clock.now()), 0),
      new Sender(WRITER).frame(0).bytes,
      60,
    )
    await orders.pass(3 * LAYER_MS)
    let isDrained = false
    await orders.together({
      chores: async () => {
        const now = await chores.database.now()
        await removeOldEntries(chores.database, NAME, now)
      },
      one: async () => {
        const [state] = await record.states(one.database)
        // Removed before the drain began.
        if (!state) return
        isDrained = await drainOnce(one, drain).then(
          () => true,
          () => false,
        )
      },
    })
    assert.equal(grids(orders).length, isDrained ? 1 : 0)
  })
})

test('of two processes that ask for the lease at once, one gets it', async () => {
  await explore(async (orders) => {
    const [one, two] = [partsOf(orders.actor('one')), partsOf(orders.actor('two'))]
    await enterGrid(orders, [one, two])
    const said: boolean[] = []
    await orders.together({
      one: async () => said.push(await lease(one)),
      two: async () => said.push(await lease(two)),
    })
    assert.deepEqual(said.sort(), [false, true])
  })
})

test('a process with a new grid gets no lease while another one has that of the name', async () => {
  await explore(async (orders) => {
    const one = partsOf(orders.actor('one'))
    const two = partsOf(orders.actor('two'), { geometry: FEW_LAYERS })
    await enterGrid(orders, [one])
    await orders.alone(() => lease(one))
    await orders.together({
      one: async () => assert(await lease(one)),
      two: async () => {
        await enter(two)
        assert(!(await lease(two)))
      },
    })
  })
})

test('a collector that ends late leaves the lease to the one that has it now', async () => {
  await explore(async (orders) => {
    const [late, next] = [partsOf(orders.actor('late')), partsOf(orders.actor('next'))]
    await enterGrid(orders, [late, next])
    await orders.alone(() => lease(late))
    await orders.pass(LEASE_MS + 1)
    const at = await next.database.now()
    await orders.together({
      late: () => late.record.release(late.database, { at: at - 1, rows: 1, ms: 1 }),
      next: async () => {
        assert(await lease(next))
        // Renewed with the run that it was for.
        assert(await lease(next, { at, rows: 2, ms: 2 }))
      },
    })
    const [grid] = grids(orders)
    assert.equal(Number(grid!['lease_until']), at + LEASE_MS)
    assert.deepEqual([grid!['run_at'], grid!['run_rows']], [at, 2])
    await orders.alone(async () => assert(!(await lease(late))))
  })
})

test('of two kinds that processes record for a name at once, one is refused', async () => {
  await explore(async (orders) => {
    const refused: string[] = []
    const use = (kind: string) => async () => {
      try {
        await enterName(orders.actor(kind).database, { ...OWN, kind })
      } catch (error) {
        assert(error instanceof KindDiffersError)
        refused.push(kind)
      }
    }
    await orders.together({ a: use('a'), b: use('b') })
    const found = await orders.alone(() => readNameSettings(orders.actor('').database, NAME))
    assert.deepEqual([found!.kind, ...refused].sort(), ['a', 'b'])
  })
})

test('of times that processes record for a name at once, the longest count', async () => {
  await explore(async (orders) => {
    const give = (actor: string, given: Partial<OwnName>) => () =>
      enterName(orders.actor(actor).database, { ...OWN, ...given })
    const longest = (value: number): GivenSetting => ({ value, counts: 'longest' })
    await orders.together({
      one: give('one', { cellTtlSeconds: 200, nameSettings: { historyDays: longest(3) } }),
      two: give('two', { nameSettings: { keepSeconds: longest(20), historyDays: longest(2) } }),
    })
    const found = await orders.alone(() => readNameSettings(orders.actor('').database, NAME))
    const { cellTtlSeconds, keepSeconds, historyDays } = found!
    assert.deepEqual([cellTtlSeconds, keepSeconds, historyDays], [200, 20, 3])
  })
})

test('a name whose removal fails is found again until all of it is removed', async () => {
  await explore(
    async (orders) => {
      const { database, cache } = orders.actor('operator')
      const parts = partsOf(orders.actor('process'), { geometry: FEW_LAYERS })
      await enterGrid(orders, [parts])
      await orders.alone(async () => {
        await parts.ledger.commit([new Sender(WRITER).frame(0)])
        await parts.ledger.keepUnreadable([Buffer.from('no frame')])
      })
      const left = () =>
        ['names', 'grids', 'writers', 'ranges', 'quarantine'].filter(
          (table) => orders.look(`SELECT 1 FROM wide_cache_${table}`).length > 0,
        )
      assert.deepEqual(left(), ['names', 'grids', 'writers', 'quarantine'])
      await orders.together({
        operator: () => removeName(database, cache, NAME).catch(() => undefined),
      })
      assert(left().length === 0 || left().includes('names'), left().join())
      await orders.alone(() => removeName(database, cache, NAME))
      assert.deepEqual(left(), [])
    },
    { failures: 1, preemptions: 0 },
  )
})

test('a process of the kind that is refused enters no grid and places nothing', async () => {
  await explore(
    async (orders) => {
      const open = (kind: string) => openWideCache(orders.actor(kind), { kind })
      const start = (kind: string) => async () => {
        const wide = open(kind)
        try {
          await wide.migrate()
        } catch (error) {
          assert(error instanceof KindDiffersError)
          wide.append('a row')
          // It waits for the grid.
          await assert.rejects(wide.flush(), KindDiffersError)
        }
      }
      await orders.together({ one: start('one'), two: start('two') })
      assert.equal(grids(orders).length, 1)
      const [grid] = grids(orders)
      const layer = Math.floor(orders.actor('').environment.clock.now() / LAYER_MS)
      for (let at = layer - 10; at <= layer; at++) {
        const key = orders.keyStart() + new GridKeys(grid!['id'] as Buffer).cell(at, 0)
        assert.equal(await orders.store.get(key), undefined)
      }
    },
    { preemptions: 1 },
  )
})
