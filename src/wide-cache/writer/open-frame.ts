import type { Codec } from '../../support/codec.js'
import { HEADER_BYTES, ROW_LENGTH_BYTES } from '../frame.js'

/** The frame that a writer appends rows to: room for its header, then the rows. */
export class OpenFrame<Row> {
  readonly #codec: Codec<Row>
  readonly #bytes: Buffer
  #end = HEADER_BYTES
  #rowCount = 0

  /** @param maxBytes bytes of the longest frame */
  constructor(codec: Codec<Row>, maxBytes: number) {
    this.#codec = codec
    this.#bytes = Buffer.allocUnsafeSlow(maxBytes)
  }

  get rowCount(): number {
    return this.#rowCount
  }

  /** Bytes of the longest frame. */
  get maxBytes(): number {
    return this.#bytes.length
  }

  /** Appends a row. `false`: there is no room for it. @throws what the codec throws */
  append(row: Row): boolean {
    const start = this.#end + ROW_LENGTH_BYTES
    if (start >= this.#bytes.length) return false
    const end = this.#codec.encode(row, this.#bytes, start)
    if (end === -1) return false
    if (!(Number.isInteger(end) && end >= start && end <= this.#bytes.length)) {
      throw new RangeError(
        `encode() returned ${end}, not an end from ${start} to ${this.#bytes.length}, nor -1`,
      )
    }
    this.#bytes.writeUInt32BE(end - start, this.#end)
    this.#end = end
    this.#rowCount++
    return true
  }

  /** Returns a copy of the frame, with a header still to be written, and begins anew. */
  take(): Buffer {
    const frame = Buffer.from(this.#bytes.subarray(0, this.#end))
    this.#end = HEADER_BYTES
    this.#rowCount = 0
    return frame
  }
}
