import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections and to servers that ask for any. */
const [LOWEST, END] = [20_000, 32_000]
const TRIES = 1_000

/**
 * A port on 127.0.0.1 for a server of this process, or for none; or the first of `count` ports in a
 * row. While this process lives, no other server of the tests gets it, and no connection.
 */
export async function freePort(count = 1): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const first = randomInt(LOWEST, END - count)
    let found = 0
    while (found < count && (await isReserved(first + found)) && (await isUnused(first + found))) {
      found++
    }
    if (found === count) return first
  }
  throw new Error(`No port from ${LOWEST} to ${END} is free`)
}

/**
 * Takes the same port of UDP, which none of the servers uses. The system frees it when this process
 * ends, however it ends.
 */
function isReserved(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref()
    socket.once('error', () => socket.close(() => resolve(false)))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

function isUnused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
