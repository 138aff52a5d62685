/** A process of its own that records and collects at a test's word, and can be killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import type { CloseReport } from '../../src/wide-cache/writer/closing.js'
import type { RecordedOptions } from './recorded.js'

/** Options of the process's wide cache, as far as JSON carries them. */
export type Setup = Omit<RecordedOptions, 'cache' | 'database'> & {
  readonly cache: string
  readonly database: string
  readonly collect: string | false
  /** Each method of the logger returns a promise that rejects. */
  readonly rejectingLogger?: boolean
}

export interface Command {
  readonly id: number
  readonly name: 'append' | 'flush' | 'drain' | 'ledger' | 'moveClock' | 'longestTurn' | 'close'
  readonly args: readonly number[]
}

type Message = { ready: true } | { line: string } | { id: number; value?: unknown; error?: string }

export class Recorder {
  /** Lines that the process has logged. */
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #waiting = new Map<
    number,
    { resolve(value: unknown): void; reject(error: Error): void }
  >()
  #commands = 0

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message: Message) => {
      if ('line' in message) this.lines.push(message.line)
      if (!('id' in message)) return
      const { resolve, reject } = this.#waiting.get(message.id)!
      this.#waiting.delete(message.id)
      if (message.error === undefined) resolve(message.value)
      else reject(new Error(message.error))
    })
    child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`the process has ended: ${signal ?? code}`))
      }
    })
  }

  /** Appends rows `from` to `to - 1` of `writer`. */
  append(writer: number, from: number, to: number): Promise<void> {
    return this.#ask('append', [writer, from, to])
  }

  flush(): Promise<void> {
    return this.#ask('flush')
  }

  ledger(): Promise<LedgerReport> {
    return this.#ask('ledger')
  }

  /** Sets the process's wall clock ahead of the machine's by `ms`, from now on. */
  moveClock(ms: number): Promise<void> {
    return this.#ask('moveClock', [ms])
  }

  /**
   * The longest turn of the process's event loop since the last call, in milliseconds of CPU time.
   */
  longestTurn(): Promise<number> {
    return this.#ask('longestTurn')
  }

  /** Closes the wide cache, and waits until the process has ended. */
  async close(): Promise<CloseReport> {
    const report = await this.#ask<CloseReport>('close')
    await this.#ended()
    return report
  }

  /** SIGKILL, and waits until the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended()
  }

  #ask<T>(name: Command['name'], args: readonly number[] = []): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        return reject(new Error('the process has ended'))
      }
      const id = ++this.#commands
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
      this.#child.send({ id, name, args } satisfies Command, (error) => {
        if (error) reject(new Error('the process has ended', { cause: error }))
      })
    })
  }

  async #ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit')
    }
  }
}

/** Starts the process, and resolves when it takes commands. */
export async function startRecorder(setup: Setup): Promise<Recorder> {
  const script = fileURLToPath(new URL('./recorder-process.ts', import.meta.url))
  const child = fork(script, {
    env: { ...process.env, ASSIGNMENT: JSON.stringify(setup) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const recorder = new Recorder(child)
  await once(child, 'message')
  return recorder
}
