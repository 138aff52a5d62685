import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Express, Request, RequestHandler, Response } from 'express'
import request from 'supertest'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, expresses, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BURST_QUIET_MS, BurstLogger } from '../support/logger.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { reported } from '../page-views/reports.js'
import { createHits } from './item-hits.js'
import type { ViewedItem } from './hit.js'
import { hitsMiddleware, type HitsMiddlewareOptions } from './middleware.js'
import { type HitsOptions, hitsSettings } from './options.js'

interface Counted {
  item: string
  viewer: string | undefined
}

const byId: HitsMiddlewareOptions = { item: (req) => req.params['id'] as string | undefined }

function counter(
  options: HitsMiddlewareOptions,
  settings: Partial<HitsOptions> = {},
  elapsed = () => 0,
) {
  const counted: Counted[] = []
  const beside: ViewedItem[] = []
  const log = keptLog()
  const middleware: RequestHandler = hitsMiddleware(
    options,
    hitsSettings({ name: 'x', collect: false, ...settings }),
    (viewed, identity, userAgent) => {
      const { measure, item } = viewed
      const viewer = userAgent === undefined ? identity : `${identity} ${userAgent}`
      if (measure === 'served') counted.push({ item, viewer })
      else beside.push(viewed)
    },
    new BurstLogger(log, elapsed),
  )
  return { counted, beside, log: log.lines, middleware }
}

const browse = (app: Express, path: string, headers: Record<string, string> = {}) =>
  request(app)
    .get(path)
    .set({ ...TO_A_PAGE, ...headers })

for (const [name, express] of expresses) {
  const site = (options: HitsMiddlewareOptions = byId, settings: Partial<HitsOptions> = {}) => {
    const it = counter(options, settings)
    const app = express()
    app.get('/items/:id', it.middleware, (req: Request, res: Response) => {
      res.locals['author'] = req.query['author']
      res.status(req.params['id'] === 'missing' ? 404 : 200).send('<p>')
    })
    app.use(it.middleware)
    app.use((_req: Request, res: Response) => void res.send('<p>no item'))
    return { ...it, app }
  }
  const seen = async (it: ReturnType<typeof site>, count: number): Promise<Counted[]> => {
    await browse(it.app, '/items/last', { 'x-user': 'last' })
    await eventually('one more is counted', () => it.counted.length > count)
    return it.counted.slice(0, -1)
  }

  test(`${name}: an item's page counts with address and user agent; others do not`, async () => {
    const it = site()
    for (const path of ['/items/1', '/other', '/items/missing', '/items/a%20b']) {
      await browse(it.app, path)
    }
    await request(it.app).post('/items/1').set(TO_A_PAGE)
    await browse(it.app, '/items/2', { 'sec-purpose': 'prefetch' })
    await browse(it.app, '/items/2', { 'user-agent': 'Googlebot/2.1' })
    const counted = await seen(it, 2)
    assert.deepEqual(
      counted.map(({ item }) => item),
      ['1', 'a b'],
    )
    assert.match(counted[0]!.viewer!, /^(::ffff:)?127\.0\.0\.1 Mozilla/)
    for (const none of [undefined, null, '']) {
      const silent = site({ item: (req) => (req.params['id'] === 'last' ? 'last' : none) })
      await browse(silent.app, '/items/1')
      assert.deepEqual([await seen(silent, 0), silent.log], [[], []])
    }
    assert.deepEqual(it.log, [])
  })

  test(`${name}: item, viewer and owner see the parameters of path and router`, async () => {
    const seen: unknown[] = []
    const note = (req: Request) => void seen.push({ ...req.params }, req.path, req.baseUrl)
    const it = counter({
      ...byId,
      viewer: (req) => (note(req), 'anna'),
      owner: (req) => (note(req), false),
    })
    const app = express()
    app.use('/threads/:id', it.middleware)
    app.use(
      '/threads',
      express.Router().get('/:other/posts', (_req: Request, res: Response) => void res.send('<p>')),
    )
    await browse(app, '/threads/7/posts')
    await eventually('1 counted', () => it.counted.length > 0)
    assert.deepEqual(it.counted, [{ item: '7', viewer: 'anna' }])
    const expected = [{ id: '7' }, '/posts', '/threads/7']
    assert.deepEqual(seen, [...expected, ...expected])
  })

  test(`${name}: mounted twice, a page counts once, for the first matching place`, async () => {
    const it = counter(byId)
    const app = express()
    const page = (_req: Request, res: Response) => void res.send('<p>')
    app.use(it.middleware)
    app.get('/a/:id', it.middleware, page)
    app.get('/b/:id', it.middleware, (_req, _res, next) => next())
    app.use('/b', it.middleware, page)
    for (const path of ['/a/1', '/b/2', '/c/3', '/a/4']) await browse(app, path)
    await eventually('3 counted', () => it.counted.length > 2)
    assert.deepEqual(
      it.counted.map(({ item }) => item),
      ['1', '2', '4'],
    )
    assert.deepEqual(it.log, [])
  })

  test(`${name}: an item that never matches is logged once, with the remedy`, async () => {
    // Each line is a burst of its own.
    let elapsed = 0
    const never = counter(byId, {}, () => (elapsed += 2 * BURST_QUIET_MS))
    const app = express()
    app.use(never.middleware)
    app.get('/threads/:id', (_req: Request, res: Response) => void res.send('<p>'))
    for (let i = 0; i < 25; i++) await browse(app, '/threads/1')
    await eventually('a line is logged', () => never.log.length > 0)
    assert.deepEqual(never.counted, [])
    assert.equal(never.log.length, 1)
    assert.match(
      never.log[0]!,
      new RegExp(
        '"item" has named no item for the first 10 pages; no hits are counted; ' +
          '.*mount it in the route whose parameters it reads',
      ),
    )
    const seldom = site()
    for (let i = 0; i < 5; i++) await browse(seldom.app, '/other')
    await browse(seldom.app, '/items/1')
    for (let i = 0; i < 25; i++) await browse(seldom.app, '/other')
    assert.deepEqual([(await seen(seldom, 1)).length, seldom.log], [1, []])
  })

  test(`${name}: an untrusted proxy is warned of once, unless "viewer" is given`, async () => {
    const log = keptLog()
    const hits = createHits({
      name: 'pages',
      cache: memory(),
      database: sqlite(':memory:'),
      collect: false,
      logger: log,
    })
    const app = express()
    app.get(
      '/own/:id',
      hits.middleware({ ...byId, viewer: (req) => req.get('x-forwarded-for') ?? '?' }),
      (_req: Request, res: Response) => void res.send('<p>'),
    )
    for (const path of ['/a/:id', '/b/:id']) {
      app.get(path, hits.middleware(byId), (_req: Request, res: Response) => void res.send('<p>'))
    }
    await browse(app, '/own/1', { 'x-forwarded-for': '198.51.100.7' })
    assert.deepEqual(log.lines, [])
    for (const path of ['/a/1', '/b/1', '/a/2']) {
      await browse(app, path, { 'x-forwarded-for': '198.51.100.7' })
    }
    await eventually('a line is logged', () => log.lines.length > 0)
    await hits.close()
    assert.equal(log.lines.length, 1)
    assert.match(log.lines[0]!, /X-Forwarded-For arrives, but "trust proxy" is off/)
  })

  test(`${name}: bots count apart, and privacy signals as the option says`, async () => {
    const bots = site()
    await browse(bots.app, '/items/1', { 'user-agent': 'Googlebot/2.1' })
    assert.deepEqual(await seen(bots, 0), [])
    assert.deepEqual(bots.beside, [{ measure: 'bots', item: '1' }])
    for (const [privacySignals, expected] of [
      ['anonymous', [undefined]],
      ['skip', []],
      ['ignore', ['anna']],
    ] as const) {
      const it = site({ ...byId, viewer: (req) => req.get('x-user') ?? '?' }, { privacySignals })
      await browse(it.app, '/items/1', { 'sec-gpc': '1', 'x-user': 'anna' })
      assert.deepEqual(
        (await seen(it, expected.length)).map(({ viewer }) => viewer),
        expected,
      )
    }
  })

  test(`${name}: authors' own views never count; owner sees what the route has set`, async () => {
    const it = site({
      ...byId,
      viewer: (req) => req.get('x-user') ?? '',
      owner: (_req, res) => res.locals['author'] as string,
    })
    await browse(it.app, '/items/1?author=anna', { 'x-user': 'anna' })
    await browse(it.app, '/items/2?author=anna', { 'x-user': 'anna', dnt: '1' })
    await browse(it.app, '/items/3?author=anna', { 'x-user': 'bert' })
    await browse(it.app, '/items/4?author=anna', { 'x-user': 'bert', dnt: '1' })
    await browse(it.app, '/items/5', { 'x-user': 'anna' })
    assert.deepEqual(await seen(it, 3), [
      { item: '3', viewer: 'bert' },
      { item: '4', viewer: undefined },
      { item: '5', viewer: 'anna' },
    ])
    for (const [owner, counts] of [
      [true, 0],
      [false, 1],
      [null, 1],
      ['', 1],
    ] as const) {
      const one = site({ ...byId, owner: (req) => (req.params['id'] === 'last' ? false : owner) })
      await browse(one.app, '/items/1')
      assert.deepEqual([(await seen(one, counts)).length, one.log], [counts, []])
    }
  })

  test(`${name}: a reported view counts once as seen, and the author's own does not`, async () => {
    const it = counter({
      item: (req) => req.path.slice(1),
      viewer: (req) => req.get('x-user') ?? '?',
      owner: (req) => req.path === '/own' && 'anna',
    })
    const app = express()
    // The activity's router takes reports so, where it comes after the middleware.
    app.post('/:item', it.middleware, it.middleware, (req: Request, res: Response) => {
      reported(req, req, res)
      res.end()
    })
    for (const path of ['/own', '/other']) {
      await request(app)
        .post(path)
        .set({ ...TO_A_PAGE, 'x-user': 'anna' })
    }
    assert.deepEqual([it.beside, it.counted], [[{ measure: 'seen', item: 'other' }], []])
  })

  test(`${name}: a viewer or an owner may be a number, which is the same as its text`, async () => {
    const idOf = (req: Request) => Number(req.get('x-user'))
    for (const [viewer, author] of [
      [idOf, 7],
      [idOf, '7'],
      [idOf, 7n],
      [(req: Request) => String(idOf(req)), 7],
    ] as const) {
      const it = site({ item: byId.item, viewer, owner: () => author })
      for (const user of ['7', '8', '0']) await browse(it.app, '/items/1', { 'x-user': user })
      await browse(it.app, '/items/1', { 'x-user': '7', dnt: '1' })
      await browse(it.app, '/items/2', { 'x-user': '9' })
      await eventually('3 counted', () => it.counted.length > 2)
      assert.deepEqual(
        it.counted.map(({ viewer }) => viewer),
        ['8', '0', '9'],
      )
      assert.deepEqual(it.log, [])
    }
  })

  test(`${name}: useless results of functions are ignored and logged once`, async () => {
    const fail = () => {
      throw new RangeError('secret')
    }
    const wrong: (() => unknown)[] = [
      fail,
      () => NaN,
      async () => 'secret',
      async () => fail(),
      () => ({}),
    ]
    for (const wrongly of wrong) {
      const last = (req: Request): boolean => req.params['id'] === 'last'
      const item = site({ item: (req) => (last(req) ? 'last' : (wrongly() as string)) })
      for (let i = 0; i < 2; i++) await browse(item.app, '/items/1')
      assert.deepEqual(await seen(item, 0), [])
      assert.equal(item.log.length, 1)
      assert.match(
        item.log[0]!,
        /^wide-cache: the function given as "item" (threw|returned) .*; the hit is not counted$/,
      )
      const owner = site({ ...byId, owner: wrongly as () => string })
      for (let i = 0; i < 2; i++) await browse(owner.app, '/items/1')
      assert.equal((await seen(owner, 2)).length, 2)
      assert.equal(owner.log.length, 1)
      assert.match(
        owner.log[0]!,
        /^wide-cache: the function given as "owner" (threw|returned) .*; the hit counts$/,
      )
      assert.doesNotMatch([...item.log, ...owner.log].join(), /secret/)
    }
    const alone = site({ ...byId, owner: () => 'anna' })
    await browse(alone.app, '/items/1')
    assert.equal((await seen(alone, 1)).length, 1)
    assert.match(
      alone.log[0]!,
      new RegExp(
        '"owner" returned an identity, to be compared with what "viewer" returns, ' +
          'which is not given; the hit counts',
      ),
    )
  })

  test(`${name}: a real viewer counts once, however long the item's text`, async () => {
    const log = keptLog()
    const hits = createHits({
      name: 'pages',
      cache: memory(),
      database: sqlite(':memory:'),
      collect: false,
      logger: log,
    })
    const app = express()
    app.get(
      '/items/:id',
      hits.middleware(byId),
      (_req: Request, res: Response) => void res.send('<p>'),
    )
    await browse(app, '/items/1', { 'user-agent': `${BROWSER} Edg/126` })
    // The last one is spoken of, and by then all before it have been seen.
    for (const id of ['1', '1', '2', 'x'.repeat(300)]) await browse(app, `/items/${id}`)
    await eventually('a line is logged', () => log.lines.length > 0)
    await hits.flush()
    await hits.drain({ all: true })
    assert.deepEqual(
      [...(await hits.counts(['1', '2', 'x'.repeat(300)]))],
      [
        ['1', 2],
        ['2', 1],
        ['x'.repeat(300), 0],
      ],
    )
    assert.deepEqual(log.lines, [
      'wide-cache: a hit has a longer text as "item", not a text of 1 to 255 bytes; the hit ' +
        'is not counted',
    ])
    await hits.close()
  })
}

test('wrong functions are refused by name', () => {
  const wrong: [unknown, RegExp][] = [
    [undefined, /hits.middleware options/],
    [{}, /option "item" is undefined/],
    [{ item: 'id' }, /option "item"/],
    [{ ...byId, viewer: 'x' }, /option "viewer"/],
    [{ ...byId, owner: true }, /option "owner"/],
    [{ ...byId, skip: () => true }, /option "skip".*hits.middleware takes item, viewer, owner/],
  ]
  for (const [options, message] of wrong) {
    assert.throws(() => counter(options as HitsMiddlewareOptions), {
      name: 'TypeError',
      code: 'ERR_WIDE_CACHE_OPTION',
      message,
    })
  }
})
