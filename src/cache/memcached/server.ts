import type { Response } from 'memjs'
import { systemClock } from '../../support/clock.js'
import { CacheError, type CacheErrorCode } from '../cache.js'
import type { MemcachedAddress } from './addresses.js'
import { Link } from './link.js'

/**
 * One memcached server, which may go down and come back. A request waits for its answer no longer
 * than `timeoutMs`, or twice that when it has to connect first. Once the server is known to be
 * down, requests fail at once. Only one probe at a time, at most one each {@link PROBE_MS}, finds
 * out whether it is back. The requests that wait are bounded in number and in bytes.
 */
export class MemcachedServer {
  readonly #address: MemcachedAddress
  readonly #timeoutMs: number
  #link: Link | undefined
  /** Whether the server is known to be down. `#askAgainAt`: earliest next probe, by `elapsed()`. */
  #down = false
  #askAgainAt = 0
  #closed = false

  constructor(address: MemcachedAddress, timeoutMs: number) {
    this.#address = address
    this.#timeoutMs = timeoutMs
  }

  get name(): string {
    return this.#address.name
  }

  ask(opcode: number, key: string, extras: Buffer | '', value: Buffer | ''): Promise<Response> {
    if (this.#closed) return this.#refuse('CACHE_CLOSED', 'is not asked: the cache has been closed')
    if (this.#down) {
      const now = systemClock.elapsed()
      if (now < this.#askAgainAt) {
        return this.#refuse('CACHE_UNREACHABLE', `is down; it is asked again every ${PROBE_MS} ms`)
      }
      // This request is the probe; the time it may take must be over before the next.
      this.#askAgainAt = now + Math.max(PROBE_MS, 2 * this.#timeoutMs)
    }
    const link = (this.#link ??= this.#connect())
    const full =
      link.requestsInFlight >= MAX_REQUESTS_IN_FLIGHT ||
      (link.requestsInFlight > 0 && link.bytesInFlight + value.length > MAX_BYTES_IN_FLIGHT)
    if (full) {
      return this.#refuse(
        'CACHE_UNREACHABLE',
        `has ${link.requestsInFlight} requests in flight and is not asked for more`,
      )
    }
    return link.send(opcode, key, extras, value)
  }

  close(): void {
    this.#closed = true
    this.#link?.end(
      this.#error('CACHE_CLOSED', 'was asked, but the cache has been closed before it answered'),
      false,
    )
  }

  #connect(): Link {
    return new Link(this.#address, this.#timeoutMs, {
      answered: () => (this.#down = false),
      ended: (down) => {
        this.#link = undefined
        if (!down) return
        this.#down = true
        this.#askAgainAt = systemClock.elapsed() + PROBE_MS
      },
    })
  }

  #error(code: CacheErrorCode, what: string): CacheError {
    return new CacheError(code, `wide-cache: memcached ${this.name} ${what}`, { server: this.name })
  }

  #refuse(code: CacheErrorCode, what: string): Promise<never> {
    return Promise.reject(this.#error(code, what))
  }
}

/** Shortest time between two probes of a server that is down. */
const PROBE_MS = 1000

/** Requests that wait for one server's answer. */
const MAX_REQUESTS_IN_FLIGHT = 8192

/** Their bytes; a single request may be larger. */
const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024
