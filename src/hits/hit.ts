import assert from 'node:assert/strict'
import type { Measure } from '../page-views/measures.js'
import { VISITOR_BYTES } from '../visitors/visitor.js'
import type { Codec } from '../support/codec.js'

/** A view of an item that a request tells of, and the measure that it counts in. */
export interface ViewedItem {
  readonly measure: Measure
  readonly item: string
}

/** One view of an item. */
export interface Hit {
  /** Milliseconds since the Unix epoch, by the database's clock if it was known. */
  readonly time: number
  /**
   * {@link VISITOR_BYTES} bytes that tell one viewer of a day from another; `null` where it is
   * unknown.
   */
  readonly viewer: Buffer | null
  /** A text of 1 to {@link MAX_ITEM_BYTES} bytes. */
  readonly item: string
}

/** Bytes of an item in UTF-8: what its column takes. */
export const MAX_ITEM_BYTES = 255

const TIME_BYTES = 6
const WITHOUT_VIEWER = 0
const WITH_VIEWER = 1

/** Whether a text can be an item. */
export function isItem(text: string): boolean {
  return text !== '' && text.length <= MAX_ITEM_BYTES && Buffer.byteLength(text) <= MAX_ITEM_BYTES
}

/**
 * A hit in bytes: one that says whether a viewer follows, six of time, the viewer, and the item up
 * to the end.
 */
export const hitCodec: Codec<Hit> = {
  encode({ time, viewer, item }, target, offset) {
    const itemAt = offset + 1 + TIME_BYTES + (viewer ? VISITOR_BYTES : 0)
    if (itemAt + MAX_ITEM_BYTES > target.length) return -1
    target[offset] = viewer ? WITH_VIEWER : WITHOUT_VIEWER
    target.writeUIntBE(time, offset + 1, TIME_BYTES)
    viewer?.copy(target, offset + 1 + TIME_BYTES)
    return itemAt + target.write(item, itemAt)
  },

  /** Strict: SQL would refuse an item that its column does not take. */
  decode(bytes) {
    const format = bytes[0]
    const itemAt = 1 + TIME_BYTES + (format === WITH_VIEWER ? VISITOR_BYTES : 0)
    assert(
      (format === WITHOUT_VIEWER || format === WITH_VIEWER) && bytes.length > itemAt,
      'bytes that are no hit',
    )
    const item = bytes.toString('utf8', itemAt)
    assert(isItem(item), 'a hit of an item that is too long')
    return {
      time: bytes.readUIntBE(1, TIME_BYTES),
      viewer: format === WITH_VIEWER ? bytes.subarray(1 + TIME_BYTES, itemAt) : null,
      item,
    }
  },
}
