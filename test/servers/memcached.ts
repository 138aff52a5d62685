/** A real memcached for tests, on 127.0.0.1: to be paused, killed and restarted at will. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { binary } from './binaries.js'
import { freePort } from './free-port.js'
import {
  endProcess,
  hasEnded,
  removeFolder,
  startProcess,
  tail,
  temporaryFolder,
} from './process.js'
import { says } from './says.js'

/** Options of a client that no busy machine makes time out. */
export const PATIENT = { timeoutMs: 60_000 }

export interface MemcachedOptions {
  /** @default a free one */
  port?: number
  /** @default 64 */
  memoryMb?: number
  /** Further arguments of the command line, such as `['-I', '2m']`. */
  args?: readonly string[]
}

const ANSWER_MS = 120_000

/** Starts memcached and resolves when it answers. It does not outlive this process. */
export async function startMemcached({
  port,
  memoryMb = 64,
  args = [],
}: MemcachedOptions = {}): Promise<Memcached> {
  const server = new Memcached(port ?? (await freePort()), memoryMb, args)
  await server.start()
  return server
}

export class Memcached {
  readonly port: number
  readonly address: string
  readonly #args: readonly string[]
  #running: { child: ChildProcess; folder: string } | undefined

  constructor(port: number, memoryMb: number, args: readonly string[]) {
    this.port = port
    this.address = `127.0.0.1:${port}`
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
    this.#args = [
      '-l',
      '127.0.0.1',
      '-p',
      String(port),
      '-U',
      '0',
      '-m',
      String(memoryMb),
      ...user,
      ...args,
    ]
  }

  get pid(): number {
    const pid = this.#running?.child.pid
    if (pid === undefined) throw new Error('this memcached is not running')
    return pid
  }

  /** Starts it, the first time or after `stop` or `kill`. */
  async start(): Promise<void> {
    const folder = temporaryFolder('memcached')
    const log = join(folder, 'log')
    const child = startProcess(binary('memcached'), this.#args, log)
    this.#running = { child, folder }
    const deadline = performance.now() + ANSWER_MS
    while (!(await answers(this.port)) || hasEnded(child)) {
      if (!hasEnded(child) && performance.now() < deadline) {
        await delay(20)
        continue
      }
      const said = tail(log)
      await this.kill()
      throw new Error(`memcached on port ${this.port} does not start: ${said}`)
    }
  }

  /** Ends it in order (SIGTERM) and waits until it is gone. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** SIGSTOP: the kernel still accepts connections and bytes, nobody answers. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP')
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT')
  }

  /** SIGKILL and start: the same port, an empty cache. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  /** Forgets all values. */
  async flush(): Promise<void> {
    if (!(await says(this.port, 'flush_all', 'OK', ANSWER_MS))) {
      throw new Error(`memcached on port ${this.port} was not flushed`)
    }
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const running = this.#running
    this.#running = undefined
    if (!running) return
    // A paused process takes SIGTERM only when it goes on.
    running.child.kill('SIGCONT')
    await endProcess(running.child, signal)
    removeFolder(running.folder)
  }
}

/** Whether something on `port` speaks memcached. */
function answers(port: number): Promise<boolean> {
  return says(port, 'version', 'VERSION')
}
