import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BucketsDifferError,
  type CollisionFreeMap,
  MapOfParts,
  mapParts,
} from '../../src/collision-free-map/collision-free-map.js'
import { HASHES } from '../../src/buckets/encoding.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { SILENT } from '../../src/support/logger.js'

const MAP = { tables: 'collision-free-map', earlyTimersMs: 0 }

/** Updates of more than a portion. */
const MANY = 2_500

/** Opens a map of sums on an actor's ports. What `onUpdate` hears stands in a table. */
function open(orders: Orders, process: string, buckets = 1): CollisionFreeMap {
  const { database, environment } = orders.actor(process)
  return new MapOfParts(
    mapParts<string, number>(
      {
        name: 'law',
        database,
        buckets,
        every: false,
        logger: SILENT,
        combine: (_, current = 0, updates) => updates.reduce((sum, n) => sum + n, current),
        async onUpdate(changes, tx) {
          for (const { oldValue, newValue } of changes) {
            await tx.query('INSERT INTO changes VALUES (?, ?)', [
              oldValue ?? null,
              newValue ?? null,
            ])
          }
        },
      },
      environment,
    ),
  )
}

/** Opens maps of several processes, with 1 queued. */
async function begun(orders: Orders, ...processes: string[]): Promise<CollisionFreeMap[]> {
  orders.look('CREATE TABLE IF NOT EXISTS changes (old INTEGER, new INTEGER)')
  orders.look('DELETE FROM changes')
  const maps = processes.map((process) => open(orders, process))
  await orders.alone(async () => {
    for (const map of maps) await map.migrate()
    await maps[0]!.update([['key', 1]])
  })
  return maps
}

/** Asserts that nothing is queued, and that the changes are a chain up to this value. */
async function assertValue(orders: Orders, map: CollisionFreeMap, value: number): Promise<void> {
  await orders.alone(async () => {
    await map.process()
    assert.equal(await map.get('key'), value)
  })
  assert.deepEqual(orders.look('SELECT id FROM collision_free_map_queue'), [])
  let last: unknown = null
  for (const { old, new: newer } of orders.look('SELECT old, new FROM changes ORDER BY rowid')) {
    assert.equal(old, last)
    assert(Number(newer) > Number(old))
    last = newer
  }
  assert.equal(last, value)
}

test('an update while two combine is counted once, and changes are a chain', async () => {
  await explore(
    async (orders) => {
      const [one, other] = await begun(orders, 'one', 'other')
      await orders.together({
        one: () => one!.process(),
        other: () => other!.process(),
        updating: () => one!.update([['key', 10]]),
      })
      await assertValue(orders, one!, 11)
    },
    { ...MAP, preemptions: 1 },
  )
})

test('a value read while it is combined has each update once, and never goes back', async () => {
  await explore(
    async (orders) => {
      const [processing, updating] = await begun(orders, 'processing', 'updating')
      let least = 1
      await orders.together({
        processing: () => processing!.process(),
        updating: async () => {
          await updating!.update([['key', 10]])
          least = 11
        },
        reading: async () => {
          for (let i = 0; i < 2; i++) {
            const from = least
            const value = await updating!.get('key')
            assert(value === 11 || value === from, `${value} after ${from}`)
            least = value
          }
        },
      })
      await assertValue(orders, updating!, 11)
    },
    { ...MAP, preemptions: 1 },
  )
})

test('an update of a transaction that commits late is counted if it commits', async () => {
  await explore(async (orders) => {
    const [processing, updating] = await begun(orders, 'processing', 'updating')
    const { database } = orders.actor('updating')
    const update = (n: number, isDone: boolean) =>
      database.transaction(async (tx) => {
        await updating!.update([['key', n]], tx)
        assert.equal(await updating!.get('key', tx), n === 10 ? 1 + n : 11 + n)
        if (!isDone) throw new Error('rolled back')
      })
    await orders.together({
      processing: () => processing!.process(),
      updating: async () => {
        await update(10, true)
        await update(100, false).catch(() => undefined)
      },
    })
    await assertValue(orders, updating!, 11)
  }, MAP)
})

test('changing the number of buckets while others process and update loses nothing', async () => {
  await explore(
    async (orders) => {
      const [processing, updating] = await begun(orders, 'processing', 'updating')
      await orders.together({
        processing: () => processing!.process(),
        updating: () => updating!.update([['key', 10]]),
        changing: () => updating!.changeBuckets(3),
      })
      await assertValue(orders, updating!, 11)
    },
    { ...MAP, preemptions: 1 },
  )
})

test('with an answer lost each update is counted once', async () => {
  await explore(
    async (orders) => {
      const [one, other] = await begun(orders, 'one', 'other')
      await orders.together({
        one: () => one!.process().catch(() => undefined),
        other: () => other!.update([['key', 10]]).catch(() => undefined),
      })
      await orders.alone(() => other!.process())
      const value = await orders.alone(() => other!.get('key'))
      assert(value === 1 || value === 11)
      await assertValue(orders, other!, value)
    },
    { ...MAP, preemptions: 1, failures: 1 },
  )
})

test('of processes that begin a map with two numbers of buckets one is refused', async () => {
  await explore(async (orders) => {
    const refused: unknown[] = []
    const begun: number[] = []
    const begins = (process: string, buckets: number) => () =>
      open(orders, process, buckets)
        .migrate()
        .then(
          () => begun.push(buckets),
          (error: unknown) => refused.push(error),
        )
    await orders.together({ one: begins('one', 1), other: begins('other', 2) })
    assert(refused.length === 1 && refused[0] instanceof BucketsDifferError)
    const [row] = orders.look('SELECT buckets FROM collision_free_maps')
    const rows = orders.look('SELECT * FROM collision_free_map_buckets')
    assert.equal(row!['buckets'], rows.length)
    assert.deepEqual(begun, [rows.length])
    await orders.alone(() => open(orders, 'third', rows.length).migrate())
  }, MAP)
})

test('updates that cannot be combined are set aside when they leave the queue', async () => {
  await explore(async (orders) => {
    const { database, environment } = orders.actor('process')
    const map = new MapOfParts(
      mapParts<string, number>(
        {
          name: 'law',
          database,
          buckets: 1,
          every: false,
          logger: SILENT,
          combine: () => {
            throw new Error('x'.repeat(10_000))
          },
        },
        environment,
      ),
    )
    await orders.alone(() => map.migrate())
    await orders.alone(() =>
      map.update([
        ['key', 1],
        ['other', 2],
      ]),
    )
    await orders.together({ process: () => map.process() })
    assert.deepEqual(orders.look('SELECT id FROM collision_free_map_queue'), [])
    const parked = orders.look('SELECT length(reason) AS length FROM collision_free_map_parked')
    assert.equal(parked.length, 2)
    for (const { length } of parked) assert(Number(length) < 1_000, `${length}`)
  }, MAP)
})

test('one call processes a key with many updates, whatever was queued before', async () => {
  await explore(async (orders) => {
    const [map] = await begun(orders, 'process')
    const updates = Array.from({ length: MANY }, (): [string, number] => ['hot', 1])
    await orders.alone(() => map!.update(updates))
    await orders.alone(() => map!.process())
    assert.deepEqual(orders.look('SELECT id FROM collision_free_map_queue'), [])
    assert.equal(await orders.alone(() => map!.get('hot')), MANY)
  }, MAP)
})

test('of two changes of the number of buckets at once the later one holds, whole', async () => {
  await explore(
    async (orders) => {
      const [one, other] = await begun(orders, 'one', 'other')
      const changed: number[] = []
      await orders.together({
        one: async () => {
          await one!.changeBuckets(3)
          changed.push(3)
        },
        other: async () => {
          await other!.changeBuckets(2)
          changed.push(2)
        },
        updating: () => one!.update([['key', 10]]),
      })
      const [row] = orders.look('SELECT buckets FROM collision_free_maps')
      assert(changed.includes(Number(row!['buckets'])))
      const ranges = orders.look(
        'SELECT bucket, first_hash, last_hash FROM collision_free_map_buckets ORDER BY bucket',
      )
      assert.equal(ranges.length, row!['buckets'])
      // Each hash is in one bucket.
      let next = 0
      for (const [bucket, range] of ranges.entries()) {
        assert.equal(range['bucket'], bucket)
        assert.equal(range['first_hash'], next)
        next = Number(range['last_hash']) + 1
      }
      assert.equal(next, HASHES)
      await assertValue(orders, one!, 11)
    },
    { ...MAP, preemptions: 1 },
  )
})

test('onUpdate reads the values that it is told of', async () => {
  await explore(async (orders) => {
    const { database, environment } = orders.actor('process')
    const read: [told: unknown, read: unknown][] = []
    const map: CollisionFreeMap<string, number> = new MapOfParts(
      mapParts<string, number>(
        {
          name: 'law',
          database,
          buckets: 1,
          every: false,
          logger: SILENT,
          combine: (_, current = 0, updates) => updates.reduce((sum, n) => sum + n, current),
          async onUpdate(changes, tx) {
            for (const { key, newValue } of changes) read.push([newValue, await map.get(key, tx)])
          },
        },
        environment,
      ),
    )
    await orders.alone(() => map.migrate())
    await orders.alone(() => map.update([['key', 1]]))
    await orders.together({ process: () => map.process() })
    await orders.alone(() => map.update([['key', 10]]))
    await orders.together({ process: () => map.process() })
    assert.deepEqual(read, [
      [1, 1],
      [11, 11],
    ])
  }, MAP)
})
