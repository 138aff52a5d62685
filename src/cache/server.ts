import { systemClock } from '../support/clock.js'
import { CacheError, type CacheErrorCode } from './cache.js'
import { type LinkOwner, type NamedServer, serverError, type ServerLink } from './in-flight.js'

/**
 * One cache server, which may go down and come back. A request waits for its answer no longer than
 * `timeoutMs`, or twice that when it has to connect first. Once the server is known to be down,
 * requests fail at once. Only one probe at a time, at most one each {@link PROBE_MS}, finds out
 * whether it is back. After {@link FORGET_MS} without a request that could have been the probe it
 * counts as up again. The requests that wait are bounded in number and in bytes.
 */
export class CacheServer<L extends ServerLink> {
  readonly #server: NamedServer
  /** Shortest time between two probes: what one may take must be over before the next. */
  readonly #probeMs: number
  readonly #connect: (owner: LinkOwner) => L
  #link: L | undefined
  /** Why the server is known to be down. `#askAgainAt`: earliest next probe, by `elapsed()`. */
  #down: CacheError | undefined
  #askAgainAt = 0
  #closed = false

  constructor(server: NamedServer, connect: (owner: LinkOwner) => L) {
    this.#server = server
    this.#probeMs = Math.max(PROBE_MS, 2 * server.timeoutMs)
    this.#connect = connect
  }

  get name(): string {
    return this.#server.name
  }

  /**
   * Returns the link for one more request, connected or about to be.
   *
   * @param bytes of the request's value
   * @throws CacheError if the server is not to be asked now
   */
  link(bytes: number): L {
    if (this.#closed) throw this.#error('CACHE_CLOSED', 'is not asked: the cache has been closed')
    if (this.#down) {
      const now = systemClock.elapsed()
      if (now < this.#askAgainAt) throw this.#notAsked(this.#down)
      // A process that has rested does not know, and its first requests are several at once.
      if (now >= this.#askAgainAt + FORGET_MS) this.#down = undefined
      // This request is the probe.
      this.#askAgainAt = now + this.#probeMs
    }
    const link = (this.#link ??= this.#open())
    const full =
      link.requestsInFlight >= MAX_REQUESTS_IN_FLIGHT ||
      (link.requestsInFlight > 0 && link.bytesInFlight + bytes > MAX_BYTES_IN_FLIGHT)
    if (full) {
      throw this.#error(
        'CACHE_UNREACHABLE',
        `has ${link.requestsInFlight} requests in flight and is not asked for more: ` +
          'it is slow, or has too much to do',
      )
    }
    return link
  }

  close(): void {
    this.#closed = true
    this.#link?.close()
  }

  #open(): L {
    return this.#connect({
      answered: () => (this.#down = undefined),
      ended: (reason) => {
        this.#link = undefined
        if (!reason) return
        this.#down = reason
        this.#askAgainAt = systemClock.elapsed() + PROBE_MS
      },
    })
  }

  /** Repeats why the server cannot be used: a wrong password is not to be logged as "is down". */
  #notAsked({ code, message }: CacheError): CacheError {
    return new CacheError(
      code === 'CACHE_REFUSED' ? code : 'CACHE_UNREACHABLE',
      `${message}; it is retried every ${this.#probeMs} ms`,
      { server: this.name },
    )
  }

  #error(code: CacheErrorCode, what: string): CacheError {
    return serverError(this.#server, code, what)
  }
}

/** Shortest time between two probes of a server that is down. */
const PROBE_MS = 1000

/** Time without a probe after which a server is no longer known to be down. */
const FORGET_MS = 5_000

/** Requests that wait for one server's answer. */
const MAX_REQUESTS_IN_FLIGHT = 8192

/** Their bytes; a single request may be larger. */
const MAX_BYTES_IN_FLIGHT = 32 * 1024 * 1024
