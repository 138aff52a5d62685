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
/** Longer than the short layers wait: the frames of long layers may be open for so long. */
const FLUSH_MS = 5_000

function gridOf(id: number, layerSeconds = 1): Grid {
  return new Grid(Buffer.alloc(16, id), { width: 1, layerSeconds })
}

/** A grid whose newest layer that is old enough is drained, or the one before it. */
function stateOf(grid: Grid, toDrain: 0 | 1 = 1): GridState {
  const newest = grid.layers.at(NOW) - DRAIN_AFTER_LAYERS
  return { grid, watermark: newest - toDrain, completeTo: 0, flushMs: FLUSH_MS, isNew: false }
}

/** Drains of the grids that SQL has, with empty cells. Notes what they do, in order. */
function bench(...states: GridState[]) {
  const [clock, log] = [new ManualClock(NOW), keptLog()]
  const done: string[] = []
  const world = {
    states,
    namespace: Buffer.alloc(16, 9),
    /** The newest mark that the cache shows. */
    newest: undefined as Buffer | undefined,
    readMs: 0,
    /** Moments at which cells were asked for, by the database's clock. */
    readAt: [] as number[],
    raises: [] as Raise[],
    raiseFails: undefined as Error | undefined,
    /** Done when the watermark is to be raised. */
    onRaise: undefined as (() => void) | undefined,
    /** How often, and by how much, others move the watermark before it can be raised. */
    movedTimes: 0,
    movedBy: 0,
    /** Moments up to which SQL has all rows of a grid, as they were recorded. */
    completeTo: [] as number[],
    /** By how much the last reading of the clock was too early. */
    lateMs: 0,
    unanswered: undefined as string | undefined,
    /** What a look at the marks throws. */
    lookFails: undefined as Error | undefined,
  }
  const record = {
    grid: states[0]?.grid,
    async states() {
      done.push('reads the grids')
      record.grid = world.states[0]?.grid
      return world.states
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
      directSeconds: 75,
      maxCommitRows: 10_000,
    },
    cache: {
      async looked() {
        done.push('looks at the marks')
        if (world.lookFails) throw world.lookFails
        return { namespace: world.namespace, cache }
      },
      namespace: {
        get newest() {
          return world.newest
        },
      },
    } as never,
    database: {} as never,
    clock,
    logger: new BurstLogger(log, clock.elapsed),
    watch: {
      now: async () => clock.now(),
      recent: async () => clock.now() - world.lateMs,
      get estimate() {
        return clock.now()
      },
      wentBackAt: -Infinity,
    } as never,
    stamp: STAMP,
    ledger: {
      async raise(raise: Raise) {
        world.onRaise?.()
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
  })
  return { clock, log, done, world, record, nameDrain, close: () => cache.close() }
}

const CONTINUES = { continues: true }
const FIRST = ['looks at the marks', 'reads the grids']

test('a run after one that failed takes no grid as known', async () => {
  const { done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.raiseFails = new Error('away')
  await assert.rejects(nameDrain.drain(), /away/)
  assert.deepEqual(done, FIRST)
  await assert.rejects(nameDrain.drain(CONTINUES), /away/)
  assert.deepEqual(done, [...FIRST, ...FIRST])
  await close()
})

test('while the cache does not answer, its cells wait, and the log says so', async () => {
  const { log, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.lookFails = new CacheError('CACHE_TIMEOUT', 'no answer')
  const { unanswered } = await nameDrain.drain()
  assert.equal(unanswered, 1)
  assert.deepEqual(log.lines, [
    'wide-cache: the cache does not answer the collector (no answer); it is asked again, and ' +
      'the writers commit what is in its cells after confirmSeconds',
  ])
  await close()
})

test('a grid that is gone is drained no more, and the next run reads which there are', async () => {
  const { done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.raiseFails = new WatermarkMoved()
  world.onRaise = () => (world.states = [])
  await nameDrain.drain()
  assert.deepEqual(done, [...FIRST, 'reads the grids'])
  world.readAt.length = 0
  await nameDrain.drain(CONTINUES)
  assert.deepEqual(done, [...FIRST, 'reads the grids', ...FIRST])
  assert.deepEqual(world.readAt, [])
  await close()
})

test('each raise of the watermark brings the newest mark that the cache shows', async () => {
  const { clock, world, nameDrain, close } = bench(stateOf(gridOf(1), 0))
  const marks = [undefined, Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  for (const mark of marks) {
    world.newest = mark
    await clock.advance(1_000)
    await nameDrain.drain(CONTINUES)
  }
  assert.deepEqual(
    world.raises.map(({ mark }) => mark),
    marks,
  )
  await close()
})

test('runs that continue look at the marks and the grids every 10 s', async () => {
  const { clock, done, nameDrain, close } = bench(stateOf(gridOf(1)))
  await nameDrain.drain()
  await clock.advance(9_999)
  await nameDrain.drain(CONTINUES)
  assert.deepEqual(done, FIRST)
  await clock.advance(1)
  await nameDrain.drain(CONTINUES)
  assert.deepEqual(done, [...FIRST, ...FIRST])
  await close()
})

test('a run ends where the database takes other keys, and the next goes by them', async () => {
  const { done, world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.raiseFails = new WatermarkMoved()
  world.onRaise = () => (world.namespace = Buffer.alloc(16, 10))
  await nameDrain.drain()
  assert.deepEqual(done, [...FIRST, 'reads the grids', 'looks at the marks'])
  world.raiseFails = undefined
  await nameDrain.drain(CONTINUES)
  assert.deepEqual(
    world.raises.map(({ namespace }) => namespace),
    [world.namespace],
  )
  await close()
})

test('figures do not go past rows that come while the cells of long layers are read', async () => {
  const { world, nameDrain, close } = bench(stateOf(gridOf(1)), stateOf(gridOf(2, 600)))
  world.readMs = 5_000
  await nameDrain.drain()
  const [completeTo] = world.completeTo
  // What was recorded by then has left its open frame, too.
  assert(completeTo! <= world.readAt.at(-1)! - FLUSH_MS)
  assert(completeTo! > world.readAt.at(-1)! - FLUSH_MS - (DRAIN_AFTER_LAYERS + 1) * 1_000)
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
  await nameDrain.drain(CONTINUES)
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

test('no watermark falls by a reading of the clock whose answer came late', async () => {
  const { world, nameDrain, close } = bench(stateOf(gridOf(1)))
  world.lateMs = 3_600_000
  await nameDrain.drain(CONTINUES)
  assert.deepEqual(
    world.raises.map(({ from, to }) => to - from),
    [1],
  )
  await close()
})
