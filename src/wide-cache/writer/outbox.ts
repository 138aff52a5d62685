import type { Frame } from '../frame.js'

/** A frame its writer still holds. */
export interface HeldFrame extends Frame {
  /** When its first row came, by the process's wall clock. */
  readonly openedAt: number
  /** When it was closed, by `clock.elapsed()`. */
  readonly closedAt: number
  /** The cache has acknowledged it: it waits in its cell. */
  placed: boolean
  /** The attempt to place it that is under way. */
  placing: Promise<boolean> | undefined
}

/** What a frame takes in memory beside its bytes, as measured with frames of one row. */
export const FRAME_OVERHEAD_BYTES = 512

/**
 * The frames a writer still holds because the ledger has not confirmed them, oldest first, bounded
 * in bytes. They are told apart as objects: when the writer takes a new id, it numbers frames from
 * 0 again, and what was begun with an older frame may still end.
 */
export class Outbox {
  readonly #maxBytes: number
  /** By ascending sequence number: that is how they are added. */
  readonly #frames = new Set<HeldFrame>()
  /** Those that wait in their cells, in the order in which the cache has acknowledged them. */
  readonly #placed = new Set<HeldFrame>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#frames.size
  }

  /** Bytes that the frames held take in memory, about. */
  get bytes(): number {
    return this.#bytes
  }

  /** The oldest frame held. Its sequence number is the floor. */
  get oldest(): HeldFrame | undefined {
    for (const frame of this.#frames) return frame
    return undefined
  }

  add(frame: HeldFrame): void {
    this.#frames.add(frame)
    this.#bytes += sizeOf(frame)
  }

  /** The cache has acknowledged a frame. */
  acknowledge(frame: HeldFrame): void {
    frame.placed = true
    if (this.has(frame)) this.#placed.add(frame)
  }

  has(frame: HeldFrame): boolean {
    return this.#frames.has(frame)
  }

  frames(): IterableIterator<HeldFrame> {
    return this.#frames.values()
  }

  /** Rows of all frames held. */
  get rowCount(): number {
    let rows = 0
    for (const frame of this.#frames) rows += frame.rowCount
    return rows
  }

  /** Lets go of a frame that the ledger has. */
  remove(frame: HeldFrame): void {
    this.#placed.delete(frame)
    if (this.#frames.delete(frame)) this.#bytes -= sizeOf(frame)
  }

  /** Lets go of all frames of `writer` up to `prefix`. */
  confirm(writer: string, prefix: number): void {
    for (const frame of this.#frames) {
      if (frame.writer !== writer || frame.sequence > prefix) return
      this.remove(frame)
    }
  }

  /**
   * Makes room for `bytes` more by letting go of the oldest frames that wait in their cells.
   * `false`: there is none left that does.
   */
  makeRoom(bytes: number): boolean {
    if (this.#bytes + bytes <= this.#maxBytes) return true
    for (const frame of this.#placed) {
      this.remove(frame)
      if (this.#bytes + bytes <= this.#maxBytes) return true
    }
    return false
  }
}

function sizeOf(frame: Frame): number {
  return frame.bytes.length + FRAME_OVERHEAD_BYTES
}
