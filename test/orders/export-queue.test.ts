import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ExportEntry,
  ExportQueue,
  ExportQueueIn,
} from '../../src/export-queue/export-queue.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { SILENT } from '../../src/support/logger.js'

const QUEUE = { tables: 'collision-free-map', earlyTimersMs: 0 }
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const TIMEOUT_MS = 20_000
/** Entries of one call of the exporter. */
const BATCH = 500

/** A receiver that ignores versions not above the last one of a key, and processes that export. */
class World {
  readonly received: number[] = []
  /** Versions of values as they have come. */
  readonly #versions = new Map<number, number>()
  #last = 0
  /** Exporters at work. */
  #exporting = 0
  #isOvertaken = false
  readonly #orders: Orders

  constructor(orders: Orders) {
    this.#orders = orders
  }

  /** Opens a queue on the ports of a process. `exports` runs in the middle of its exports. */
  async open(
    process: string,
    exports: (signal: AbortSignal) => Promise<void> = async () => undefined,
  ): Promise<ExportQueue<string, number>> {
    const { cache, database, environment } = this.#orders.actor(process)
    const queue = new ExportQueueIn<string, number>(
      {
        name: 'law',
        database,
        buckets: 1,
        every: false,
        logger: SILENT,
        timeoutMs: TIMEOUT_MS,
        exporter: async (entries, { signal }) => {
          assert(this.#exporting++ === 0 || this.#isOvertaken, 'two export at once')
          try {
            await cache.get('world')
            await exports(signal)
            this.#receive(entries)
            await cache.set('world', Buffer.from('x'), 60)
          } finally {
            this.#exporting--
          }
        },
      },
      environment,
    )
    await this.#orders.alone(() => queue.migrate())
    return queue
  }

  /** Adds a value on the ports of a process. */
  async add(queue: ExportQueue<string, number>, process: string, value: number): Promise<void> {
    const { database } = this.#orders.actor(process)
    await database.transaction((tx) => queue.add('key', value, tx))
  }

  /** A call that is given up goes on, beside the next one. */
  mayOverlap(): void {
    this.#isOvertaken = true
  }

  /** An exporter that is at work stands still for longer than its lease. */
  standsStill(): void {
    this.mayOverlap()
    this.#orders.look('UPDATE export_queue_leases SET held_until = 0')
  }

  #receive(entries: readonly ExportEntry<string, number>[]): void {
    for (const { value, version } of entries) {
      assert.equal(this.#versions.get(value) ?? version, version, 'an entry keeps its version')
      this.#versions.set(value, version)
      if (version > this.#last) this.received.push(value)
      this.#last = Math.max(this.#last, version)
    }
  }
}

/** Asserts that each value has come once, in order, and that nothing is left. */
async function assertReceived(
  orders: Orders,
  world: World,
  queue: ExportQueue<string, number>,
  values: readonly number[],
): Promise<void> {
  await orders.pass(2 * LEASE_MS)
  await orders.alone(() => queue.process())
  assert.deepEqual(world.received, values)
  for (const table of ['entries', 'leases']) {
    assert.deepEqual(orders.look(`SELECT * FROM export_queue_${table}`), [])
  }
}

test('an entry added while two processes export comes once, and in order', async () => {
  await explore(
    async (orders) => {
      const world = new World(orders)
      const [one, other] = [await world.open('one'), await world.open('other')]
      await orders.alone(() => world.add(one, 'one', 1))
      await orders.together({
        one: () => one.process(),
        other: () => other.process(),
        adding: () => world.add(one, 'adding', 2),
      })
      await assertReceived(orders, world, one, [1, 2])
    },
    { ...QUEUE, preemptions: 1 },
  )
})

test('a processor that is overtaken takes nothing away, and repeats no version', async () => {
  await explore(
    async (orders) => {
      const world = new World(orders)
      let isFirst = true
      const one = await world.open('one', async () => {
        if (!isFirst) return
        isFirst = false
        world.standsStill()
      })
      const other = await world.open('other')
      await orders.alone(() => world.add(one, 'one', 1))
      await orders.together({
        one: () => one.process(),
        other: async () => {
          await world.add(other, 'other', 2)
          await other.process()
        },
      })
      await assertReceived(orders, world, one, [1, 2])
    },
    { ...QUEUE, preemptions: 1 },
  )
})

test('a call that is given up, and ends late, takes nothing away from the next one', async () => {
  let late = 0
  const orders = await explore(
    async (orders) => {
      const world = new World(orders)
      let [release, isFirst] = [(): void => undefined, true]
      const one = await world.open('one', async (signal) => {
        if (!isFirst) return
        isFirst = false
        world.mayOverlap()
        await new Promise<void>((resolve) => (release = resolve))
        assert(signal.aborted, 'it has been told')
        late++
      })
      const other = await world.open('other')
      await orders.alone(() => world.add(one, 'one', 1))
      const outcome: string[] = []
      await orders.alone(() => one.process().catch((error: Error) => outcome.push(error.message)))
      assert.match(outcome.join(), /did not end within 20 s/)
      // It has rested.
      await orders.pass(2 * RENEW_MS)
      await orders.together({
        other: async () => {
          await world.add(other, 'other', 2)
          await other.process()
        },
        late: async () => release(),
      })
      await assertReceived(orders, world, one, [1, 2])
    },
    { ...QUEUE, preemptions: 1 },
  )
  assert(late >= orders && orders > 10, `${late} late calls in ${orders} orders`)
})

test('a call whose lease another process has taken is told, and no longer waited for', async () => {
  const ends = new Set<string>()
  await explore(
    async (orders) => {
      const world = new World(orders)
      let reason: (Error & { code: string }) | undefined
      let isFirst = true
      const one = await world.open('one', async (signal) => {
        if (!isFirst) return
        isFirst = false
        world.standsStill()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reason = signal.reason as typeof reason
      })
      const other = await world.open('other')
      await orders.alone(() => world.add(one, 'one', 1))
      const failed: unknown[] = []
      await orders.together({
        one: () => one.process().catch((error: unknown) => failed.push(error)),
        other: async () => {
          await world.add(other, 'other', 2)
          await other.process()
        },
      })
      await assertReceived(orders, world, one, [1, 2])
      ends.add(reason?.code ?? 'the other one was first')
      assert.deepEqual(failed, reason ? [reason] : [])
    },
    { ...QUEUE, preemptions: 1 },
  )
  // Where the other one waits, it is renewed, up to its time limit.
  assert.deepEqual([...ends].toSorted(), [
    'ERR_WIDE_CACHE_LEASE_LOST',
    'ERR_WIDE_CACHE_TIMEOUT',
    'the other one was first',
  ])
})

test('an exporter that fails gets its entries again, with their versions', async () => {
  await explore(
    async (orders) => {
      const world = new World(orders)
      let fails = true
      const one = await world.open('one', async () => {
        if (!fails) return
        fails = false
        throw new Error('fails')
      })
      const other = await world.open('other')
      await orders.alone(() => world.add(one, 'one', 1))
      await orders.together({
        one: () => one.process().catch(() => undefined),
        other: () => other.process(),
        adding: () => world.add(one, 'adding', 2),
      })
      fails = false
      await assertReceived(orders, world, one, [1, 2])
    },
    { ...QUEUE, preemptions: 1 },
  )
})

test('with an answer lost each entry comes at least once, with one version', async () => {
  await explore(
    async (orders) => {
      const world = new World(orders)
      const one = await world.open('one')
      await orders.alone(() => world.add(one, 'one', 1))
      let isAdded = true
      await orders.together({
        one: () => one.process().catch(() => undefined),
        adding: () => world.add(one, 'adding', 2).catch(() => (isAdded = false)),
      })
      const isCommitted = isAdded || orders.trace.includes('adding: COMMIT, done, but failed')
      await assertReceived(orders, world, one, isCommitted ? [1, 2] : [1])
    },
    { ...QUEUE, preemptions: 0, failures: 1 },
  )
})

test('a bucket found empty after a full batch keeps no lease if an answer is lost', async () => {
  await explore(
    async (orders) => {
      const world = new World(orders)
      const one = await world.open('one')
      const values = Array.from({ length: BATCH }, (_, i) => i + 1)
      const { database } = orders.actor('one')
      await orders.alone(() =>
        database.transaction(async (tx) => {
          for (const value of values) await one.add('key', value, tx)
        }),
      )
      await orders.together({ one: () => one.process().catch(() => undefined) })
      await assertReceived(orders, world, one, values)
    },
    { ...QUEUE, preemptions: 0, failures: 1 },
  )
})

test('an exporter hears of an entry when its version and its lease are committed', async () => {
  const outcomes = new Set<string>()
  await explore(
    async (orders) => {
      const world = new World(orders)
      const heard: unknown[] = []
      const one = await world.open('one', async () => {
        // Another process sees both, and waits for no transaction.
        const { database } = orders.actor('other')
        const { rows } = await database.query(
          'SELECT version, holder IS NOT NULL AS leased FROM export_queue_entries ' +
            'LEFT JOIN export_queue_leases ON held_until > 0',
        )
        heard.push(...rows)
      })
      await orders.alone(() => world.add(one, 'one', 1))
      await orders.together({ one: () => one.process().catch(() => undefined) })
      outcomes.add(heard.length > 0 ? 'heard' : 'not heard')
      await assertReceived(orders, world, one, [1])
      for (const seen of heard) assert.deepEqual(seen, { version: 1, leased: 1 })
    },
    { ...QUEUE, preemptions: 0, failures: 1 },
  )
  assert.deepEqual([...outcomes].toSorted(), ['heard', 'not heard'])
})
