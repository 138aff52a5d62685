import { bringing } from './brought.js'
import type { Heart } from './heart.js'
import { seedOf } from './process.js'
import { keyOf, type Records } from './records.js'

/** Lets the records of each run see what its writers hold and let go of, and which frames come to the ledger. */
export function observe(heart: Heart, runs: ReadonlyMap<number, Records>): void {
  observeOutboxes(heart, runs)
  observeLedgers(heart, runs)
}

function observeOutboxes({ Outbox: { prototype } }: Heart, runs: ReadonlyMap<number, Records>): void {
  const { add, remove, makeRoom } = prototype
  let atBound = false
  prototype.add = function (frame) {
    add.call(this, frame)
    runs.get(seedOf(frame.writer))?.closed(frame, this)
  }
  prototype.remove = function (frame) {
    const held = [...this.frames()].find((other) => other.sequence === frame.sequence)
    if (held) runs.get(seedOf(held.writer))?.released(held, atBound)
    remove.call(this, frame)
  }
  prototype.makeRoom = function (bytes) {
    atBound = true
    try {
      return makeRoom.call(this, bytes)
    } finally {
      atBound = false
    }
  }
}

function observeLedgers({ Ledger: { prototype } }: Heart, runs: ReadonlyMap<number, Records>): void {
  const { commit, quarantine } = prototype
  prototype.commit = async function (frames, options) {
    const drained = options?.read !== undefined
    const settled = await bringing({ frames, drained }, () => commit.call(this, frames, options))
    if (drained) rememberRead(frames, settled.reader)
    return settled
  }
  prototype.quarantine = async function (frames, reason, options) {
    const drained = options?.read !== undefined
    return bringing({ frames, drained }, () => quarantine.call(this, frames, reason, options))
  }
}
