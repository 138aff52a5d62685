import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Express, Request, RequestHandler } from 'express'
import request from 'supertest'
import { BurstLogger } from '../support/logger.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, expresses, raw, serving, TO_A_PAGE } from '../support/http.fixture.js'
import { type KeptLog, keptLog } from '../support/kept-log.fixture.js'
import { campaign } from './dimensions/campaign.js'
import { country } from './dimensions/country.js'
import { deviceClass } from './dimensions/device-class.js'
import { packedPairs, unpackPair } from './packed-dimensions.js'
import { referrerHost } from './dimensions/referrer-host.js'
import { requestViews } from './middleware.js'
import { activitySettings, type ActivityOptions } from './options.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'

interface Counted {
  identity: string | undefined
  page: string
  dimensions?: readonly string[]
  measure?: 'seen' | 'bots' | 'gone'
}

function tracker(options: ActivityOptions = {}): {
  counted: Counted[]
  log: KeptLog
  middleware: () => RequestHandler
} {
  const counted: Counted[] = []
  const log = keptLog()
  const logger = new BurstLogger(log, () => performance.now())
  const { middleware } = requestViews(
    activitySettings({ collect: false, ...options }),
    ({ measure, page, dimensions }, identity, userAgent) =>
      counted.push({
        identity: userAgent === undefined ? identity : `${identity}\n${userAgent}`,
        page,
        ...(measure !== 'served' && { measure }),
        ...(dimensions && { dimensions: packedPairs(dimensions).flatMap(unpackPair) }),
      }),
    logger,
  )
  return { counted, log, middleware }
}

const browse = (app: Express, path: string, headers: Record<string, string> = {}) =>
  request(app)
    .get(path)
    .set({ ...TO_A_PAGE, ...headers })

for (const [name, express] of expresses) {
  /** A site whose pages are HTML, and what is counted on it. */
  const site = (options: ActivityOptions = {}, routes: (app: Express) => void = () => {}) => {
    const tracked = tracker(options)
    const app = express()
    app.use(tracked.middleware())
    routes(app)
    app.use((_req, res) => void res.send('<p>a page</p>'))
    return { ...tracked, app }
  }
  const pages = ({ counted }: { counted: Counted[] }) => counted.map(({ page }) => page)

  test(`${name}: a page view counts with its path and its visitor's address, agent`, async () => {
    const it = site()
    await browse(it.app, '/threads/1?page=2').expect(200)
    await eventually('1 counted', () => it.counted.length > 0)
    assert.equal(it.counted.length, 1)
    assert.equal(it.counted[0]!.page, '/threads/1')
    assert.match(it.counted[0]!.identity!, /^(::ffff:)?127\.0\.0\.1\nMozilla/)
    assert.deepEqual(it.log.lines, [])
  })

  test(`${name}: a function that fails costs its value of a dimension, not the visit`, async () => {
    const later = async () => Promise.reject(new Error('secret'))
    const it = site({
      dimensions: {
        section: (req) => req.path.split('/')[1],
        throws: () => {
          throw new Error('secret')
        },
        object: () => ({}) as string,
        later: later as unknown as () => string,
        none: () => undefined,
        empty: () => '',
        long: () => 'é'.repeat(5_000),
        line: () => 'a\nb',
      },
    })
    await browse(it.app, '/threads/1')
    await eventually('1 counted', () => it.counted.length > 0)
    assert.deepEqual(it.counted[0]!.dimensions, [
      'section',
      'threads',
      'long',
      'é'.repeat(127),
      'line',
      'a\ufffdb',
    ])
    assert.equal(it.log.lines.length, 3)
    for (const line of it.log.lines) {
      assert.match(line, /"dimensions\.(throws|object|later)" .*; the visit has no value there$/)
      assert.doesNotMatch(line, /secret/)
    }
  })

  test(`${name}: ready-made dimensions read a request's headers and address`, async () => {
    const it = site({
      dimensions: {
        referrer: referrerHost(),
        campaign: campaign(),
        country: country('cf-ipcountry'),
        device: deviceClass(),
      },
    })
    await browse(it.app, '/?utm_source=a&utm_medium=b', {
      referer: 'https://news.example.org/item?id=1',
      'cf-ipcountry': 'nl',
    })
    await browse(it.app, '/')
    await eventually('2 counted', () => it.counted.length > 1)
    assert.deepEqual(
      it.counted.map(({ dimensions }) => dimensions),
      [
        ['referrer', 'news.example.org', 'campaign', 'a/b', 'country', 'NL', 'device', 'desktop'],
        ['device', 'desktop'],
      ],
    )
  })

  test(`${name}: only pages count: GET, below 300 or 304, text/html`, async () => {
    const it = site({}, (app) => {
      app.get('/json', (_req, res) => void res.json({}))
      app.get('/text', (_req, res) => void res.type('text/plain').send('x'))
      app.get('/htmlish', (_req, res) => void res.type('text/html5').send('x'))
      app.get('/none', (_req, res) => void res.end('x'))
      app.get('/missing', (_req, res) => void res.status(404).send('<p>missing</p>'))
      app.get('/moved', (_req, res) => res.redirect('/'))
      app.get('/broken', () => {
        throw new Error('broken')
      })
      app.get(
        '/capitals',
        (_req, res) => void res.set('Content-Type', 'Text/HTML;charset=utf-8').end('x'),
      )
      app.get(
        '/head',
        (_req, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('x'),
      )
      app.get('/saved', (_req, res) => {
        const head = { 'content-type': 'text/html', 'content-disposition': 'attachment' }
        res.writeHead(200, head).end('x')
      })
      app.use(
        (
          error: Error,
          _req: unknown,
          res: { status(code: number): { send(text: string): void } },
          _next: unknown,
        ) => res.status(500).send(error.name),
      )
    })
    it.app.disable('x-powered-by')
    for (const path of ['json', 'text', 'htmlish', 'none', 'missing', 'moved', 'broken', 'saved']) {
      await browse(it.app, `/${path}`, { accept: 'text/html' })
    }
    await request(it.app).post('/').set(TO_A_PAGE)
    await request(it.app).head('/').set(TO_A_PAGE)
    assert.deepEqual(it.counted, [{ identity: undefined, page: '/missing', measure: 'gone' }])
    it.counted.length = 0
    await browse(it.app, '/capitals')
    await browse(it.app, '/head')
    await eventually('2 counted', () => it.counted.length > 1)
    assert.deepEqual(pages(it), ['/capitals', '/head'])
  })

  test(`${name}: an unchanged page (304) counts, another unchanged file does not`, async () => {
    const it = site()
    const { headers } = await browse(it.app, '/')
    const again = { 'if-none-match': headers['etag']! }
    await browse(it.app, '/page', {
      ...again,
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    }).expect(304)
    await browse(it.app, '/image', { ...again, accept: 'image/avif,*/*;q=0.8' }).expect(304)
    await browse(it.app, '/last')
    await eventually('3 counted', () => it.counted.length > 2)
    assert.deepEqual(pages(it), ['/', '/page', '/last'])
  })

  test(`${name}: bots count apart, without a visitor, and prefetches do not count`, async () => {
    const it = site()
    await browse(it.app, '/bot', {
      'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    })
    await browse(it.app, '/bot', { 'user-agent': `Googlebot ${'x'.repeat(9_000)}` })
    await browse(it.app, '/prefetch', { 'sec-purpose': 'prefetch' })
    await browse(it.app, '/prerender', { 'sec-purpose': 'prefetch;prerender' })
    await browse(it.app, '/last')
    await eventually('all are counted', () => it.counted.length >= 3)
    const bot = (purpose: string) => {
      const dimensions = ['bot', 'Googlebot', 'botPurpose', purpose]
      return { identity: undefined, page: '/bot', measure: 'bots', dimensions }
    }
    // The list knows it with a version.
    assert.deepEqual(it.counted.slice(0, 2), [bot('search'), bot('other')])
    assert.deepEqual(pages(it), ['/bot', '/bot', '/last'])
  })

  test(`${name}: bots have the site's values and their own, missing pages none`, async () => {
    const it = site({ dimensions: { place: () => 'here' } }, (app) => {
      app.get('/missing', (_req, res) => void res.status(404).send('<p>missing</p>'))
    })
    await browse(it.app, '/bot', { 'user-agent': 'Googlebot/2.1' })
    await browse(it.app, '/missing')
    await eventually('2 counted', () => it.counted.length > 1)
    const dimensions = ['place', 'here', 'bot', 'Googlebot', 'botPurpose', 'search']
    assert.deepEqual(it.counted, [
      { identity: undefined, page: '/bot', measure: 'bots', dimensions },
      { identity: undefined, page: '/missing', measure: 'gone' },
    ])
  })

  test(`${name}: a privacy signal makes a visit anonymous, uncounted, or neither`, async () => {
    for (const [privacySignals, expected] of [
      ['anonymous', ['a bot', false, false, true]],
      ['skip', [true]],
      ['ignore', ['a bot', true, true, true]],
    ] as const) {
      const it = site({ privacySignals })
      await browse(it.app, '/', { 'sec-gpc': '1', 'user-agent': 'Googlebot/2.1' })
      await browse(it.app, '/', { 'sec-gpc': '1' })
      await browse(it.app, '/', { dnt: '1' })
      await browse(it.app, '/', { dnt: '0' })
      await eventually('all are counted', () => it.counted.length >= expected.length)
      assert.deepEqual(
        it.counted.map(({ identity, measure }) =>
          measure === 'bots' ? 'a bot' : identity !== undefined,
        ),
        expected,
      )
    }
  })

  test(`${name}: skip, visitor and page decide, and see the original request`, async () => {
    const it = site(
      {
        skip: (req, res) => req.path === '/admin' || res.getHeader('x-skip') === 'yes',
        visitor: (req) => `user ${String(req.query['user'])}`,
        page: (req) => `${req.baseUrl}${req.path}\0${'é'.repeat(2000)}`,
      },
      (app) => {
        app.get('/secret', (_req, res) => void res.set('x-skip', 'yes').send('<p>'))
      },
    )
    for (const path of ['/admin', '/secret', '/x?user=7']) await browse(it.app, path)
    await eventually('1 counted', () => it.counted.length > 0)
    assert.deepEqual(it.counted, [{ identity: 'user 7', page: `/x\ufffd${'é'.repeat(509)}` }])
  })

  test(`${name}: a visitor may be a number, which is the same as its text`, async () => {
    for (const id of [7, '7', 7n]) {
      const it = site({ visitor: () => id })
      await browse(it.app, '/')
      await eventually('1 counted', () => it.counted.length > 0)
      assert.deepEqual([it.counted, it.log.lines], [[{ identity: '7', page: '/' }], []])
    }
  })

  test(`${name}: useless results of functions are ignored and logged once`, async () => {
    const fail = () => {
      throw new RangeError('secret 10.1.2.3')
    }
    const wrong = [
      fail,
      () => undefined,
      () => '',
      () => ({}),
      async () => fail(),
      () => {
        throw 'secret 10.1.2.3'
      },
    ]
    for (const wrongly of wrong) {
      const it = site({ visitor: wrongly as () => string, page: wrongly as () => string })
      for (let i = 0; i < 3; i++) await browse(it.app, '/path').expect(200)
      await eventually('3 counted', () => it.counted.length > 2)
      assert.deepEqual(it.counted, Array(3).fill({ identity: undefined, page: '/path' }))
      assert.equal(it.log.lines.length, 2, it.log.lines.join('\n'))
      assert.match(
        it.log.lines[0]!,
        new RegExp(
          '^wide-cache: the function given as "visitor" (threw|returned) .*; ' +
            'the visit counts without a visitor$',
        ),
      )
      assert.match(
        it.log.lines[1]!,
        /^wide-cache: the function given as "page" (threw|returned) .*; the path is taken$/,
      )
      assert.doesNotMatch(it.log.lines.join(), /secret|10\.1\.2\.3|127\.0/)
      if (wrongly === fail) {
        assert.match(
          it.log.lines[0]!,
          /threw an error of class RangeError at .*middleware\.test\.ts:\d+:\d+;/,
        )
      }
    }
  })

  test(`${name}: a skip that throws or returns a promise skips nothing`, async () => {
    const wrong: (() => unknown)[] = [
      () => {
        throw new Error()
      },
      async () => true,
      async () => {
        throw new Error()
      },
    ]
    for (const wrongly of wrong) {
      const it = site({ skip: wrongly as () => boolean })
      await browse(it.app, '/')
      await eventually('1 counted', () => it.counted.length > 0)
      assert.equal(it.counted.length, 1)
      assert.match(it.log.lines.join(), /"skip" (threw|returned a promise).*the visit counts/)
    }
  })

  test(`${name}: a request counts once, however often the middleware comes by`, async () => {
    const it = tracker()
    const app = express()
    const router = express.Router()
    router.use(it.middleware())
    router.get('/x', (_req, res) => void res.send('<p>'))
    app.use(it.middleware(), it.middleware())
    app.use('/forum', router)
    await browse(app, '/forum/x')
    await browse(app, '/forum/x?2')
    await eventually('2 counted', () => it.counted.length > 1)
    assert.deepEqual(pages(it), ['/forum/x', '/forum/x'])
  })

  test(`${name}: two trackers on one site both count`, async () => {
    const [one, two] = [tracker(), tracker()]
    const app = express()
    app.use(one.middleware(), two.middleware())
    app.use((_req, res) => void res.send('<p>'))
    await browse(app, '/')
    await eventually('1 counted', () => two.counted.length > 0)
    assert.deepEqual([one.counted.length, two.counted.length], [1, 1])
  })

  test(`${name}: a client that hangs up counts once, if the headers were sent`, async () => {
    let begun = 0
    const it = site({}, (app) => {
      app.get('/stream', (_req, res) => {
        res.type('html').write('<p>begun')
        begun++
      })
      app.get('/silent', (_req, res) => {
        begun++
        res.type('html').on('close', () => begun++)
      })
    })
    await serving(it.app, async (port) => {
      const ask = (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: ${BROWSER}\r\nAccept: text/html\r\n\r\n`
      await raw(port, ask('/stream'), (answer) => answer.includes('begun'))
      await eventually('1 counted', () => it.counted.length > 0)
      assert.deepEqual(it.counted, [{ identity: `127.0.0.1\n${BROWSER}`, page: '/stream' }])
      const gone = raw(port, ask('/silent'), () => true)
      await eventually('the second begins', () => begun === 2)
      void gone
    })
    await eventually('the third begins', () => begun === 3)
    assert.equal(it.counted.length, 1)
  })

  test(`${name}: a response counts only after it has been sent`, async () => {
    let release = (): void => {}
    const it = site({}, (app) => {
      app.get('/slow', (_req, res) => {
        res.type('html').write('<p>')
        release = () => res.end()
      })
    })
    await serving(it.app, async (port) => {
      const answer = raw(
        port,
        `GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: ${BROWSER}\r\n` +
          'Accept: text/html\r\n\r\n',
        (text) => {
          if (text.includes('<p>') && it.counted.length === 0) release()
          return false
        },
      )
      await answer
      await eventually('1 counted', () => it.counted.length > 0)
      assert.deepEqual(pages(it), ['/slow'])
    })
  })

  test(`${name}: no target or header changes the site's answer; the page is text`, async () => {
    const it = site()
    const long = `/${'é'.repeat(2_400)}`
    const targets: [target: string, page: string][] = [
      ['http://other.example/threads/1?x', '/threads/1'],
      ['http://other.example', '/'],
      ['/%00%0d%0a%ED%A0%80?%00', '/%00%0D%0A%ED%A0%80'],
      ['//double//slash', '//double//slash'],
      ['/%E0%A4%A', '/%E0%A4%A'],
      [`/${'a'.repeat(15_000)}`, `/${'a'.repeat(1023)}`],
      [encodeURI(long), encodeURI(long).slice(0, 1024)],
      ['/a#b', '/a'],
      ['*', '*'],
    ]
    await serving(it.app, async (port) => {
      for (const [target, page] of targets) {
        it.counted.length = 0
        const answer = await raw(
          port,
          `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: caf\xe9 ` +
            `${'\xff'.repeat(600)}\r\nAccept: text/html;\xff\r\n\r\n`,
        )
        assert.match(answer, /^HTTP\/1.1 200 OK/, target)
        await eventually('1 counted', () => it.counted.length > 0)
        assert.deepEqual(pages(it), [page])
      }
    })
    assert.deepEqual(it.log.lines, [])
  })

  test(`${name}: behind a trusted proxy the client counts; "trust all" is warned of`, async () => {
    for (const [trust, address, warned] of [
      [1, '203.0.113.9', false],
      [true, '198.51.100.7', true],
    ] as const) {
      const it = site()
      it.app.set('trust proxy', trust)
      for (let i = 0; i < 2; i++) {
        await browse(it.app, '/', { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' })
      }
      await eventually('2 counted', () => it.counted.length > 1)
      assert.equal(it.counted[0]!.identity, `${address}\n${BROWSER}`)
      assert.equal(
        it.log.lines.filter((line) =>
          /"trust proxy" is true.*unless a proxy replaces it.*app\.set\("trust/.test(line),
        ).length,
        warned ? 1 : 0,
      )
      assert.equal(it.log.lines.length, warned ? 1 : 0)
    }
  })

  test(`${name}: forwarded requests without a trusted proxy are warned of once`, async () => {
    const ways: [
      string,
      ActivityOptions,
      (app: Express) => void,
      Record<string, string>,
      RegExp | undefined,
    ][] = [
      [
        'X-Forwarded-For',
        {},
        () => undefined,
        { 'x-forwarded-for': '198.51.100.7' },
        /X-Forwarded-For arrives, but .* same user agent count as one; .*set\("trust proxy", 1\)/,
      ],
      [
        'Forwarded',
        {},
        () => undefined,
        { forwarded: 'for=198.51.100.7' },
        new RegExp(
          'Forwarded arrives, but "trust proxy" is off.* same user agent.*let the proxy send.*' +
            String.raw`app\.set\("trust proxy", 1\)`,
        ),
      ],
      [
        '0 proxies',
        {},
        (app) => app.set('trust proxy', 0),
        { 'x-forwarded-for': '198.51.100.7' },
        /"trust proxy" is off/,
      ],
      [
        'another proxy than the trusted one',
        {},
        (app) => app.set('trust proxy', '192.0.2.1'),
        { 'x-forwarded-for': '198.51.100.7' },
        /X-Forwarded-For arrives, but "trust proxy" does not name the proxy that it comes from/,
      ],
      [
        'a trusted proxy',
        {},
        (app) => app.set('trust proxy', 'loopback'),
        { 'x-forwarded-for': '198.51.100.7' },
        undefined,
      ],
      [
        'the option visitor',
        { visitor: (req) => req.get('x-forwarded-for') ?? '?' },
        () => undefined,
        { 'x-forwarded-for': '198.51.100.7' },
        undefined,
      ],
      ['no proxy', {}, () => undefined, {}, undefined],
      [
        "an `ip` of the site's own",
        {},
        (app) =>
          app.use(
            (req, _res, next) => (
              Object.defineProperty(req, 'ip', { get: () => '192.0.2.1' }),
              next()
            ),
          ),
        { 'x-forwarded-for': '198.51.100.7' },
        undefined,
      ],
    ]
    for (const [way, options, change, headers, warning] of ways) {
      const it = site(options, change)
      for (let i = 0; i < 3; i++) await browse(it.app, '/', headers)
      await eventually('3 counted', () => it.counted.length > 2)
      assert.equal(it.log.lines.length, warning ? 1 : 0, `${way}: ${it.log.lines.join('\n')}`)
      if (warning) assert.match(it.log.lines[0]!, warning, way)
    }
  })

  test(`${name}: behind a Unix socket visits have no visitor, and the log says so`, async (t) => {
    const it = site()
    const folder = temporaryFolder('socket')
    const server = it.app.listen(join(folder, 'site.sock'))
    t.after(() => {
      server.close()
      removeFolder(folder)
    })
    await once(server, 'listening')
    for (let i = 0; i < 2; i++) {
      const asked = get({
        socketPath: join(folder, 'site.sock'),
        headers: { 'user-agent': BROWSER, accept: 'text/html' },
      })
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      await text(response)
    }
    await eventually('2 counted', () => it.counted.length > 1)
    assert.deepEqual(it.counted, Array(2).fill({ identity: undefined, page: '/' }))
    assert.deepEqual(it.log.lines, [
      'wide-cache: a request has no IP address (a Unix socket?); the visit counts without a ' +
        'visitor; set "trust proxy" in Express, or say who the visitor is',
    ])
  })

  test(`${name}: a visit whose address Express cannot tell is not counted`, async () => {
    const fails = () => {
      throw new RangeError('secret')
    }
    const it = site({}, (app) => app.set('trust proxy', fails))
    const forwarded = { 'x-forwarded-for': '198.51.100.7' }
    for (let i = 0; i < 2; i++) await browse(it.app, '/', forwarded)
    await eventually('a line is logged', () => it.log.lines.length > 0)
    assert.deepEqual(it.counted, [])
    assert.deepEqual(it.log.lines, [
      'wide-cache: a request could not be read (an error of class RangeError); its visit is not ' +
        'counted',
    ])
  })

  test(`${name}: the visitor's address is what the site says it is, however it does`, async () => {
    const given = (address: string) => ({ configurable: true, get: () => address })
    const ways: [string, (app: Express) => void, Record<string, string>, RegExp][] = [
      [
        'no proxy is trusted',
        () => undefined,
        { 'x-forwarded-for': '198.51.100.7' },
        /^(::ffff:)?127\.0\.0\.1$/,
      ],
      [
        'a trusted proxy has said nothing',
        (app) => app.set('trust proxy', 1),
        {},
        /^(::ffff:)?127\.0\.0\.1$/,
      ],
      [
        'requests have an `ip` of their own',
        (app) =>
          app.use(
            (req, _res, next) => (Object.defineProperty(req, 'ip', given('192.0.2.1')), next()),
          ),
        {},
        /^192\.0\.2\.1$/,
      ],
      [
        'requests of the app have',
        (app) => Object.defineProperty(app.request, 'ip', given('192.0.2.2')),
        {},
        /^192\.0\.2\.2$/,
      ],
      [
        "requests of the app ask for a header before Express's",
        (app) =>
          Object.defineProperty(app.request, 'ip', {
            get(this: Request) {
              return (
                this.get('x-client') ??
                (this.app.get('trust proxy fn') && this.socket.remoteAddress)
              )
            },
          }),
        { 'x-client': '192.0.2.4' },
        /^192\.0\.2\.4$/,
      ],
      [
        'requests of an app within have',
        (app) => {
          const within = express()
          Object.defineProperty(within.request, 'ip', given('192.0.2.3'))
          within.get('/', (_req, res) => void res.send('<p>'))
          app.use(within)
        },
        {},
        /^192\.0\.2\.3$/,
      ],
    ]
    for (const [way, change, headers, address] of ways) {
      const it = site({}, change)
      await browse(it.app, '/', headers)
      await eventually('1 counted', () => it.counted.length > 0)
      assert.match(it.counted[0]!.identity!.split('\n')[0]!, address, way)
    }
  })
}

test('what is no request of Express passes by unharmed', () => {
  const { middleware, counted } = tracker()
  let passed = 0
  for (const req of [{}, { method: 'GET' }, { method: 'GET', headers: {}, socket: null }]) {
    middleware()(req as never, {} as never, () => void passed++)
  }
  assert.equal(passed, 3)
  assert.equal(counted.length, 0)
})

test('an error of the route behind reaches Express, not the tracker', async () => {
  const { middleware, log } = tracker()
  assert.throws(
    () =>
      middleware()({ method: 'POST' } as never, {} as never, () => {
        throw new Error('of the route')
      }),
    /of the route/,
  )
  assert.deepEqual(log.lines, [])
})
