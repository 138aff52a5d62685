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
/** The types that browsers accept in a navigation, and a script's `fetch()` by default. */
const NAVIGATION = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
const ANYTHING = '*/*'
/** What libraries send when they go to a page. */
const NAVIGATES = {
  htmx: { 'hx-request': 'true', 'hx-boosted': 'true' },
  PJAX: { 'x-pjax': 'true', 'x-requested-with': 'XMLHttpRequest' },
  Turbo: { 'x-turbo-request-id': '1' },
  Unpoly: { 'x-up-version': '3.14.3', 'x-up-target': 'main', 'x-up-fail-target': 'main' },
  swup: { 'x-requested-with': 'swup' },
}

interface Case {
  readonly method?: string
  readonly target?: string
  /** With a browser's user agent and types, unless they have others. `null`: not sent. */
  readonly headers?: { readonly [name: string]: string | null }
  /** A page with status 200, unless it says something else. */
  readonly answer?: (res: Response) => void
  readonly options?: ActivityOptions
  /** The client goes as soon as it has read so much, or has sent its request. */
  readonly hangsUp?: 'after the headers' | 'before the headers'
  /** `anonymous`: counts without a visitor; others: in those measures, without a visitor. */
  readonly counts: boolean | 'anonymous' | 'as a bot' | 'as gone'
}

const status =
  (code: number, type = 'text/html') =>
  (res: Response): void =>
    void res.status(code).type(type).end('<p>')

const ROWS: { [row: string]: readonly Case[] } = {
  Method: [
    { counts: true },
    ...['HEAD', 'POST', 'PUT', 'OPTIONS'].map((method): Case => ({ method, counts: false })),
  ],
  Status: [
    ...[200, 201, 203, 299].map((code): Case => ({ answer: status(code), counts: true })),
    ...[204, 205, 206, 300, 301, 302, 307, 400, 401, 403, 500, 503].map((code): Case => ({
      answer: status(code),
      counts: false,
    })),
    ...[404, 410].map((code): Case => ({ answer: status(code), counts: 'as gone' })),
    { answer: (res) => void res.status(304).end(), counts: true },
    {
      answer: (res) => void res.status(304).end(),
      headers: { accept: 'image/avif,image/webp,*/*;q=0.8' },
      counts: false,
    },
    { answer: (res) => void res.status(304).end(), headers: { accept: null }, counts: false },
    ...['/menu.pdf', '/picture.JPEG?size=2', '/feed.xml', '/data.json'].map((target): Case => ({
      target,
      answer: (res) => void res.status(304).end(),
      counts: false,
    })),
    ...['/index.php', '/article.html', '/v1.2', '/?file=menu.pdf'].map((target): Case => ({
      target,
      answer: (res) => void res.status(304).end(),
      counts: true,
    })),
  ],
  '`Content-Type`': [
    ...['text/html', 'text/html; charset=utf-8', 'TEXT/HTML', 'application/xhtml+xml'].map(
      (type): Case => ({
        answer: (res) => void res.set('Content-Type', type).end('<p>'),
        counts: true,
      }),
    ),
    ...[
      'application/json',
      'text/plain',
      'text/html5',
      'image/png',
      'application/xml',
      'text/vnd.turbo-stream.html',
    ].map((type): Case => ({ answer: status(200, type), counts: false })),
    { answer: (res) => void res.end('<p>'), counts: false },
  ],
  '`Content-Disposition`': [
    ...['attachment', 'Attachment; filename="page.html"'].map((disposition): Case => ({
      answer: (res) => status(200)(res.set('Content-Disposition', disposition)),
      counts: false,
    })),
    {
      answer: (res) =>
        void res
          .writeHead(200, { 'content-type': 'text/html', 'content-disposition': 'attachment' })
          .end('<p>'),
      counts: false,
    },
    {
      answer: (res) => status(200)(res.set('Content-Disposition', 'inline; of=attachment')),
      counts: true,
    },
  ],
  '`Sec-Fetch-Dest`': [
    { headers: { 'sec-fetch-dest': 'document' }, counts: true },
    { headers: { 'sec-fetch-dest': 'document', accept: null }, counts: true },
    { headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'navigate' }, counts: true },
    // A link with `download`.
    {
      headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'navigate', accept: null },
      counts: false,
    },
    // What scripts fetch, whatever they accept.
    ...['cors', 'same-origin', 'no-cors', null].flatMap((mode) =>
      [NAVIGATION, 'text/html', ANYTHING].map((accept): Case => ({
        headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': mode, accept },
        counts: false,
      })),
    ),
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
      headers: { 'sec-fetch-dest': fetched, 'sec-fetch-mode': 'navigate' },
      counts: false,
    })),
  ],
  'No `Sec-Fetch-Dest`': [
    { headers: { accept: NAVIGATION }, counts: true },
    { headers: { accept: ANYTHING }, counts: false },
    { headers: { accept: null }, counts: false },
    { headers: { accept: ANYTHING, 'user-agent': BOT }, counts: 'as a bot' },
    // jQuery.
    {
      headers: { accept: 'text/html, */*; q=0.01', 'x-requested-with': 'XMLHttpRequest' },
      counts: false,
    },
    // A WebView of an app.
    { headers: { 'x-requested-with': 'com.example.reader' }, counts: true },
  ],
  'A library that navigates': Object.entries(NAVIGATES).flatMap(([, headers]): Case[] => [
    { headers: { ...headers, accept: ANYTHING }, counts: true },
    {
      headers: {
        ...headers,
        accept: ANYTHING,
        'sec-fetch-dest': 'empty',
        'sec-fetch-mode': 'cors',
      },
      counts: true,
    },
    { headers: { ...headers, 'sec-fetch-dest': 'iframe' }, counts: false },
  ]),
  'A library that fetches a part': [
    { 'hx-request': 'true' },
    { 'turbo-frame': 'posts', 'x-turbo-request-id': '1' },
    { 'x-alpine-request': 'true' },
    { 'x-up-version': '3.14.3', 'x-up-target': '#side' },
    { 'x-up-version': '3.14.3', 'x-up-target': '#side', 'x-up-fail-target': 'main' },
  ].flatMap((headers): Case[] => [
    { headers: { ...headers }, counts: false },
    { headers: { ...headers, 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }, counts: false },
  ]),
  '`Sec-Purpose`, `Purpose`, `X-Purpose`, `X-Moz`, `X-Sec-Purpose`': [
    ...['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip', 'Prefetch'].map(
      (purpose): Case => ({ headers: { 'sec-purpose': purpose }, counts: false }),
    ),
    ...['purpose', 'x-purpose'].map((name): Case => ({
      headers: { [name]: 'preview' },
      counts: false,
    })),
    { headers: { purpose: 'prefetch' }, counts: false },
    { headers: { 'x-moz': 'prefetch' }, counts: false },
    { headers: { 'sec-purpose': 'navigation', 'x-sec-purpose': 'prefetch' }, counts: false },
    { headers: { ...NAVIGATES['Turbo'], 'x-sec-purpose': 'prefetch' }, counts: false },
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

/** Answers before: one object reads all responses, and keeps nothing of the one before. */
const BEFORE: readonly ((res: Response) => void)[] = [
  status(200),
  (res) => void res.writeHead(200, { 'content-disposition': 'attachment' }).end('x'),
]

for (const [name, express] of expresses) {
  for (const [row, cases] of Object.entries(ROWS)) {
    test(`${name}: ${row}`, async () => {
      for (const one of cases) for (const before of BEFORE) await holds(express(), one, before)
    })
  }
}

async function holds(
  app: Express,
  {
    method = 'GET',
    target = '/',
    headers = {},
    answer = status(200),
    options = {},
    hangsUp,
    counts,
  }: Case,
  before: (res: Response) => void,
): Promise<void> {
  const counted: Case['counts'][] = []
  const { middleware } = requestViews(
    activitySettings({ collect: false, ...options }),
    ({ measure }, identity) => {
      if (measure === 'gone') counted.push(identity === undefined ? 'as gone' : true)
      else if (measure === 'bots') counted.push(identity === undefined ? 'as a bot' : true)
      else counted.push(identity === undefined ? 'anonymous' : true)
    },
    new BurstLogger(keptLog(), () => 0),
  )
  let [isBefore, closed, asked] = [true, false, false]
  app.use(middleware(), (_req, res) => {
    res.on('close', () => (closed = true))
    if (isBefore) return before(res)
    answer(res)
    asked = true
  })
  const sent = { 'user-agent': BROWSER, accept: NAVIGATION, ...headers }
  const lines = Object.entries(sent).flatMap(([header, value]) =>
    value === null ? [] : [`${header}: ${value}`],
  )
  await serving(app, async (port) => {
    await raw(port, 'GET /before HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await eventually('the connection ends', () => closed)
    isBefore = closed = false
    counted.length = 0
    const text = [
      `${method} ${target} HTTP/1.1`,
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
    JSON.stringify({ method, target, headers, options, counts, answer: String(answer) }),
  )
}
