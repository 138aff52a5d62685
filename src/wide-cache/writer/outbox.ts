import type { Frame, FrameHeader } from '../frame.js'

type Floor = Pick<FrameHeader, 'floor' | 'floorIssued' | 'floorAt'>

/** A frame its writer still holds. */
export interface HeldFrame extends Frame {
  /** Time of its first row, in milliseconds since the Unix epoch. */
  readonly openedAt: number
  /** Time at which it was closed, by `clock.elapsed()`. */
  readonly closedAt: number
  /** The layer in whose cell it waits, since the cache has acknowledged it; `undefined`: none. */
  layer: number | undefined
  /** The attempt to place it that is under way. */
  placing: Promise<boolean> | undefined
}

/** Memory that a frame takes beside its bytes, as measured with frames of one row. */
export const FRAME_OVERHEAD_BYTES = 512

/**
 * Frames that a writer holds because the ledger has not confirmed them, oldest first. Bounded in
 * bytes. Frames are told apart as objects: a writer with a new id numbers frames from 0 again,
 * while work on an older frame may still end.
 */
export class Outbox {
  readonly #maxBytes: number
  /** By ascending sequence number: that is how they are added. */
  readonly #frames = new Set<HeldFrame>()
  /** Frames that wait in their cells, in the order in which the cache has acknowledged them. */
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

  /** Whether a frame is in no cell. */
  get hasUnplaced(): boolean {
    return this.#placed.size < this.#frames.size
  }

  /** The oldest frame held. Its sequence number is the floor. */
  get oldest(): HeldFrame | undefined {
    for (const frame of this.#frames) return frame
    return undefined
  }

  /**
   * Returns what the header of a frame says of the oldest frame held, or of the frame itself if
   * none is held.
   */
  floorFor({
    sequence,
    issued,
    openedAt,
  }: Pick<HeldFrame, 'sequence' | 'issued' | 'openedAt'>): Floor {
    const { oldest } = this
    return {
      floor: oldest?.sequence ?? sequence,
      floorIssued: oldest?.issued ?? issued,
      // The clock may have gone back.
      floorAt: Math.min(oldest?.openedAt ?? openedAt, openedAt),
    }
  }

  add(frame: HeldFrame): void {
    this.#frames.add(frame)
    this.#bytes += sizeOf(frame)
  }

  /** Notes that the cache has acknowledged a frame, in a cell of `layer`. */
  acknowledge(frame: HeldFrame, layer: number): void {
    frame.layer = layer
    if (this.has(frame)) this.#placed.add(frame)
  }

  /** Notes that a frame is in no cell any more. */
  miss(frame: HeldFrame): void {
    frame.layer = undefined
    this.#placed.delete(frame)
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

  /** Removes a frame, because the ledger has it, or to make room. */
  remove(frame: HeldFrame): void {
    this.#placed.delete(frame)
    if (this.#frames.delete(frame)) this.#bytes -= sizeOf(frame)
  }

  /** Removes all frames of `writer` up to `prefix`. */
  confirm(writer: string, prefix: number): void {
    for (const frame of this.#frames) {
      if (frame.writer !== writer || frame.sequence > prefix) return
      this.remove(frame)
    }
  }

  /**
   * Makes room for `bytes` more by removing the oldest frames that wait in their cells. `false`:
   * none is left to remove, and there is still too little room.
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
