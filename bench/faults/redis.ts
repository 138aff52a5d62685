/** A Redis that can be killed and started again on the data it has kept, as careful users run it: `appendonly yes`. */
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'redis'
import { binary } from '../../test/servers/binaries.js'
import { freePort } from '../../test/servers/free-port.js'
import { endProcess, removeFolder, startProcess, temporaryFolder } from '../../test/servers/process.js'

const START_TRIES = 500
/** What is acknowledged is in the kernel's hands (a killed server loses nothing), and on disk within a second. */
const PERSISTENCE = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec']

export type KeepingRedis = Awaited<ReturnType<typeof startKeepingRedis>>

export async function startKeepingRedis() {
  const folder = temporaryFolder('redis')
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const start = () => startProcess(binary('redis'), ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...PERSISTENCE], `${folder}/log`)
  let server = start()
  await says(url, 'PING')
  return {
    url,
    /** SIGKILL, and start on the same port and data. */
    async restart(): Promise<void> {
      await endProcess(server, 'SIGKILL')
      server = start()
      await says(url, 'PING')
    },
    flush: () => says(url, 'FLUSHALL'),
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    async stop(): Promise<void> {
      server.kill('SIGCONT')
      await endProcess(server, 'SIGTERM')
      removeFolder(folder)
    },
  }
}

/** Has `command` carried out, as soon as the server is up. */
async function says(url: string, command: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const redis = createClient({ url, socket: { reconnectStrategy: false } })
    redis.on('error', () => undefined)
    try {
      await redis.connect()
      await redis.sendCommand([command])
      return
    } catch (error) {
      if (tries === START_TRIES) throw error
      await delay(20)
    } finally {
      if (redis.isOpen) redis.destroy()
    }
  }
}
