import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GlobalCounter } from '../../src/counters/global-counter.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { openGlobalCounter } from './counters.js'

const COUNTERS = { tables: 'counters', earlyTimersMs: 5_000 }
const LARGE = 2 ** 33

/** Opens a counter on the ports of a process that has counted 1. */
async function begun(orders: Orders, process: string): Promise<GlobalCounter> {
  const counter = openGlobalCounter(orders.actor(process))
  await orders.alone(() => counter.increment())
  return counter
}

/** Opens a counter on the ports of a process whose cache may go back. */
function openInSql(orders: Orders, process: string): GlobalCounter {
  const ports = orders.actor(process)
  return openGlobalCounter({ ...ports, cache: { ...ports.cache, neverGoesBack: false } })
}

/** The cache's key of the newest generation. */
function keyOf(orders: Orders): string {
  const [row] = orders.look(
    'SELECT lower(hex(token)) AS token FROM global_counter_generations ORDER BY generation DESC',
  )
  return `${orders.keyStart()}global-counter:law:${row!['token']}`
}

function generations(orders: Orders): number {
  return orders.look('SELECT * FROM global_counter_generations').length
}

/** Has the cache lose the number while others count. */
function loses(orders: Orders): () => Promise<unknown> {
  const key = keyOf(orders)
  return () => orders.actor('network').cache.delete(key)
}

/** Asserts that values are unique, and that no loss in the cache takes the number back. */
async function assertKept(
  orders: Orders,
  counter: GlobalCounter,
  values: readonly number[],
  number: number,
): Promise<void> {
  assert.equal(new Set(values).size, values.length, `${values}`)
  assert.equal(Math.max(...values), number, `${values}`)
  assert.equal(await orders.alone(() => counter.get()), number)
  await orders.store.delete(keyOf(orders))
  await orders.pass(1_000)
  assert.equal(await orders.alone(() => counter.get()), number)
  assert.equal(await orders.alone(() => counter.increment()), number + 1)
}

test('two processes that begin a counter get 1 and 2', async () => {
  await explore(
    async (orders) => {
      const one = openGlobalCounter(orders.actor('one'))
      const other = openGlobalCounter(orders.actor('other'))
      const values: number[] = []
      const counts = (counter: GlobalCounter) => async () => values.push(await counter.increment())
      await orders.together({ one: counts(one), other: counts(other) })
      assert.equal(generations(orders), 1)
      await assertKept(orders, one, values, 2)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('two processes that count while the cache loses the number get two values', async () => {
  await explore(
    async (orders) => {
      const one = await begun(orders, 'one')
      const other = openGlobalCounter(orders.actor('other'))
      const values: number[] = []
      const counts = (counter: GlobalCounter) => async () => values.push(await counter.increment())
      await orders.together({ one: counts(one), other: counts(other), network: loses(orders) })
      assert(generations(orders) <= 2)
      await assertKept(orders, one, values, 3)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('a large increment counts what others count meanwhile, and loses none of it', async () => {
  await explore(async (orders) => {
    const one = await begun(orders, 'one')
    const other = openGlobalCounter(orders.actor('other'))
    const values: number[] = []
    await orders.together({
      one: async () => values.push(await one.increment()),
      other: async () => values.push(await other.increment(LARGE)),
    })
    await assertKept(orders, one, values, 2 + LARGE)
  }, COUNTERS)
})

test('who counts in SQL alone, beside one who counts in the cache, repeats no value', async () => {
  await explore(
    async (orders) => {
      const one = await begun(orders, 'one')
      const other = openInSql(orders, 'other')
      const values: number[] = []
      const counts = (counter: GlobalCounter) => async () => values.push(await counter.increment())
      await orders.together({ one: counts(one), other: counts(other) })
      await assertKept(orders, other, values, 3)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('with an answer lost, an increment in SQL alone is counted once, or is unknown', async () => {
  let counted = 0
  await explore(
    async (orders) => {
      const [one, other] = [openInSql(orders, 'one'), openInSql(orders, 'other')]
      const values: number[] = []
      let unknown = 0
      const counts = (counter: GlobalCounter) => () =>
        counter.increment().then(
          (value) => values.push(value),
          (error: Error) => {
            assert.equal(error.name, 'OutcomeUnknownError')
            unknown++
          },
        )
      await orders.together({ one: counts(one), other: counts(other) })
      if (unknown === 0) counted++
      // A try that has begun goes on.
      await orders.pass(1)
      await orders.alone(async () => values.push(await other.increment()))
      assert.equal(new Set(values).size, values.length, `${values}`)
      const number = Math.max(...values)
      assert(number >= values.length && number <= values.length + unknown, `${values}`)
    },
    { tables: 'counters', preemptions: 1, failures: 1 },
  )
  assert(counted > 0)
})

test("a caller's increment is in its next number, whatever the cache loses", async () => {
  await explore(
    async (orders) => {
      const counter = await begun(orders, 'process')
      await orders.together({
        counting: async () => {
          await counter.increment()
          assert.equal(await counter.get(), 2)
        },
        reading: () => counter.get(),
        network: loses(orders),
      })
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

for (const isLost of [true, false]) {
  const state = isLost ? 'lost' : 'kept'
  test(`with an answer lost no value is given twice, the cache having ${state} it`, async () => {
    const outcomes = new Set<string>()
    await explore(
      async (orders) => {
        const one = await begun(orders, 'one')
        const other = openGlobalCounter(orders.actor('other'))
        if (isLost) await orders.store.delete(keyOf(orders))
        const values = [1]
        let outcome = 'counted'
        await orders.together({
          one: () =>
            one.increment().then(
              (value) => values.push(value),
              (error: Error) => (outcome = error.name),
            ),
        })
        outcomes.add(outcome)
        // A try that has begun goes on.
        await orders.pass(1)
        for (const counter of [one, other]) {
          await orders.alone(async () => values.push(await counter.increment()))
        }
        const number = Math.max(...values)
        const unknown = Number(outcome === 'OutcomeUnknownError')
        assert(number === values.length || number === values.length + unknown, `${values}`)
        await assertKept(orders, other, values, number)
      },
      { tables: 'counters', preemptions: 1, failures: 1 },
    )
    assert(outcomes.has('counted') && outcomes.has('OutcomeUnknownError'))
  })
}

test('callers of one process that count while the cache loses the number keep theirs', async () => {
  await explore(
    async (orders) => {
      const counter = await begun(orders, 'process')
      const values: number[] = []
      const counts = async () => values.push(await counter.increment())
      await orders.together({ one: counts, other: counts, network: loses(orders) })
      await assertKept(orders, counter, values, 3)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('a large increment counts what the cache has, whether it is persisted or not', async () => {
  await explore(
    async (orders) => {
      const [one, other] = ['one', 'other'].map((process) =>
        openGlobalCounter(orders.actor(process), { chanceToWrite: 0.1 }),
      )
      await orders.alone(async () => {
        for (let i = 0; i < 5; i++) await one!.increment()
      })
      let [counted, least] = [5, 5]
      await orders.together({
        one: async () => void (counted = await one!.increment()),
        other: async () => {
          least = counted
          await other!.increment(LARGE)
        },
      })
      const number = (await orders.alone(() => one!.get())) - LARGE
      assert(number >= least && number <= 6, `${number} of ${least}`)
    },
    { ...COUNTERS, preemptions: 1 },
  )
})

test('an increment is counted though one too large opens a generation meanwhile', async () => {
  await explore(
    async (orders) => {
      const one = await begun(orders, 'one')
      const other = openGlobalCounter(orders.actor('other'), { chanceToWrite: 1e-6 })
      const most = Number.MAX_SAFE_INTEGER - LARGE
      await orders.alone(async () => {
        // It knows the generation that the other one ends.
        await one.increment()
        assert.equal(await other.increment(most - 2), most)
        // What the cache has is one more than what is persisted.
        assert.equal(await other.increment(), most + 1)
      })
      const values: number[] = []
      await orders.together({
        large: () => assert.rejects(one.increment(LARGE), RangeError),
        small: async () => values.push(await one.increment()),
      })
      assert.deepEqual(values, [most + 2])
    },
    { ...COUNTERS, preemptions: 1 },
  )
})
