import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../src/cache/cache.js'
import { type Database, DatabaseError } from '../../src/database/database.js'
import { readCell } from '../../src/wide-cache/frame.js'
import { Sender, STAMP } from '../../src/wide-cache/ledger/sender.fixture.js'
import { explore, type Orders, type Ports } from '../simulated-world/explorer.js'
import {
  DRAIN_AFTER_LAYERS,
  drainAgain,
  drainOf,
  drainOnce,
  enterGrid,
  type Parts,
  partsOf,
  watermarkOf,
} from './parts.js'
import { newReport } from '../../src/wide-cache/collector/drain-report.js'
import { committed, LAYER_MS, REFUSED } from './wide-cache.js'

const WRITER = Buffer.alloc(16, 1)
const OTHER = Buffer.alloc(16, 2)
const UNREADABLE = Buffer.from('no frame')
const NOTHING = Buffer.alloc(0)

/** A process whose cache deletes no cell before SQL has settled all of its frames. */
function careful(orders: Orders, name: string): Parts {
  const ports = orders.actor(name)
  return partsOf({ ...ports, cache: checked(orders, ports) })
}

function checked(orders: Orders, { cache }: Ports): Cache {
  const check = async (key: string): Promise<void> => {
    const cell = (await orders.store.get(key)) ?? Buffer.alloc(0)
    const { frames, unreadable } = readCell(cell, STAMP)
    for (const { writer, sequence } of frames) {
      assert(isSettled(orders, writer, sequence), `${writer} ${sequence} is not settled`)
    }
    for (const piece of unreadable) assert(isKept(orders, piece), 'SQL has all bytes of the cell')
  }
  return {
    ...cache,
    async delete(key) {
      await check(key)
      return cache.delete(key)
    },
  }
}

function isSettled(orders: Orders, writer: string, sequence: number): boolean {
  const id = Buffer.from(writer, 'hex')
  const below = 'SELECT 1 FROM wide_cache_writers WHERE writer = ? AND prefix >= ?'
  const above =
    'SELECT 1 FROM wide_cache_ranges ' +
    'WHERE writer = ? AND ? BETWEEN first_sequence AND last_sequence'
  return [below, above].some((sql) => orders.look(sql, [id, sequence]).length > 0)
}

function isKept(orders: Orders, piece: Buffer): boolean {
  if (piece.length === 0) return true
  const sql = 'SELECT bytes FROM wide_cache_quarantine WHERE writer IS NULL AND bytes = ?'
  return orders.look(sql, [piece]).length > 0
}

/** Passes on what is no failure of a server. */
function unlessServer(error: unknown): void {
  if (!(error instanceof DatabaseError || error instanceof CacheError)) throw error
}

/** Puts cells into the present layer and those after it, and returns the first layer. */
async function fillLayers(orders: Orders, parts: Parts, cells: Buffer[]): Promise<number> {
  const { store } = orders
  const grid = parts.record.grid!
  const first = grid.layers.at(parts.clock.now())
  for (const [index, cell] of cells.entries()) {
    await store.set(orders.keyStart() + grid.keys.cell(first + index, 0), cell, 60)
  }
  return first
}

/** A process whose database has a clock that is behind. */
function slow(parts: Parts): Parts {
  const { database } = parts
  return {
    ...parts,
    database: { ...database, now: async () => (await database.now()) - LAYER_MS },
  }
}

test('two drains bring each frame once, and delete a cell when SQL has its frames', async () => {
  await explore(
    async (orders) => {
      const [one, two] = [careful(orders, 'one'), slow(careful(orders, 'two'))]
      await enterGrid(orders, [one, two])
      const frames = [new Sender(WRITER).frame(0), new Sender(OTHER).frame(0)]
      const first = await fillLayers(
        orders,
        one,
        frames.map(({ bytes }) => bytes),
      )
      await orders.pass(4 * LAYER_MS)
      const reports = [newReport(), newReport()] as const
      await orders.together({
        one: () => drainAgain(one, reports[0]),
        two: () => drainAgain(two, reports[1]),
      })
      assert.equal(committed(orders).length, 2)
      assert.equal(reports[0].committed + reports[1].committed, 2)
      assert.equal(watermarkOf(orders), first + 4 - DRAIN_AFTER_LAYERS)
    },
    { preemptions: 1 },
  )
})

/** A process whose transactions end as those do that meet the locks of others. */
function locked(parts: Parts): Parts {
  const { ports } = parts
  const { database } = ports
  const transaction: Database['transaction'] = (work) =>
    database.transaction(work).catch((error: unknown) => {
      if (!(error instanceof DatabaseError)) throw error
      throw new DatabaseError('LOCK_WAIT_TIMEOUT', 'lock', error.message)
    })
  return partsOf({ ...ports, database: { ...database, transaction } }, { maxCommitRows: 1 })
}

for (const [how, failing, beside] of [
  ['fails', (parts: Parts) => parts, NOTHING],
  ['finds unreadable bytes and fails', (parts: Parts) => parts, UNREADABLE],
  ['meets the locks of others', locked, NOTHING],
] as const) {
  test(`what a drain that ${how} leaves is in cells above the watermark`, async () => {
    await explore(
      async (orders) => {
        const collector = failing(careful(orders, 'collector'))
        await enterGrid(orders, [collector])
        const [one, two] = [new Sender(WRITER), new Sender(OTHER)]
        const first = await fillLayers(orders, collector, [
          Buffer.concat([one.frame(0, { rows: ['good'] }).bytes, beside]),
          Buffer.concat([
            one.frame(1, { rows: [REFUSED] }).bytes,
            two.frame(0, { rows: ['b'] }).bytes,
          ]),
        ])
        await orders.pass(3 * LAYER_MS)
        const drain = drainOf(collector)
        await orders.together({
          collector: async () => {
            const report = await drainOnce(collector, drain).catch(unlessServer)
            if (report) assert.equal(watermarkOf(orders), report.watermark)
          },
        })
        const settled = [
          isSettled(orders, one.frame(0).writer, 0) && isKept(orders, beside),
          [one.frame(1), two.frame(0)].every((frame) =>
            isSettled(orders, frame.writer, frame.sequence),
          ),
        ]
        for (const [index, isDone] of settled.entries()) {
          assert(isDone || watermarkOf(orders) < first + index, `layer ${index} is left`)
        }
        await orders.alone(() => drainOnce(collector, drain))
        assert.deepEqual(committed(orders), ['b', 'good'])
        assert.equal(
          orders.look('SELECT * FROM wide_cache_quarantine WHERE writer IS NOT NULL').length,
          1,
        )
      },
      { failures: 1 },
    )
  })
}
