import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Processing } from '../../src/buckets/processing.js'
import { sleep } from '../../src/support/clock.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { BurstLogger, type Logger, SILENT } from '../../src/support/logger.js'
import { explore, type Orders } from '../simulated-world/explorer.js'

const MAPS = { tables: 'collision-free-map' }
const EVERY_MS = 100
const LEASE_MS = 10_000
const RENEWED_AFTER_MS = LEASE_MS / 3

interface Settings {
  readonly hasSlow?: () => boolean
  readonly schedule?: number
  readonly logger?: Logger
}

/** Has a process do `work` by itself. */
function processing(
  orders: Orders,
  name: string,
  work: () => Promise<unknown>,
  { hasSlow = () => false, schedule = EVERY_MS, logger = SILENT }: Settings = {},
): Processing {
  const { database, environment } = orders.actor(name)
  const tables = {
    what: 'map',
    all: 'collision_free_maps',
    buckets: 'collision_free_map_buckets',
    queued: 'collision_free_map_queue',
    owner: 'map',
    key: 'map_key',
    value: 'map_value',
  }
  return new Processing({
    every: { schedule, keepsAlive: true },
    queue: {
      tables,
      name: 'law',
      database: { database },
      buckets: { enter: async () => undefined },
      environment,
      logger: new BurstLogger(logger, () => environment.clock.elapsed()),
    },
    process: work,
    calls: { hasSlow },
  })
}

/** Another process takes the lease: each lease ends at a time of its own. */
const TAKEN = "UPDATE collision_free_maps SET lease_owner = x'02', lease_until = lease_until + 1"

function begin(orders: Orders): void {
  orders.look("INSERT INTO collision_free_maps (map, buckets) VALUES ('law', 1)")
}

function assertFree(orders: Orders): void {
  const [row] = orders.look('SELECT lease_owner, lease_until FROM collision_free_maps')
  assert.deepEqual(row, { lease_owner: null, lease_until: 0 })
}

test('of two processes that begin to process at once one has the lease', async () => {
  await explore(async (orders) => {
    begin(orders)
    let runs = 0
    const never = (): Promise<never> => {
      runs++
      return new Promise(() => undefined)
    }
    const started = ['one', 'other'].map((name) => processing(orders, name, never))
    const { clock } = orders.actor('clock').environment
    await orders.together({ clock: () => sleep(clock, 2 * EVERY_MS) })
    // It renews the lease for as long as it works.
    await orders.pass(3 * LEASE_MS)
    assert.equal(runs, 1)
    assert.equal(started.length, 2)
  }, MAPS)
})

test('a process keeps its lease from one run to the next, however far apart they are', async () => {
  await explore(
    async (orders) => {
      begin(orders)
      const every = 6 * LEASE_MS
      const runs: string[] = []
      const start = (name: string) =>
        processing(orders, name, async () => void runs.push(name), { schedule: every })
      const one = start('one')
      await orders.pass(every / 2)
      const other = start('other')
      await orders.pass(3 * every)
      assert.deepEqual(runs, ['one', 'one', 'one'])
      for (const process of [one, other]) await orders.alone(() => process.stop())
    },
    { ...MAPS, preemptions: 0 },
  )
})

test('a process with a slow call gives its lease back, and another one goes on', async () => {
  await explore(async (orders) => {
    begin(orders)
    const runs: string[] = []
    const never = (): Promise<never> => {
      runs.push('stuck')
      return new Promise(() => undefined)
    }
    processing(orders, 'stuck', never, { hasSlow: () => true })
    await orders.pass(EVERY_MS + 1)
    const other = processing(orders, 'other', async () => void runs.push('other'))
    await orders.pass(RENEWED_AFTER_MS - EVERY_MS)
    assert.deepEqual(runs, ['stuck'])
    const { clock } = orders.actor('clock').environment
    await orders.together({ clock: () => sleep(clock, EVERY_MS + 1) })
    // Its later runs may take the lease again, and give it back again.
    await orders.pass(LEASE_MS)
    assert(runs.includes('other'), runs.join())
    await orders.alone(() => other.stop())
  }, MAPS)
})

test('a run that is left for its slow call is not said to process again', async () => {
  await explore(
    async (orders) => {
      begin(orders)
      let [runs, hangs] = [0, true]
      const logger = keptLog()
      const work = async (): Promise<void> => {
        if (runs++ === 0) throw new Error('not now')
        if (hangs) await new Promise(() => undefined)
      }
      processing(orders, 'process', work, { hasSlow: () => true, logger })
      await orders.pass(2 * EVERY_MS + LEASE_MS)
      assert(runs >= 2)
      assert.match(
        logger.lines.join(),
        /^wide-cache: processing the map "law" failed [^,]*not now$/,
      )
      hangs = false
      await orders.pass(2 * LEASE_MS)
      assert.deepEqual(logger.lines.slice(1), ['wide-cache: the map "law" is processed again'])
    },
    { ...MAPS, preemptions: 0 },
  )
})

test('a process that stops gives its lease back, also while it renews it', async () => {
  await explore(async (orders) => {
    begin(orders)
    let isDone = (): void => undefined
    const working = new Promise<void>((resolve) => (isDone = resolve))
    const process = processing(orders, 'process', () => working)
    await orders.pass(EVERY_MS + 1)
    const { clock } = orders.actor('process').environment
    await orders.together({
      stopping: async () => {
        await sleep(clock, RENEWED_AFTER_MS)
        isDone()
        await process.stop()
      },
    })
    // No renewal comes later either.
    await orders.pass(2 * RENEWED_AFTER_MS)
    assertFree(orders)
  }, MAPS)
})

test('a process that stops gives back a lease whose answer was lost', async () => {
  await explore(
    async (orders) => {
      begin(orders)
      const process = processing(orders, 'process', async () => undefined)
      const { clock } = orders.actor('process').environment
      await orders.together({ clock: () => sleep(clock, EVERY_MS + 1) })
      await orders.alone(() => process.stop())
      assertFree(orders)
    },
    { ...MAPS, preemptions: 0, failures: 1 },
  )
})

test('a process that stops leaves the lease to another one that has taken it', async () => {
  await explore(async (orders) => {
    begin(orders)
    const process = processing(orders, 'process', async () => undefined)
    await orders.pass(EVERY_MS + 1)
    const { database } = orders.actor('other')
    await orders.together({
      stopping: () => process.stop(),
      other: () => database.query(TAKEN),
    })
    const [row] = orders.look('SELECT lease_owner FROM collision_free_maps')
    assert.deepEqual(row, { lease_owner: Buffer.from([2]) })
  }, MAPS)
})

test('a process that stops begins no work, and keeps no lease, whatever it has asked', async () => {
  await explore(async (orders) => {
    begin(orders)
    let [isStopping, beginsLate] = [false, false]
    const process = processing(orders, 'process', async () => {
      beginsLate ||= isStopping
    })
    const { clock } = orders.actor('process').environment
    await orders.together({
      stopping: async () => {
        await sleep(clock, EVERY_MS)
        isStopping = true
        await process.stop()
      },
    })
    await orders.pass(2 * EVERY_MS)
    assert(!beginsLate)
    assertFree(orders)
  }, MAPS)
})

test('a process that has no lease asks nothing as it stops', async () => {
  await explore(async (orders) => {
    begin(orders)
    const process = processing(orders, 'process', async () => undefined)
    await orders.together({ stopping: () => process.stop() })
    assert.deepEqual(
      orders.trace.filter((step) => /UPDATE/.test(step)),
      [],
    )
  }, MAPS)
})

test('a lease that was taken while the clock was ahead stops no other process', async () => {
  for (const [aheadMs, runs] of [
    [0, 0],
    [7_200_000, 1],
  ] as const) {
    await explore(async (orders) => {
      begin(orders)
      const { clock } = orders.actor('clock').environment
      const until = (await orders.alone(() => orders.actor('clock').database.now())) + LEASE_MS
      orders.look("UPDATE collision_free_maps SET lease_owner = x'02', lease_until = ?", [
        until + aheadMs,
      ])
      let begun = 0
      const process = processing(orders, 'process', async () => void begun++)
      await orders.together({ clock: () => sleep(clock, EVERY_MS + 10) })
      await orders.alone(() => process.stop())
      assert.equal(begun, runs)
    }, MAPS)
  }
})
