import { CacheError } from '../cache.js'
import { type InFlight, type LinkOwner, type NamedServer, ServerLink } from '../in-flight.js'
import type { RedisCommands, RedisConnection } from './client.js'
import { begins, remedyOf } from './said.js'

/**
 * The requests in flight through one client. A fault of the site's own client ends its requests
 * and not the link, because the client connects again by itself.
 */
export class RedisLink extends ServerLink {
  readonly #name: string
  readonly #connection: RedisConnection

  constructor(parts: {
    server: NamedServer
    owner: LinkOwner
    open: (onError: (error: unknown) => void) => RedisConnection
  }) {
    super(parts.server, parts.owner)
    this.#name = parts.server.name
    this.#connection = parts.open((error) => this.#broke(error))
    const { connected } = this.#connection
    if (!connected) this.connected()
    connected?.then(
      () => this.connected(),
      (error: unknown) => this.#broke(error),
    )
  }

  override get requestsInFlight(): number {
    return Math.max(super.requestsInFlight, this.#connection.kept.requests)
  }

  override get bytesInFlight(): number {
    return Math.max(super.bytesInFlight, this.#connection.kept.bytes)
  }

  /**
   * Sends one request.
   *
   * @param bytes of the request's value
   */
  send<T>(bytes: number, command: (commands: RedisCommands) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const request = this.add(bytes, reject)
      const ask = (): void => {
        const { commands, kept } = this.#connection
        // A client that is not connected keeps commands, and sends them when nobody waits any more.
        if (!(commands.isReady ?? commands.isOpen)) {
          const what = `is not connected: ${CHECK_CONNECT}`
          return this.reject(request, this.error('CACHE_UNREACHABLE', what))
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
            if (this.settle(request)) resolve(reply)
          },
          (error: unknown) => {
            letGo()
            this.#failed(request, error)
          },
        )
      }
      if (this.isConnected) ask()
      else this.#connection.connected?.then(ask, () => undefined)
    })
  }

  protected override get isCluster(): boolean {
    return this.#connection.isCluster
  }

  protected override keepAlive(keeps: boolean): void {
    this.#connection.keepAlive(keeps)
  }

  protected override discard(): void {
    this.#connection.discard()
  }

  #failed(request: InFlight, error: unknown): void {
    const refusal = this.#refusal(error)
    if (refusal) {
      if (this.settle(request)) request.reject(refusal)
    } else if (this.#connection.connected) this.#broke(error)
    else this.reject(request, this.broken(error))
  }

  #broke(error: unknown): void {
    this.end(this.#refusal(error) ?? this.broken(error))
  }

  /** The server's refusal, if the error is a reply: these begin with a code in capitals. */
  #refusal(error: unknown): RedisRefusal | undefined {
    if (!(error instanceof Error) || !/^[A-Z]{2,20}( |$)/.test(error.message)) return undefined
    return new RedisRefusal(this.#name, error.message)
  }
}

const CHECK_CONNECT = 'await client.connect(), and check the server'

/** An error that the server replied. */
export class RedisRefusal extends CacheError {
  /** Whether the server has no memory left. */
  readonly outOfMemory: boolean
  /** Whether the user may not send this command, or not for this key. */
  readonly isForbidden: boolean

  constructor(server: string, reply: string) {
    const remedy = remedyOf(reply)
    const what = `refused the request (${shown(reply)})${remedy === undefined ? '' : `: ${remedy}`}`
    super('CACHE_REFUSED', `wide-cache: Redis ${server} ${what}`, { server })
    this.outOfMemory = begins(reply, 'OOM')
    this.isForbidden = begins(reply, 'NOPERM')
  }
}

/** The server's words for a message. What they quote of the request is left out. */
function shown(reply: string): string {
  return reply
    .replace(/, with args .*$/s, '')
    .slice(0, 160)
    .replace(/[^\x20-\x7e]/g, '?')
}
