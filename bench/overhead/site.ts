/**
 * A site, running: `server.js` in a process of its own, with an app for each contender, and what
 * may be asked of it.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Child } from '../harness/child.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import type { Target } from './load.js'

export interface SiteOptions {
  /** An app for each. `peer`: the name of a file in `bench/peers/`. */
  readonly contenders: readonly ({
    readonly peer: string
    /** wide-cache: options of `createActivity()`. */
    readonly options?: { readonly collect: string }
  } & ({ readonly mysqlUrl: string } | { readonly postgresUrl: string }))[]
  /** Renderings of the page, for its 2 ms. */
  readonly renderings: number
  readonly memcached: string
  readonly redisUrl?: string
  /** Folder that loggers write to. */
  readonly folder?: string
}

const PROGRAM = new URL('./server.js', import.meta.url)
const CLOSE_TIMEOUT_MS = 15_000

/** The Express app of one contender, on a port of its own. */
export class App implements Target {
  readonly peer: string
  readonly port: number
  served = 0
  readonly #ask: <Answer>(question: 'flush' | 'finish' | 'count') => Promise<Answer>

  constructor(peer: string, port: number, child: Child, app: number) {
    this.peer = peer
    this.port = port
    this.#ask = (question) => child.ask(question, { app })
  }

  /** Resolves when all is done that requests have begun: sent to a server, written to a file. */
  flush(): Promise<void> {
    return this.#ask('flush')
  }

  /** Resolves when all work that waits is done: what was counted has come to where it belongs. */
  finish(): Promise<void> {
    return this.#ask('finish')
  }

  /**
   * @throws Error if it has not counted so many when all pending work is done; by default, each
   *   answer once
   */
  async check(expected = this.served): Promise<void> {
    const count = await this.#ask<number>('count')
    if (count !== expected) {
      throw new Error(`${this.peer} has counted ${count}, and not ${expected}`)
    }
  }
}

export class Site {
  /** In the order of the contenders. */
  readonly apps: readonly App[]
  readonly #child: Child
  #stopped: Promise<void> | undefined

  /**
   * Resolves when it takes visitors. `after`: who sees to it that it is stopped, even when it never
   * comes to that. `alone`: where it runs.
   */
  static async start(
    options: SiteOptions,
    after: Bench['after'],
    alone: Cores['alone'],
  ): Promise<Site> {
    const child = new Child(PROGRAM, alone)
    after(() => child.end())
    return new Site(child, options, await child.ask<number[]>('open', options))
  }

  private constructor(child: Child, { contenders }: SiteOptions, ports: readonly number[]) {
    this.#child = child
    this.apps = contenders.map(({ peer }, app) => new App(peer, ports[app]!, child, app))
  }

  /** Microseconds of CPU that the main thread of its process has taken, by /proc. */
  mainCpu(): number {
    const { pid } = this.#child
    const [ns] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1000
  }

  /** Microseconds of CPU that its process has taken, with all its threads. */
  cpu(): Promise<number> {
    return this.#child.ask('cpu')
  }

  /** Idempotent; never rejects. One that does not close is killed. */
  stop(): Promise<void> {
    this.#stopped ??= Promise.race([
      this.#child.ask('close').catch(() => {}),
      delay(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
    ]).then(() => this.#child.end())
    return this.#stopped
  }
}
