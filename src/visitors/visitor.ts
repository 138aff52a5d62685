import { createHash, createHmac } from 'node:crypto'

/** 96 bits: among a million visitors of a day, two share a hash with a chance of 1 in 10^17. */
export const VISITOR_BYTES = 12

/** Hashes remembered. */
const REMEMBERED = 10_000

/** Characters of a text that is kept as it is; a longer one is shortened by hashing. */
const MAX_TEXT = 512

/**
 * An identity, or the user agent beside it, of bounded length, so that those waiting or remembered
 * take bounded memory.
 */
export function bounded(text: string): string {
  return text.length <= MAX_TEXT ? text : createHash('sha256').update(text).digest('base64')
}

/**
 * Visitors' hashes under one salt: HMAC-SHA256, cut to 96 bits. The last ones are remembered, since
 * hashing costs more than all else that a visit does; by user agent first, since to join two texts
 * and look up the long one is most of what is left.
 */
export class VisitorHashes {
  readonly salt: Buffer
  readonly #byUserAgent = new Map<string, Map<string, Buffer>>()
  #remembered = 0

  constructor(salt: Buffer) {
    this.salt = salt
  }

  /** The hash of an identity and a user agent (or none) that are {@link bounded}. */
  of(identity: string, userAgent: string): Buffer {
    return this.#byUserAgent.get(userAgent)?.get(identity) ?? this.#remember(identity, userAgent)
  }

  #remember(identity: string, userAgent: string): Buffer {
    if (this.#remembered >= REMEMBERED) {
      this.#byUserAgent.clear()
      this.#remembered = 0
    }
    const digest = createHmac('sha256', this.salt).update(`${identity}\n${userAgent}`).digest()
    // A copy: the digest's own memory would be kept whole.
    const hash = Buffer.from(digest.subarray(0, VISITOR_BYTES))
    const identities = this.#byUserAgent.get(userAgent) ?? new Map<string, Buffer>()
    this.#byUserAgent.set(userAgent, identities.set(identity, hash))
    this.#remembered++
    return hash
  }
}
