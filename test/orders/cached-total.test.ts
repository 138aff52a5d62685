import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../src/cache/cache.js'
import { CachedTotal } from '../../src/counters/cached-total.js'
import { explore, type Orders } from '../simulated-world/explorer.js'

const KEY = 'total'
const TTL_SECONDS = 60
const COUNTERS = { tables: 'counters' }

/** A process that counts in one row, and has the total in the cache follow. */
class Process {
  readonly #cached: CachedTotal
  readonly #database: ReturnType<Orders['actor']>['database']

  constructor(orders: Orders, name: string, through?: Cache) {
    const { cache, database, environment } = orders.actor(name)
    this.#cached = new CachedTotal(through ?? cache, environment, TTL_SECONDS)
    this.#database = database
  }

  async count(delta: number): Promise<void> {
    const seen = await this.#cached.before(KEY)
    await this.#database.query('UPDATE sharded_counter_shards SET value = value + ?', [delta])
    await this.#cached.after(KEY, seen, delta)
  }

  get(): Promise<number> {
    return this.#cached.get(KEY, async () => {
      const { rows } = await this.#database.query('SELECT value FROM sharded_counter_shards')
      return Number(rows[0]!['value'])
    })
  }
}

/** Puts a total of 1 into the database. */
function begin(orders: Orders): void {
  orders.look("INSERT INTO sharded_counter_shards VALUES ('law', 0, 1, 1)")
}

function committedTotal(orders: Orders): number {
  return Number(orders.look('SELECT value FROM sharded_counter_shards')[0]!['value'])
}

/** Asserts that this total is committed, and that each process gets it. */
async function assertTotal(orders: Orders, total: number, ...processes: Process[]): Promise<void> {
  for (const process of processes) {
    assert.equal(committedTotal(orders), total)
    assert.equal(await orders.alone(() => process.get()), total)
  }
}

for (const isCached of [true, false]) {
  const where = isCached ? 'in the cache' : 'that is not in the cache'
  test(`an increment is in each later total ${where}, and none is too high`, async () => {
    await explore(async (orders) => {
      begin(orders)
      const [counting, reading] = [new Process(orders, 'counting'), new Process(orders, 'reading')]
      if (isCached) await orders.alone(() => reading.get())
      let least = 1
      await orders.together({
        counting: async () => {
          await counting.count(2)
          least = 3
          assert.equal(await counting.get(), 3)
        },
        reading: async () => {
          const from = least
          const total = await reading.get()
          assert(total >= from && [1, 3].includes(total), `${total}`)
        },
      })
      await assertTotal(orders, 3, counting, reading)
    }, COUNTERS)
  })

  test(`increments of two processes meet in a total ${where}`, async () => {
    await explore(async (orders) => {
      begin(orders)
      const processes = [new Process(orders, 'one'), new Process(orders, 'other')] as const
      const [one, other] = processes
      if (isCached) await orders.alone(() => one.get())
      const counts = (process: Process, delta: number) => async () => {
        await process.count(delta)
        const total = await process.get()
        assert([1 + delta, 111].includes(total), `${total} after ${delta}`)
      }
      await orders.together({ one: counts(one, 10), other: counts(other, 100) })
      await assertTotal(orders, 111, ...processes)
    }, COUNTERS)
  })
}

test('an increment of a total that the cache has lost is not added to the next one', async () => {
  await explore(async (orders) => {
    begin(orders)
    const [counting, reading] = [new Process(orders, 'counting'), new Process(orders, 'reading')]
    await orders.alone(() => reading.get())
    await orders.together({
      counting: () => counting.count(2),
      reading: async () => {
        await orders.actor('reading').cache.delete(KEY)
        await reading.get()
      },
    })
    await assertTotal(orders, 3, counting, reading)
  }, COUNTERS)
})

for (const isCached of [true, false]) {
  const state = isCached ? 'has a total' : 'is empty'
  test(`a cache that ${state}, and goes back, shows no total that is too high`, async () => {
    const behind = new Set<boolean>()
    await explore(
      async (orders) => {
        begin(orders)
        const [counting, reading] = [
          new Process(orders, 'counting'),
          new Process(orders, 'reading'),
        ]
        if (isCached) await orders.alone(() => reading.get())
        const { cache } = orders.actor('network')
        await orders.together({
          counting: async () => {
            await counting.count(2)
            await counting.count(4)
          },
          reading: () => reading.get(),
          network: async () => {
            const snapshot = await cache.get(KEY)
            await (snapshot ? cache.set(KEY, snapshot, TTL_SECONDS) : cache.delete(KEY))
          },
        })
        for (const process of [counting, reading]) {
          const total = await orders.alone(() => process.get())
          assert([1, 3, 5, 7].includes(total), `${total}`)
          behind.add(total < 7)
        }
        await orders.pass(TTL_SECONDS * 1000)
        await assertTotal(orders, 7, counting, reading)
      },
      { ...COUNTERS, preemptions: 1 },
    )
    assert.equal(behind.size, 2)
  })
}

test('of two readings at once no total comes back that an increment has changed', async () => {
  await explore(
    async (orders) => {
      begin(orders)
      const counting = new Process(orders, 'counting')
      const [one, other] = [new Process(orders, 'one'), new Process(orders, 'other')]
      await orders.together({
        counting: () => counting.count(2),
        one: () => one.get(),
        other: () => other.get(),
      })
      await assertTotal(orders, 3, counting, one, other)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('a request to the cache that comes late, after it has failed, does no harm', async () => {
  await explore(async (orders) => {
    begin(orders)
    const counting = new Process(orders, 'counting')
    const late: (() => Promise<unknown>)[] = []
    const ports = orders.actor('reading')
    const reading = new Process(orders, 'reading', {
      ...ports.cache,
      add: async (...given) => {
        late.push(() => orders.actor('network').cache.add(...given))
        throw new CacheError('CACHE_TIMEOUT', 'No answer')
      },
    })
    await orders.together({
      reading: () => reading.get(),
      counting: () => counting.count(2),
      network: async () => {
        for (const work of late) await work()
      },
    })
    await assertTotal(orders, 3, counting, reading)
  }, COUNTERS)
})

test('a total is too low for its TTL at most, and never too high, if the cache fails', async () => {
  await explore(
    async (orders) => {
      begin(orders)
      const [counting, reading] = [new Process(orders, 'counting'), new Process(orders, 'reading')]
      await orders.alone(() => reading.get())
      await orders.together({
        counting: () => counting.count(2).catch(() => undefined),
        reading: () => reading.get().catch(() => undefined),
      })
      const committed = committedTotal(orders)
      assert((await orders.alone(() => reading.get())) <= committed)
      await orders.pass(TTL_SECONDS * 1000)
      await assertTotal(orders, committed, counting, reading)
    },
    { ...COUNTERS, failures: 1 },
  )
})
