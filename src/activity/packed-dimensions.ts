/**
 * The values of a visit's dimensions travel as one text, from the request to the sums: writing it
 * into a frame, reading it there and looking up what it counts for take one step each, however many
 * values it holds. The sums take each different text apart once, and unpack each value once.
 *
 * One character is one byte: for each dimension the length of its name, its name, the length of its
 * value and its value, both in UTF-8.
 */
import assert from 'node:assert/strict'

/** Dimensions of a site beside the page, and those that a visit of a bot has more. */
export const MAX_DIMENSIONS = 16
const MORE_OF_BOTS = 2

/** Bytes of a value of a dimension in UTF-8: what its column takes. */
export const MAX_VALUE_BYTES = 255

/** Packs one name or value, of at most 255 bytes. */
export function packText(text: string): string {
  const bytes = Buffer.byteLength(text)
  assert(bytes <= MAX_VALUE_BYTES, `${bytes} bytes do not fit`)
  const packed = bytes === text.length ? text : Buffer.from(text).toString('latin1')
  return String.fromCharCode(bytes) + packed
}

/** Packs names, each followed by its value. */
export function packDimensions(texts: readonly string[]): string {
  return texts.map(packText).join('')
}

/** Returns the pairs of a name and its value in packed dimensions, each still packed. */
export function packedPairs(packed: string): string[] {
  const pairs: string[] = []
  for (let at = 0; at < packed.length;) {
    const valueAt = endOfText(packed, at)
    const end = endOfText(packed, valueAt)
    pairs.push(packed.slice(at, end))
    at = end
  }
  return pairs
}

export function unpackPair(pair: string): readonly [name: string, value: string] {
  const valueAt = endOfText(pair, 0)
  return [unpackText(pair.slice(0, valueAt)), unpackText(pair.slice(valueAt))]
}

function unpackText(packed: string): string {
  return Buffer.from(packed, 'latin1').toString('utf8', 1)
}

function endOfText(packed: string, at: number): number {
  return at + 1 + packed.charCodeAt(at)
}

/** Whether these bytes are packed dimensions: what a forged frame holds is refused. */
export function arePackedDimensions(bytes: Buffer, start: number, end: number): boolean {
  let texts = 0
  let at = start
  for (; at < end; texts++) {
    const length = bytes[at]!
    if (length === 0) return false
    at += 1 + length
  }
  return at === end && texts > 0 && texts % 2 === 0 && texts <= 2 * (MAX_DIMENSIONS + MORE_OF_BOTS)
}
