import type { Frame } from '../frame.js'
import { type CommitOptions, frameKey, type Settled } from '../ledger/ledger.js'
import type { FrameLedger } from '../ledger/settle.js'

/** Most frames remembered. Past it, reading them again counts as duplicates. */
const MAX_FRAMES = 200_000

/**
 * A ledger that remembers the frames that it has settled, as long as their cells still exist. When
 * this process reads these cells again, the frames are no duplicates. Each commit is remembered at
 * once, because the rest of a batch that is halved may fail.
 */
export class SettledHere implements FrameLedger {
  readonly #ledger: FrameLedger
  readonly #keys = new Set<string>()

  constructor(ledger: FrameLedger) {
    this.#ledger = ledger
  }

  nameOf(frame: Frame): string {
    return this.#ledger.nameOf(frame)
  }

  /** The frames, each as its {@link frameKey}. */
  get keys(): ReadonlySet<string> {
    return this.#keys
  }

  /** Returns those of `frames` that are not among {@link keys}. */
  unsettled(frames: readonly Frame[]): Frame[] {
    return frames.filter((frame) => !this.#keys.has(frameKey(frame)))
  }

  async commit(frames: readonly Frame[], options?: CommitOptions): Promise<Settled> {
    const settled = await this.#ledger.commit(frames, options)
    this.#remember(frames)
    return settled
  }

  async quarantine(
    frames: readonly Frame[],
    reason: string,
    options?: CommitOptions,
  ): Promise<Settled> {
    const settled = await this.#ledger.quarantine(frames, reason, options)
    this.#remember(frames)
    return settled
  }

  /** Forgets frames whose cells are to be deleted. */
  forget(frames: readonly Frame[]): void {
    for (const frame of frames) this.#keys.delete(frameKey(frame))
  }

  #remember(frames: readonly Frame[]): void {
    if (this.#keys.size > MAX_FRAMES) this.#keys.clear()
    for (const frame of frames) this.#keys.add(frameKey(frame))
  }
}
