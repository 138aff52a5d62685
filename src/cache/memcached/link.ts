import memjs, { type Response, type Server } from 'memjs'
import { systemClock, type Timer } from '../../support/clock.js'
import { CacheError, type CacheErrorCode } from '../cache.js'
import { CHECK_ADDRESS, CHECK_RESTART, CHECK_SERVER, type LinkOwner } from '../server.js'
import type { MemcachedAddress } from './addresses.js'

/**
 * One connection to one memcached server, and the requests in flight on it. Each request is written
 * at most once, and its promise ends with its reply or with a CacheError. The first fault ends the
 * link: silence, a closed connection, a cut or an unexpected reply. So no reply can ever be taken
 * for that of another request. The owner then makes a new one. The connection
 * keeps the process alive only while requests are in flight.
 *
 * This is the one file that knows memjs. It uses memjs's connection, login and reply parser. It
 * does not use memjs's requests and timeouts: they send again, leave promises pending when the
 * server closes, keep half a reply for the next connection, and never time out while more is being
 * written.
 */
export class Link {
  readonly #address: MemcachedAddress
  readonly #timeoutMs: number
  readonly #owner: LinkOwner
  readonly #server: Server
  readonly #inFlight = new Map<number, InFlight>()
  #bytesInFlight = 0
  /** Set once the link is connected and logged in. */
  #write: ((request: Buffer) => void) | undefined
  #lastOpaque = 0
  #answered = false
  #ended = false
  #timer: Timer | undefined

  constructor(address: MemcachedAddress, timeoutMs: number, owner: LinkOwner) {
    this.#address = address
    this.#timeoutMs = timeoutMs
    this.#owner = owner
    // Timeouts of 0: none of memjs's own.
    const server = new memjs.Server(
      address.host,
      address.port,
      address.username,
      address.password,
      { timeout: 0, conntimeout: 0 },
    )
    this.#server = server
    server.onError(NO_OPAQUE, (error) => this.#broke(error))
    server.sock(false, (socket) => {
      // memjs has its own listener before this one, and what it could make no reply of is in
      // responseBuffer.
      socket.on('data', () => {
        if (this.#inFlight.size === 0 && server.responseBuffer.length > 0) {
          this.#broke(new Error('an unexpected reply'))
        }
      })
      this.#write = (request) => void socket.write(request)
      for (const request of this.#inFlight.values()) {
        request.since = systemClock.elapsed()
        this.#write(request.bytes)
      }
    })
    server._socket?.setNoDelay(true)
    // memjs forgets the requests in flight when the server closes.
    server._socket?.on('close', () => this.#broke(undefined))
  }

  get requestsInFlight(): number {
    return this.#inFlight.size
  }

  get bytesInFlight(): number {
    return this.#bytesInFlight
  }

  send(opcode: number, key: string, extras: Buffer | '', value: Buffer | ''): Promise<Response> {
    const opaque = (this.#lastOpaque % MAX_OPAQUE) + 1
    this.#lastOpaque = opaque
    const bytes = memjs.Utils.makeRequestBuffer(opcode, key, extras, value, opaque)
    if (this.#inFlight.size === 0) this.#server._socket?.ref()
    return new Promise((resolve, reject) => {
      this.#inFlight.set(opaque, { bytes, resolve, reject, since: systemClock.elapsed() })
      this.#bytesInFlight += bytes.length
      this.#server.onResponse(opaque, this.#onResponse)
      this.#write?.(bytes)
      this.#timer ??= this.#lookAfter(this.#timeoutMs)
    })
  }

  /** Ends the link: requests in flight reject with `error`. `down`: the server counts as down. */
  end(error: CacheError, down: boolean): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    const unanswered = [...this.#inFlight.values()]
    this.#inFlight.clear()
    this.#server.error(error)
    this.#owner.ended(down)
    for (const request of unanswered) request.reject(error)
  }

  readonly #onResponse = (response: Response): void => {
    const request = this.#inFlight.get(response.header.opaque)
    if (!request) return
    this.#inFlight.delete(response.header.opaque)
    this.#bytesInFlight -= request.bytes.length
    if (this.#inFlight.size === 0) this.#server._socket?.unref()
    if (!this.#answered) {
      this.#answered = true
      this.#owner.answered()
    }
    request.resolve(response)
  }

  /**
   * Ends a link whose connection broke. If it has served before, the server does not count as down:
   * the reason may be a restart or an idle limit.
   */
  #broke(error: unknown): void {
    const down = !this.#answered
    // memjs reports a failed login as a string.
    if (typeof error === 'string') {
      this.#fail('CACHE_REFUSED', 'refuses the user name or password: check both', down)
    } else if (this.#write) {
      const what = `broke the connection with requests in flight${because(error)}: ${CHECK_RESTART}`
      this.#fail('CACHE_TIMEOUT', what, down, error)
    } else {
      const what = `cannot be reached${because(error)}: ${CHECK_ADDRESS}`
      this.#fail('CACHE_UNREACHABLE', what, down, error)
    }
  }

  #fail(code: CacheErrorCode, what: string, down: boolean, cause?: unknown): void {
    this.end(
      new CacheError(code, `wide-cache: memcached ${this.#address.name} ${what}`, {
        server: this.#address.name,
        cause,
      }),
      down,
    )
  }

  /**
   * Starts the one timer for all requests: replies come in order, so watching the oldest request is
   * enough. A process that was busy itself first reads the replies that have arrived
   * (`setImmediate`), before it counts a timeout.
   */
  #lookAfter(ms: number): Timer {
    return systemClock.after(ms, () => void setImmediate(() => this.#look()))
  }

  #look(): void {
    this.#timer = undefined
    const oldest = this.#inFlight.values().next().value
    if (!oldest) return
    const left = oldest.since + this.#timeoutMs - systemClock.elapsed()
    if (left > 0) this.#timer = this.#lookAfter(left)
    else if (this.#write) {
      const what = `did not answer within ${this.#timeoutMs} ms: ${CHECK_SERVER}`
      this.#fail('CACHE_TIMEOUT', what, true)
    } else {
      const what = `cannot be reached within ${this.#timeoutMs} ms: ${CHECK_ADDRESS}`
      this.#fail('CACHE_UNREACHABLE', what, true)
    }
  }
}

interface InFlight {
  readonly bytes: Buffer
  readonly resolve: (response: Response) => void
  readonly reject: (error: CacheError) => void
  /** Moment when it was written or, before the link is connected, asked for; by `elapsed()`. */
  since: number
}

/** memjs keeps callbacks per opaque; this one is never sent, so nothing but an error calls it. */
const NO_OPAQUE = 0

/**
 * Opaques go round in a small circle: memjs's own counter throws at the 2^31st request. It must be
 * wider than any number of requests in flight.
 */
const MAX_OPAQUE = 0xffff

/** Returns the system's error code (ECONNREFUSED, ENOTFOUND), or else the message, in brackets. */
function because(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return ` (${'code' in error && typeof error.code === 'string' ? error.code : error.message})`
}
