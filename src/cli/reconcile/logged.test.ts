import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../../support/calendar.js'
import { DAY_MS } from '../../support/clock.js'
import { LogReader } from './logged.js'
import { Tally } from './tally.js'

const DAY = Date.UTC(2026, 4, 17) / DAY_MS
const AT = Date.UTC(2026, 4, 17, 10) / 1000
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36'

function own(fields: Readonly<Record<string, string>> = {}): string {
  const page = { method: 'GET', status: '200', type: 'text/html', upstream: '200' }
  const asked = { accept: 'text/html', 'user-agent': CHROME }
  return JSON.stringify({
    time: `${AT}.000`,
    uri: '/',
    host: 'a.example',
    ...page,
    ...asked,
    ...fields,
  })
}

function combined(line: string): string {
  return line.replaceAll('TIME', '17/May/2026:12:00:00 +0200').replaceAll('AGENT', CHROME)
}

/** The one reason that a line has. */
function reasonOf(line: string | undefined, host?: string): string {
  const range = { from: DAY, to: DAY + 1 }
  const tally = new Tally({ calendar: UTC, range, host, mayCount: (_, page) => page !== '/admin' })
  tally.add(line)
  const [[reason, count] = [], ...more] = Object.entries(tally.lines).filter(([, n]) => n > 0)
  assert.deepEqual([count, more], [1, []])
  return reason!
}

test('each line has one reason', () => {
  const bot = { 'user-agent': 'Googlebot/2.1' }
  for (const [fields, reason] of [
    [{}, 'page'],
    [bot, 'bot'],
    [{ method: 'POST' }, 'method'],
    [{ status: '302' }, 'redirect'],
    [{ status: '400' }, 'error'],
    [{ status: '404' }, 'error'],
    [{ status: '206' }, 'content'],
    [{ type: 'text/css' }, 'type'],
    [{ 'hx-request': 'true' }, 'part'],
    [{ 'sec-purpose': 'prefetch' }, 'prefetch'],
    [{ uri: '/admin' }, 'never'],
    [{ ...bot, uri: '/admin?a=b' }, 'never'],
    [{ upstream: '' }, 'server'],
    [{ time: `${AT + 86_400}.000` }, 'outside'],
    [{ status: '' }, 'unread'],
    [{ time: 'now' }, 'unread'],
  ] as const) {
    assert.equal(reasonOf(own(fields)), reason, JSON.stringify(fields))
  }
  assert.equal(reasonOf(own(), 'b.example'), 'host')
  assert.equal(reasonOf(own({ host: 'B.example:8080' }), 'b.example'), 'page')
  for (const line of [undefined, 'x', '{', '{"time":"1","uri":"/"', '[]']) {
    assert.equal(reasonOf(line), 'unread', line)
  }
})

test('a 304 without a type is judged by the lines before it', () => {
  const tally = new Tally({
    calendar: UTC,
    range: { from: DAY, to: DAY + 1 },
    host: undefined,
    mayCount: () => true,
  })
  const again = { uri: '/picture', status: '304', type: '' }
  for (const fields of [again, { uri: '/picture', type: 'image/png' }, again]) {
    tally.add(own(fields))
  }
  assert.deepEqual([tally.lines.page, tally.lines.type], [1, 2])
})

test('the lines of every form say when, where and what', () => {
  const reader = new LogReader()
  const caddy = {
    ts: AT,
    request: {
      host: 'a.example',
      method: 'GET',
      uri: '/',
      headers: { 'User-Agent': [CHROME], Accept: ['text/html'] },
    },
    status: 200,
    resp_headers: { 'Content-Type': ['text/html'] },
  }
  for (const line of [
    own(),
    own({ uri: 'GET / HTTP/2.0' }),
    `{"host":"a.example",${own({ host: 'a.example' }).slice(1)}`,
    JSON.stringify(caddy),
    combined('a.example:443 10.0.0.1 - - [TIME] "GET / HTTP/1.1" 200 43 "-" "AGENT"'),
  ]) {
    const logged = reader.read(line)
    assert(logged, line)
    const { time, target, exchange } = logged
    const { host, method, status, type, isBot, reachedNode } = exchange
    assert.deepEqual([time, target], [AT * 1000, '/'], line)
    assert.deepEqual(
      { host, method, status, type, isBot, reachedNode },
      {
        host: 'a.example',
        method: 'GET',
        status: 200,
        type: 'text/html',
        isBot: false,
        reachedNode: true,
      },
      line,
    )
  }
  assert.equal(
    reader.read(combined('10.0.0.1 - bob [TIME] "GET /a HTTP/1.1" 200 4 "-" "AGENT"'))?.target,
    '/a',
  )
  assert.equal(
    reader.read(String.raw`{"time":"${AT}.000","uri":"/\xc3","method":"GET","status":"200"}`)
      ?.target,
    '/\xc3',
  )
})
