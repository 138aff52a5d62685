import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemEnvironment } from '../../support/environment.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { memory } from '../../cache/memory.js'
import { type DrainHint, publishHint } from '../drain-hint.js'
import { Grid } from '../grid.js'
import { heldFrame } from './held-frame.fixture.js'
import { type HeldFrame, Outbox } from './outbox.js'
import { Upkeep } from './upkeep.js'

const GRID = new Grid(Buffer.alloc(16, 7), { width: 2, layerSeconds: 3 })

const WRITER = 'a'.repeat(32)

/** An upkeep of two frames that neither the cache nor SQL has taken. */
function bench() {
  const clock = new ManualClock(0)
  const outbox = new Outbox(10_000)
  const told: string[] = []
  const world = {
    /** Reason why the last frame was not placed. */
    why: 'the cache is full',
    onCommit: (): void => undefined,
    onPlace: (_: HeldFrame): void => undefined,
    /** Whether SQL takes a frame directly. */
    takes: (_: HeldFrame): boolean => false,
    prefix: -1,
  }
  const cache = memory()
  const attempts: number[][] = []
  /** The number of hints that were asked for. */
  let looks = 0
  const upkeep = new Upkeep({
    ledger: { prefixOf: () => Promise.resolve(world.prefix) },
    heartbeat: async () => undefined,
    sameCache: { differs: false },
    environment: { ...systemEnvironment, clock },
    cache: {
      ...cache,
      get(key) {
        looks++
        return cache.get(key)
      },
    },
    record: { grid: GRID },
    settings: { name: 'test', confirmSeconds: 60, drainAfterLayers: 2, layerSeconds: 3 },
    outbox,
    placer: {
      down: false,
      get why() {
        return world.why
      },
    } as never,
    numbering: { hasUnreported: false, idHex: WRITER } as never,
    direct: {
      attempt: async (due: HeldFrame[]) => {
        if (due.length > 0) attempts.push(due.map(({ sequence }) => sequence))
        for (const frame of due) if (world.takes(frame)) outbox.remove(frame)
      },
      retryNow: () => undefined,
      commit: async () => world.onCommit(),
      log: (_: unknown, { why }: { why: string }) => told.push(why),
    } as never,
    place: async (held) => world.onPlace(held),
  })
  const frames = [0, 1].map((sequence) =>
    heldFrame(sequence, { writer: WRITER, closedAt: clock.elapsed() }),
  )
  for (const held of frames) {
    outbox.add(held)
    upkeep.begin(held)
  }
  return {
    clock,
    world,
    told,
    upkeep,
    frames,
    outbox,
    attempts,
    hint: (hint: DrainHint) => publishHint(cache, GRID, hint),
    looks: () => looks,
  }
}

test('frames that no cell has are placed one after the other, until it is stopped', async () => {
  const { clock, world, upkeep } = bench()
  const placed: number[] = []
  world.onPlace = ({ sequence }) => {
    placed.push(sequence)
    if (placed.length === 3) upkeep.stop()
  }
  await clock.advance(20_000)
  assert.deepEqual(placed, [0, 1, 0])
})

test('of the frames that a full cache refuses ten are tried at each check', async () => {
  const { clock, world, outbox } = bench()
  const closedAt = clock.elapsed()
  for (let n = 2; n < 30; n++) outbox.add(heldFrame(n, { writer: WRITER, closedAt }))
  let placed = 0
  world.onPlace = () => void placed++
  await clock.advance(10_000)
  const tried = [placed]
  for (let second = 0; second < 3; second++) {
    await clock.advance(1_000)
    tried.push(placed)
  }
  assert.deepEqual(tried, [10, 20, 30, 40])
})

test('the log tells the reason that frames had when their commit began', async () => {
  const { world, told, upkeep, frames } = bench()
  world.onCommit = () => void (world.why = 'no cache server answers')
  await upkeep.commit(frames)
  assert.deepEqual(told, ['the cache is full'])
})

test('what the collector has not found is committed at once, and then placed, once', async () => {
  const { clock, world, outbox, attempts, frames, hint, upkeep, told } = bench()
  const placed: number[] = []
  world.onPlace = (frame) => {
    placed.push(frame.sequence)
    outbox.acknowledge(frame, 5)
  }
  const [came, lost] = frames as [HeldFrame, HeldFrame]
  for (const frame of frames) outbox.acknowledge(frame, 1)
  await clock.advance(8_900)
  await hint({ after: 0, to: 1, lostTo: 0, prefixes: new Map([[came.writer, 0]]) })
  assert.deepEqual([attempts, placed], [[], []])
  await clock.advance(900)
  assert.deepEqual([attempts[0], placed], [[1], []])
  await upkeep.commit([lost])
  assert.deepEqual(told, ['the collector has not found them in the cache'])
  await clock.advance(1_000)
  assert.deepEqual([came.layer, lost.layer, placed], [1, 5, [1]], 'SQL has not taken it')
  const before = attempts.length
  await hint({ after: 0, to: 5, lostTo: 0, prefixes: new Map([[came.writer, 0]]) })
  await clock.advance(20_000)
  assert.deepEqual([attempts.length, placed], [before, [1]], 'it may have come above a gap')
})

test('a writer asks what has been found only while a layer of its frames is due', async () => {
  const { clock, outbox, frames, hint, looks } = bench()
  for (const frame of frames) outbox.acknowledge(frame, 1)
  // Layer 1 is drained from the beginning of layer 3 on.
  await clock.advance(8_999)
  assert.equal(looks(), 0)
  await clock.advance(9_000)
  assert.equal(looks(), 3, 'once a layer')
  await hint({ after: 0, to: 1, lostTo: 0, prefixes: new Map([[frames[0]!.writer, 1]]) })
  await clock.advance(20_000)
  assert.equal(looks(), 4)
})

test('of frames that are missing the first is committed alone: others may have come', async () => {
  const { clock, world, outbox, attempts, frames, hint } = bench()
  world.takes = () => true
  for (const frame of frames) outbox.acknowledge(frame, 1)
  await clock.advance(8_900)
  await hint({ after: 0, to: 1, lostTo: 0, prefixes: new Map() })
  await clock.advance(900)
  assert.deepEqual(attempts, [[0], [1]])
})

test('SQL is asked first: what an old hint calls missing may have come', async () => {
  const { clock, world, outbox, attempts, frames, hint } = bench()
  world.takes = () => true
  for (const frame of frames) outbox.acknowledge(frame, 1)
  await clock.advance(8_900)
  await hint({ after: 0, to: 1, lostTo: 0, prefixes: new Map() })
  world.prefix = 0
  await clock.advance(900)
  assert.deepEqual(attempts, [[1]])
})

test('a hint ahead of the present tells of no frame that may yet be drained', async () => {
  const { clock, outbox, attempts, frames, hint } = bench()
  const [old, young] = frames as [HeldFrame, HeldFrame]
  outbox.acknowledge(old, 1)
  outbox.acknowledge(young, 4)
  await hint({ after: 0, to: 2 ** 41, lostTo: 0, prefixes: new Map() })
  await clock.advance(12_000)
  assert.deepEqual([attempts.flat().includes(1), old.layer, young.layer], [false, undefined, 4])
  await hint({ after: 0, to: 4, lostTo: 0, prefixes: new Map([[WRITER, 0]]) })
  await clock.advance(9_000)
  assert.equal(young.layer, undefined, 'it is asked for again when its layer is due')
})

test('a frame placed while the clock was ahead is committed, not left to a far layer', async () => {
  const { clock, world, outbox, attempts, frames } = bench()
  world.takes = () => true
  const [placed, ahead] = frames as [HeldFrame, HeldFrame]
  outbox.acknowledge(placed, 30)
  outbox.acknowledge(ahead, 1_000_000)
  await clock.advance(9_000)
  assert.deepEqual(attempts, [[1]])
})

test('the log names the cache for what it has lost, and only for that', async () => {
  const { clock, outbox, frames, hint, upkeep, told } = bench()
  const [lost, waiting] = frames as [HeldFrame, HeldFrame]
  outbox.acknowledge(lost, 1)
  outbox.acknowledge(waiting, 30)
  await hint({ after: 0, to: 1, lostTo: 0, prefixes: new Map() })
  await clock.advance(12_000)
  await upkeep.commit([lost, waiting])
  assert.match(told[0] ?? '', /^they were in the cache for 60 s/)
})
