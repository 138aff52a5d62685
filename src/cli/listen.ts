/**
 * `--listen`: answers an orchestrator and Prometheus over HTTP, for a collector. Answers are made
 * at most once a second, from figures that are cached, so no request costs SQL anything.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { METRICS_CONTENT_TYPE } from '../metrics/prometheus.js'
import { systemClock } from '../support/clock.js'
import { codeOf } from '../support/errors.js'
import type { Logger } from '../support/logger.js'
import { shared } from '../support/shared.js'
import { UsageError } from './arguments.js'

/** Host and port to listen on. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Source of what is served. Neither method rejects. */
export interface Served {
  /** The text of all metrics. */
  metrics(): Promise<string>
  /** Reasons why the process is not ready; empty if it is. */
  troubles(): Promise<readonly string[]>
}

/** A server that listens. */
export interface Listening extends Address {
  /** Listens no more, and cuts the connections that are open. */
  close(): void
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const LOOPBACK = '127.0.0.1'
const ALLOWED =
  '--listen wants host:port, [IPv6 address]:port or a port (then on 127.0.0.1), 0 to 65535'

/** Connections at a time. A probe and a scrape need one each. */
const MAX_CONNECTIONS = 100
/** Slow requests are not to keep others from their connections. */
const TIMEOUTS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const
/** Lifetime of an answer, which serves all who ask meanwhile, in ms. */
const ANSWER_MS = 1_000

/** @throws UsageError */
export function addressOf(text: string): Address {
  const [, bracketed, name, port = ''] =
    /^(?:(?:\[([0-9a-f:.]+)\]|([\w.-]+))?:)?(\d{1,5})$/i.exec(text) ?? []
  if (port === '' || Number(port) > 65_535) throw new UsageError(ALLOWED)
  return { host: bracketed ?? name ?? LOOPBACK, port: Number(port) }
}

/** Listens until it is closed. @throws UsageError where nothing can listen there */
export async function listen({ host, port }: Address, served: Served): Promise<Listening> {
  const answers = answersOf(served)
  const server = createServer(TIMEOUTS, (request, response) => {
    answer(request, response, answers).catch(() => response.destroy())
  })
  server.maxConnections = MAX_CONNECTIONS
  try {
    await listening(server, host, port)
  } catch (error) {
    const why = codeOf(error) ?? String(error)
    throw new UsageError(`--listen: nothing can listen on ${bracketed(host)}:${port} (${why})`)
  }
  const address = server.address()
  return {
    host,
    port: typeof address === 'object' && address !== null ? address.port : port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** `host:port`, as URLs have it. */
export function hostAndPort({ host, port }: Address): string {
  return `${bracketed(host)}:${port}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      // A socket could not be accepted, for lack of file descriptors. The next one may be.
      server.on('error', () => undefined)
      resolve()
    })
  })
}

function answersOf({ metrics, troubles }: Served): ReadonlyMap<string, () => Promise<Answer>> {
  const once = (make: () => Promise<Answer>) => shared(systemClock, ANSWER_MS, make)
  return new Map([
    ['/healthz', async () => json(200, { live: true })],
    [
      '/readyz',
      once(async () => {
        const reasons = await troubles()
        const ready = reasons.length === 0
        return json(ready ? 200 : 503, { ready, reasons })
      }),
    ],
    [
      '/metrics',
      once(async () => ({ status: 200, type: METRICS_CONTENT_TYPE, body: await metrics() })),
    ],
  ])
}

function json(status: number, value: object): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` }
}

function plain(status: number, body: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body }
}

async function answer(
  { url = '', method = '' }: IncomingMessage,
  response: ServerResponse,
  answers: ReadonlyMap<string, () => Promise<Answer>>,
): Promise<void> {
  const make = answers.get(url.replace(/\?.*$/s, ''))
  const isRead = method === 'GET' || method === 'HEAD'
  const { status, type, body } = !make
    ? plain(404, 'Not found\n')
    : isRead
      ? await make()
      : plain(405, 'Method not allowed\n')
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 405 && { Allow: 'GET, HEAD' }),
  })
  response.end(method === 'HEAD' ? undefined : body)
}

/** Listens, if there is an address, as long as `work` goes on. @throws what both throw */
export async function listenWhile(
  address: Address | undefined,
  served: Served,
  log: Pick<Logger, 'info'>,
  work: () => Promise<void>,
): Promise<void> {
  const listening = address && (await listen(address, served))
  if (listening) log.info(`wide-cache: listening on http://${hostAndPort(listening)}`)
  try {
    await work()
  } finally {
    listening?.close()
  }
}
