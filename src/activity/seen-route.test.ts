/** A view that a browser reports counts as the view of the page would. */
import assert from 'node:assert/strict'
import { connect, createServer } from 'node:http2'
import { test } from 'node:test'
import type { Request } from 'express'
import type { Received } from '../page-views/handler.js'
import request from 'supertest'
import { fetchHttp2 } from '../../test/servers/http2-client.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, expresses, listening, raw, serving, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { peerOf, rememberPeer } from '../page-views/peer.js'
import { campaign } from './dimensions/campaign.js'
import { country } from './dimensions/country.js'
import { deviceClass } from './dimensions/device-class.js'
import { referrerHost } from './dimensions/referrer-host.js'
import { requestViews, type ViewedPage } from './middleware.js'
import { type ActivityOptions, activitySettings } from './options.js'
import { activityRouter } from './router.js'
import { requestOf, seenRoute } from './seen-route.js'
import { createActivity } from './site-activity.js'

const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const ADMIN = '/admin/users'
const PAGE = '/news/7?page=2&utm_source=letter'
const REFERRER = 'https://example.org/a'

interface Counted extends Omit<ViewedPage, 'measure'> {
  readonly identity: string | undefined
  readonly userAgent: string | undefined
}

const dimensions = {
  referrer: referrerHost(),
  campaign: campaign(),
  country: country('cf-ipcountry'),
  device: deviceClass(),
  query: (req: Request) => JSON.stringify(req.query),
  from: (req: Request) => req.get('referer'),
}

for (const [name, express] of expresses) {
  test(`${name}: reports come to SQL, into a ledger and figures of their own`, async () => {
    const activity = createActivity({
      cache: memory(),
      database: sqlite(':memory:'),
      collect: false,
      logger: SILENT,
    })
    const app = express()
    app.use(activity.middleware())
    app.use('/activity', activity.router())
    app.use((_req, res) => void res.send('<p>'))
    await request(app).get('/').set(TO_A_PAGE).expect(200)
    for (const page of ['/', '/news']) {
      await request(app)
        .post('/activity/seen')
        .set({ 'User-Agent': BROWSER, 'Sec-Fetch-Site': 'same-origin' })
        .send({ page })
        .expect(204)
    }
    await activity.flush()
    await activity.drain({ all: true })
    const to = Date.now()
    const days = await activity.history({ from: to - 86_400_000, to, by: 'day' })
    const sum = (field: 'pageViews' | 'seen' | 'bots') =>
      days.reduce((total, day) => total + Number(day[field]), 0)
    assert.deepEqual([sum('pageViews'), sum('seen'), sum('bots')], [1, 2, 0])
    assert.equal((await activity.ledger()).committed, 1)
    await activity.close()
  })

  /** A site, and what it has counted as served and as seen. */
  const site = (options: ActivityOptions = {}) => {
    const log = keptLog()
    const logger = new BurstLogger(log, () => 0)
    const served: Counted[] = []
    const seen: Counted[] = []
    const { middleware, seen: report } = requestViews(
      activitySettings({ collect: false, ...options }),
      ({ measure, ...viewed }, identity, userAgent) => {
        const counted = measure === 'seen' ? seen : served
        if (measure !== 'bots') counted.push({ ...viewed, identity, userAgent })
      },
      logger,
    )
    const app = express()
    app.set('trust proxy', 1)
    app.use(middleware())
    const stats = () => Promise.reject(new Error('none'))
    const { publicPath = '' } = options
    const parts = { stats, statsTtlSeconds: 1, publicPath, seen: report, logger }
    app.use('/activity', activityRouter(parts))
    app.use((_req, res) => void res.send('<p>'))
    return { app, served, seen, log }
  }
  type Site = ReturnType<typeof site>

  const HEADERS = {
    'User-Agent': BROWSER,
    Accept: 'text/html',
    'X-Forwarded-For': '203.0.113.7',
    'CF-IPCountry': 'FR',
  }
  const send = ({ app }: Site, report: unknown, headers = {}) =>
    request(app)
      .post('/activity/seen')
      .set({ ...HEADERS, 'Sec-Fetch-Site': 'same-origin', ...headers })
      .send(report as object)
  const visit = async (site: Site, page: string, headers = {}) => {
    const one = request(site.app).get(page)
    await one.set({ ...HEADERS, Referer: REFERRER, ...headers }).expect(200)
  }

  for (const [what, options, headers] of [
    ['by default', {}, {}],
    ['with its dimensions', { dimensions }, {}],
    ['with the page that the site says', { page: (req) => `${req.path}#${req.query['page']}` }, {}],
    ['with what the site knows of the address', { page: (req) => req.baseUrl + req.url }, {}],
    [
      'with the visitor that the site says',
      { visitor: (req) => String(req.get('x-user')) },
      { 'X-User': 'anna' },
    ],
    ['without a visitor who asks for privacy', {}, { 'Sec-GPC': '1' }],
    ['not at all where that is skipped', { privacySignals: 'skip' }, { DNT: '1' }],
    ['not at all where the site skips it', { skip: (req) => req.path === '/news/7' }, {}],
    ['unless the site skips another page', { skip: (req) => req.path === ADMIN }, {}],
  ] as readonly (readonly [string, ActivityOptions, Record<string, string>])[]) {
    test(`${name}: a seen view counts as a served one, ${what}`, async () => {
      const both = site(options)
      await visit(both, PAGE, headers)
      await send(both, { page: PAGE, referrer: REFERRER }, headers).expect(204)
      assert.deepEqual(both.seen, both.served)
      const isSkipped = what.startsWith('not')
      assert.equal(both.seen.length, isSkipped ? 0 : 1)
      assert.deepEqual(both.log.lines, [])
    })

    test(`${name}: the same behind a proxy that removes a path, ${what}`, async () => {
      const both = site({ ...options, publicPath: '/app' })
      await visit(both, PAGE, headers)
      await send(both, { page: `/app${PAGE}`, referrer: REFERRER }, headers).expect(204)
      assert.deepEqual(both.seen, both.served)
      assert.deepEqual(both.log.lines, [])
    })
  }

  test(`${name}: a report without a referrer has none, and not that of the request`, async () => {
    const one = site({ dimensions: { from: (req) => req.get('referer') } })
    await send(one, { page: '/', referrer: '' }, { Referer: REFERRER }).expect(204)
    assert.equal(one.seen[0]!.dimensions, undefined)
  })

  test(`${name}: reports of bots count nowhere`, async () => {
    const one = site()
    for (const agent of [BOT, '']) {
      await send(one, { page: '/' }, { 'User-Agent': agent }).expect(204)
    }
    assert.deepEqual([one.served, one.seen], [[], []])
  })

  test(`${name}: what is refused gets a reason, and counts nowhere`, async () => {
    const one = site()
    const error = async (report: unknown, status: number, headers = {}) => {
      const { body } = await send(one, report, headers).expect(status)
      assert.deepEqual(Object.keys(body), ['error'])
    }
    await error({ page: '/' }, 403, { 'Sec-Fetch-Site': 'cross-site' })
    await error({ page: 'news' }, 400)
    await error({ page: `/${'a'.repeat(5000)}` }, 413)
    await request(one.app).get('/activity/seen').expect(405).expect('Allow', 'POST')
    assert.deepEqual([one.served, one.seen], [[], []])
  })

  test(`${name}: the log says once whose reports are refused, and what to set`, async () => {
    const one = site()
    const report = (headers: object, text = '{"page":"/"}') =>
      request(one.app)
        .post('/activity/seen')
        .set({ ...HEADERS, Host: 'upstream:8080', Origin: 'https://forum.example', ...headers })
        .send(text)
    const trusted = { 'X-Forwarded-Host': 'forum.example' }
    await report(trusted).expect(204)
    await report({ 'Sec-Fetch-Site': 'same-origin' }).expect(204)
    await report(trusted, 'no report').expect(400)
    assert.deepEqual(one.log.lines, [])
    await report({}).expect(403)
    await report({ Origin: 'https://other.example' }).expect(403)
    assert.equal(one.log.lines.length, 1)
    assert.match(
      one.log.lines[0]!,
      new RegExp(
        '^wide-cache: a report of a seen page is refused with 403: it comes from a page of ' +
          'https://forum\\.example, and the request is for upstream:8080; .* "trust proxy"',
      ),
    )
  })

  for (const [what, origin, said] of [
    ['cut', `https://${'a'.repeat(5000)}.example`, /of https:\/\/a{292}, and/],
    ['never obeyed by a terminal', 'https://a\x85.example', /of https:\/\/a\\u\{85\}\.example, /],
  ] as const) {
    test(`${name}: what a stranger makes the log say is ${what}`, async () => {
      const one = site()
      await serving(one.app, async (port) => {
        const head = ['POST /activity/seen HTTP/1.1', 'Host: x', `Origin: ${origin}`]
        const rest = ['Content-Length: 0', 'Connection: close', '', '']
        await raw(port, Buffer.from([...head, ...rest].join('\r\n'), 'latin1'))
      })
      assert.match(one.log.lines[0] ?? '', said)
    })
  }

  test(`${name}: the answer waits for no function of the site, nor for its errors`, async () => {
    let answered = false
    const one = site({
      page: () => {
        throw new Error(`no page, answered: ${answered}`)
      },
      skip: (_req, res) => {
        answered = res.writableEnded
        throw new Error('no rule')
      },
    })
    const { text } = await send(one, { page: '/news' }).expect(204)
    assert.equal(text, '')
    await eventually('it counts', () => one.seen.length === 1)
    assert.deepEqual([one.seen[0]!.page, answered], ['/news', true])
  })
}

test('the view of a report over HTTP/2 knows its address when the client has gone', async () => {
  const addresses: (string | undefined)[] = []
  const server = createServer((request, res) => {
    const req = request as unknown as Received
    rememberPeer(req)
    res.on('close', () => {
      addresses.push(peerOf(requestOf({ page: '/', referrer: '' }, req, '')))
    })
    res.end()
  })
  await listening(server, async (port) => {
    connect(`http://127.0.0.1:${port}`)
      .request()
      .on('close', () => {})
      .resume()
    await eventually('the client has gone', () => addresses.length > 0)
  })
  assert.deepEqual(addresses, ['127.0.0.1'])
})

test('a report over HTTP/2 that is too long is refused without a header of HTTP/1', async (t) => {
  const warnings: string[] = []
  const note = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const logger = new BurstLogger(SILENT, () => 0)
  const answer = seenRoute(() => assert.fail('it counts'), '', logger)
  const server = createServer((req, res) => void answer(req as never, res as never, () => {}))
  await listening(server, async (port) => {
    const { status } = await fetchHttp2(`http://127.0.0.1:${port}/seen`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ page: `/${'a'.repeat(5_000)}` }),
    })
    assert.equal(status, 413)
  })
  assert.deepEqual(warnings, [])
})
