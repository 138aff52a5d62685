/**
 * A log in the form of a busy site's, replayed over kept connections: the rule says of each line
 * what is true of it, and the site counts what the rule says, no more and no less.
 */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import express from 'express'
import { requestViews } from '../../src/activity/middleware.js'
import { activitySettings } from '../../src/activity/options.js'
import { Bots } from '../../src/page-views/exchange.js'
import { Judge } from '../../src/page-views/judge.js'
import type { Measure } from '../../src/page-views/measures.js'
import type { Verdict } from '../../src/page-views/page-view.js'
import { BROWSER, serving } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { BurstLogger } from '../../src/support/logger.js'
import { SEED } from '../commit-seed.js'

const LINES = 10_000
const CONNECTIONS = 8

/** A line of the log: what was asked for, and what the site answered. */
interface Line {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly status: number
  readonly type?: string
  readonly disposition?: string
}

type Draw = (below: number) => number

const HTML = 'text/html; charset=utf-8'
const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const DOCUMENT = { accept: ACCEPT, 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
const SCRIPT = { accept: '*/*', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }

/** Lines that follow one another on a connection, with their share and what is true of each. */
const TRAFFIC: readonly (readonly [
  share: number,
  what: string,
  lines: (draw: Draw) => readonly (readonly [Verdict, Partial<Line>])[],
])[] = [
  [170, 'a browser opens a page', (draw) => [['page', page(draw)]]],
  [30, 'without HTTPS', (draw) => [['page', { ...page(draw), headers: { accept: ACCEPT } }]]],
  [30, 'reloads it', (draw) => reloaded(page(draw), 'page', 'page')],
  [10, 'who asks for privacy', (draw) => [['page', withHeaders(page(draw), { 'sec-gpc': '1' })]]],
  [
    300,
    'styles, scripts and pictures',
    (draw) => [['type', file(draw, ['css', 'js', 'png', 'woff2'])]],
  ],
  [60, 'reloads them', (draw) => reloaded(file(draw, ['css', 'svg', 'js']), 'type', 'type')],
  [20, 'opens a picture in a tab', (draw) => reloaded(inTab(draw, 'image/png'), 'type', 'type')],
  [
    10,
    'opens a PDF in a tab, which loads the rest of it',
    (draw) => {
      const pdf = inTab(draw, 'application/pdf')
      const [first, again] = reloaded(pdf, 'type', 'type')
      return [first, ['content', { ...pdf, status: 206 }], again]
    },
  ],
  [
    10,
    'saves a page',
    (draw) => [['type', { ...inTab(draw, HTML), disposition: 'attachment; filename=a' }]],
  ],
  [80, 'a script reads JSON', (draw) => [['type', { ...api(draw), type: 'application/json' }]]],
  [40, 'a script polls a part', (draw) => [['part', { ...api(draw), type: HTML }]]],
  [
    20,
    'jQuery loads a part',
    (draw) => [
      ['part', part(draw, { accept: 'text/html, */*', 'x-requested-with': 'XMLHttpRequest' })],
    ],
  ],
  [
    20,
    'htmx loads a part',
    (draw) => [['part', part(draw, { accept: '*/*', 'hx-request': 'true' })]],
  ],
  [
    15,
    'boosted htmx goes to a page',
    (draw) => [['page', part(draw, { accept: '*/*', 'hx-request': 'true', 'hx-boosted': 'true' })]],
  ],
  [10, 'a frame', (draw) => [['part', withHeaders(page(draw), { 'sec-fetch-dest': 'iframe' })]]],
  [
    20,
    'in advance',
    (draw) => [['in advance', withHeaders(page(draw), { 'sec-purpose': 'prefetch;prerender' })]],
  ],
  [30, 'a redirect', (draw) => [['status', { ...page(draw), status: [301, 302, 303][draw(3)]! }]]],
  [
    40,
    'a missing page',
    (draw) => [['status', { ...page(draw), status: [404, 410, 403][draw(3)]! }]],
  ],
  [
    5,
    'a broken page',
    (draw) => [['status', { ...page(draw), status: [500, 502, 503][draw(3)]! }]],
  ],
  [15, 'a range', (draw) => [['content', { ...page(draw), status: 206 }]]],
  [5, 'no content', (draw) => [['content', { ...page(draw), status: 204 }]]],
  [20, 'a form', (draw) => [['method', { ...page(draw), method: 'POST', status: 200 }]]],
  [10, 'a check', (draw) => [['method', { ...page(draw), method: 'HEAD' }]]],
  [
    20,
    'a bot reads a page',
    (draw) => [['page', { ...page(draw), headers: { 'user-agent': GOOGLEBOT, accept: '*/*' } }]],
  ],
  [
    10,
    'a feed reader',
    (draw) => [
      ['type', { ...page(draw), target: `/feed/${draw(9)}`, type: 'application/rss+xml' }],
    ],
  ],
]

function page(draw: Draw): Partial<Line> {
  return { target: `/threads/${draw(500)}?page=${draw(3)}`, headers: DOCUMENT, type: HTML }
}

function withHeaders(line: Partial<Line>, headers: Line['headers']): Partial<Line> {
  return { ...line, headers: { ...line.headers, ...headers } }
}

function file(draw: Draw, extensions: readonly string[]): Partial<Line> {
  const extension = extensions[draw(extensions.length)]!
  const type = { css: 'text/css', js: 'text/javascript', png: 'image/png' }[extension]
  const headers = { accept: '*/*', 'sec-fetch-dest': 'style', 'sec-fetch-mode': 'no-cors' }
  return { target: `/assets/${draw(200)}.${extension}`, headers, type: type ?? 'font/woff2' }
}

/** What browsers ask for as for a page; the address does not say that it is none. */
function inTab(draw: Draw, type: string): Partial<Line> {
  return { target: `/files/${draw(1_000_000)}`, headers: DOCUMENT, type }
}

function api(draw: Draw): Partial<Line> {
  return { target: `/api/${draw(50)}`, headers: SCRIPT }
}

function part(draw: Draw, headers: Line['headers']): Partial<Line> {
  return { target: `/parts/${draw(50)}`, headers, type: HTML }
}

/** Asks twice; the second time the browser has it, and the answer has no type. */
function reloaded({ type, ...line }: Partial<Line>, first: Verdict, again: Verdict) {
  return [
    [first, { ...line, type: type! }],
    [again, { ...line, status: 304 }],
  ] as const
}

function drawing(seed: number): Draw {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Draws the lines of each connection, with what is true of each. */
function connectionsOf(draw: Draw): (readonly [Verdict, Line])[][] {
  const connections: (readonly [Verdict, Line])[][] = Array.from({ length: CONNECTIONS }, () => [])
  const total = TRAFFIC.reduce((sum, [share]) => sum + share, 0)
  for (let lines = 0; lines < LINES;) {
    let at = draw(total)
    const [, , linesOf] = TRAFFIC.find(([share]) => (at -= share) < 0)!
    const connection = connections[draw(CONNECTIONS)]!
    for (const [verdict, line] of linesOf(draw)) {
      const { headers } = line
      const whole = { method: 'GET', target: '/', status: 200, ...line }
      connection.push([verdict, { ...whole, headers: { 'user-agent': BROWSER, ...headers } }])
      lines++
    }
  }
  return connections
}

/** What the rule says of the lines of all connections, one after the other. */
function verdictsOn(connections: readonly (readonly (readonly [Verdict, Line])[])[]): Verdict[] {
  const judge = new Judge()
  const bots = new Bots()
  return connections.flat().map(([, { target, ...line }]) => {
    const { type, disposition, headers } = line
    const exchange = {
      ...line,
      type,
      disposition,
      isNoPage: judge.isNoPage(target),
      isBot: bots.isBot(headers),
      isForBots: false,
    }
    return judge.verdictOf(exchange, target)
  })
}

test('every response of a busy log is accounted for, by the rule and by the site', async () => {
  const connections = connectionsOf(drawing(SEED))
  const lines = connections.flat()
  const wanted = lines.map(([verdict]) => verdict)
  assert.deepEqual(verdictsOn(connections), wanted)
  assert.equal(new Set(wanted).size, 7, 'each verdict is drawn')

  const log = keptLog()
  const counted: Record<Measure, number[]> = { served: [], seen: [], bots: [], gone: [] }
  const { middleware } = requestViews(
    activitySettings({ collect: false, page: (req) => String(req.headers['x-line']) }),
    ({ measure, page }) => counted[measure].push(Number(page)),
    new BurstLogger(log, () => 0),
  )
  const app = express()
  app.set('etag', false)
  app.use(middleware())
  app.use((req, res) => {
    const [, { status, type, disposition }] = lines[Number(req.headers['x-line'])]!
    res.statusCode = status
    if (type) res.setHeader('Content-Type', type)
    if (disposition) res.setHeader('Content-Disposition', disposition)
    res.end([204, 304].includes(status) ? undefined : 'x')
  })
  const sockets = new Set<unknown>()
  const statuses: number[] = []
  await serving(app, async (port, server) => {
    server.on('connection', (socket) => sockets.add(socket))
    let first = 0
    await Promise.all(
      connections.map(async (connection) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        const start = first
        first += connection.length
        for (const [at, [, line]] of connection.entries()) {
          statuses[start + at] = await ask(agent, port, line, start + at)
        }
        agent.destroy()
      }),
    )
  })
  assert(sockets.size < LINES / 50, 'connections are kept')
  assert.deepEqual(
    statuses,
    lines.map(([, { status }]) => status),
  )
  const pages = lines.flatMap(([verdict, line], at) => (verdict === 'page' ? [{ line, at }] : []))
  const isBot = ({ line }: (typeof pages)[0]) => line.headers['user-agent'] === GOOGLEBOT
  const inOrder = (numbers: number[]) => numbers.sort((a, b) => a - b)
  const numbers = (of: typeof pages) => of.map(({ at }) => at)
  assert.deepEqual(inOrder(counted.served), numbers(pages.filter((one) => !isBot(one))))
  assert.deepEqual(inOrder(counted.bots), numbers(pages.filter(isBot)))
  assert.deepEqual([counted.seen, log.lines], [[], []])
  const missing = lines.filter(
    ([verdict, line]) =>
      verdict === 'status' && [404, 410].includes(line.status) && line.method === 'GET',
  )
  assert.equal(counted.gone.length, missing.filter(([, line]) => !isBot({ line, at: 0 })).length)
})

function ask(agent: Agent, port: number, line: Line, number: number): Promise<number> {
  const { method, target: path } = line
  const headers = { ...line.headers, 'x-line': String(number) }
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: '127.0.0.1', port, method, path, headers })
    asked.on('error', reject)
    asked.on('response', (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode!))
    })
    asked.end()
  })
}
