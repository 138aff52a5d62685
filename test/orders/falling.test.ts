/** A database's clock was a day ahead: the watermark comes back to the present. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../src/cache/cache.js'
import { DatabaseError } from '../../src/database/database.js'
import { NameDrain } from '../../src/wide-cache/collector/name-drain.js'
import { completeUpTo } from '../../src/wide-cache/complete.js'
import { WatermarkMoved } from '../../src/wide-cache/ledger/grid-record.js'
import { readUsedGrids } from '../../src/wide-cache/used-grids.js'
import { fewOrMany } from '../scale.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { DRAIN_AFTER_LAYERS, enterGrid, GEOMETRY, type Parts, partsOf, writerOf } from './parts.js'
import { committed, LAYER_MS, NAME } from './wide-cache.js'

const DAY_MS = 86_400_000
const LONG = { ...GEOMETRY, layerSeconds: 600 }

/** Longer than a cell lives. */
const OUTAGE_MS = 30_000

/** Figures are as old as the youngest drained layer, and a layer more between two drains. */
const FRESH_MS = (DRAIN_AFTER_LAYERS + 2) * LAYER_MS

/** Figures are fresh again by then: living writers have asked SQL, and a layer has been drained. */
const SOON_MS = 15_000 + FRESH_MS
const EVERY_MS = 3_000

/** What has gone by since the clock is right: before a row was placed, and after that. */
interface Passed {
  readonly before: number
  readonly after: number
}

/**
 * Two collectors, a reader, and a writer with a row in a cell. The watermarks were raised while the
 * clock was ahead.
 */
async function start(orders: Orders, passed: Passed, geometry = GEOMETRY, aheadMs = DAY_MS) {
  const [one, two, reader] = ['one', 'two', 'reader'].map((name) => partsOf(orders.actor(name)))
  const writing = partsOf(orders.actor('writer'), { geometry })
  await enterGrid(orders, [one!, two!, reader!])
  await orders.alone(async () => {
    await writing.record.enter(writing.database, await writing.database.now(), 5)
  })
  orders.databaseAheadMs = aheadMs
  const drain = new NameDrain(one!)
  await orders.alone(() => drain.drain())
  assert(watermarks(orders).some((watermark) => watermark.aheadMs > 0))
  orders.databaseAheadMs = 0
  await orders.pass(passed.before)
  const at = writing.clock.now()
  const writer = writerOf(writing)
  writer.append('row')
  await orders.alone(() => writer.flush())
  await orders.pass(passed.after)
  return { one: one!, two: two!, reader: reader!, writer, at, drain }
}

/** The watermarks, and the milliseconds by which they are ahead. */
function watermarks(orders: Orders): { id: string; aheadMs: number }[] {
  const now = orders.actor('').environment.clock.now()
  return orders
    .look('SELECT hex(id) AS id, watermark, layer_seconds FROM wide_cache_grids')
    .map((row) => ({
      id: String(row['id']),
      aheadMs: 1000 * Number(row['layer_seconds']) * Number(row['watermark']) - now,
    }))
}

/** Returns the moment up to which figures are complete. They pass no row that SQL lacks. */
async function look(orders: Orders, { database }: Parts, at: number): Promise<number> {
  const now = await database.now()
  const { asOf } = completeUpTo(await readUsedGrids(database, NAME, now), now, now)
  const isThere = committed(orders).includes('row')
  assert(isThere || at >= asOf, `figures go ${asOf - at} ms past a row that SQL lacks`)
  return asOf
}

/** Collects until figures must be fresh: often enough that the watermark does not leap again. */
async function collect(orders: Orders, drain: NameDrain): Promise<void> {
  for (let ms = 0; ms <= SOON_MS; ms += EVERY_MS) {
    await orders.alone(() => drain.drain())
    await orders.pass(EVERY_MS)
  }
  await orders.alone(() => drain.drain())
}

function unlessServer(error: unknown): void {
  if (error instanceof WatermarkMoved) return
  if (!(error instanceof DatabaseError || error instanceof CacheError)) throw error
}

const PASSED: Record<string, Passed> = {
  lives: { before: 0, after: 4 * LAYER_MS },
  // No hint lives for 61 s.
  'is lost': { before: 61_000, after: OUTAGE_MS },
}

for (const [cell, rivals] of [
  ['lives', ['two']],
  ['is lost', ['writer']],
  ...fewOrMany(
    [],
    [
      ['lives', ['two', 'writer']],
      ['is lost', ['two', 'writer']],
    ],
  ),
] as [string, string[]][]) {
  test(`a row whose cell ${cell} comes once, by one or ${rivals.join(' or ')}`, async () => {
    const met = new Set<string>()
    await explore(
      async (orders) => {
        const { two, reader, writer, at, drain } = await start(orders, PASSED[cell]!)
        const works: Record<string, () => Promise<unknown>> = {
          two: () => new NameDrain(two).drain(),
          writer: () => writer.close(),
        }
        await orders.together({
          one: () => drain.drain(),
          ...Object.fromEntries(rivals.map((rival) => [rival, works[rival]!])),
          reader: async () => {
            const asOf = await look(orders, reader, at)
            met.add(`${committed(orders).length} ${asOf > at}`)
          },
        })
        assert(watermarks(orders).every(({ aheadMs }) => aheadMs <= 0))
        await orders.alone(() => writer.close())
        await collect(orders, drain)
        assert.deepEqual(committed(orders), ['row'])
        const age = reader.clock.now() - (await orders.alone(() => look(orders, reader, at)))
        assert(age <= FRESH_MS, `figures are ${age} ms old`)
      },
      { preemptions: 1, orders: 20_000 },
    )
    assert.deepEqual([...met].sort(), ['0 false', '1 false'])
  })
}

for (const [which, geometry] of [
  ['short', GEOMETRY],
  ['long', LONG],
] as const) {
  test(`a collector that dies anywhere leaves ${which} layers to the next one`, async () => {
    const left = new Set<boolean>()
    await explore(
      async (orders) => {
        const { one, two, reader, at } = await start(
          orders,
          { before: 0, after: 4 * LAYER_MS },
          geometry,
        )
        await orders.together({
          one: () => new NameDrain(one).drain().catch(unlessServer),
          reader: async () => void (await look(orders, reader, at).catch(unlessServer)),
        })
        left.add(watermarks(orders).some(({ aheadMs }) => aheadMs > 0))
        await collect(orders, new NameDrain(two))
        assert(watermarks(orders).every(({ aheadMs }) => aheadMs <= 0))
        assert.deepEqual(committed(orders), ['row'])
        const age = reader.clock.now() - (await orders.alone(() => look(orders, reader, at)))
        assert(age <= FRESH_MS, `figures are ${age} ms old`)
      },
      { preemptions: 1, failures: 1, orders: 20_000 },
    )
    assert.deepEqual(left, new Set([true, false]))
  })
}

test('what a clock ahead by less than a long layer has noted is not believed', async () => {
  await explore(
    async (orders) => {
      const aheadMs = (LONG.layerSeconds * 1000) / 2
      const { drain, reader, at } = await start(orders, PASSED['lives']!, LONG, aheadMs)
      for (let ms = 0; ms <= aheadMs + SOON_MS; ms += LAYER_MS) {
        await orders.alone(() => drain.drain({ continues: true }))
        await orders.pass(LAYER_MS)
        const age = reader.clock.now() - (await orders.alone(() => look(orders, reader, at)))
        assert(age <= FRESH_MS || ms < SOON_MS, `figures are ${age} ms old after ${ms} ms`)
      }
    },
    { preemptions: 0 },
  )
})

for (const aheadMs of [10_000, 55_000, 70_000, DAY_MS]) {
  test(`${aheadMs / 1000} s ahead: figures pass no row that lies above the watermark`, async () => {
    await explore(
      async (orders) => {
        const [one, reader, writing] = ['one', 'reader', 'writer'].map((name) =>
          partsOf(orders.actor(name)),
        ) as [Parts, Parts, Parts]
        await enterGrid(orders, [one, reader, writing])
        const [drain, writer] = [new NameDrain(one), writerOf(writing)]
        orders.databaseAheadMs = aheadMs
        await orders.alone(() => drain.drain())
        // Now it knows the watermark that has been published.
        writer.append('early')
        await orders.alone(() => writer.flush())
        orders.databaseAheadMs = 0
        await orders.alone(() => drain.drain())
        const at = writing.clock.now()
        writer.append('row')
        await orders.alone(() => writer.flush())
        const soon = at + SOON_MS + Math.min(aheadMs, 60_000)
        while (writing.clock.now() < soon) {
          await orders.alone(() => drain.drain({ continues: true }))
          await orders.alone(() => look(orders, reader, at))
          await orders.pass(LAYER_MS)
        }
        const age = reader.clock.now() - (await orders.alone(() => look(orders, reader, at)))
        assert(age <= FRESH_MS, `figures are ${age} ms old`)
      },
      { preemptions: 0 },
    )
  })
}
