/**
 * A program of ours in a process of its own, which answers what it is asked, one question at a
 * time; see answer.js.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cores } from './cores.js'

const KEPT_CHARACTERS = 2000
const CLOSE_TIMEOUT_MS = 30_000

export class Child {
  readonly #process: ChildProcess
  #said = ''
  #isEnding = false

  /**
   * `how`: flags of Node, and the core that it runs on. It has none of this process's flags: these
   * are programs as users run them.
   */
  constructor(program: URL, { execPath, execArgv }: Cores['alone'] = { execArgv: [] }) {
    this.#process = fork(program, {
      ...(execPath === undefined ? {} : { execPath }),
      execArgv: [...execArgv],
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#process.stderr
      ?.setEncoding('utf8')
      .on('data', (text: string) => (this.#said = (this.#said + text).slice(-KEPT_CHARACTERS)))
    // What its end breaks elsewhere, such as a connection, does not say what has happened.
    this.#process.once('close', (code, signal) => {
      const why = `${code ?? signal}: ${this.#said}`
      if (!this.#isEnding && code !== 0) console.error(`a child process has ended (${why})`)
    })
  }

  get pid(): number {
    return this.#process.pid!
  }

  /** @throws Error what the child threw, or that it has ended */
  async ask<Answer = void>(question: string, what: object = {}): Promise<Answer> {
    const ended = new AbortController()
    const { signal } = ended
    try {
      const reply = once(this.#process, 'message', { signal }) as Promise<
        [{ answer: Answer; error?: string }]
      >
      const exit = once(this.#process, 'exit', { signal }).then(([code, killed]) => {
        throw new Error(
          `the child process ended (${code ?? killed}) when asked to ${question}: ${this.#said}`,
        )
      })
      // If it has ended already, `exit` is never heard; then sending says so.
      const sent = new Promise<void>((resolve, reject) =>
        this.#process.send({ ask: question, ...what }, (error) =>
          error ? reject(error) : resolve(),
        ),
      )
      const [{ answer, error }] = await Promise.race([reply, exit, sent.then(() => reply)])
      if (error !== undefined) throw new Error(error)
      return answer
    } finally {
      ended.abort()
    }
  }

  /** Asks it to "close", and ends it then, or when that takes too long. Never rejects. */
  async close(): Promise<void> {
    await Promise.race([
      this.ask('close').catch(() => {}),
      delay(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
    ])
    await this.end()
  }

  /** Ends it, whatever it is at. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }
}
