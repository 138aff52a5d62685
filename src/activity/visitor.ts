import { createHash, createHmac } from 'node:crypto'
import type { Request } from 'express'
import { Memo } from './memo.js'
import { VISITOR_BYTES } from './visit.js'

/** Hashes remembered. */
const REMEMBERED = 10_000

/** Characters of an identity that is kept as it is; a longer one is shortened by hashing. */
const MAX_IDENTITY = 512

/**
 * Who a request's visitor is by default: IP address and user agent. Neither can hold the line feed between
 * them. `undefined` where there is no address, as behind a Unix socket without `trust proxy`.
 */
export function ipAndUserAgent(req: Request): string | undefined {
  return req.ip ? `${req.ip}\n${req.headers['user-agent'] ?? ''}` : undefined
}

/** An identity of bounded length, so that those waiting or remembered take bounded memory. */
export function bounded(identity: string): string {
  return identity.length <= MAX_IDENTITY ? identity : createHash('sha256').update(identity).digest('base64')
}

/**
 * Visitors' hashes under one salt: HMAC-SHA256, cut to 96 bits. The last ones are remembered, since hashing
 * costs more than all else that a visit does.
 */
export class VisitorHashes {
  readonly salt: Buffer
  readonly #hashes: Memo<Buffer>

  constructor(salt: Buffer) {
    this.salt = salt
    // A copy: the digest's own memory would be kept whole.
    this.#hashes = new Memo(REMEMBERED, (identity) => Buffer.from(createHmac('sha256', salt).update(identity).digest().subarray(0, VISITOR_BYTES)))
  }

  /** The hash of an identity that is {@link bounded}. */
  of(identity: string): Buffer {
    return this.#hashes.get(identity)
  }
}
