/** How often a drain reads the cells of a grid, and when it deletes them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { flushPromises, ManualClock } from '../../support/manual-clock.fixture.js'
import { Grid } from '../grid.js'
import type { CommitOptions } from '../ledger/ledger.js'
import { Sender, STAMP } from '../ledger/sender.fixture.js'
import { newReport } from './drain-report.js'
import { GridDrain } from './grid-drain.js'

const NOW = 1_700_000_000_000
const DRAIN_AFTER_LAYERS = 2
const CELL_TTL_SECONDS = 3_600
const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 1 })
const NEWEST = grid.layers.at(NOW) - DRAIN_AFTER_LAYERS

/** A drain whose deletions end when told, and whose reading of cells takes `readMs`. */
function bench() {
  const [clock, log] = [new ManualClock(NOW), keptLog()]
  const cache = memory()
  const { getMany } = cache
  const world = {
    wentBackAt: -Infinity,
    readMs: 0,
    cellsRead: 0,
    /** Whether the cache gives no answer. */
    isSilent: false,
    /** What SQL keeps that is no frame. */
    kept: [] as Buffer[],
    deletions: [] as { key: string; done: () => void; fail: (error: Error) => void }[],
  }
  const drain = new GridDrain(
    {
      cache: Object.assign(cache, {
        async getMany(...args: Parameters<typeof getMany>) {
          world.cellsRead += args[0].length
          if (world.readMs > 0) await clock.advance(world.readMs)
          if (!world.isSilent) return getMany.apply(cache, args)
          const [keys, onUnanswered] = args
          for (const key of keys) onUnanswered!(key, new CacheError('CACHE_TIMEOUT', 'no answer'))
          return new Map()
        },
        delete: (key: string) =>
          new Promise<void>((done, fail) => void world.deletions.push({ key, done, fail })),
      }),
      namespace: Buffer.alloc(16, 2),
      database: {} as never,
      ledger: {
        name: 'test',
        raise: async () => undefined,
        keepUnreadable: async (pieces: readonly Buffer[]) => void world.kept.push(...pieces),
        commit: async (frames: readonly unknown[], _: CommitOptions) => ({
          committed: frames.length,
          duplicate: 0,
          quarantined: 0,
          prefixes: new Map(),
        }),
      } as never,
      published: { ttlMs: Infinity, publish: async () => undefined },
      watch: world as never,
      clock,
      logger: new BurstLogger(log, clock.elapsed),
      settings: {
        drainAfterLayers: DRAIN_AFTER_LAYERS,
        cellTtlSeconds: CELL_TTL_SECONDS,
        directSeconds: 75,
        maxCommitRows: 1_000,
      },
      stamp: STAMP,
    },
    grid,
  )
  return {
    clock,
    log,
    world,
    young: drain.young,
    put: (layer: number, cell: Buffer) => cache.set(grid.keys.cell(layer, 0), cell, 60),
    /** Returns the number of cells that a drain has read. */
    async drain(report = newReport()): Promise<number> {
      const before = world.cellsRead
      await drain.drain(NOW, { watermark: NEWEST - 1, isNew: false }, undefined, report)
      return world.cellsRead - before
    },
    close: () => cache.close(),
  }
}

test('a drain ends when the cells that it has emptied are deleted', async () => {
  const { world, put, drain, close } = bench()
  await put(NEWEST, new Sender(Buffer.alloc(16, 1)).frame(0).bytes)
  const report = newReport()
  let isOver = false
  const draining = drain(report).then(() => (isOver = true))
  await flushPromises()
  assert.deepEqual(
    world.deletions.map(({ key }) => key),
    [grid.keys.cell(NEWEST, 0)],
  )
  assert.deepEqual([report.committed, isOver], [1, false])
  world.deletions[0]!.fail(new CacheError('CACHE_TIMEOUT', 'no answer'))
  await draining
  await close()
})

test('bytes that are no frame come to SQL, and the log says so', async () => {
  const { log, world, put, drain, close } = bench()
  await put(NEWEST, Buffer.from('unreadable'))
  const draining = drain()
  await flushPromises()
  assert.deepEqual(world.kept.map(String), ['unreadable'])
  assert.deepEqual(log.lines, [
    'wide-cache: a cell of "test" held bytes that are no frame of its kind; it is kept in ' +
      'quarantine, and shown by: wide-cache quarantine list --name test',
  ])
  world.deletions[0]!.done()
  await draining
  await close()
})

test('a drain fails with what a deletion throws that is no error of the cache', async () => {
  const { world, put, drain, close } = bench()
  await put(NEWEST, new Sender(Buffer.alloc(16, 1)).frame(0).bytes)
  const failing = assert.rejects(drain(), /a fault of an adapter/)
  await flushPromises()
  world.deletions[0]!.fail(new TypeError('a fault of an adapter'))
  await failing
  await close()
})

test('after a step back of the clock one drain reads all cells, and no later one', async () => {
  const { clock, world, drain, close } = bench()
  await drain()
  assert.equal(await drain(), 1)
  await clock.advance(1_000)
  world.wentBackAt = clock.elapsed()
  assert.equal(await drain(), CELL_TTL_SECONDS + 1)
  assert.equal(await drain(), 1)
  await close()
})

test('cells that are read early rest a second for each 64 KiB, after they are read', async () => {
  const { clock, world, put, young, close } = bench()
  const early = () => young.commitEarly(NEWEST, NOW, newReport())
  await put(NEWEST + 1, Buffer.alloc(640 * 1024, 'x'))
  await clock.advance(60_000)
  world.readMs = 3_000
  assert(await early())
  await clock.advance(9_999)
  assert(!(await early()))
  await clock.advance(1)
  assert(await early())
  await close()
})

test('a server that has answered in a drain is waited for anew when it falls silent', async () => {
  const { clock, world, drain, close } = bench()
  const drained = async (isSilent: boolean): Promise<number> => {
    world.isSilent = isSilent
    const report = newReport()
    const draining = drain(report)
    await clock.advance(2_000)
    await draining
    return report.unanswered
  }
  assert((await drained(true)) > 0)
  assert.equal(await drained(false), 0)
  await clock.advance(60_000)
  assert((await drained(true)) > 0)
  await clock.advance(60_000)
  assert.equal(await drained(true), 0)
  await close()
})
