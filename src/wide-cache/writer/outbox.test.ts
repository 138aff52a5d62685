import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { frameBatches } from '../ledger/frame-batches.js'
import { heldFrame } from './held-frame.fixture.js'
import { FRAME_OVERHEAD_BYTES, type HeldFrame, Outbox } from './outbox.js'

/** A frame that takes 1,000 bytes, if not said otherwise. */
function frame(sequence: number, placed = false, takes = 1000): HeldFrame {
  const bytes = Buffer.alloc(takes - FRAME_OVERHEAD_BYTES)
  return heldFrame(sequence, { layer: placed ? 0 : undefined, bytes })
}

function outbox(maxBytes: number, frames: HeldFrame[]): Outbox {
  const box = new Outbox(maxBytes)
  for (const held of frames) {
    box.add(held)
    if (held.layer !== undefined) box.acknowledge(held, held.layer)
  }
  return box
}

const sequences = (box: Outbox): number[] => [...box.frames()].map(({ sequence }) => sequence)

test('a prefix confirms all frames up to it and none above', () => {
  const box = outbox(10_000, [frame(3), frame(4), frame(6)])
  box.confirm('', 2)
  assert.deepEqual(sequences(box), [3, 4, 6])
  box.confirm('', 4)
  assert.deepEqual(sequences(box), [6])
  assert.equal(box.oldest?.sequence, 6)
  box.confirm('', 100)
  assert.equal(box.oldest, undefined)
})

test('what was begun under an earlier id of the writer does not let go of new frames', () => {
  const earlier: HeldFrame = { ...frame(0), writer: 'earlier' }
  const box = outbox(10_000, [frame(0), frame(1)])
  assert.equal(box.has(earlier), false)
  box.remove(earlier)
  box.acknowledge(earlier, 0)
  box.confirm('earlier', 5)
  assert.deepEqual(sequences(box), [0, 1])
  assert.equal(box.makeRoom(8000), true)
  assert.equal(box.makeRoom(8001), false, 'it has no frame that waits in its cell')
})

test('past its bound it drops the oldest frames that wait in their cells, and no others', () => {
  const box = outbox(5000, [frame(0), frame(1, true), frame(2), frame(3, true), frame(4, true)])
  assert.equal(box.makeRoom(1000), true)
  assert.deepEqual(sequences(box), [0, 2, 3, 4])
  assert.equal(box.makeRoom(3000), true)
  assert.deepEqual(sequences(box), [0, 2])
  assert.equal(box.makeRoom(3001), false)
  assert.deepEqual(sequences(box), [0, 2])
})

test('a frame that its cell has lost makes no room until another cell has it', () => {
  const lost = frame(0, true)
  const box = outbox(5000, [lost, frame(1)])
  box.miss(lost)
  assert.equal(lost.layer, undefined)
  assert.equal(box.makeRoom(4000), false)
  assert.deepEqual(sequences(box), [0, 1])
  box.acknowledge(lost, 7)
  assert.equal(box.makeRoom(4000), true)
  assert.deepEqual(sequences(box), [1])
})

test('what has been removed takes no room, also if it is removed twice', () => {
  const held = frame(0, false, 4000)
  const box = outbox(5000, [held])
  assert.equal(box.makeRoom(2000), false)
  box.remove(held)
  box.remove(held)
  assert.equal(box.makeRoom(5000), true)
  assert.equal(box.makeRoom(5001), false)
})

test('a frame that has been removed takes no memory, acknowledged before or after', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const box = new Outbox(10_000)
  const removed = [true, false].map((isPlacedBefore) => {
    const held = frame(0)
    box.add(held)
    if (isPlacedBefore) box.acknowledge(held, 0)
    box.remove(held)
    if (!isPlacedBefore) box.acknowledge(held, 0)
    return new WeakRef(held)
  })
  // What a WeakRef was made of lives to the end of the tick.
  await setImmediate()
  collectGarbage()
  assert.deepEqual(
    removed.map((ref) => ref.deref()),
    [undefined, undefined],
  )
  assert.equal(box.size, 0)
})

test('batches keep the order and stay within their bounds of rows and frames', () => {
  const rows = [1600, 400, 1, 2400, 10, ...Array<number>(4200).fill(1)]
  const batches = frameBatches(
    rows.map((rowCount) => ({ rowCount })),
    2_005,
  )
  assert.deepEqual(
    batches.flat().map(({ rowCount }) => rowCount),
    rows,
  )
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [3, 1, 1996, 2000, 205],
  )
})
