import { type Brought, bringing } from './brought.js'
import type { Protocol } from './protocol.js'
import { askingForLife } from './sign-of-life.js'
import { seedOf } from '../simulated-world/simulated-process.js'
import { keyOf, type Records } from './records.js'

/**
 * Lets the records of each run see what its writers hold and let go of, and which frames come to
 * the ledger.
 */
export function observe(protocol: Protocol, runs: ReadonlyMap<number, Records>): void {
  observeOutboxes(protocol, runs)
  observeLedgers(protocol)
  observeReaders(protocol)
}

function observeOutboxes(
  { Outbox: { prototype } }: Protocol,
  runs: ReadonlyMap<number, Records>,
): void {
  const { add, remove, makeRoom } = prototype
  let atBound = false
  prototype.add = function (frame) {
    add.call(this, frame)
    runs.get(seedOf(frame.writer))?.closed(frame, this)
  }
  prototype.remove = function (frame) {
    if (this.has(frame)) runs.get(seedOf(frame.writer))?.released(frame, atBound)
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

function observeLedgers({ Ledger: { prototype } }: Protocol): void {
  const { commit, quarantine } = prototype
  prototype.commit = function (frames, options) {
    return observed({ frames, drained: options?.settledHere !== undefined }, () =>
      commit.call(this, frames, options),
    )
  }
  prototype.quarantine = function (frames, reason, options) {
    return observed({ frames, drained: options?.settledHere !== undefined }, () =>
      quarantine.call(this, frames, reason, options),
    )
  }
}

function observeReaders({ CellReader: { prototype } }: Protocol): void {
  const { forgetSilence } = prototype
  prototype.forgetSilence = function (silent) {
    return askingForLife(() => forgetSilence.call(this, silent))
  }
}

/** A process that has settled frames out of cells which still stand will read them again. */
async function observed<T>(brought: Brought, call: () => Promise<T>): Promise<T> {
  const settled = await bringing(brought, call)
  if (brought.drained) {
    for (const frame of brought.frames) brought.process?.readAgain.add(keyOf(frame))
  }
  return settled
}
