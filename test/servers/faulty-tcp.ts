/**
 * A TCP proxy that fails the way networks do. It passes everything on until a method says
 * otherwise; each fault holds for all connections, old and new, until `pass()`.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** The end of a connection: FIN or RST. */
export type Ending = 'fin' | 'rst'

type Fault =
  | { type: 'none' }
  | { type: 'swallow' }
  | { type: 'mute' }
  | { type: 'close'; ending: Ending }
  | { type: 'cut'; left: number; then: Ending | 'silence' }
  | { type: 'delay'; ms: number }

/** Starts a proxy on a free port of 127.0.0.1 in front of `target` (`host:port`). */
export async function startFaultyTcp(target: string): Promise<FaultyTcp> {
  const proxy = new FaultyTcp(target)
  await proxy.listen()
  return proxy
}

export class FaultyTcp {
  /** Connections accepted so far. */
  connections = 0
  readonly #target: { host: string; port: number }
  readonly #open = new Set<Socket>()
  #server: Server | undefined
  #port = 0
  #fault: Fault = { type: 'none' }
  #requests: Buffer[] = []

  constructor(target: string) {
    const colon = target.lastIndexOf(':')
    this.#target = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) }
  }

  get port(): number {
    return this.#port
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  /** All that clients have sent since the start or the last call of `forget()`. */
  get received(): Buffer {
    return Buffer.concat(this.#requests)
  }

  forget(): void {
    this.#requests = []
  }

  /** Listens (again, on the same port). */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = createServer({ noDelay: true }, (client) => this.#accept(client))
      this.#server = server
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', () => {
        const address = server.address()
        if (typeof address === 'object' && address) this.#port = address.port
        resolve()
      })
    })
  }

  /** Stops listening and resets all connections: further ones are refused. */
  async refuse(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.drop('rst')
    if (server) await new Promise((resolve) => server.close(resolve))
  }

  close(): Promise<void> {
    return this.refuse()
  }

  /** No fault. What was swallowed or cut off does not come back. */
  pass(): void {
    this.#fault = { type: 'none' }
  }

  /** Requests reach nobody; connections stay open and silent. */
  swallow(): void {
    this.#fault = { type: 'swallow' }
  }

  /** Requests are carried out; their replies are lost. */
  mute(): void {
    this.#fault = { type: 'mute' }
  }

  /** A connection is closed at its next request, which is lost. */
  closeOnRequest(ending: Ending): void {
    this.#fault = { type: 'close', ending }
  }

  /**
   * Lets only the first `bytes` bytes of all further replies through; then silence, or the
   * connection ends.
   */
  cutReply(bytes: number, then: Ending | 'silence'): void {
    this.#fault = { type: 'cut', left: bytes, then }
  }

  /** Replies come `ms` milliseconds late. */
  delay(ms: number): void {
    this.#fault = { type: 'delay', ms }
  }

  /** Sends bytes nobody asked for to all clients. */
  inject(bytes: Buffer): void {
    for (const socket of this.#open) socket.write(bytes)
  }

  /** Ends all connections now. */
  drop(ending: Ending): void {
    for (const socket of this.#open) end(socket, ending)
  }

  #accept(client: Socket): void {
    this.connections++
    const upstream = connect({ ...this.#target, noDelay: true })
    this.#open.add(client)
    client.on('data', (data) => {
      this.#requests.push(data)
      if (this.#fault.type === 'close') end(client, this.#fault.ending)
      else if (this.#fault.type !== 'swallow') upstream.write(data)
    })
    upstream.on('data', (data) => this.#reply(client, data))
    client.on('close', () => {
      this.#open.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
    client.on('error', () => undefined)
    upstream.on('error', () => undefined)
  }

  #reply(client: Socket, data: Buffer): void {
    const fault = this.#fault
    if (
      client.destroyed ||
      fault.type === 'swallow' ||
      fault.type === 'mute' ||
      fault.type === 'close'
    ) {
      return
    }
    if (fault.type === 'delay') {
      setTimeout(() => client.destroyed || client.write(data), fault.ms).unref()
    } else if (fault.type === 'cut') {
      const passed = data.subarray(0, fault.left)
      const done = fault.left > 0 && passed.length === fault.left
      fault.left -= passed.length
      if (passed.length > 0) client.write(passed)
      const ending = fault.then
      if (done && ending !== 'silence') setImmediate(() => end(client, ending))
    } else client.write(data)
  }
}

function end(socket: Socket, ending: Ending): void {
  if (ending === 'fin') socket.end()
  // A socket that is shutting down is never closed by a reset.
  else if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
