import assert from 'node:assert/strict'
import { VISITOR_BYTES } from '../visitors/visitor.js'
import type { Codec } from '../wide-cache/codec.js'

/** One page view. */
export interface Visit {
  /** Milliseconds since the Unix epoch, by the clock of the process that served it. */
  readonly time: number
  /**
   * {@link VISITOR_BYTES} bytes that tell one visitor of a day from another; `null` where it is
   * unknown.
   */
  readonly visitor: Buffer | null
  /** As `pageOf` makes it. */
  readonly page: string
}

/** The latest time that a visit can have: what 6 bytes hold, in the year 10889. */
export const MAX_TIME = 2 ** 48 - 1

const TIME_BYTES = 6
const WITHOUT_VISITOR = 0
const WITH_VISITOR = 1

/**
 * A visit in bytes: one that says whether a visitor follows, six of time, the visitor, and the page
 * in UTF-8 up to the end. Written straight into the open frame.
 */
export const visitCodec: Codec<Visit> = {
  encode({ time, visitor, page }, target, offset) {
    const pageAt = offset + 1 + TIME_BYTES + (visitor ? VISITOR_BYTES : 0)
    const room = target.length - pageAt
    // Up to three bytes a UTF-16 unit: count exactly only where it might not fit.
    if (page.length * 3 > room && Buffer.byteLength(page) > room) return -1
    target[offset] = visitor ? WITH_VISITOR : WITHOUT_VISITOR
    target.writeUIntBE(time, offset + 1, TIME_BYTES)
    visitor?.copy(target, offset + 1 + TIME_BYTES)
    return pageAt + target.write(page, pageAt)
  },

  decode(bytes) {
    const kind = bytes[0]
    const pageAt = 1 + TIME_BYTES + (kind === WITH_VISITOR ? VISITOR_BYTES : 0)
    assert(
      (kind === WITHOUT_VISITOR || kind === WITH_VISITOR) && bytes.length >= pageAt,
      'bytes that are no visit',
    )
    return {
      time: bytes.readUIntBE(1, TIME_BYTES),
      visitor: kind === WITH_VISITOR ? bytes.subarray(1 + TIME_BYTES, pageAt) : null,
      page: bytes.toString('utf8', pageAt),
    }
  },
}
