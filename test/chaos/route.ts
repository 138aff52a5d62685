/**
 * A network route to one server: a TCP proxy that fails the way networks do. Bytes never change
 * their order, and a connection that has lost any of them never carries bytes again, as TCP has it.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Time that an end of a silent connection waits until its keepalive notices. */
const KEEPALIVE_MS = 60_000

interface Connection {
  readonly client: Socket
  readonly upstream: Socket
  /** Packets vanish on it for good, those that close it too. */
  silent: boolean
  /** Bytes of replies that still pass; then it is reset. */
  left: number
}

/** Starts a route on a free port of 127.0.0.1 to `port` there. */
export async function openRoute(port: number): Promise<Route> {
  const route = new Route(port)
  await route.listen()
  return route
}

export class Route {
  readonly #target: number
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  #port = 0
  #silent = false
  #delayMs = 0

  constructor(target: number) {
    this.#target = target
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client))
  }

  get port(): number {
    return this.#port
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address()
        if (typeof address === 'object' && address) this.#port = address.port
        resolve()
      })
    })
  }

  /**
   * All packets vanish, until `pass()`. The connections of that time stay silent afterwards: each
   * end believes in the other.
   */
  silence(): void {
    this.#silent = true
    for (const connection of this.#connections) this.#silenceOne(connection)
  }

  /** Packets come `ms` milliseconds late, in each direction, until `pass()`. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Resets each connection of now after `bytes` more bytes of replies. */
  cut(bytes: number): void {
    for (const connection of this.#connections) connection.left = bytes
  }

  /** Ends `silence()` and `delay()`. */
  pass(): void {
    this.#silent = false
    this.#delayMs = 0
  }

  /** Ends the fault, and resets the connections that have lost bytes. */
  heal(): void {
    this.pass()
    for (const connection of this.#connections) if (connection.silent) reset(connection)
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const connection of this.#connections) reset(connection)
    await closed
  }

  #accept(client: Socket): void {
    const upstream = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    const connection: Connection = { client, upstream, silent: false, left: Infinity }
    this.#connections.add(connection)
    if (this.#silent) this.#silenceOne(connection)
    this.#carry(connection, client, upstream)
    this.#carry(connection, upstream, client)
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      end.on('error', () => undefined)
      end.on('close', () => {
        if (!connection.silent) other.destroy()
        if (client.destroyed && upstream.destroyed) this.#connections.delete(connection)
      })
    }
  }

  /** Carries one direction's bytes, each piece when it is due. */
  #carry(connection: Connection, from: Socket, to: Socket): void {
    const waiting: { data: Buffer; due: number }[] = []
    const deliver = (): void => {
      for (let next = waiting[0]; next && !connection.silent && !to.destroyed; next = waiting[0]) {
        const wait = next.due - performance.now()
        if (wait > 0) return void setTimeout(deliver, Math.ceil(wait)).unref()
        waiting.shift()
        if (to === connection.client && next.data.length >= connection.left) {
          to.write(next.data.subarray(0, connection.left), () => reset(connection))
          return
        }
        if (to === connection.client) connection.left -= next.data.length
        // An end that does not read makes the other one wait.
        if (!to.write(next.data)) {
          from.pause()
          to.once('drain', () => from.resume())
        }
      }
    }
    from.on('data', (data: Buffer) => {
      if (connection.silent) return
      waiting.push({ data, due: performance.now() + this.#delayMs })
      if (waiting.length === 1) deliver()
    })
  }

  #silenceOne(connection: Connection): void {
    if (connection.silent) return
    connection.silent = true
    setTimeout(() => reset(connection), KEEPALIVE_MS).unref()
  }
}

function reset({ client, upstream }: Connection): void {
  for (const socket of [client, upstream]) {
    // libuv refuses to reset a socket that is shutting down, and Node would never close it.
    if (socket.writableEnded) socket.destroy()
    else socket.resetAndDestroy()
  }
}
