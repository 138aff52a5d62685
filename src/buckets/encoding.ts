/**
 * Keys and values as the tables hold them: bytes of a bounded length. Two keys are the same if
 * their bytes are. The bucket of a key depends on its hash alone, which every process and version
 * computes alike.
 */
import { hash } from 'node:crypto'
import type { Codec } from '../support/codec.js'

/** Maximum length of a key, in bytes: its column is a part of a primary key. */
export const MAX_KEY_BYTES = 700
/** Maximum length of a value, in bytes: the size of a BLOB. */
export const MAX_VALUE_BYTES = 65_535
/** Hashes are whole numbers below this. */
export const HASHES = 2 ** 32

/** A key and a value on their way into a table. */
export interface Encoded {
  readonly hash: number
  readonly key: Buffer
  readonly value: Buffer
}

export class Encoding<T> {
  readonly #what: string
  readonly #codec: Codec<T>
  readonly #target: Buffer

  /** `what` it encodes, for messages. */
  constructor(what: 'key' | 'value', codec: Codec<T>) {
    this.#what = what
    this.#codec = codec
    this.#target = Buffer.alloc(what === 'key' ? MAX_KEY_BYTES : MAX_VALUE_BYTES)
  }

  /** @throws RangeError if it is too long, and what the codec throws */
  encode(value: T): Buffer {
    const end = this.#codec.encode(value, this.#target, 0)
    if (end === -1) {
      throw new RangeError(
        `wide-cache: a ${this.#what} of more than ${this.#target.length} bytes; allowed: at most ` +
          `${this.#target.length} bytes, as encoded by ${this.#what}Codec`,
      )
    }
    return Buffer.from(this.#target.subarray(0, end))
  }

  decode(bytes: Buffer): T {
    return this.#codec.decode(bytes)
  }
}

/**
 * The first 32 bits of the SHA-256 of an encoded key: nobody can choose keys that crowd one bucket.
 */
export function hashOf(key: Buffer): number {
  return hash('sha256', key, 'buffer').readUInt32BE()
}
