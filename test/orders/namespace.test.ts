/** Databases that share a cache have namespaces of their own, however a copy of one begins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namespaced, type NamespacedCache } from '../../src/connections/namespaced-cache.js'
import { enterMark } from '../../src/database/identity.js'
import { SILENT } from '../../src/support/logger.js'
import { NameDrain } from '../../src/wide-cache/collector/name-drain.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { exploredCache } from '../simulated-world/explored-ports.js'
import { explore, type Orders, type Ports } from '../simulated-world/explorer.js'
import { enterGrid, held, type Parts, partsOf, placerOf } from './parts.js'
import { committed, emptyTable, LAYER_MS } from './wide-cache.js'

const COPY = { database: 'copy' }
/** Each frame is a batch of its own. */
const BATCHES = { maxCommitRows: 1 }
const WRITER = Buffer.alloc(16, 1)

/** So many marks that the list begins anew with the next one. */
const FULL = 61

/** Interval at which a process looks at the marks, and a little more. */
const LOOK_MS = 10_001

/** A process that has all the time in the world: its waits end at once. */
function hasty<P extends Pick<Ports, 'environment'>>(ports: P): P {
  const { environment } = ports
  const { clock } = environment
  const after = (_: number, callback: () => void) => {
    queueMicrotask(callback)
    return { cancel: () => undefined }
  }
  return { ...ports, environment: { ...environment, clock: { ...clock, after } } }
}

/** The cache of a process, as it belongs to the process's database. */
function cacheOf(orders: Orders, actor: string, database = ''): NamespacedCache {
  const ports = hasty(orders.actor(actor, { database }))
  return namespaced(ports.cache, { ...ports, logger: SILENT })
}

/** Has the cache a list of so many marks of the database. */
async function withMarks(orders: Orders, count: number): Promise<void> {
  const { database } = orders.actor('before')
  const marks = Array.from({ length: count }, (_, at) => Buffer.alloc(16, at + 1))
  await orders.alone(async () => {
    for (const mark of marks) await enterMark(database, mark)
  })
  if (count === 0) return
  await orders.store.set(`${orders.keyStart()}marks`, Buffer.concat(marks), 3_600)
}

for (const [list, count] of [
  ['no list', 0],
  ['a short list', 1],
  ['a full list', FULL],
] as const) {
  test(`of two copies used at once, with ${list}, one takes a new namespace`, async () => {
    await explore(
      async (orders) => {
        await withMarks(orders, count)
        orders.clone('copy')
        const [one, two] = [cacheOf(orders, 'one'), cacheOf(orders, 'two', 'copy')]
        await orders.together({
          one: () => one.namespace.enter(),
          two: () => two.namespace.enter(),
        })
        assert.notEqual(orders.keyStart(), orders.keyStart('copy'))
        assert.equal(one.namespace.start, orders.keyStart())
        assert.equal(two.namespace.start, orders.keyStart('copy'))
      },
      { preemptions: 1 },
    )
  })

  test(`two processes that begin at once, with ${list}, share a namespace`, async () => {
    await explore(
      async (orders) => {
        await withMarks(orders, count)
        const before = orders.keyStart()
        const [one, two] = [cacheOf(orders, 'one'), cacheOf(orders, 'two')]
        await orders.together({
          one: () => one.namespace.enter(),
          two: () => two.namespace.enter(),
        })
        assert.equal(orders.keyStart(), before)
      },
      { preemptions: 1 },
    )
  })
}

test('a copy used after a mark takes a new namespace, and the other notices nothing', async () => {
  await explore(
    async (orders) => {
      orders.clone('copy')
      const [own, copy] = [cacheOf(orders, 'own'), cacheOf(orders, 'copy', 'copy')]
      await orders.alone(() => own.namespace.enter())
      await orders.pass(LOOK_MS)
      const before = orders.keyStart()
      await orders.together({
        own: async () => {
          await own.namespace.look()
          await own.set('key', Buffer.from('own'), 60)
          await own.namespace.look({ always: true })
        },
        copy: () => copy.set('key', Buffer.from('copy'), 60),
      })
      assert.equal(orders.keyStart(), before)
      assert.equal(String(await orders.store.get(`${before}key`)), 'own')
    },
    { preemptions: 1 },
  )
})

test('a copy that began within seconds is told apart by the next look of either', async () => {
  await explore(
    async (orders) => {
      const own = cacheOf(orders, 'own')
      await orders.alone(() => own.namespace.enter())
      orders.clone('copy')
      const copy = cacheOf(orders, 'copy', 'copy')
      await orders.alone(() => copy.namespace.enter())
      await orders.pass(LOOK_MS)
      await orders.together({
        own: () => own.namespace.look(),
        copy: () => copy.namespace.look(),
      })
      assert.notEqual(orders.keyStart(), orders.keyStart('copy'))
      assert.notEqual(own.namespace.start, copy.namespace.start)
    },
    { preemptions: 1 },
  )
})

for (const [what, bounds] of [
  ['', { preemptions: 1 }],
  [', though a request fails', { preemptions: 0, failures: 1 }],
] as const) {
  test(`processes of a copy that begin at once take one new namespace${what}`, async () => {
    await explore(async (orders) => {
      const own = cacheOf(orders, 'own')
      orders.clone('copy')
      await orders.alone(() => own.namespace.enter())
      const [one, two] = [cacheOf(orders, 'one', 'copy'), cacheOf(orders, 'two', 'copy')]
      await orders.together({
        one: () => one.namespace.enter().catch(() => undefined),
        two: () => two.namespace.enter().catch(() => undefined),
      })
      await orders.alone(() => Promise.all([one.namespace.enter(), two.namespace.enter()]))
      assert.equal(one.namespace.start, two.namespace.start)
      assert.notEqual(one.namespace.start, own.namespace.start)
    }, bounds)
  })
}

test('a process follows another that has taken a new namespace, with its next look', async () => {
  await explore(
    async (orders) => {
      const [one, two] = [cacheOf(orders, 'one'), cacheOf(orders, 'two')]
      await orders.alone(() => Promise.all([one.namespace.enter(), two.namespace.enter()]))
      orders.look('UPDATE wide_cache_identity SET namespace = ?', [Buffer.alloc(16, 9)])
      await orders.pass(LOOK_MS)
      await orders.together({ one: () => one.namespace.look(), two: () => two.namespace.look() })
      const start = orders.keyStart()
      assert.deepEqual([one.namespace.start, two.namespace.start], [start, start])
    },
    { preemptions: 1 },
  )
})

/** The first run of a collector, and frames that come after it. */
async function runThenPlace(orders: Orders, parts: Parts, nameDrain: NameDrain): Promise<void> {
  await orders.alone(() => nameDrain.drain())
  const sender = new Sender(WRITER)
  for (const sequence of [0, 1]) {
    const frame = held(sender.frame(sequence), parts)
    assert(await orders.alone(() => placerOf(parts).place(frame, () => true, Infinity)))
  }
  await orders.pass(3 * LAYER_MS)
}

test('a collector of a copy takes no frame of the cloned database, and gives it none', async () => {
  await explore(
    async (orders) => {
      const own = partsOf(orders.actor('cloned'))
      const copy = partsOf(hasty(orders.actor('copy', COPY)), BATCHES)
      emptyTable(orders, 'copy')
      await enterGrid(orders, [own])
      orders.clone('copy')
      await orders.alone(() => copy.record.states(copy.database))
      const [first, second] = [new NameDrain(own), new NameDrain(copy)]
      await orders.pass(LOOK_MS)
      await runThenPlace(orders, own, first)
      const before = orders.keyStart()
      const frame = held(new Sender(Buffer.alloc(16, 2)).frame(0), copy)
      await orders.together({
        cloned: () => first.drain(),
        copy: async () => {
          await placerOf(copy).place(frame, () => true, Infinity)
          await second.drain()
        },
      })
      assert.deepEqual(committed(orders, 'copy'), [])
      await orders.pass(3 * LAYER_MS)
      await orders.alone(() => first.drain())
      assert.equal(committed(orders).length, 2)
      assert.equal(orders.keyStart(), before)
    },
    { preemptions: 1 },
  )
})

test('a collector that has seen a copy drains nothing, though its new keys come late', async () => {
  await explore(
    async (orders) => {
      const own = partsOf(orders.actor('cloned'))
      emptyTable(orders, 'copy')
      await enterGrid(orders, [own])
      orders.clone('copy')
      await orders.pass(LOOK_MS)
      await runThenPlace(orders, own, new NameDrain(own))
      // The cache answers, and SQL may not.
      const cache = exploredCache(orders.store, async ({ work }) => work())
      const copy = partsOf(hasty({ ...orders.actor('copy', COPY), cache }), BATCHES)
      const nameDrain = new NameDrain(copy)
      await orders.together({
        copy: async () => {
          for (let runs = 0; runs < 2; runs++) {
            await nameDrain.drain({ continues: true }).catch(() => undefined)
          }
        },
      })
      assert.deepEqual(committed(orders, 'copy'), [])
    },
    { failures: 1 },
  )
})

test('a collector of a copy that began within seconds takes nothing in its next run', async () => {
  await explore(
    async (orders) => {
      const own = partsOf(orders.actor('cloned'))
      emptyTable(orders, 'copy')
      await enterGrid(orders, [own])
      await orders.alone(() => own.cache.namespace.enter())
      orders.clone('copy')
      const copy = partsOf(hasty(orders.actor('copy', COPY)), BATCHES)
      const [first, second] = [new NameDrain(own), new NameDrain(copy)]
      await orders.alone(() => second.drain({ continues: true }))
      await orders.pass(LOOK_MS)
      await runThenPlace(orders, own, first)
      await orders.together({ copy: () => second.drain({ continues: true }) })
      assert.deepEqual(committed(orders, 'copy'), [])
    },
    { preemptions: 1 },
  )
})

test('a watermark rises over cells of the present namespace only once they were read', async () => {
  await explore(
    async (orders) => {
      const own = partsOf(orders.actor('own'))
      await enterGrid(orders, [own])
      const nameDrain = new NameDrain(own)
      await orders.alone(() => nameDrain.drain())
      orders.look('UPDATE wide_cache_identity SET namespace = ?', [Buffer.alloc(16, 9)])
      const other = partsOf(orders.actor('other'))
      await orders.alone(() => other.record.states(other.database))
      const frame = held(new Sender(WRITER).frame(0), other)
      assert(await orders.alone(() => placerOf(other).place(frame, () => true, Infinity)))
      await orders.pass(3 * LAYER_MS)
      await orders.together({
        own: () => nameDrain.drain({ continues: true }).catch(() => undefined),
      })
      await orders.alone(() => nameDrain.drain())
      assert.equal(committed(orders).length, 1)
    },
    { preemptions: 1 },
  )
})

test('a process compares marks with collectors of its cache, and misses none', async () => {
  await explore(
    async (orders) => {
      const collector = partsOf(orders.actor('collector'))
      const writer = partsOf(orders.actor('writer'))
      await enterGrid(orders, [collector, writer])
      const setMark = (mark: Buffer) => orders.look('UPDATE wide_cache_grids SET mark = ?', [mark])
      // One mark more that is missing, and the writer takes its cache for another one.
      for (const byte of [1, 2]) {
        setMark(Buffer.alloc(16, byte))
        await orders.alone(() => writer.sameCache.compare())
      }
      await orders.pass(LOOK_MS)
      await orders.together({
        collector: () => new NameDrain(collector).drain(),
        writer: async () => {
          await writer.sameCache.compare()
          assert(!writer.sameCache.differs)
        },
      })
    },
    { preemptions: 1 },
  )
})
