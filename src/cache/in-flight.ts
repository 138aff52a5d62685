import { systemClock, type Timer } from '../support/clock.js'
import { codeOf } from '../support/errors.js'
import { isTlsError } from '../support/tls-error.js'
import { CacheError, type CacheErrorCode } from './cache.js'

/** A cache server in the words of messages, and how long it may take. */
export interface NamedServer {
  /** `memcached` or `Redis` */
  readonly kind: string
  /** Whether it is asked by TLS; `undefined`: the site's own client knows. */
  readonly tls: boolean | undefined
  readonly name: string
  /** Milliseconds it may take to answer, and to connect. */
  readonly timeoutMs: number
}

/** Owner of a link, which is told when it works and when it ends. */
export interface LinkOwner {
  /** The first reply has come. */
  answered(): void
  /**
   * The link cannot be used any more. `reason`: neither can the server for now. Called before the
   * requests in flight reject.
   */
  ended(reason: CacheError | undefined): void
}

/** Owner of a link that is used once. */
export const NO_OWNER: LinkOwner = { answered: () => undefined, ended: () => undefined }

/** A request that waits for its reply. */
export interface InFlight {
  readonly bytes: number
  readonly reject: (error: CacheError) => void
  /** Moment when it was sent or, before the link is connected, asked for; by `elapsed()`. */
  since: number
  /** It has been given the whole time a second time. */
  again: boolean
}

/**
 * One connection to a cache server, and the requests in flight on it. Each request is sent at most
 * once, and its promise ends with its reply or with a CacheError, within `timeoutMs`. The first
 * fault ends the link: silence, a closed connection, a cut or an unexpected reply. So no reply can
 * ever be taken for that of another request. The owner then makes a new one. The connection keeps
 * the process alive only while requests are in flight.
 */
export abstract class ServerLink {
  readonly #server: NamedServer
  readonly #owner: LinkOwner
  /** The oldest first. */
  readonly #inFlight = new Set<InFlight>()
  #bytesInFlight = 0
  #connected = false
  #answered = false
  #ended = false
  #timer: Timer | undefined

  constructor(server: NamedServer, owner: LinkOwner) {
    this.#server = server
    this.#owner = owner
  }

  get requestsInFlight(): number {
    return this.#inFlight.size
  }

  get bytesInFlight(): number {
    return this.#bytesInFlight
  }

  /** Ends the link at its owner's wish. */
  close(): void {
    this.end(this.error('CACHE_CLOSED', 'did not answer before the cache was closed'), false)
  }

  /** Sets whether the connection keeps the process alive. */
  protected abstract keepAlive(keeps: boolean): void

  /** Ends the connection. */
  protected abstract discard(error: CacheError): void

  /** Whether there are several servers behind it: then one may be silent and others not. */
  protected get isCluster(): boolean {
    return false
  }

  /** Whether requests can be sent; before, they wait for it. */
  protected get isConnected(): boolean {
    return this.#connected
  }

  /** Requests can be sent from now on. Their time begins. */
  protected connected(): void {
    this.#connected = true
    const now = systemClock.elapsed()
    for (const request of this.#inFlight) request.since = now
  }

  protected add(bytes: number, reject: (error: CacheError) => void): InFlight {
    if (this.#inFlight.size === 0) this.keepAlive(true)
    const request = { bytes, reject, since: systemClock.elapsed(), again: false }
    this.#inFlight.add(request)
    this.#bytesInFlight += bytes
    if (this.#inFlight.size === 1) this.#lookAfter(this.#server.timeoutMs)
    return request
  }

  /** Takes out a request that the server has answered. `false`: it was no longer there. */
  protected settle(request: InFlight): boolean {
    if (!this.#remove(request)) return false
    if (!this.#answered) {
      this.#answered = true
      this.#owner.answered()
    }
    return true
  }

  /** Rejects one request; the link goes on. */
  protected reject(request: InFlight, error: CacheError): void {
    if (this.#remove(request)) request.reject(error)
  }

  /**
   * Ends the link: requests in flight reject with `error`.
   *
   * @param down whether the server counts as down. If it has served before, it does not: the reason
   * may be a restart or an idle limit.
   */
  protected end(error: CacheError, down = !this.#answered): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    const unanswered = [...this.#inFlight]
    this.#inFlight.clear()
    this.discard(error)
    this.#owner.ended(down ? error : undefined)
    for (const request of unanswered) request.reject(error)
  }

  /** The error of requests whose connection broke, or could not be made. */
  protected broken(cause: unknown): CacheError {
    const why = because(cause)
    if (isTlsError(codeOf(cause))) {
      const what = `is not trusted, or has no TLS${why}: ${CHECK_TLS}`
      return this.error('CACHE_REFUSED', what, cause)
    }
    if (!this.#connected) {
      const what = `cannot be reached${why}: ${this.#checkAddress}`
      return this.error('CACHE_UNREACHABLE', what, cause)
    }
    const what = this.#answered
      ? `broke the connection with requests in flight${why}: ${CHECK_RESTART}`
      : `broke the connection before it answered${why}: ${this.#checkPort}`
    return this.error('CACHE_TIMEOUT', what, cause)
  }

  protected error(code: CacheErrorCode, what: string, cause?: unknown): CacheError {
    return serverError(this.#server, code, what, cause)
  }

  get #checkAddress(): string {
    const how = this.#server.tls ? ' with TLS' : ''
    return `check its address, the firewall, and that it is running${how}`
  }

  get #checkPort(): string {
    const { kind, tls } = this.#server
    if (tls === undefined) return 'check that it is running, and the options of the client'
    const how = tls ? 'with' : 'without'
    return `check that it is running, and that this is a port of ${kind} ${how} TLS`
  }

  #remove(request: InFlight): boolean {
    if (!this.#inFlight.delete(request)) return false
    this.#bytesInFlight -= request.bytes
    if (this.#inFlight.size === 0) {
      this.#timer?.cancel()
      this.keepAlive(false)
    }
    return true
  }

  /**
   * Starts the one timer for all requests, which ends with the last of them. A process that was
   * busy itself first reads the replies that have arrived (0 ms), before it counts a timeout. If it
   * was busy for long, they are given the whole time once more, because a client may write requests
   * in a later turn.
   */
  #lookAfter(ms: number): void {
    const due = systemClock.elapsed() + ms
    this.#timer = systemClock.after(ms, () => {
      this.#timer = systemClock.after(0, () => this.#look(due))
    })
  }

  #giveTimeAgain(now: number): void {
    for (const request of this.#inFlight) {
      if (request.again) continue
      request.again = true
      request.since = now
    }
  }

  #look(due: number): void {
    const { timeoutMs } = this.#server
    const now = systemClock.elapsed()
    const wasBusy = now - due > timeoutMs / 2
    if (wasBusy) this.#giveTimeAgain(now)
    for (const request of this.#inFlight) {
      const left = request.since + timeoutMs - now
      if (left > 0) return this.#lookAfter(left)
      const check = this.#answered ? CHECK_SERVER : this.#checkPort
      const silent = this.#connected
        ? this.error(
            'CACHE_TIMEOUT',
            `did not answer within ${timeoutMs} ms: ${check}, or raise timeoutMs`,
          )
        : this.error(
            'CACHE_UNREACHABLE',
            `cannot be reached within ${timeoutMs} ms: ${this.#checkAddress}`,
          )
      if (!this.isCluster) return this.end(silent, true)
      this.reject(request, silent)
    }
  }
}

/** An error that names the server. */
export function serverError(
  { kind, name }: NamedServer,
  code: CacheErrorCode,
  what: string,
  cause?: unknown,
): CacheError {
  return new CacheError(code, `wide-cache: ${kind} ${name} ${what}`, { server: name, cause })
}

const CHECK_TLS = 'check the certificate, and name its authority with ssl-ca'
const CHECK_RESTART = 'look whether it was restarted'
const CHECK_SERVER = 'check the server and the network'

/** Returns the system's error code (ECONNREFUSED, ENOTFOUND), or else the message, in brackets. */
function because(error: unknown): string {
  return error instanceof Error ? ` (${codeOf(error) ?? error.message})` : ''
}
