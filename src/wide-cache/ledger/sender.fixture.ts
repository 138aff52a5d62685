import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  type Frame,
  HEADER_BYTES,
  readCell,
  ROW_LENGTH_BYTES,
  sealFrame,
  stampOf,
} from '../frame.js'

/** The kind of the rows of a {@link Sender}, and its stamp. */
export const KIND = 'rows'
export const STAMP = stampOf(KIND)

/**
 * A writer that numbers its frames, one row each of the number given, or as many rows as asked for.
 */
export class Sender {
  readonly id: Buffer
  readonly measure: number
  readonly #frames = new Map<number, Frame>()
  issued = 0

  constructor(id: Buffer = randomBytes(16), measure = 0) {
    this.id = id
    this.measure = measure
  }

  frame(
    sequence: number,
    options: { floor?: number; floorAt?: number; rows?: unknown[]; dropped?: number } = {},
  ): Frame {
    const known = this.#frames.get(sequence)
    if (known) return known
    assert.equal(sequence, this.#frames.size, 'frames are made in their order')
    const {
      floor = 0,
      floorAt = 0,
      rows = [`${this.id.toString('hex')}:${sequence}`],
      dropped = 0,
    } = options
    const parts = rows.flatMap((row) => {
      const bytes = Buffer.from(JSON.stringify(row))
      const length = Buffer.alloc(ROW_LENGTH_BYTES)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    })
    const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts])
    sealFrame(
      bytes,
      {
        sequence,
        issued: this.issued,
        floor,
        floorIssued: this.#frames.get(floor)?.issued ?? this.issued,
        floorAt,
        dropped,
        rowCount: rows.length,
        measure: this.measure,
      },
      this.id,
      STAMP,
    )
    this.issued += rows.length
    const frame = readCell(bytes, STAMP).frames[0]!
    this.#frames.set(sequence, frame)
    return frame
  }
}
