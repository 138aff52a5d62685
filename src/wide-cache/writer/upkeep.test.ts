import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemEnvironment } from '../../support/environment.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { heldFrame } from './held-frame.fixture.js'
import { type HeldFrame, Outbox } from './outbox.js'
import { Upkeep } from './upkeep.js'

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
  }
  const upkeep = new Upkeep({
    ledger: { prefixOf: () => Promise.resolve(-1) },
    compare: async () => undefined,
    sameCache: { apart: false },
    environment: { ...systemEnvironment, clock },
    settings: { confirmSeconds: 60 },
    outbox,
    placer: {
      down: false,
      get why() {
        return world.why
      },
    } as never,
    numbering: { hasUnreported: false, idHex: '' } as never,
    direct: {
      attempt: async () => undefined,
      retryNow: () => undefined,
      commit: async () => world.onCommit(),
      tell: (_: unknown, { why }: { why: string }) => told.push(why),
    } as never,
    place: async (held) => world.onPlace(held),
  })
  const frames = [heldFrame(0), heldFrame(1)]
  for (const held of frames) {
    outbox.add(held)
    upkeep.begin(held)
  }
  return { clock, world, told, upkeep, frames }
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

test('the log tells the reason that frames had when their commit began', async () => {
  const { world, told, upkeep, frames } = bench()
  world.onCommit = () => void (world.why = 'no cache server answers')
  await upkeep.commit(frames)
  assert.deepEqual(told, ['the cache is full'])
})
