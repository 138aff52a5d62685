/** A Redis server of its own, on 127.0.0.1: to be paused, killed and restarted at will. */
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

const TIMEOUT_MS = 120_000

export interface Redis {
  /** `redis://127.0.0.1:port` */
  readonly url: string
  /** `127.0.0.1:port` */
  readonly address: string
  /** Process id of the running server; another one after `start()`. */
  readonly pid: number
  stop(): Promise<void>
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it after `kill`, on the same port, with what its options have kept. */
  start(): Promise<void>
  /** SIGKILL and start. */
  restart(): Promise<void>
  /** Forgets all values. */
  flush(): Promise<void>
  /** Sends a command of one word each, such as `REPLICAOF NO ONE`. */
  tell(command: string): Promise<void>
  /** SIGSTOP: the kernel still accepts connections and bytes, nobody answers. */
  pause(): void
  resume(): void
}

/**
 * Starts a server that keeps nothing on disk, unless `options`, which come last on its command
 * line, say so.
 */
export async function startRedis(
  options: readonly string[] = [],
  givenPort?: number,
): Promise<Redis> {
  const folder = temporaryFolder('redis')
  const log = join(folder, 'log')
  const port = givenPort ?? (await freePort())
  const args = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
    ...options,
  ]
  let server = await begin()

  async function begin(): Promise<ChildProcess> {
    const child = startProcess(binary('redis'), args, log)
    const deadline = performance.now() + TIMEOUT_MS
    while (!(await says(port, 'PING', '+PONG'))) {
      if (hasEnded(child) || performance.now() > deadline) {
        throw new Error(`redis-server on port ${port} has not started:\n${tail(log)}`)
      }
      await delay(20)
    }
    return child
  }

  async function tell(command: string): Promise<void> {
    if (await says(port, command, '+OK', TIMEOUT_MS)) return
    throw new Error(`redis-server on port ${port} refused ${command}`)
  }

  async function kill(): Promise<void> {
    await endProcess(server, 'SIGKILL')
  }

  async function start(): Promise<void> {
    server = await begin()
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    address: `127.0.0.1:${port}`,
    get pid() {
      if (server.pid === undefined) throw new Error('the server is not running')
      return server.pid
    },
    async stop() {
      // A paused process takes SIGTERM only when it goes on.
      server.kill('SIGCONT')
      await endProcess(server, 'SIGTERM')
      removeFolder(folder)
    },
    kill,
    start,
    async restart() {
      await kill()
      await start()
    },
    flush: () => tell('FLUSHALL'),
    tell,
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
  }
}
