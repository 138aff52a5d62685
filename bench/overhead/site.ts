/**
 * A site, running: `server.js` in a process of its own, with an app for each contender, and what
 * may be asked of it.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { hasEnded } from '../../test/servers/process.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'

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

const PROGRAM = fileURLToPath(new URL('./server.js', import.meta.url))
const CLOSE_TIMEOUT_MS = 15_000
const ANSWER_TIMEOUT_MS = 90_000
const KEPT_CHARACTERS = 2000

type Question = 'flush' | 'finish' | 'count'

/** The Express app of one contender, on a port of its own. */
export class App {
  readonly peer: string
  readonly port: number
  /** Answers its visitors have had from it. */
  served = 0
  readonly #ask: (question: Question) => Promise<unknown>

  constructor(peer: string, port: number, ask: (question: Question) => Promise<unknown>) {
    this.peer = peer
    this.port = port
    this.#ask = ask
  }

  /** Resolves when all is done that requests have begun: sent to a server, written to a file. */
  async flush(): Promise<void> {
    await this.#ask('flush')
  }

  /** Resolves when all work that waits is done: what was counted has come to where it belongs. */
  async finish(): Promise<void> {
    await this.#ask('finish')
  }

  /**
   * Returns what has been counted when all pending work is done; `undefined` where nothing is
   * counted.
   */
  async count(): Promise<number | undefined> {
    return (await this.#ask('count')) as number | undefined
  }

  /** @throws Error if it has not counted so many; by default, each answer once */
  async check(expected = this.served): Promise<void> {
    const count = await this.count()
    if (count !== expected) {
      throw new Error(`${this.peer} has counted ${count}, and not ${expected}`)
    }
  }
}

export class Site {
  /** In the order of the contenders. */
  apps: readonly App[] = []
  readonly #names: string
  readonly #child: ChildProcess
  #said = ''

  /**
   * Resolves when it takes visitors. `after`: who sees to it that it is stopped, even when it never
   * comes to that. `alone`: where it runs.
   */
  static async start(
    options: SiteOptions,
    after: Bench['after'],
    alone: Cores['alone'],
  ): Promise<Site> {
    const site = new Site(options, alone)
    after(() => site.stop())
    const ports = (await site.#reply()) as number[]
    site.apps = options.contenders.map(
      ({ peer }, at) => new App(peer, ports[at]!, (question) => site.#ask(question, at)),
    )
    return site
  }

  private constructor(options: SiteOptions, { execPath, execArgv }: Cores['alone']) {
    this.#names = options.contenders.map(({ peer }) => peer).join(', ')
    const env = { ...process.env, NODE_ENV: 'production', SITE: JSON.stringify(options) }
    this.#child = fork(PROGRAM, {
      ...(execPath === undefined ? {} : { execPath }),
      execArgv: [...execArgv],
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr
      ?.setEncoding('utf8')
      .on('data', (text: string) => (this.#said = (this.#said + text).slice(-KEPT_CHARACTERS)))
  }

  /** Microseconds of CPU that the main thread of its process has taken, by /proc. */
  mainCpu(): number {
    const { pid } = this.#child
    const [ns] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1000
  }

  /** Microseconds of CPU that its process has taken, with all its threads. */
  async cpu(): Promise<number> {
    return (await this.#ask('cpu')) as number
  }

  /** Idempotent; never rejects. One that does not close is killed. */
  async stop(): Promise<void> {
    const child = this.#child
    if (hasEnded(child)) return
    const exit = once(child, 'exit')
    if (child.connected) child.send({ question: 'close' }, () => {})
    const timeout = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
    await exit
    clearTimeout(timeout)
  }

  #ask(question: 'cpu' | Question, app?: number): Promise<unknown> {
    const reply = this.#reply()
    if (this.#child.connected) this.#child.send({ question, app })
    return reply
  }

  #reply(): Promise<unknown> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const fail = (what: string): void => {
        done()
        reject(new Error(`the site of ${this.#names} ${what}; it said: ${this.#said}`))
      }
      const ended = (): void => fail('has ended')
      const timeout = setTimeout(
        () => fail(`has not answered for ${ANSWER_TIMEOUT_MS} ms`),
        ANSWER_TIMEOUT_MS,
      )
      const answered = (message: unknown): void => {
        done()
        const { answer, error } = message as { answer?: unknown; error?: string }
        if (error === undefined) resolve(answer)
        else reject(new Error(`${this.#names}: ${error}`))
      }
      function done(): void {
        clearTimeout(timeout)
        child.off('exit', ended)
        child.off('message', answered)
      }
      if (hasEnded(child)) return ended()
      child.on('exit', ended)
      child.on('message', answered)
    })
  }
}
