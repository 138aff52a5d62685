/**
 * The visitors: keep-alive connections that ask, wait for the whole answer and time it. Every
 * request that was begun is waited for, so what was served is known exactly. A client of its own
 * because it has to be light (it shares two cores with what it measures), times in fractions of a
 * millisecond, and at a fixed rate sends each request at its own moment, not all of a second's at
 * once.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Browsers: so many that hashes are remembered, as on a real site, but not all visits are one
 * visitor's.
 */
const USER_AGENTS = Array.from(
  { length: 200 },
  (_, i) => `Mozilla/5.0 (X11; Linux x86_64; rv:${100 + i}.0) Gecko/20100101 Firefox/${100 + i}.0`,
)
const TICK_MS = 1
/**
 * A site that has let so many requests wait at a fixed rate is not keeping up: there is no latency
 * to speak of.
 */
const MAX_WAITING = 5000

let visits = 0

export class Connection {
  readonly #socket: Socket
  #text = ''
  /** The line that brings the cookie of the first answer back; empty if there was none. */
  #cookie: string | undefined
  #waiting: { began: number; resolve(ms: number): void; reject(error: Error): void } | undefined
  /** Why it is closed. */
  #failure: Error | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1')
    this.#socket.on('data', (text: string) => this.#take(text))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the site has closed a connection')))
  }

  /** Milliseconds until the whole answer was there. @throws Error unless it is a page */
  get(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(this.#failure ?? new Error('it is closed'))
      this.#waiting = { began: performance.now(), resolve, reject }
      const agent = USER_AGENTS[visits++ % USER_AGENTS.length]!
      this.#socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: ${agent}\r\nAccept: ` +
          `text/html\r\n${this.#cookie ?? ''}\r\n`,
      )
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    this.#text += text
    const head = this.#text.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text)?.[1]
    if (!this.#text.startsWith('HTTP/1.1 200 ') || length === undefined) {
      return this.#fail(new Error(`a bad answer: ${this.#text.slice(0, 200)}`))
    }
    if (this.#text.length < head + 4 + Number(length)) return
    if (this.#cookie === undefined) {
      const cookie = /\r\nset-cookie: ([^;\r]+)/i.exec(this.#text)?.[1]
      this.#cookie = cookie === undefined ? '' : `Cookie: ${cookie}\r\n`
    }
    this.#text = ''
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(performance.now() - waiting.began)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#socket.destroy()
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }
}

/** A site that is asked. */
export interface Target {
  readonly port: number
  /** Answers that its visitors have had from it. */
  served: number
}

/**
 * So many visitors who stay, each asking anew as soon as it has its answer: as much as the site can
 * do. Each answer's latency is in ms.
 */
export class Crowd {
  readonly #target: Target
  readonly #connections: readonly Connection[]

  constructor(target: Target, connections: number) {
    this.#target = target
    this.#connections = Array.from({ length: connections }, () => new Connection(target.port))
  }

  run(path: string, seconds: number): Promise<number[]> {
    const until = performance.now() + seconds * 1000
    return this.#askWhile(path, () => performance.now() < until)
  }

  /** The same until so many are answered. */
  ask(path: string, requests: number): Promise<number[]> {
    let left = requests
    return this.#askWhile(path, () => left-- > 0)
  }

  async #askWhile(path: string, goesOn: () => boolean): Promise<number[]> {
    const latencies: number[] = []
    await Promise.all(
      this.#connections.map(async (connection) => {
        while (goesOn()) latencies.push(await connection.get(path))
      }),
    )
    this.#target.served += latencies.length
    return latencies
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

/**
 * Asks several sites for `/` at a fixed rate each, whether they have answered or not: in turns, in
 * another order each turn.
 */
export class Pace {
  readonly #targets: readonly Target[]
  readonly #free: ReadonlyMap<Target, Connection[]>
  readonly #all: Connection[] = []

  constructor(targets: readonly Target[]) {
    this.#targets = targets
    this.#free = new Map(targets.map((target) => [target, []]))
  }

  /** The latencies in ms, of each site. `rate`: requests a second to each. */
  async run(rate: number, seconds: number): Promise<number[][]> {
    const latencies = new Map(this.#targets.map((target) => [target, [] as number[]]))
    const waiting = new Set<Promise<void>>()
    let failure: Error | undefined
    const began = performance.now()
    const total = this.#targets.length * Math.round(rate * seconds)
    let turn: Target[] = []
    for (let sent = 0; sent < total && !failure;) {
      const due = ((performance.now() - began) / 1000) * rate * this.#targets.length
      for (; sent < Math.min(total, Math.floor(due)); sent++) {
        if (turn.length === 0) turn = shuffled(this.#targets)
        const target = turn.pop()!
        const visit = this.#visit(target)
          .then(
            (ms) => void latencies.get(target)!.push(ms),
            (error: Error) => void (failure ??= error),
          )
          .finally(() => waiting.delete(visit))
        waiting.add(visit)
      }
      if (waiting.size > MAX_WAITING) {
        failure = new Error(
          `${waiting.size} requests wait: the sites do not keep up with ${rate}/s each`,
        )
      }
      await delay(TICK_MS)
    }
    await Promise.all(waiting)
    if (failure) throw failure
    return [...latencies.values()]
  }

  close(): void {
    for (const connection of this.#all) connection.close()
  }

  async #visit(target: Target): Promise<number> {
    const free = this.#free.get(target)!
    let connection = free.pop()
    if (!connection) this.#all.push((connection = new Connection(target.port)))
    const ms = await connection.get('/')
    target.served++
    free.push(connection)
    return ms
  }
}

/** In a random order (Fisher and Yates). */
export function shuffled<T>(things: readonly T[]): T[] {
  const order = [...things]
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
