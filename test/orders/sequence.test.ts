import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sequence, SequenceIn } from '../../src/sequence/sequence.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { SILENT } from '../../src/support/logger.js'

const SEQUENCE = { tables: 'sequence', earlyTimersMs: 5_000 }

/** Processes that share a sequence. Each number must be new, and above all answered before. */
class Processes {
  readonly #orders: Orders
  readonly #block: number
  readonly #sequences = new Map<string, Sequence>()
  readonly #given = new Set<number>()

  constructor(orders: Orders, block: number) {
    this.#orders = orders
    this.#block = block
  }

  /** Takes numbers on the ports of a process: so many times, for so many callers at once. */
  async take(process: string, times = 1, callers = 1): Promise<void> {
    const sequence = this.#sequences.get(process) ?? this.#open(process)
    this.#sequences.set(process, sequence)
    for (let i = 0; i < times; i++) {
      const greatest = Math.max(...this.#given, 0)
      const numbers = await Promise.all(Array.from({ length: callers }, () => sequence.next()))
      for (const number of numbers) {
        assert(number > greatest, `${number}, called after the answer ${greatest}`)
        assert(!this.#given.has(number), `${number} twice`)
        this.#given.add(number)
      }
    }
  }

  #open(process: string): Sequence {
    const { cache, database, environment } = this.#orders.actor(process)
    return new SequenceIn(
      { name: 'law', cache, database, block: this.#block, logger: SILENT },
      environment,
    )
  }
}

/** Makes processes that use a sequence whose numbers come from the cache. */
async function begun(orders: Orders, block: number, ...names: string[]): Promise<Processes> {
  const processes = new Processes(orders, block)
  for (const name of names) await orders.alone(() => processes.take(name, 2))
  return processes
}

/** The cache's key of the newest generation. */
function keyOf(orders: Orders): string {
  const [row] = orders.look('SELECT lower(hex(token)) AS token FROM sequence_generations')
  return `${orders.keyStart()}sequence:law:${row!['token']}`
}

/** Has the cache lose the counter of the newest generation. */
function loses(orders: Orders): () => Promise<unknown> {
  const key = keyOf(orders)
  return () => orders.actor('network').cache.delete(key)
}

test('two processes that begin a sequence get numbers that grow', async () => {
  await explore(
    async (orders) => {
      const processes = new Processes(orders, 10)
      await orders.together({
        one: () => processes.take('one', 2),
        other: () => processes.take('other', 2),
      })
    },
    { ...SEQUENCE, preemptions: 1 },
  )
})

for (const block of [1, 10]) {
  test(`two processes get numbers that grow, with a block of ${block}`, async () => {
    await explore(
      async (orders) => {
        const processes = await begun(orders, block, 'one', 'other')
        await orders.together({
          one: () => processes.take('one', 2),
          other: () => processes.take('other', 2),
        })
      },
      { ...SEQUENCE, preemptions: 1 },
    )
  })

  test(`numbers grow across a loss in the cache, with a block of ${block}`, async () => {
    await explore(
      async (orders) => {
        const processes = await begun(orders, block, 'one', 'other')
        await orders.together({
          one: () => processes.take('one', 2),
          other: () => processes.take('other', 2),
          network: loses(orders),
        })
      },
      { ...SEQUENCE, preemptions: 1 },
    )
  })
}

test('numbers that the cache gave before it lost its counter are not given again', async () => {
  await explore(
    async (orders) => {
      const processes = await begun(orders, 1, 'one', 'other')
      await orders.together({
        one: () => processes.take('one', 1, 3),
        other: () => processes.take('other', 1, 3),
        network: loses(orders),
      })
    },
    { ...SEQUENCE, preemptions: 1 },
  )
})

test('numbers grow though a counter that was lost comes back', async () => {
  await explore(async (orders) => {
    const processes = await begun(orders, 10, 'one', 'other')
    const key = keyOf(orders)
    await orders.together({
      one: () => processes.take('one'),
      other: () => processes.take('other'),
      network: async () => {
        const { cache } = orders.actor('network')
        await cache.get(key)
        const counter = await orders.store.get(key)
        await orders.store.delete(key)
        await cache.get(key)
        await orders.store.add(key, counter!, 60)
      },
    })
  }, SEQUENCE)
})

test('numbers grow whatever answer is lost', async () => {
  await explore(
    async (orders) => {
      const processes = await begun(orders, 1, 'one', 'other')
      await orders.together({
        one: () => processes.take('one', 2),
        other: () => processes.take('other'),
      })
    },
    { ...SEQUENCE, preemptions: 0, failures: 1 },
  )
})
