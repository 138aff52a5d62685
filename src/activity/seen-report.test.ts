import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Request, Response } from 'express'
import { eventually } from '../support/eventually.fixture.js'
import { expresses, raw, serving } from '../support/http.fixture.js'
import { MAX_REPORT_BYTES, ReportRefused, seenReport } from './seen-report.js'

const GOOD = '{"page":"/news?page=2","referrer":"https://example.org/a"}'
const READ = { page: '/news?page=2', referrer: 'https://example.org/a' }

/** What became of a request, as the answer's text. */
const outcome = async (req: IncomingMessage): Promise<string> => {
  try {
    return JSON.stringify(await seenReport(req))
  } catch (error) {
    return error instanceof ReportRefused ? `${error.status} ${error.message}` : 'gone'
  }
}

let server: Server
let port: number
const outcomes: string[] = []
before(async () => {
  server = createServer((req, res) => {
    void outcome(req).then((text) => {
      outcomes.push(text)
      res.end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ;({ port } = server.address() as AddressInfo)
})
after(() => server.close())

/** Sends a report with these headers, as they are. */
async function sent(headers: readonly string[], body: string | Buffer = GOOD): Promise<string> {
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  const head = ['POST /activity/seen HTTP/1.1', 'Connection: close', ...headers, length, '', '']
  const answer = await raw(port, Buffer.concat([Buffer.from(head.join('\r\n')), bytes(body)]))
  return answer.slice(answer.indexOf('\r\n\r\n') + 4).replace(/^[\da-f]+\r\n|\r\n0\r\n\r\n$/g, '')
}

const bytes = (body: string | Buffer): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : body

const HOST = 'Host: forum.example'
const ORIGIN = 'Origin: https://forum.example'
const SAME = [HOST, 'Sec-Fetch-Site: same-origin']
const STRANGE = '403 A report comes from a page of the same site'

for (const [from, headers, accepted] of [
  ['the same site', SAME, true],
  ['the same site, behind a proxy', ['Host: inner', 'Sec-Fetch-Site: same-origin'], true],
  ['another site', [HOST, 'Sec-Fetch-Site: cross-site', 'Origin: https://forum.example'], false],
  ['a sister site', [HOST, 'Sec-Fetch-Site: same-site'], false],
  ['the address bar', [HOST, 'Sec-Fetch-Site: none'], false],
  ['an older browser', [HOST, 'Origin: https://forum.example'], true],
  [
    'an older browser, on a port',
    ['Host: Forum.example:8080', 'Origin: http://forum.example:8080'],
    true,
  ],
  ['an older browser on another site', [HOST, 'Origin: https://forum.example.evil'], false],
  [
    'an older browser on another port',
    ['Host: forum.example:8080', 'Origin: https://forum.example:8443'],
    false,
  ],
  [
    'an older browser, whose port a proxy hides',
    [HOST, 'Origin: https://forum.example:8443'],
    true,
  ],
  ['an older browser, whose port is written', ['Host: forum.example:443', ORIGIN], true],
  ['an older browser in a sandbox', [HOST, 'Origin: null'], false],
  ['a program', [HOST], false],
] as const) {
  test(`a report from ${from} is ${accepted ? 'taken' : 'refused'}`, async () => {
    assert.equal(await sent(headers), accepted ? JSON.stringify(READ) : STRANGE)
  })
}

const NO_REPORT = '400 A report is JSON, as in {"page":"/","referrer":""}'
const NO_PAGE = '400 "page" is a path and a query, as in "/news?page=2"'
const NO_ADDRESS = '400 "referrer" is an address, as in "https://example.com/", or empty'
const TOO_LARGE = '413 A report has at most 4096 bytes'

for (const [body, answer] of [
  ['', NO_REPORT],
  ['page=/', NO_REPORT],
  ['{"page":"/"', NO_REPORT],
  ['null', NO_REPORT],
  ['"/"', NO_REPORT],
  ['["/"]', NO_REPORT],
  ['{}', NO_REPORT],
  ['{"page":1}', NO_REPORT],
  ['{"page":{"toString":"/"}}', NO_REPORT],
  ['{"page":"/","referrer":null}', NO_REPORT],
  ['{"page":""}', NO_PAGE],
  ['{"page":"news"}', NO_PAGE],
  ['{"page":"https://forum.example/"}', NO_PAGE],
  ['{"page":"/a b"}', NO_PAGE],
  ['{"page":"/a\\nb"}', NO_PAGE],
  ['{"page":"/\\u00e9"}', NO_PAGE],
  ['{"page":"/\\ud800"}', NO_PAGE],
  ['{"page":"/","referrer":"\\u0000"}', NO_ADDRESS],
  ['{"page":"/"}', JSON.stringify({ page: '/', referrer: '' })],
  ['{"page":"/","referrer":""}', JSON.stringify({ page: '/', referrer: '' })],
] as const) {
  test(`the report ${body || '(nothing)'}: ${answer}`, async () => {
    assert.equal(await sent(SAME, body), answer)
  })
}

test('a report that is too large is refused by its length, before it is there', async () => {
  const head = [
    'POST / HTTP/1.1',
    ...SAME,
    `Content-Length: ${MAX_REPORT_BYTES + 1}`,
    'Connection: close',
  ]
  assert.match(await raw(port, [...head, '', ''].join('\r\n'), endsWith(TOO_LARGE)), /413 A/)
})

test('a report whose length is not said is read up to 4 kB', async () => {
  const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const head = ['POST / HTTP/1.1', ...SAME, 'Transfer-Encoding: chunked', 'Connection: close']
  const begin = [...head, '', ''].join('\r\n')
  const half = ' '.repeat(MAX_REPORT_BYTES / 2)
  const small = await raw(port, `${begin}${chunked(half)}${chunked(GOOD)}0\r\n\r\n`)
  assert.match(small, /"\/news\?page=2"/)
  // It does not end.
  const large = `${begin}${chunked(half)}${chunked(half)}${chunked(GOOD)}`
  assert.match(await raw(port, large, endsWith(TOO_LARGE)), /413 A/)
})

const endsWith = (text: string) => (answer: string) => answer.includes(text)

test('a report whose sender hangs up is no report', async () => {
  outcomes.length = 0
  const head = ['POST / HTTP/1.1', ...SAME, 'Content-Length: 100', 'Expect: 100-continue']
  await raw(port, `${[...head, '', ''].join('\r\n')}{"page":`, (answer) => answer.includes('100'))
  await eventually('it is given up', () => outcomes.length === 1)
  assert.deepEqual(outcomes, ['gone'])
})

for (const [name, express] of expresses) {
  for (const [parser, middleware] of [
    ['express.json()', express.json()],
    ['express.text()', express.text({ type: '*/*' })],
    ['express.raw()', express.raw({ type: '*/*' })],
    ['a parser of other types', express.urlencoded({ extended: false })],
  ] as const) {
    test(`${name}: what ${parser} has read, or left, is taken`, async () => {
      const app = express()
      app.use(middleware, (req: Request, res: Response) => {
        void outcome(req).then((text) => res.send(text))
      })
      await serving(app, async (port) => {
        const post = async (body: string | ReadableStream) => {
          const response = await fetch(`http://127.0.0.1:${port}/`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' },
            body,
            duplex: 'half',
          })
          return response.text()
        }
        assert.equal(await post(GOOD), JSON.stringify(READ))
        assert.equal(await post('{"page":"news"}'), NO_PAGE)
        const large = JSON.stringify({ page: `/${'a'.repeat(MAX_REPORT_BYTES)}` })
        assert.equal(await post(large), TOO_LARGE)
        assert.equal(await post(new Blob([large]).stream()), TOO_LARGE, 'its length is not said')
      })
    })
  }

  test(`${name}: a body that something else has read is no report`, async () => {
    const app = express()
    app.use((req: Request, res: Response) => {
      req.resume().on('end', () => void outcome(req).then((text) => res.send(text)))
    })
    await serving(app, async (port) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers: { 'Sec-Fetch-Site': 'same-origin' },
        body: GOOD,
      })
      assert.equal(await response.text(), NO_REPORT)
    })
  })
}
