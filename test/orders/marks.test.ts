import assert from 'node:assert/strict'
import { test } from 'node:test'
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

/** Most marks in the list before it begins anew. */
const FULL = 60

/** A process that has all the time in the world: its waits end at once. */
function hasty(ports: Ports): Ports {
  const { environment } = ports
  const { clock } = environment
  const after = (_: number, callback: () => void) => {
    queueMicrotask(callback)
    return { cancel: () => undefined }
  }
  return { ...ports, environment: { ...environment, clock: { ...clock, after } } }
}

/** Two processes that know a grid whose list has so many marks. `copy`: of a clone. */
async function twoWithMarks(
  orders: Orders,
  { marks, copy }: { marks: number | undefined; copy: boolean },
): Promise<readonly [Parts, Parts]> {
  const one = partsOf(hasty(orders.actor('one')))
  await enterGrid(orders, [one])
  const grid = one.record.grid!
  const list = Array.from({ length: marks ?? 0 }, (_, at) => Buffer.alloc(16, at + 1))
  for (const mark of list) {
    orders.look('INSERT INTO wide_cache_marks VALUES (?, ?, 0)', [grid.id, mark])
  }
  if (list.length > 0) await orders.store.set(grid.keys.marks, Buffer.concat(list), 60)
  if (marks !== undefined) await orders.alone(() => put(one))
  if (copy) orders.clone('copy')
  const two = partsOf(hasty(orders.actor('two', copy ? COPY : {})))
  await orders.alone(() => two.record.states(two.database))
  return [one, two]
}

function put(parts: Parts) {
  return parts.marks.put(parts.record.grid!.keys, 0)
}

for (const [list, marks] of [
  ['no list', undefined],
  ['a short list', 0],
  ['a full list', FULL],
] as const) {
  test(`of two clones that put marks into ${list} at once, one notices`, async () => {
    await explore(async (orders) => {
      const [one, two] = await twoWithMarks(orders, { marks, copy: true })
      const said: unknown[] = []
      await orders.together({
        one: async () => said.push(await put(one)),
        two: async () => said.push(await put(two)),
      })
      assert(said.includes('foreign'))
    })
  })

  test(`two of one database that put marks into ${list} at once are not foreign`, async () => {
    await explore(async (orders) => {
      const [one, two] = await twoWithMarks(orders, { marks, copy: false })
      await orders.together({
        one: async () => assert(Buffer.isBuffer(await put(one))),
        two: async () => assert(Buffer.isBuffer(await put(two))),
      })
    })
  })
}

test('a process compares marks with collectors of its cache, and misses none', async () => {
  await explore(async (orders) => {
    const collector = partsOf(orders.actor('collector'))
    const writer = partsOf(orders.actor('writer'))
    await enterGrid(orders, [collector, writer])
    const grid = collector.record.grid!
    const setMark = (mark: Buffer) => orders.look('UPDATE wide_cache_grids SET mark = ?', [mark])
    // One mark more that is missing, and the writer takes its cache for another one.
    for (const byte of [1, 2]) {
      setMark(Buffer.alloc(16, byte))
      await orders.alone(() => writer.marks.compare())
    }
    const [row] = orders.look('SELECT watermark FROM wide_cache_grids')
    const from = Number(row!['watermark'])
    await orders.together({
      collector: async () => {
        const mark = await put(collector)
        assert(Buffer.isBuffer(mark))
        await collector.ledger.raise({ grid, from, to: from + 1, mark, used: false })
      },
      writer: async () => {
        await writer.marks.compare()
        assert(!writer.marks.apart)
      },
    })
  })
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

test("a clone takes no frame that came after the cloned database's first run since", async () => {
  await explore(async (orders) => {
    const own = partsOf(orders.actor('cloned'))
    const copy = partsOf(orders.actor('copy', COPY), BATCHES)
    emptyTable(orders, 'copy')
    await enterGrid(orders, [own])
    orders.clone('copy')
    const [first, second] = [new NameDrain(own), new NameDrain(copy)]
    await runThenPlace(orders, own, first)
    await orders.together({ cloned: () => first.drain(), copy: () => second.drain() })
    assert.deepEqual(committed(orders, 'copy'), [])
    const [row] = orders.look('SELECT id FROM wide_cache_grids', [], 'copy')
    assert.notDeepEqual(row!['id'], own.record.grid!.id)
  })
})

test('a collector that has seen a clone drains nothing, though its new id comes late', async () => {
  await explore(
    async (orders) => {
      const own = partsOf(orders.actor('cloned'))
      emptyTable(orders, 'copy')
      await enterGrid(orders, [own])
      orders.clone('copy')
      await runThenPlace(orders, own, new NameDrain(own))
      // The cache answers, and SQL may not.
      const cache = exploredCache(orders.store, async ({ work }) => work())
      const nameDrain = new NameDrain(partsOf({ ...orders.actor('copy', COPY), cache }, BATCHES))
      await orders.together({
        copy: async () => {
          for (let runs = 0; runs < 2; runs++) {
            await nameDrain.drain({ steady: true }).catch(() => undefined)
          }
        },
      })
      assert.deepEqual(committed(orders, 'copy'), [])
    },
    { failures: 1 },
  )
})
