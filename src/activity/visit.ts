import assert from 'node:assert/strict'
import { arePackedDimensions } from './packed-dimensions.js'
import { VISITOR_BYTES } from '../visitors/visitor.js'
import type { Codec } from '../support/codec.js'

/** One page view. */
export interface Visit {
  /** Milliseconds since the Unix epoch, by the database's clock if it was known. */
  readonly time: number
  /** {@link VISITOR_BYTES} bytes that tell one visitor of a day from another; `null`: unknown. */
  readonly visitor: Buffer | null
  /** As `pageOf` makes it. */
  readonly page: string
  /** Names and values of dimensions, packed; not given: none. */
  readonly dimensions?: string | undefined
}

/** The latest time that a visit can have: what 6 bytes hold, in the year 10889. */
export const MAX_TIME = 2 ** 48 - 1

const TIME_BYTES = 6
/** Bytes of the length of the dimensions. */
const LENGTH_BYTES = 2
const HAS_VISITOR = 1
const HAS_DIMENSIONS = 2

/**
 * A visit in bytes, written directly into the open frame:
 *
 *      0  1  whether a visitor (1) and dimensions (2) follow
 *      1  6  time
 *        12  visitor
 *         2  bytes of the dimensions
 *            the dimensions, packed
 *            the page in UTF-8, up to the end
 */
export const visitCodec: Codec<Visit> = {
  encode({ time, visitor, page, dimensions }, target, offset) {
    const dimensionsAt = offset + 1 + TIME_BYTES + (visitor ? VISITOR_BYTES : 0)
    const pageAt = dimensionsAt + (dimensions ? LENGTH_BYTES + dimensions.length : 0)
    if (!fits(page, target.length - pageAt)) return -1
    target[offset] = (visitor ? HAS_VISITOR : 0) | (dimensions ? HAS_DIMENSIONS : 0)
    target.writeUIntBE(time, offset + 1, TIME_BYTES)
    visitor?.copy(target, offset + 1 + TIME_BYTES)
    if (dimensions) {
      target.writeUInt16BE(dimensions.length, dimensionsAt)
      target.write(dimensions, dimensionsAt + LENGTH_BYTES, 'latin1')
    }
    return pageAt + target.write(page, pageAt)
  },

  decode(bytes) {
    const follows = bytes[0]
    assert(follows !== undefined && follows <= (HAS_VISITOR | HAS_DIMENSIONS), NO_VISIT)
    const dimensionsAt = 1 + TIME_BYTES + (follows & HAS_VISITOR ? VISITOR_BYTES : 0)
    assert(bytes.length >= dimensionsAt, NO_VISIT)
    const pageAt = follows & HAS_DIMENSIONS ? endOfDimensions(bytes, dimensionsAt) : dimensionsAt
    return {
      time: bytes.readUIntBE(1, TIME_BYTES),
      visitor: follows & HAS_VISITOR ? bytes.subarray(1 + TIME_BYTES, dimensionsAt) : null,
      page: bytes.toString('utf8', pageAt),
      dimensions:
        follows & HAS_DIMENSIONS
          ? bytes.toString('latin1', dimensionsAt + LENGTH_BYTES, pageAt)
          : undefined,
    }
  },
}

const NO_VISIT = 'bytes that are no visit'

/** A UTF-16 unit has up to three bytes: they are counted only where so many might not fit. */
const MAX_BYTES_A_UNIT = 3

function fits(page: string, room: number): boolean {
  return page.length * MAX_BYTES_A_UNIT <= room || Buffer.byteLength(page) <= room
}

function endOfDimensions(bytes: Buffer, offset: number): number {
  const start = offset + LENGTH_BYTES
  assert(bytes.length >= start, NO_VISIT)
  const end = start + bytes.readUInt16BE(offset)
  assert(end <= bytes.length && arePackedDimensions(bytes, start, end), NO_VISIT)
  return end
}
