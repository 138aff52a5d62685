import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { Grid } from '../grid.js'
import { type GridState, type Raise, WatermarkMoved } from '../ledger/grid-record.js'
import { STAMP } from '../ledger/sender.fixture.js'
import { NameDrain } from './name-drain.js'

const NOW = 1_700_000_000_000
const DRAIN_AFTER_LAYERS = 2

function gridOf(id: number, layerSeconds = 1): Grid {
  return new Grid(Buffer.alloc(16, id), { width: 1, layerSeconds })
}

/** A grid whose newest layer that is old enough is drained, or the one before it. */
function stateOf(grid: Grid, toDrain: 0 | 1 = 1): GridState {
  const newest = grid.layers.at(NOW) - DRAIN_AFTER_LAYERS
  return { grid, watermark: newest - toDrain, completeTo: 0, periodSeconds: 1 }
}

/** Drains of the grids that SQL has, with empty cells. Notes what they do, in order. */
function bench(...states: GridState[]) {
  const clock = new ManualClock(NOW)
  const done: string[] = []
  const world = {
    states,
    marks: 0,
    /** Whether another database uses the keys. */
    isForeign: false,
    markMs: 0,
    readMs: 0,
    /** Moments at which cells were asked for, by the database's clock. */
    readAt: [] as number[],
    raises: [] as Raise[],
    raiseFails: undefined as Error | undefined,
    /** How often, and by how much, others move the watermark before it can be raised. */
    movedTimes: 0,
    movedBy: 0,
    /** Moments up to which SQL has all rows of a grid, as they were recorded. */
    completeTo: [] as number[],
    unanswered: undefined as string | undefined,
  }
  const record = {
    grid: states[0]?.grid,
    async states() {
      done.push('reads the grids')
      record.grid = world.states[0]?.grid
      return world.states
    },
    async changeId(_: unknown, { layerSeconds }: Grid) {
      done.push('changes the id')
      world.states = [stateOf(gridOf(99, layerSeconds))]
    },
    async completeTo(_: unknown, _grid: Grid, moment: number) {
      world.completeTo.push(moment)
    },
  }
  const cache = Object.assign(memory(), {
    async getMany(keys: readonly string[], onUnanswered: (key: string, error: CacheError) => void) {
      world.readAt.push(clock.now())
      await clock.advance(world.readMs)
      for (const key of keys) {
        if (key !== world.unanswered) continue
        onUnanswered(key, new CacheError('CACHE_TIMEOUT', 'no answer'))
      }
      return new Map()
    },
  })
  const nameDrain = new NameDrain({
    settings: {
      name: 'test',
      drainAfterLayers: DRAIN_AFTER_LAYERS,
      cellTtlSeconds: 3_600,
      maxCommitRows: 10_000,
    },
    cache,
    database: {} as never,
    clock,
    logger: new BurstLogger(keptLog(), clock.elapsed),
    watch: {
      now: async () => clock.now(),
      recent: async () => clock.now(),
      get estimate() {
        return clock.now()
      },
      wentBackAt: -Infinity,
    } as never,
    stamp: STAMP,
    ledger: {
      async raise(raise: Raise) {
        if (world.raiseFails) throw world.raiseFails
        if (world.movedTimes > 0) {
          world.movedTimes--
          const { grid, from } = raise
          world.states = [{ ...stateOf(grid), watermark: from - world.movedBy }]
          throw new WatermarkMoved()
        }
        world.raises.push(raise)
      },
    } as never,
    published: { publish: async () => undefined, ttlMs: Infinity },
    record: record as never,
    marks: {
      async put() {
        done.push('puts a mark')
        await clock.advance(world.markMs)
        return world.isForeign ? 'foreign' : Buffer.alloc(16, ++world.marks)
      },
    } as never,
  })
  return { clock, done, world, record, nameDrain, close: () => cache.close() }
}

const STEADY = { steady: true }
const FIRST = ['reads the grids', 'puts a mark']

test('a run after one that failed takes no grid as known', async () => {
  const { done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.raiseFails = new Error('away')
  await assert.rejects(nameDrain.drain(), /away/)
  assert.deepEqual(done, FIRST)
  await assert.rejects(nameDrain.drain(STEADY), /away/)
  assert.deepEqual(done, [...FIRST, 'reads the grids'])
  await close()
})

test('a grid that is gone is drained no more, and the next run reads which there are', async () => {
  const { done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.raiseFails = new WatermarkMoved()
  const draining = nameDrain.drain()
  world.states = []
  await draining
  assert.deepEqual(done, [...FIRST, 'reads the grids'])
  world.readAt.length = 0
  await nameDrain.drain(STEADY)
  assert.deepEqual(done, [...FIRST, 'reads the grids', 'reads the grids'])
  assert.deepEqual(world.readAt, [])
  await close()
})

test('a mark comes to SQL with the next raise of the watermark, and no later one', async () => {
  const { clock, world, nameDrain, close } = bench(stateOf(gridOf(1), 0))
  await nameDrain.drain()
  assert.deepEqual(world.raises, [])
  for (let runs = 0; runs < 2; runs++) {
    await clock.advance(1_000)
    await nameDrain.drain(STEADY)
  }
  assert.deepEqual(
    world.raises.map(({ mark }) => mark),
    [Buffer.alloc(16, 1), undefined],
  )
  await close()
})

test('a mark serves the steady runs of 10 s, from when it was put on', async () => {
  const { clock, done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.markMs = 4_000
  await nameDrain.drain()
  await clock.advance(5_999)
  await nameDrain.drain(STEADY)
  assert.deepEqual(done, FIRST)
  await clock.advance(1)
  await nameDrain.drain(STEADY)
  assert.equal(done.filter((what) => what === 'puts a mark').length, 2)
  await close()
})

test('a grid keeps its mark when another one is gone', async () => {
  const [one, two] = [stateOf(gridOf(1), 0), stateOf(gridOf(2))]
  const { clock, done, world, nameDrain, close } = bench(one, two)
  world.raiseFails = new WatermarkMoved()
  const draining = nameDrain.drain()
  world.states = [one]
  await draining
  world.raiseFails = undefined
  await clock.advance(1_000)
  await nameDrain.drain(STEADY)
  assert.equal(done.filter((what) => what === 'puts a mark').length, 2)
  assert.deepEqual(
    world.raises.map(({ mark }) => mark),
    [Buffer.alloc(16, 1)],
  )
  await close()
})

test('frames of a process go to the new keys as soon as SQL has the new id', async () => {
  const { done, world, record, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.isForeign = true
  await nameDrain.drain()
  assert.deepEqual(done, [...FIRST, 'changes the id', 'reads the grids'])
  assert.deepEqual(record.grid!.id, gridOf(99).id)
  assert.deepEqual(world.readAt, [], 'no cell of another database is read')
  await close()
})

test('figures do not go past rows that come while the cells of long layers are read', async () => {
  const { world, nameDrain, close } = bench(stateOf(gridOf(1)), stateOf(gridOf(2, 600)))
  world.readMs = 5_000
  await nameDrain.drain()
  const [completeTo] = world.completeTo
  assert(completeTo! <= world.readAt.at(-1)!)
  assert(completeTo! > world.readAt.at(-1)! - (DRAIN_AFTER_LAYERS + 1) * 1_000)
  await close()
})

test('figures do not go past a cell of long layers that has no answer', async () => {
  const long = stateOf(gridOf(2, 600))
  const { world, nameDrain, close } = bench(stateOf(gridOf(1)), long)
  world.unanswered = long.grid.keys.cell(long.watermark + 1, 0)
  await nameDrain.drain()
  assert.deepEqual(world.completeTo, [])
  world.unanswered = undefined
  await nameDrain.drain()
  assert.equal(world.completeTo.length, 1)
  await close()
})

test('SQL is told once that all rows of long layers before a moment are there', async () => {
  const { world, nameDrain, close } = bench(stateOf(gridOf(1)), stateOf(gridOf(2, 600)))
  await nameDrain.drain()
  await nameDrain.drain(STEADY)
  assert.equal(world.completeTo.length, 1)
  await close()
})

test('a drain starts again as often as others raise the watermark, else five times', async () => {
  const rising = bench({ ...stateOf(gridOf(1)), watermark: NOW / 1_000 - 20 })
  rising.world.movedTimes = 12
  rising.world.movedBy = -1
  await rising.nameDrain.drain()
  assert.equal(rising.world.raises.length, 1)
  await rising.close()
  const falling = bench(stateOf(gridOf(1)))
  falling.world.movedTimes = 12
  falling.world.movedBy = 1
  await assert.rejects(falling.nameDrain.drain(), WatermarkMoved)
  assert.equal(falling.world.movedTimes, 12 - 6)
  await falling.close()
})

test("a report of several grids has the watermark of the process's own", async () => {
  const own = stateOf(gridOf(1))
  const { nameDrain, close } = bench(own, stateOf(gridOf(2, 600)))
  assert.equal((await nameDrain.drain()).watermark, own.watermark + 1)
  await close()
})
