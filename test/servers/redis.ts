/** A Redis server of its own, on 127.0.0.1, that keeps nothing on disk unless told to. */
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { binary } from './binaries.js'
import { freePort } from './free-port.js'
import { endProcess, hasEnded, removeFolder, startProcess, tail, temporaryFolder } from './process.js'

const START_TIMEOUT_MS = 20_000

export interface Redis {
  /** `redis://127.0.0.1:port` */
  readonly url: string
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a server; `options` come last on its command line. */
export async function startRedis(options: readonly string[] = []): Promise<Redis> {
  const folder = temporaryFolder('redis')
  const log = join(folder, 'log')
  const port = await freePort()
  const child = startProcess(binary('redis'), ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no', ...options], log)
  const deadline = performance.now() + START_TIMEOUT_MS
  while (!(await answers(port))) {
    if (hasEnded(child) || performance.now() > deadline) throw new Error(`redis-server on port ${port} has not started:\n${tail(log)}`)
    await delay(20)
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    async stop() {
      await endProcess(child, 'SIGTERM')
      removeFolder(folder)
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    const done = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('data', (data) => done(data.toString().startsWith('+PONG')))
    socket.once('error', () => done(false))
    socket.setTimeout(1000, () => done(false))
  })
}
