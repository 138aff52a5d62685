import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { openShardedCounter } from './counters.js'

const CACHE_SECONDS = 60
const COUNTERS = { tables: 'counters', earlyTimersMs: 5_000 }

/** Whether the cache has not answered, or SQL not said which keys are the database's own. */
function hasCacheFailed({ trace }: Orders): boolean {
  return trace.some((line) => /: (?:cache |.*wide_cache_(?:identity|marks)).*failed$/.test(line))
}

/** Opens a counter on the ports of a process that has used it. */
async function begun(orders: Orders, process: string): Promise<ShardedCounter> {
  const counter = openShardedCounter(orders.actor(process))
  await orders.alone(async () => {
    await counter.increment()
    await counter.get()
  })
  return counter
}

/** Asserts that this total is committed, and that a counter says so. */
async function assertTotal(orders: Orders, counter: ShardedCounter, total: number): Promise<void> {
  const [row] = orders.look('SELECT SUM(value) AS total FROM sharded_counter_shards')
  assert.equal(row!['total'], total)
  assert.equal(await orders.alone(() => counter.get()), total)
}

test("a caller's increment is in its next total, also while another caller reads", async () => {
  await explore(async (orders) => {
    const counter = await begun(orders, 'process')
    await orders.together({
      counting: async () => {
        await counter.increment()
        assert.equal(await counter.get(), 2)
      },
      reading: () => counter.get(),
    })
    await assertTotal(orders, counter, 2)
  }, COUNTERS)
})

test('an increment while another process reads is added to its total once', async () => {
  await explore(async (orders) => {
    const counting = await begun(orders, 'counting')
    const reading = openShardedCounter(orders.actor('reading'))
    await orders.pass(CACHE_SECONDS * 1000)
    await orders.together({
      counting: () => counting.increment(2),
      reading: async () => assert([1, 3].includes(await reading.get())),
    })
    await assertTotal(orders, counting, 3)
    await assertTotal(orders, reading, 3)
  }, COUNTERS)
})

test('of two processes that begin a counter both increments are counted', async () => {
  await explore(
    async (orders) => {
      const one = openShardedCounter(orders.actor('one'))
      const other = openShardedCounter(orders.actor('other'))
      await orders.together({ one: () => one.increment(1), other: () => other.increment(2) })
      await assertTotal(orders, one, 3)
      await assertTotal(orders, other, 3)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('an increment while another process adds shards is counted, and in one of them', async () => {
  await explore(async (orders) => {
    const counter = await begun(orders, 'counting')
    const growing = openShardedCounter(orders.actor('growing'))
    await orders.together({
      growing: () => growing.increaseShards(2),
      counting: () => counter.increment(2),
    })
    await assertTotal(orders, counter, 3)
    const rows = orders.look('SELECT DISTINCT of_shards FROM sharded_counter_shards')
    assert.deepEqual(rows, [{ of_shards: 2 }])
  }, COUNTERS)
})

test('a nearly full counter that grows while it is counted takes what fits, exactly', async () => {
  await explore(
    async (orders) => {
      const one = await begun(orders, 'one')
      await orders.alone(() => one.increment(Number.MAX_SAFE_INTEGER - 2))
      const { environment, ...ports } = orders.actor('growing')
      // Of two shards, it counts in the other one.
      const growing = openShardedCounter({
        ...ports,
        environment: { ...environment, random: () => 0.5 },
      })
      const refused: unknown[] = []
      await orders.together({
        growing: async () => {
          await growing.increaseShards(2)
          for (let i = 0; i < 2; i++) {
            await growing.increment().catch((error: unknown) => refused.push(error))
          }
        },
        one: () => one.increment().catch((error: unknown) => refused.push(error)),
      })
      await assertTotal(orders, one, Number.MAX_SAFE_INTEGER)
      assert.equal(refused.length, 2)
      for (const error of refused) assert(error instanceof RangeError)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

for (const isFirst of [true, false]) {
  const which = isFirst ? "a process's first increment" : 'an increment'
  test(`${which} is counted once if an answer is lost, and told to the cache`, async () => {
    await explore(
      async (orders) => {
        const reading = await begun(orders, 'reading')
        const counting = isFirst ? openShardedCounter(orders.actor('counting')) : reading
        await orders.together({ counting: () => counting.increment() })
        const cacheFailed = hasCacheFailed(orders)
        if (cacheFailed) await orders.pass(CACHE_SECONDS * 1000)
        await assertTotal(orders, reading, 2)
      },
      { ...COUNTERS, failures: 1 },
    )
  })
}

test('an increment of unknown outcome is in the total if done, and harms no other', async () => {
  const outcomes = new Set<string>()
  await explore(
    async (orders) => {
      const counter = await begun(orders, 'counting')
      let outcome = 'counted'
      await orders.together({
        counting: () => counter.increment(10).catch((error: Error) => (outcome = error.name)),
      })
      outcomes.add(outcome)
      // A try that has begun goes on.
      await orders.pass(1)
      const [row] = orders.look('SELECT value FROM sharded_counter_shards')
      const total = Number(row!['value'])
      assert([1, 11].includes(total))
      if (!hasCacheFailed(orders)) {
        await assertTotal(orders, counter, total)
      }
      await orders.alone(() => counter.increment(100))
      await orders.pass(CACHE_SECONDS * 1000)
      await assertTotal(orders, counter, total + 100)
    },
    { tables: 'counters', preemptions: 1, failures: 1 },
  )
  assert.deepEqual(outcomes, new Set(['counted', 'OutcomeUnknownError']))
})
