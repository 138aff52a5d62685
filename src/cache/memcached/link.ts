import type { Socket } from 'node:net'
import memjs, { type Response, type Server } from 'memjs'
import { CacheError } from '../cache.js'
import { type LinkOwner, ServerLink } from '../in-flight.js'
import type { MemcachedAddress } from './addresses.js'
import { remedyOf } from './said.js'

/**
 * One connection to one memcached server.
 *
 * This is the one file that knows memjs. It uses memjs's connection, login and reply parser. It
 * does not use memjs's requests and timeouts: they send again, leave promises pending when the
 * server closes, keep half a reply for the next connection, and never time out while more is being
 * written.
 */
export class MemcachedLink extends ServerLink {
  readonly #server: Server
  #lastOpaque = 0

  constructor(address: MemcachedAddress, timeoutMs: number, owner: LinkOwner) {
    super({ kind: 'memcached', name: address.name, timeoutMs, tls: false }, owner)
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
        const [first] = server.responseBuffer
        if (first === undefined) return
        if (first !== REPLY) {
          const says = printable(server.responseBuffer)
          const what = `does not speak the binary protocol of memcached. It says: ${says}`
          this.end(this.error('CACHE_REFUSED', what))
        } else if (this.requestsInFlight === 0) this.#broke(new Error('an unexpected reply'))
      })
      this.connected()
    })
    server._socket?.setNoDelay(true)
    // memjs forgets the requests in flight when the server closes.
    server._socket?.on('close', () => this.#broke(undefined))
  }

  /**
   * Sends a request. Resolves with its reply.
   *
   * @param onPart takes the packets of a reply that has several; the last one has no body
   */
  send(
    opcode: number,
    key: string,
    extras: Buffer | '',
    value: Buffer | '',
    onPart?: (part: Response) => void,
  ): Promise<Response> {
    const opaque = (this.#lastOpaque % MAX_OPAQUE) + 1
    this.#lastOpaque = opaque
    const bytes = memjs.Utils.makeRequestBuffer(opcode, key, extras, value, opaque)
    return new Promise((resolve, reject) => {
      const request = this.add(bytes.length, reject)
      const onResponse = (response: Response): void => {
        const { status, totalBodyLength } = response.header
        if (onPart && status === OK && totalBodyLength > 0) onPart(response)
        else if (this.settle(request)) resolve(response)
      }
      // memjs keeps a callback that is `quiet` until a reply has no body.
      if (onPart) onResponse.quiet = true
      this.#server.onResponse(opaque, onResponse)
      // Once it is connected, and at once if it is.
      this.#server.sock(false, (socket) => write(socket, bytes))
    })
  }

  protected override keepAlive(keeps: boolean): void {
    if (keeps) this.#server._socket?.ref()
    else this.#server._socket?.unref()
  }

  protected override discard(error: CacheError): void {
    this.#server.error(error)
  }

  #broke(error: unknown): void {
    // memjs reports a failed login as a string.
    const isLogin = typeof error === 'string'
    const refused = 'refuses the user name or password: check both'
    this.end(isLogin ? this.error('CACHE_REFUSED', refused) : this.broken(error))
  }
}

/** Writes a request, in one system call with all others of the same turn. */
function write(socket: Socket, bytes: Buffer): void {
  if (socket.writableCorked === 0) {
    socket.cork()
    process.nextTick(() => socket.uncork())
  }
  socket.write(bytes)
}

/** Status of a request that succeeded. */
export const OK = 0x00

/** First byte of each reply. */
const REPLY = 0x81

/** memjs keeps callbacks per opaque; this one is never sent, so nothing but an error calls it. */
const NO_OPAQUE = 0

/**
 * Opaques go round in a small circle: memjs's own counter throws at the 2^31st request. It must be
 * wider than any number of requests in flight.
 */
const MAX_OPAQUE = 0xffff

/** The error of a reply that is one. Its text is the server's own, never a value. */
export function refusal(server: string, { header, val }: Response): CacheError {
  const status = `0x${header.status.toString(16).padStart(2, '0')}`
  const remedy = remedyOf(status)
  const what = `refused the request (status ${status}: ${printable(val)})`
  return new CacheError(
    'CACHE_REFUSED',
    `wide-cache: memcached ${server} ${what}${remedy === undefined ? '' : `: ${remedy}`}`,
    { server },
  )
}

/** The beginning of the server's own words. */
function printable(bytes: Buffer): string {
  return bytes
    .toString('latin1', 0, 80)
    .trim()
    .replace(/[^\x20-\x7e]/g, '?')
}
