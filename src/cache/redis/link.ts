import { systemClock, type Timer } from '../../support/clock.js'
import { CacheError, type CacheErrorCode } from '../cache.js'
import {
  CHECK_ADDRESS,
  CHECK_RESTART,
  CHECK_SERVER,
  type LinkOwner,
  type ServerLink,
} from '../server.js'
import type { RedisCommands } from './client.js'

/** A client of the package `redis`, and what may be done with it. */
export interface RedisConnection {
  readonly commands: RedisCommands
  /** Resolves when the client is connected; `undefined`: its owner connects it. */
  readonly connected?: Promise<unknown>
  /** Whether there are several servers behind it: then one may be silent and others not. */
  readonly isCluster: boolean
  /** Requests that the client has neither answered nor given up, even if no caller waits. */
  readonly kept: { requests: number; bytes: number }
  /** Whether the connection keeps the process alive; the site's own client stays as it is. */
  keepAlive(keeps: boolean): void
  /** Ends the connection, if it is the adapter's own. */
  discard(): void
}

/**
 * The requests in flight through one client. Each is sent at most once, and its promise ends with
 * its reply or with a CacheError, within `timeoutMs`. The first fault of any sort ends the link.
 * Its owner then makes a new one, so that a server that hangs is left. The connection keeps the
 * process alive only while requests are in flight.
 */
export class RedisLink implements ServerLink {
  readonly #name: string
  readonly #timeoutMs: number
  readonly #owner: LinkOwner
  readonly #connection: RedisConnection
  /** The oldest first. */
  readonly #inFlight = new Set<InFlight>()
  #bytesInFlight = 0
  #connected: boolean
  #answered = false
  #ended = false
  #timer: Timer | undefined

  constructor(parts: {
    name: string
    timeoutMs: number
    owner: LinkOwner
    open: (onError: (error: unknown) => void) => RedisConnection
  }) {
    this.#name = parts.name
    this.#timeoutMs = parts.timeoutMs
    this.#owner = parts.owner
    this.#connection = parts.open((error) => this.#broke(error))
    const { connected } = this.#connection
    this.#connected = connected === undefined
    connected?.then(
      () => (this.#connected = true),
      (error: unknown) => this.#broke(error),
    )
  }

  get requestsInFlight(): number {
    return Math.max(this.#inFlight.size, this.#connection.kept.requests)
  }

  get bytesInFlight(): number {
    return Math.max(this.#bytesInFlight, this.#connection.kept.bytes)
  }

  /**
   * Sends one request.
   *
   * @param bytes of the request's value
   */
  send<T>(bytes: number, command: (commands: RedisCommands) => Promise<T>): Promise<T> {
    if (this.#inFlight.size === 0) this.#connection.keepAlive(true)
    return new Promise((resolve, reject) => {
      const request = { since: systemClock.elapsed(), bytes, reject, again: false }
      this.#inFlight.add(request)
      this.#bytesInFlight += bytes
      this.#timer ??= this.#lookAfter(this.#timeoutMs)
      const ask = (): void => {
        // The link has ended meanwhile.
        if (!this.#inFlight.has(request)) return
        request.since = systemClock.elapsed()
        const { commands, kept } = this.#connection
        // A client that is not connected keeps commands, and sends them when nobody waits any more.
        if (!(commands.isReady ?? commands.isOpen)) {
          return this.#reject(request, 'CACHE_UNREACHABLE', `is not connected: ${CHECK_CONNECT}`)
        }
        kept.requests++
        kept.bytes += bytes
        const letGo = (): void => {
          kept.requests--
          kept.bytes -= bytes
        }
        command(commands).then(
          (reply) => {
            letGo()
            if (this.#settle(request)) resolve(reply)
          },
          (error: unknown) => {
            letGo()
            this.#failed(request, error)
          },
        )
      }
      if (this.#connected) ask()
      else this.#connection.connected?.then(ask, () => undefined)
    })
  }

  end(error: CacheError, down: boolean): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    const unanswered = [...this.#inFlight]
    this.#inFlight.clear()
    this.#connection.discard()
    this.#owner.ended(down)
    for (const request of unanswered) request.reject(error)
  }

  /** Takes a request out of those in flight. `false`: it was no longer there. */
  #remove(request: InFlight): boolean {
    if (!this.#inFlight.delete(request)) return false
    this.#bytesInFlight -= request.bytes
    if (this.#inFlight.size === 0) this.#connection.keepAlive(false)
    return true
  }

  /** Takes out a request that the server has answered. `false`: it was no longer there. */
  #settle(request: InFlight): boolean {
    if (!this.#remove(request)) return false
    if (!this.#answered) {
      this.#answered = true
      this.#owner.answered()
    }
    return true
  }

  #failed(request: InFlight, error: unknown): void {
    const reply = errorReply(error)
    if (reply === undefined) {
      if (this.#connection.connected) return this.#broke(error)
      const what = `broke the connection with requests in flight${because(error)}: ${CHECK_RESTART}`
      return this.#reject(request, 'CACHE_TIMEOUT', what, error)
    }
    if (this.#settle(request)) request.reject(new RedisRefusal(this.#name, reply))
  }

  #reject(request: InFlight, code: CacheErrorCode, what: string, cause?: unknown): void {
    if (this.#remove(request)) request.reject(this.#error(code, what, cause))
  }

  /**
   * Ends a link whose connection broke. If it has served before, the server does not count as down:
   * the reason may be a restart or an idle limit.
   */
  #broke(error: unknown): void {
    const reply = errorReply(error)
    if (reply !== undefined) return this.end(new RedisRefusal(this.#name, reply), !this.#answered)
    const why = because(error)
    const [code, what] = this.#connected
      ? ([
          'CACHE_TIMEOUT',
          `broke the connection with requests in flight${why}: ${CHECK_RESTART}`,
        ] as const)
      : (['CACHE_UNREACHABLE', `cannot be reached${why}: ${CHECK_ADDRESS}`] as const)
    this.end(this.#error(code, what, error), !this.#answered)
  }

  #error(code: CacheErrorCode, what: string, cause?: unknown): CacheError {
    const message = `wide-cache: Redis ${this.#name} ${what}`
    return new CacheError(code, message, { server: this.#name, cause })
  }

  /**
   * Starts the one timer for all requests. A process that was busy itself first reads the replies
   * that have arrived (`setImmediate`), before it counts a timeout. If it was busy for long, they
   * are given the whole time once more, because the package writes requests in a later turn.
   */
  #lookAfter(ms: number): Timer {
    const due = systemClock.elapsed() + ms
    return systemClock.after(ms, () => void setImmediate(() => this.#look(due)))
  }

  #giveTimeAgain(now: number): void {
    for (const request of this.#inFlight) {
      if (request.again) continue
      request.again = true
      request.since = now
    }
  }

  #look(due: number): void {
    this.#timer = undefined
    if (this.#ended) return
    const now = systemClock.elapsed()
    const wasBusy = now - due > this.#timeoutMs / 2
    if (wasBusy) this.#giveTimeAgain(now)
    const since = now - this.#timeoutMs
    for (const request of this.#inFlight) {
      if (request.since > since) {
        this.#timer = this.#lookAfter(request.since - since)
        return
      }
      if (!this.#connected) {
        const what = `cannot be reached within ${this.#timeoutMs} ms: ${CHECK_ADDRESS}`
        return this.end(this.#error('CACHE_UNREACHABLE', what), true)
      }
      const what = `did not answer within ${this.#timeoutMs} ms: ${CHECK_SERVER}`
      if (!this.#connection.isCluster) return this.end(this.#error('CACHE_TIMEOUT', what), true)
      this.#reject(request, 'CACHE_TIMEOUT', what)
    }
  }
}

const CHECK_CONNECT = 'await client.connect(), and check the server'

interface InFlight {
  readonly bytes: number
  readonly reject: (error: CacheError) => void
  /** Moment when it was sent or, before the link is connected, asked for; by `elapsed()`. */
  since: number
  /** It has been given the whole time a second time. */
  again: boolean
}

/** An error that the server replied. */
export class RedisRefusal extends CacheError {
  /** Whether the server has no memory left. */
  readonly outOfMemory: boolean

  constructor(server: string, reply: string) {
    super('CACHE_REFUSED', `wide-cache: Redis ${server} refused the request (${shown(reply)})`, {
      server,
    })
    // Redis 6 says so at the end, if it was a script that found none.
    this.outOfMemory = /(^| -)OOM /.test(reply)
  }
}

/** The server's words, if the error is a reply of it: these begin with a code in capitals. */
function errorReply(error: unknown): string | undefined {
  if (!(error instanceof Error) || !/^[A-Z]{2,20}( |$)/.test(error.message)) return undefined
  return error.message
}

/** The server's words for a message. What they quote of the request is left out. */
function shown(reply: string): string {
  return reply
    .replace(/,? with args .*$/s, '')
    .slice(0, 120)
    .replace(/[^\x20-\x7e]/g, '?')
}

/** Returns the system's error code (ECONNREFUSED, ENOTFOUND), or else the message, in brackets. */
function because(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return ` (${'code' in error && typeof error.code === 'string' ? error.code : error.message})`
}
