/**
 * A TCP relay between clients and a server that can be exchanged: a switched virtual address, or a
 * network that swallows packets. Unlike {@link FaultyTcp}, a connection that the network has lost
 * stays open on the server's side, whatever its client does: no FIN and no RST arrives there.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

export class Relay {
  #server: Server | undefined
  #port = 0
  #swallows = false
  #targetPort: number
  /** The server's side of each connection, by the client's. */
  readonly #connections = new Map<Socket, Socket>()
  readonly #orphans = new Set<Socket>()

  constructor(targetPort: number) {
    this.#targetPort = targetPort
  }

  get port(): number {
    return this.#port
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size
  }

  /** Takes connections, on a free port or on the one that it had before. */
  listen(port = 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = createServer({ noDelay: true }, (client) => this.#accept(client))
      this.#server = server
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        const address = server.address()
        if (typeof address === 'object' && address) this.#port = address.port
        resolve()
      })
    })
  }

  /** Leads new connections to another server; those that are open stay where they are. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort
  }

  /**
   * Loses the open connections: nothing passes any more, and neither side is told. New connections
   * work.
   */
  loseConnections(): void {
    for (const [client, upstream] of this.#connections) {
      client
        .removeAllListeners('data')
        .removeAllListeners('close')
        .on('close', () => undefined)
      upstream.removeAllListeners('data').removeAllListeners('close')
      // Read and thrown away, so that an end by the server is noticed.
      client.resume()
      upstream.resume()
      this.#orphans.add(client).add(upstream)
    }
    this.#connections.clear()
  }

  /** Takes new connections from now on, and never answers them. */
  swallow(): void {
    this.#swallows = true
  }

  /** Refuses new connections; those that are open stay. */
  refuse(): void {
    this.#server?.close()
    this.#server = undefined
  }

  /** Cuts all connections and refuses new ones, until it listens again. */
  async close(): Promise<void> {
    for (const socket of [
      ...this.#orphans,
      ...this.#connections.keys(),
      ...this.#connections.values(),
    ]) {
      socket.destroy()
    }
    const server = this.#server
    this.#server = undefined
    if (server) await new Promise((resolve) => server.close(resolve))
  }

  #accept(client: Socket): void {
    if (this.#swallows) {
      this.#orphans.add(client.on('error', () => undefined).resume())
      return
    }
    const upstream = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true })
    this.#connections.set(client, upstream)
    client.on('data', (data) => upstream.write(data))
    upstream.on('data', (data) => client.write(data))
    client.on('close', () => {
      this.#connections.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
    client.on('error', () => undefined)
    upstream.on('error', () => undefined)
  }
}

/** Starts a relay on a free port of 127.0.0.1 to a server on another. */
export async function startRelay(targetPort: number): Promise<Relay> {
  const relay = new Relay(targetPort)
  await relay.listen()
  return relay
}
