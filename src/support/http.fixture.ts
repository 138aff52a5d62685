/** Both versions of Express, servers, and requests to them. */
import { createRequire } from 'node:module'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Http2Session } from 'node:http2'
import { type AddressInfo, connect, type Server as TcpServer } from 'node:net'
import express5, { type Express } from 'express'
import { eventually } from './eventually.fixture.js'

type ExpressModule = typeof express5
export const expresses: [name: string, express: ExpressModule][] = [
  ['Express 5', express5],
  ['Express 4', createRequire(import.meta.url)('express4') as ExpressModule],
]

export const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 ' +
  'Safari/537.36'

/** Headers of a browser that goes to a page. */
export const TO_A_PAGE = { 'user-agent': BROWSER, accept: 'text/html' } as const

/** Serves `app` on a free port while `use` runs. */
export async function serving(
  app: RequestListener,
  use: (port: number, server: Server) => Promise<void>,
): Promise<void> {
  const server = createServer(app)
  await listening(server, (port) => use(port, server))
}

/** Has a server of HTTP/1 or HTTP/2 listen on a free port while `use` runs. */
export async function listening(
  server: TcpServer,
  use: (port: number) => Promise<void>,
): Promise<void> {
  const sessions = new Set<Http2Session>()
  server.on('session', (session: Http2Session) => sessions.add(session))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await use((server.address() as AddressInfo).port)
  } finally {
    if ('closeAllConnections' in server) (server as Server).closeAllConnections()
    for (const session of sessions) session.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

/**
 * Ends a site as its SIGTERM handler does: cuts the connections whose answers to `paths` go on,
 * then calls `close`, on the server's event `close` or at once.
 */
export async function cutOff(
  app: Express,
  paths: readonly string[],
  close: () => Promise<unknown>,
  when: 'on close' | 'at once',
): Promise<void> {
  await serving(app, async (port, server) => {
    const answered = new Set<string>()
    const request = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: ${BROWSER}\r\nAccept: text/html\r\n\r\n`
    const cut = paths.map((path) => raw(port, request(path), () => (answered.add(path), false)))
    await eventually('all answers have begun', () => answered.size === paths.length)
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    if (when === 'on close') await closed
    await close()
    await Promise.allSettled(cut)
  })
}

/**
 * Sends a request as it is, byte for byte, and returns what comes back until the end, or until
 * `enough`.
 */
export function raw(
  port: number,
  request: string | Buffer,
  enough?: (answer: string) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (data) => {
      answer += data.toString('latin1')
      if (enough?.(answer)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
