/**
 * Visits as a middleware meets them: Node's own request and response, made without a connection, on
 * their way through an Express app. Each is used once, since Express gives every request and
 * response a prototype of the app, and with it a hidden class of its own: what is touched first on
 * one costs many times what it costs again.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import express, { type Request, type Response } from 'express'
import { campaign, country, deviceClass, referrerHost } from '../../src/index.js'
import { COUNTRIES, countries } from '../drain/visits.js'

export interface Visiting {
  readonly req: Request
  readonly res: Response
  /** The route answers, and Node says that it has been sent. */
  answer(): void
}

export interface RequestTraits {
  /** Express's setting "trust proxy". */
  readonly proxies?: number
  /** Every visitor comes for the first time. */
  readonly newVisitors?: boolean
  /** Type of the response, as Express takes it. */
  readonly type?: string
  readonly userAgent?: string
  /** They come from another site, by a campaign, and a CDN says from which country. */
  readonly dimensions?: boolean
}

/** Visitors, each with an address and a user agent; fewer than are remembered. */
const VISITORS = 1_000
const USER_AGENTS = 200
const PAGES = 100
const REFERRERS = 200
const CAMPAIGNS = 30
/** Connections are kept alive: a socket serves several requests. */
const SOCKETS = 50

const AGENTS = Array.from({ length: USER_AGENTS }, (_, i) =>
  i % 2
    ? 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      `Chrome/${80 + (i >> 1)}.0.0.0 Safari/537.36`
    : `Mozilla/5.0 (X11; Linux x86_64; rv:${60 + (i >> 1)}.0) Gecko/20100101 ` +
      `Firefox/${60 + (i >> 1)}.0`,
)
const TARGETS = Array.from({ length: PAGES }, (_, i) =>
  i % 4 ? `/threads/${i}-why-counting-visits-is-dear` : `/search?q=${i}&page=2`,
)
const CAMPAIGN_TARGETS = Array.from({ length: PAGES * CAMPAIGNS }, (_, i) => {
  const target = TARGETS[i % PAGES]!
  const mark = target.includes('?') ? '&' : '?'
  const campaign = Math.floor(i / PAGES)
  return `${target}${mark}utm_source=newsletter&utm_medium=email&utm_campaign=spring-${campaign}`
})
const REFERRER_URLS = Array.from(
  { length: REFERRERS },
  (_, i) => `https://www.site-${i}.example/forum/topic/${i * 37}?page=2`,
)
const CLIENT_HINTS = ['Sec-CH-UA-Mobile', '?0', 'Sec-CH-UA-Platform', '"Windows"']
const HOST = ['Host', 'forum.example']
const OF_BROWSERS = Object.entries({
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Language': 'en-GB,en;q=0.5',
  'Accept-Encoding': 'gzip, deflate, br',
  Connection: 'keep-alive',
  Cookie: 'session=0123456789abcdef',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'same-origin',
}).flat()

/** Ready-made dimensions, which requests with the trait `dimensions` have values of. */
export const DIMENSIONS = {
  referrer: referrerHost(),
  campaign: campaign(),
  country: country('cf-ipcountry'),
  device: deviceClass(),
}
const BODY = '<h1>hello</h1>'.repeat(100)

/** Internals of Node's request that came over a connection. */
interface Internals {
  _peername: { address: string; family: string; port: number }
  _addHeaderLines(lines: string[], count: number): void
}

/** Makes visits that have come to an app's first middleware, one after the other. */
export function visits({
  proxies,
  newVisitors = false,
  type = 'html',
  userAgent,
  dimensions = false,
}: RequestTraits = {}): () => Visiting {
  let here: { readonly req: Request; readonly res: Response; readonly next: () => void } | undefined
  const app = express()
  if (proxies !== undefined) app.set('trust proxy', proxies)
  app.use((req, res, next) => void (here = { req, res, next }))
  app.get('/{*path}', (_req, res) => void res.type(type).send(BODY))

  const sockets =
    proxies === undefined
      ? Array.from({ length: VISITORS }, (_, i) => socketFrom(addressOf(i)))
      : Array.from({ length: SOCKETS }, () => socketFrom('127.0.0.1'))
  let made = 0
  return () => {
    const number = made++
    const visitor = newVisitors ? number : (number * 7919) % VISITORS
    const socket = newVisitors ? socketFrom(addressOf(visitor)) : sockets[visitor % sockets.length]!
    const forwarded =
      proxies === undefined
        ? []
        : ['X-Forwarded-For', addressOf(visitor), 'X-Forwarded-Proto', 'https']
    const request = requestFor(
      dimensions
        ? parsed(CAMPAIGN_TARGETS[number % CAMPAIGN_TARGETS.length]!)
        : TARGETS[number % PAGES]!,
      userAgent ?? AGENTS[visitor % USER_AGENTS]!,
      dimensions ? [...forwarded, ...dimensionHeaders(number)] : forwarded,
      socket,
    )
    const response = new ServerResponse(request)
    // Node's server listens first.
    response.on('finish', () => {})
    app(request, response)
    if (!here) throw new Error('Express has not called its first middleware at once')
    const { req, res, next } = here
    here = undefined
    return {
      req,
      res,
      answer() {
        next()
        res.emit('finish')
      },
    }
  }
}

function requestFor(
  target: string,
  userAgent: string,
  further: readonly string[],
  socket: Socket,
): IncomingMessage {
  const request = new IncomingMessage(socket) as IncomingMessage & Internals
  request.httpVersionMajor = request.httpVersionMinor = 1
  request.httpVersion = '1.1'
  request.method = 'GET'
  request.url = target
  const lines = [...HOST, ...further, 'User-Agent', userAgent, ...OF_BROWSERS]
  request._addHeaderLines(lines, lines.length)
  // They are parsed when they are first looked at: by Node's server, for `Expect`.
  void request.headers.expect
  return request
}

/**
 * Returns the headers that the ready-made dimensions read. Half of the browsers send client hints.
 */
function dimensionHeaders(number: number): string[] {
  return [
    'Referer',
    parsed(REFERRER_URLS[(number * 7) % REFERRERS]!),
    'CF-IPCountry',
    parsed(countries[number % COUNTRIES]!),
    ...(number % 2 ? CLIENT_HINTS : []),
  ]
}

/** As a parser makes a text: in one piece, and not the one that the request before had. */
function parsed(text: string): string {
  return Buffer.from(text).toString()
}

function socketFrom(address: string): Socket {
  const socket = new Socket() as Socket & Internals
  // A connected one has asked the kernel once.
  socket._peername = { address, family: 'IPv4', port: 40_000 }
  return socket
}

function addressOf(visitor: number): string {
  return `10.${(visitor >> 16) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`
}
