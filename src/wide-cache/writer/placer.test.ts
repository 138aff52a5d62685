import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { sleep } from '../../support/clock.js'
import { systemEnvironment } from '../../support/environment.js'
import { ManualClock, flushPromises } from '../../support/manual-clock.fixture.js'
import { Grid } from '../grid.js'
import type { HeldFrame } from './outbox.js'
import { Placer } from './placer.js'

type Answer = 'append' | 'add' | 'late' | 'refuses' | 'fails'

const frame = { writer: 'ab', sequence: 0, bytes: Buffer.from('frame') } as unknown as HeldFrame
const TTL = 90

/** Whether a frame was placed, and in which layer; `undefined`: it is not known yet. */
interface Placing {
  placed: boolean | undefined
  layer: number | undefined
}

/** A placer on a grid of six columns, whose cells answer as told: by column, or all alike. */
function bench(options: {
  answers: Answer | readonly Answer[]
  known?: boolean
  random?: number
  /** Values of the published watermark, one for each of the first times that it is read. */
  leaps?: number[]
}) {
  const leaps = options.leaps ?? []
  const passed: number[] = []
  const clock = new ManualClock(0)
  const began = clock.elapsed()
  const grid = new Grid(Buffer.alloc(16, 1), { width: 6, layerSeconds: 10 })
  const calls: string[] = []
  const world = {
    answers: options.answers,
    grid: options.known === false ? undefined : grid,
    differs: false,
    wanted: true,
    /** Milliseconds that the wall clock has gone on alone. */
    slept: 0,
    heartbeat: async (): Promise<void> => void calls.push('asks'),
  }
  const answer = (operation: string, key: string): Promise<boolean> => {
    const column = Number(key.split(':').at(-1))
    const said = typeof world.answers === 'string' ? world.answers : world.answers[column]!
    calls.push(`${operation} ${column}`)
    if (said === 'fails') {
      return Promise.reject(new CacheError('CACHE_UNREACHABLE', 'no connection'))
    }
    if (said === 'late') {
      return Promise.resolve(calls.filter((call) => call === `append ${column}`).length === 2)
    }
    return Promise.resolve(said === operation)
  }
  const added: { key: string; ttl: number }[] = []
  const cache = {
    append: (key: string) => answer('append', key),
    add: (key: string, _: Buffer, ttl: number) => {
      added.push({ key, ttl })
      return answer('add', key)
    },
  }
  let enter = (): void => undefined
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const placer = new Placer({
    cache: cache as never,
    published: {
      layerOf: (its, moment) =>
        Math.max(its.layers.at(moment), ...passed.slice(0, 1).map((n) => n + 2)),
      refresh: async () => void passed.unshift(...leaps.splice(0, 1)),
      hasPassed: (layer) => passed.length > 0 && passed[0]! >= layer,
    },
    record: world,
    database: { migrate: () => entered },
    heartbeat: () => world.heartbeat(),
    sameCache: world,
    environment: {
      ...systemEnvironment,
      clock: {
        elapsed: clock.elapsed,
        now: () => clock.now() + world.slept,
        after: (ms, callback) => clock.after(ms, callback),
      },
      random: () => options.random ?? 0,
    },
    settings: { drainAfterLayers: 2, cellTtlSeconds: TTL },
  })
  return {
    clock,
    grid,
    world,
    calls,
    added,
    placer,
    enter: () => {
      world.grid = grid
      enter()
    },
    /** `deadline`: milliseconds after the beginning. */
    place: (deadline = 5_000) => {
      const state: Placing = { placed: undefined, layer: undefined }
      void placer
        .place(frame, () => world.wanted, began + deadline)
        .then((layer) => {
          state.placed = layer !== undefined
          state.layer = layer
        })
      return state
    },
  }
}

test('a frame is appended to a random cell of the present layer, or makes it', async () => {
  const { place, calls, clock } = bench({ answers: 'append', random: 0.5 })
  await clock.advance(25_000)
  const appended = place(30_000)
  await flushPromises()
  assert.deepEqual([appended.placed, appended.layer, calls], [true, 2, ['append 3']])
  const making = bench({ answers: 'add' })
  await making.clock.advance(25_000)
  const made = making.place(30_000)
  await flushPromises()
  assert.deepEqual(
    [made.placed, making.calls, making.added],
    [true, ['append 0', 'add 0'], [{ key: making.grid.keys.cell(2, 0), ttl: TTL }]],
  )
  const raced = bench({ answers: 'late' })
  const late = raced.place()
  await flushPromises()
  assert.deepEqual([late.placed, raced.calls], [true, ['append 0', 'add 0', 'append 0']])
})

test('what brought a frame into its cell is tried first for the next one', async () => {
  const { place, calls, world } = bench({ answers: 'add' })
  for (const [answers, expected] of [
    ['add', ['append 0', 'add 0']],
    ['add', ['add 0']],
    ['append', ['add 0', 'append 0']],
    ['append', ['append 0']],
  ] as const) {
    world.answers = answers
    place()
    await flushPromises()
    assert.deepEqual(calls.splice(0), expected)
  }
})

test('a frame that is tried again goes to the keys that the grid has by then', async () => {
  const { place, added, clock, world, grid } = bench({ answers: 'refuses' })
  place()
  await flushPromises()
  const other = new Grid(Buffer.alloc(16, 2), grid)
  world.grid = other
  added.length = 0
  await clock.advance(500)
  assert.deepEqual(
    added.map(({ key }) => key),
    [0, 1, 2].map((column) => other.keys.cell(0, column)),
  )
})

test('a frame whose layer was passed while it was on its way is placed again above', async () => {
  const { place, placer, added, grid } = bench({ answers: 'add', leaps: [7, 7] })
  const state = place()
  await flushPromises()
  assert.deepEqual([state.placed, state.layer, placer.down], [true, 9, false])
  assert.deepEqual(
    added.map(({ key }) => key),
    [grid.keys.cell(0, 0), grid.keys.cell(9, 1)],
  )
  const raised = bench({ answers: 'add', leaps: [-1] })
  const once = raised.place()
  await flushPromises()
  assert.deepEqual([once.placed, raised.added.length], [true, 1])
})

test('after a minute without frames SQL is asked first whether the grid has its id', async () => {
  const { place, calls, clock, world, grid } = bench({ answers: 'append' })
  const other = new Grid(Buffer.alloc(16, 2), grid)
  world.heartbeat = async () => {
    calls.push('asks')
    world.grid = other
  }
  await clock.advance(59_999)
  place(70_000)
  await flushPromises()
  assert.deepEqual(calls, ['append 0'])
  await clock.advance(60_000)
  const states = [place(130_000), place(130_000)]
  await flushPromises()
  assert.deepEqual(calls.slice(1), ['asks', 'append 0', 'append 0'])
  assert.deepEqual(
    states.map(({ placed }) => placed),
    [true, true],
  )
})

/** SQL that does not answer, refuses, and refuses once it has thought about it. */
const AWAY = [
  () => new Promise<void>(() => undefined),
  () => Promise.reject(new Error('away')),
  (clock: ManualClock) => sleep(clock, 400).then(() => Promise.reject(new Error('away'))),
]

test('SQL that is away is waited for half a second', async () => {
  for (const compare of AWAY) {
    const { place, clock, world } = bench({ answers: 'append' })
    world.heartbeat = () => compare(clock)
    await clock.advance(60_000)
    const state = place(70_000)
    await clock.advance(499)
    assert.equal(state.placed, undefined)
    await clock.advance(1)
    assert.equal(state.placed, true)
  }
})

test('a process that ends does not wait for SQL before a frame is placed', async () => {
  for (const compare of AWAY) {
    const { place, placer, clock, world } = bench({ answers: 'append' })
    world.heartbeat = () => compare(clock)
    await clock.advance(60_000)
    const state = place(70_000)
    await flushPromises()
    assert.equal(state.placed, undefined)
    placer.stopAsking()
    const late = place(70_000)
    await flushPromises()
    assert.deepEqual([state.placed, late.placed], [true, true])
  }
})

test('SQL is asked also after a minute in which the machine slept', async () => {
  const { place, calls, clock, world } = bench({ answers: 'append' })
  world.slept = 60_000
  place(10_000)
  await flushPromises()
  assert.deepEqual(calls, ['asks', 'append 0'])
  await clock.advance(1_000)
  place(10_000)
  await flushPromises()
  assert.deepEqual(calls.slice(2), ['append 0'])
})

test('where a column does not answer or refuses, the others are tried in their order', async () => {
  const { place, calls, placer } = bench({
    answers: ['append', 'fails', 'fails', 'refuses', 'fails', 'fails'],
    random: 0.2,
  })
  const state = place()
  await flushPromises()
  assert.deepEqual([state.placed, placer.down], [true, false])
  assert.deepEqual(
    calls.filter((call) => call.startsWith('append')).map((call) => Number(call.at(-1))),
    [1, 2, 3, 3, 4, 5, 0],
  )
})

test('three refusals end a try, made again until the deadline; the cache is not down', async () => {
  const { place, calls, clock, placer } = bench({ answers: 'refuses' })
  const state = place(2_000)
  await flushPromises()
  assert.deepEqual(
    calls.filter((call) => call.startsWith('add')),
    ['add 0', 'add 1', 'add 2'],
  )
  await clock.advance(499)
  assert.equal(calls.length, 9)
  await clock.advance(1)
  assert.equal(calls.length, 18)
  await clock.advance(1_000)
  assert.equal(calls.length, 36)
  assert.deepEqual([state.placed, placer.down], [false, false])
  assert.match(placer.why, /does not store frames of 5 bytes/)
  assert.equal(clock.pending, 0)
})

test('when no column answers, the cache is down and tried once a second only', async () => {
  const { place, calls, clock, placer, world } = bench({ answers: 'fails' })
  const first = place()
  await flushPromises()
  assert.deepEqual([first.placed, placer.down, calls.length], [false, true, 6])
  assert.match(placer.why, /no cache server answers \(.*no connection/)
  await clock.advance(999)
  const second = place()
  await flushPromises()
  assert.deepEqual([second.placed, calls.length], [false, 6])
  await clock.advance(1)
  const [probing, other] = [place(), place()]
  await flushPromises()
  assert.deepEqual([probing.placed, other.placed, calls.length], [false, false, 12])
  await clock.advance(1_000)
  world.answers = 'append'
  const last = place(9_000)
  await flushPromises()
  assert.deepEqual([last.placed, placer.down], [true, false])
})

test('a frame that is no longer wanted is not placed', async () => {
  const { place, calls, clock, world } = bench({ answers: 'refuses' })
  const state = place()
  await flushPromises()
  world.wanted = false
  await clock.advance(500)
  assert.deepEqual([state.placed, calls.length], [false, 9])
})

test('where the collectors use another cache nothing is placed', async () => {
  const { place, calls, placer, world } = bench({ answers: 'append' })
  assert.equal(placer.down, false)
  world.differs = true
  const state = place()
  await flushPromises()
  assert.deepEqual(
    [state.placed, calls, placer.down, placer.why],
    [false, [], true, 'the collectors use another cache'],
  )
})

test('before SQL has told the grid a frame waits for it, until its deadline', async () => {
  const waiting = bench({ answers: 'append', known: false })
  const state = waiting.place()
  await waiting.clock.advance(3_000)
  assert.deepEqual(
    [state.placed, waiting.placer.why],
    [undefined, 'the database had not been reached before'],
  )
  waiting.enter()
  await flushPromises()
  assert.equal(state.placed, true)
  const never = bench({ answers: 'append', known: false })
  const late = never.place()
  await never.clock.advance(5_000)
  assert.deepEqual([late.placed, never.calls], [false, []])
  never.enter()
  assert.equal(never.placer.why, 'the database had not been reached before', 'when it was tried')
})
