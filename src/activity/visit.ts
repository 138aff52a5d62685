import assert from 'node:assert/strict'
import { VISITOR_BYTES } from '../visitors/visitor.js'
import type { Codec } from '../wide-cache/codec.js'

/** One page view. */
export interface Visit {
  /** Milliseconds since the Unix epoch, by the clock of the process that served it. */
  readonly time: number
  /** {@link VISITOR_BYTES} bytes that tell one visitor of a day from another; `null`: unknown. */
  readonly visitor: Buffer | null
  /** As `pageOf` makes it. */
  readonly page: string
  /**
   * Names of dimensions, each followed by its value: `['referrer', 'example.com', 'device',
   * 'phone']`. At most {@link MAX_DIMENSIONS}; not given: none.
   */
  readonly dimensions?: readonly string[] | undefined
}

/** The latest time that a visit can have: what 6 bytes hold, in the year 10889. */
export const MAX_TIME = 2 ** 48 - 1

/** Dimensions of a visit beside its page. */
export const MAX_DIMENSIONS = 16

/** Bytes of a value of a dimension in UTF-8: what its column takes. */
export const MAX_VALUE_BYTES = 255

const TIME_BYTES = 6
const HAS_VISITOR = 1
const HAS_DIMENSIONS = 2

/**
 * A visit in bytes, written straight into the open frame:
 *
 *      0  1  whether a visitor (1) and dimensions (2) follow
 *      1  6  time
 *        12  visitor
 *         1  number of dimensions
 *            each dimension: length and bytes of its name, length and bytes of its value
 *            the page in UTF-8, up to the end
 */
export const visitCodec: Codec<Visit> = {
  encode({ time, visitor, page, dimensions }, target, offset) {
    const dimensionsAt = offset + 1 + TIME_BYTES + (visitor ? VISITOR_BYTES : 0)
    const room = target.length - dimensionsAt
    if (!fits(page, dimensions, room)) return -1
    target[offset] = (visitor ? HAS_VISITOR : 0) | (dimensions ? HAS_DIMENSIONS : 0)
    target.writeUIntBE(time, offset + 1, TIME_BYTES)
    visitor?.copy(target, offset + 1 + TIME_BYTES)
    const pageAt = dimensions ? writeDimensions(dimensions, target, dimensionsAt) : dimensionsAt
    return pageAt + target.write(page, pageAt)
  },

  decode(bytes) {
    const follows = bytes[0]
    assert(follows !== undefined && follows <= (HAS_VISITOR | HAS_DIMENSIONS), NO_VISIT)
    const dimensionsAt = 1 + TIME_BYTES + (follows & HAS_VISITOR ? VISITOR_BYTES : 0)
    assert(bytes.length >= dimensionsAt, NO_VISIT)
    const dimensions: string[] | undefined = follows & HAS_DIMENSIONS ? [] : undefined
    const pageAt = dimensions ? readDimensions(bytes, dimensionsAt, dimensions) : dimensionsAt
    return {
      time: bytes.readUIntBE(1, TIME_BYTES),
      visitor: follows & HAS_VISITOR ? bytes.subarray(1 + TIME_BYTES, dimensionsAt) : null,
      page: bytes.toString('utf8', pageAt),
      dimensions,
    }
  },
}

const NO_VISIT = 'bytes that are no visit'

/** A UTF-16 unit has up to three bytes: they are counted only where so many might not fit. */
const MAX_BYTES_A_UNIT = 3

function fits(page: string, dimensions: readonly string[] | undefined, room: number): boolean {
  let units = page.length
  let others = 0
  if (dimensions) {
    others = 1 + dimensions.length
    for (const text of dimensions) units += text.length
  }
  if (units * MAX_BYTES_A_UNIT + others <= room) return true
  let bytes = Buffer.byteLength(page) + others
  if (dimensions) for (const text of dimensions) bytes += Buffer.byteLength(text)
  return bytes <= room
}

/** Returns the offset behind them. */
function writeDimensions(dimensions: readonly string[], target: Buffer, offset: number): number {
  target[offset++] = dimensions.length / 2
  for (const text of dimensions) {
    const end = writeText(text, target, offset + 1)
    target[offset] = end - offset - 1
    offset = end
  }
  return offset
}

/** Returns the offset behind it. To call `write` costs more than to write a short text here. */
function writeText(text: string, target: Buffer, offset: number): number {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > 0x7f) return offset + target.write(text, offset)
    target[offset + at] = unit
  }
  return offset + text.length
}

/** Reads names and values into `dimensions`; returns the offset behind them. */
function readDimensions(bytes: Buffer, offset: number, dimensions: string[]): number {
  const texts = 2 * (bytes[offset++] ?? 0)
  assert(texts > 0 && texts <= 2 * MAX_DIMENSIONS, NO_VISIT)
  for (let read = 0; read < texts; read++) {
    const end = offset + 1 + (bytes[offset] ?? 0)
    assert(end <= bytes.length && end > offset + 1, NO_VISIT)
    dimensions.push(bytes.toString('utf8', offset + 1, end))
    offset = end
  }
  return offset
}
