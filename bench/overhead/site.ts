/** A contender's site, running: `server.js` in a process (or several) of its own, and what may be asked of it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { hasEnded } from '../../test/servers/process.js'
import type { Bench } from '../harness/part.js'

export interface SiteOptions {
  /** The name of a file in `bench/peers/`. */
  readonly peer: string
  readonly processes: number
  /** Of the page, for its 2 ms. */
  readonly renderings: number
  readonly memcached: string
  readonly mysqlUrl: string
  readonly redisUrl?: string
  /** wide-cache: options of `createActivity()`. */
  readonly options?: { readonly collect: string }
}

const PROGRAM = fileURLToPath(new URL('./server.js', import.meta.url))
const CLOSE_TIMEOUT_MS = 15_000
const ANSWER_TIMEOUT_MS = 90_000
const KEPT_CHARACTERS = 2000

export class Site {
  readonly peer: string
  port = 0
  /** Answers its visitors have had from it. */
  served = 0
  readonly #child: ChildProcess
  #said = ''

  /** Resolves when it takes visitors. `after`: who sees to it that it is stopped, even when it never comes to that. */
  static async start(options: SiteOptions, after: Bench['after']): Promise<Site> {
    const site = new Site(options)
    after(() => site.stop())
    site.port = (await site.#reply()) as number
    return site
  }

  private constructor(options: SiteOptions) {
    this.peer = options.peer
    const env = { ...process.env, NODE_ENV: 'production', SITE: JSON.stringify(options), ...(options.redisUrl && { REDIS_URL: options.redisUrl }) }
    this.#child = fork(PROGRAM, { execArgv: [], env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said = (this.#said + text).slice(-KEPT_CHARACTERS)))
  }

  /** Microseconds of CPU that its processes have taken. */
  async cpu(): Promise<number> {
    return (await this.#ask('cpu')) as number
  }

  /** Resolves when all work that waits is done: what was counted has come to where it belongs. */
  async settle(): Promise<void> {
    await this.#ask('settle')
  }

  /** What has been counted when all work that waits is done; `undefined` where nothing is. */
  async count(): Promise<number | undefined> {
    return (await this.#ask('count')) as number | undefined
  }

  /** @throws Error if it has not counted each answer once */
  async check(): Promise<void> {
    const count = await this.count()
    if (count !== this.served) throw new Error(`${this.peer} has counted ${count} visits, and ${this.served} were served`)
  }

  /** Idempotent; never rejects. One that does not close is killed. */
  async stop(): Promise<void> {
    const child = this.#child
    if (hasEnded(child)) return
    const exit = once(child, 'exit')
    if (child.connected) child.send('close', () => {})
    const late = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
    await exit
    clearTimeout(late)
  }

  #ask(question: 'cpu' | 'settle' | 'count'): Promise<unknown> {
    const reply = this.#reply()
    if (this.#child.connected) this.#child.send(question)
    return reply
  }

  #reply(): Promise<unknown> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const fail = (what: string): void => {
        done()
        reject(new Error(`the site of ${this.peer} ${what}; it said: ${this.#said}`))
      }
      const ended = (): void => fail('has ended')
      const late = setTimeout(() => fail(`has not answered for ${ANSWER_TIMEOUT_MS} ms`), ANSWER_TIMEOUT_MS)
      const answered = (message: unknown): void => {
        done()
        const { answer, error } = message as { answer?: unknown; error?: string }
        if (error === undefined) resolve(answer)
        else reject(new Error(`${this.peer}: ${error}`))
      }
      function done(): void {
        clearTimeout(late)
        child.off('exit', ended)
        child.off('message', answered)
      }
      if (hasEnded(child)) return ended()
      child.on('exit', ended)
      child.on('message', answered)
    })
  }
}
