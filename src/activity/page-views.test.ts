/** The table "What counts as a page view" of docs/activity-reference.md, row by row. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Express, Response } from 'express'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, expresses, raw, serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { requestViews } from './middleware.js'
import { activitySettings, type ActivityOptions } from './options.js'

const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
/**
 * The types that Chrome and Firefox accept in a navigation, a script's `fetch()` by default, and
 * Turbo.
 */
const NAVIGATION = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const ANYTHING = '*/*'
const TURBO = 'text/html, application/xhtml+xml'

interface Case {
  readonly method?: string
  /** With the browser's user agent, unless they have one. `null`: not sent. */
  readonly headers?: { readonly [name: string]: string | null }
  /** A page with status 200, unless it says something else. */
  readonly answer?: (res: Response) => void
  readonly options?: ActivityOptions
  /** The client goes as soon as it has read so much, or has sent its request. */
  readonly hangsUp?: 'after the headers' | 'before the headers'
  /** `anonymous`: counts without a visitor; `as a bot`: in that measure, without a visitor. */
  readonly counts: boolean | 'anonymous' | 'as a bot'
}

const status =
  (code: number, type = 'text/html') =>
  (res: Response): void =>
    void res.status(code).type(type).end('<p>')

const ROWS: { [row: string]: readonly Case[] } = {
  Method: [
    { counts: true },
    { method: 'HEAD', counts: false },
    { method: 'POST', counts: false },
    { method: 'PUT', counts: false },
    { method: 'OPTIONS', counts: false },
  ],
  Status: [
    ...[200, 201, 203, 299].map((code): Case => ({ answer: status(code), counts: true })),
    ...[206, 300, 301, 302, 307, 400, 401, 403, 404, 410, 500, 503].map((code): Case => ({
      answer: status(code),
      counts: false,
    })),
    { answer: (res) => void res.status(304).end(), headers: { accept: NAVIGATION }, counts: true },
    {
      answer: (res) => void res.status(304).end(),
      headers: { accept: 'image/avif,image/webp,*/*;q=0.8' },
      counts: false,
    },
    { answer: (res) => void res.status(304).end(), counts: false },
  ],
  '`Content-Type`': [
    ...['text/html', 'text/html; charset=utf-8', 'TEXT/HTML'].map((type): Case => ({
      answer: (res) => void res.set('Content-Type', type).end('<p>'),
      counts: true,
    })),
    ...[
      'application/json',
      'text/plain',
      'text/html5',
      'image/png',
      'text/vnd.turbo-stream.html',
    ].map((type): Case => ({ answer: status(200, type), counts: false })),
    { answer: (res) => void res.end('<p>'), counts: false },
  ],
  '`Sec-Fetch-Dest`': [
    { headers: { 'sec-fetch-dest': 'document', accept: NAVIGATION }, counts: true },
    { headers: { 'sec-fetch-dest': null }, counts: true },
    { headers: { 'sec-fetch-dest': 'empty', accept: NAVIGATION }, counts: true },
    { headers: { 'sec-fetch-dest': 'empty', accept: TURBO }, counts: true },
    { headers: { 'sec-fetch-dest': 'empty', accept: ANYTHING }, counts: false },
    { headers: { 'sec-fetch-dest': 'empty' }, counts: false },
    ...[
      'iframe',
      'frame',
      'embed',
      'object',
      'image',
      'script',
      'style',
      'fencedframe',
      'webidentity',
      'unheard-of',
    ].map((fetched): Case => ({
      headers: { 'sec-fetch-dest': fetched, accept: NAVIGATION },
      counts: false,
    })),
  ],
  '`HX-Request`': [
    { headers: { 'hx-request': 'true' }, counts: false },
    {
      headers: { 'hx-request': 'true', 'sec-fetch-dest': 'empty', accept: ANYTHING },
      counts: false,
    },
    { headers: { 'hx-request': 'true', 'sec-fetch-dest': 'document' }, counts: false },
    { headers: { 'hx-boosted': 'true', 'sec-fetch-dest': 'iframe' }, counts: false },
    { headers: { 'hx-request': 'true', 'sec-fetch-dest': 'empty', accept: TURBO }, counts: false },
    { headers: { 'hx-request': 'true', 'hx-boosted': 'true' }, counts: true },
    {
      headers: {
        'hx-request': 'true',
        'hx-boosted': 'true',
        'sec-fetch-dest': 'empty',
        accept: ANYTHING,
      },
      counts: true,
    },
  ],
  '`Turbo-Frame`': [
    { headers: { 'turbo-frame': 'posts' }, counts: false },
    {
      headers: { 'turbo-frame': 'posts', 'sec-fetch-dest': 'empty', accept: TURBO },
      counts: false,
    },
  ],
  '`Sec-Purpose`, `Purpose`, `X-Moz`, `X-Sec-Purpose`': [
    ...['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip', 'Prefetch'].map(
      (purpose): Case => ({ headers: { 'sec-purpose': purpose }, counts: false }),
    ),
    ...['prefetch', 'preview'].map((purpose): Case => ({ headers: { purpose }, counts: false })),
    { headers: { 'x-moz': 'prefetch' }, counts: false },
    {
      headers: { 'x-sec-purpose': 'prefetch', 'sec-fetch-dest': 'empty', accept: TURBO },
      counts: false,
    },
    { headers: { purpose: 'navigation' }, counts: true },
  ],
  '`User-Agent`': [BOT, 'curl/8.0', '', null].flatMap((agent): Case[] => [
    { headers: { 'user-agent': agent }, counts: 'as a bot' },
    { headers: { 'user-agent': agent, dnt: '1' }, counts: 'as a bot' },
    { headers: { 'user-agent': agent }, options: { visitor: () => 'me' }, counts: 'as a bot' },
    { headers: { 'user-agent': agent }, options: { skip: () => true }, counts: false },
    {
      headers: { 'user-agent': agent, dnt: '1' },
      options: { privacySignals: 'skip' },
      counts: false,
    },
  ]),
  '`Sec-GPC: 1` or `DNT: 1`': [
    { headers: { 'sec-gpc': '1' }, counts: 'anonymous' },
    { headers: { dnt: '1' }, counts: 'anonymous' },
    { headers: { dnt: '0' }, counts: true },
    { headers: { dnt: '1' }, options: { privacySignals: 'skip' }, counts: false },
    { headers: { dnt: '1' }, options: { privacySignals: 'ignore' }, counts: true },
  ],
  'Client hangs up': [
    {
      hangsUp: 'after the headers',
      answer: (res) => void res.type('html').write('<p>'),
      counts: true,
    },
    { hangsUp: 'before the headers', answer: (res) => void res.type('html'), counts: false },
  ],
  '`skip(req, res)`': [
    { options: { skip: () => true }, counts: false },
    { options: { skip: () => false }, counts: true },
  ],
}

test('the table has these rows', () => {
  const page = readFileSync(new URL('../../docs/activity-reference.md', import.meta.url), 'utf8')
  const section = /^## What counts as a page view\n(.*?)^#/ms.exec(page)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| (.*?) \|/gm)].map(([, row]) => row)
  assert.deepEqual(rows, ['what', '---', ...Object.keys(ROWS)])
})

for (const [name, express] of expresses) {
  for (const [row, cases] of Object.entries(ROWS)) {
    test(`${name}: ${row}`, async () => {
      for (const one of cases) await holds(express(), one)
    })
  }
}

async function holds(
  app: Express,
  { method = 'GET', headers = {}, answer = status(200), options = {}, hangsUp, counts }: Case,
): Promise<void> {
  const counted: Case['counts'][] = []
  const { middleware } = requestViews(
    activitySettings({ collect: false, ...options }),
    ({ measure }, identity) => {
      if (measure === 'bots') counted.push(identity === undefined ? 'as a bot' : true)
      else counted.push(identity === undefined ? 'anonymous' : true)
    },
    new BurstLogger(keptLog(), () => 0),
  )
  let closed = false
  app.use(middleware(), (_req, res) => {
    res.on('close', () => (closed = true))
    answer(res)
    asked = true
  })
  let asked = false
  const lines = Object.entries({ 'user-agent': BROWSER, ...headers }).flatMap(([header, value]) =>
    value === null ? [] : [`${header}: ${value}`],
  )
  await serving(app, async (port) => {
    const text = [
      `${method} / HTTP/1.1`,
      'host: x',
      ...(hangsUp ? [] : ['connection: close']),
      ...lines,
      '',
      '',
    ].join('\r\n')
    if (hangsUp === 'before the headers') {
      void raw(port, text)
      await eventually('it is asked', () => asked)
    } else {
      await raw(port, text, (received) => hangsUp !== undefined && received.includes('<p>'))
      await eventually('the connection ends', () => closed)
    }
  })
  await eventually('the connection ends', () => closed)
  assert.deepEqual(
    counted,
    counts === false ? [] : [counts],
    JSON.stringify({ method, headers, options, counts, answer: String(answer) }),
  )
}
