/**
 * The parts that `skip`, `visitor` and `page` see of a request, wherever the middleware is mounted
 * and whatever routers do later.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Express, Request, RequestHandler, Router } from 'express'
import request from 'supertest'
import { eventually } from '../support/eventually.fixture.js'
import { expresses, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { deviceClass } from './dimensions/device-class.js'
import { lenientPath } from './lenient-path.js'
import { requestViews } from './middleware.js'
import { activitySettings, type ActivityOptions } from './options.js'

const addressOf = ({ url, originalUrl, baseUrl, path, params }: Request) => ({
  url,
  originalUrl,
  baseUrl,
  path,
  params: { ...params },
})
type Address = ReturnType<typeof addressOf>

const browse = (app: Express, path: string) => request(app).get(path).set(TO_A_PAGE)

/** A middleware, and what its callbacks have seen. */
function watching(options: ActivityOptions = {}) {
  const pages: string[] = []
  const seen = { skip: [] as Address[], visitor: [] as Address[], page: [] as Address[] }
  const all: ActivityOptions = {
    skip: (req) => (seen.skip.push(addressOf(req)), false),
    visitor: (req) => (seen.visitor.push(addressOf(req)), 'anna'),
    page: (req) => (seen.page.push(addressOf(req)), req.path),
  }
  const { middleware } = requestViews(
    activitySettings({ collect: false, ...all, ...options }),
    ({ page }) => pages.push(page),
    new BurstLogger(keptLog(), () => 0),
  )
  return { pages, seen, middleware }
}

for (const [name, express] of expresses) {
  /** Ways to mount `here`, and the paths to ask for. `page` answers. */
  const LAYOUTS: [
    string,
    (app: Express, here: RequestHandler[], page: RequestHandler) => void,
    string,
  ][] = [
    [
      'before all routes',
      (app, here, page) => {
        app.use(...here)
        app.get('/threads/:id', page)
      },
      '/threads/7?x=1',
    ],
    [
      'before a router at a path',
      (app, here, page) => {
        app.use(...here)
        app.use('/admin', express.Router().get('/deep/:id', page))
      },
      '/admin/deep/7?x=1',
    ],
    [
      'at a path with parameters',
      (app, here, page) => {
        app.use('/threads/:id', ...here)
        app.get('/threads/:id/posts/:post', page)
      },
      '/threads/7/posts/8',
    ],
    [
      'at a path, the route further in',
      (app, here, page) => {
        app.use('/a', ...here)
        app.use('/a/b', express.Router().get('/deep', page))
      },
      '/a/b/deep?y',
    ],
    [
      'in a route, which then goes on to another',
      (app, here, page) => {
        app.get('/:first/:second', ...here, (_req, _res, next) => next())
        app.use('/x', express.Router().get('/:other', page))
      },
      '/x/y',
    ],
    [
      'in a router that merges parameters',
      (app, here, page) => {
        const inner = express.Router({ mergeParams: true }).use('/posts/:post', ...here)
        app.use('/threads/:id', (inner as Router).get('/posts/:post', page))
      },
      '/threads/7/posts/8',
    ],
    [
      'in a router that does not merge them',
      (app, here, page) => {
        app.use(
          '/threads/:id',
          (express.Router().use('/posts/:post', ...here) as Router).get('/posts/:post', page),
        )
      },
      '/threads/7/posts/8',
    ],
    [
      'in nested routers, left again',
      (app, here, page) => {
        app.use(
          '/a/:one',
          express
            .Router()
            .use('/b/:two', express.Router({ mergeParams: true }).use(...here) as Router) as Router,
        )
        app.get(/./, page)
      },
      '/a/1/b/2/c?z=3',
    ],
    [
      'in a sub-app',
      (app, here, page) => {
        const inner = express()
        inner.use('/of/:what', ...here)
        inner.get('/of/:what', page)
        app.use('/within', inner)
      },
      '/within/of/seven?q',
    ],
    [
      'before a sub-app',
      (app, here, page) => {
        const inner = express()
        inner.get('/of/:what', page)
        app.use(...here)
        app.use('/within', inner)
      },
      '/within/of/seven?q',
    ],
    [
      'behind a rewriting of the url, before another',
      (app, here, page) => {
        const rewrite =
          (url: string): RequestHandler =>
          (req, _res, next) => ((req.url = url), next())
        app.use(rewrite('/once'), ...here, rewrite('/twice/7'))
        app.get('/twice/:id', page)
      },
      '/first',
    ],
  ]

  for (const [layout, mount, path] of LAYOUTS) {
    test(`${name}: callbacks see the request as at the middleware's place: ${layout}`, async () => {
      const { seen, pages, middleware } = watching()
      const [mounted, answered, afterwards]: Address[][] = [[], [], []]
      const app = express()
      mount(
        app,
        [(req, _res, next) => (mounted!.push(addressOf(req)), next()), middleware()],
        (req, res) => {
          answered!.push(addressOf(req))
          res.send('<p>')
          res.on('close', () => afterwards!.push(addressOf(req)))
        },
      )
      await browse(app, path).expect(200)
      await eventually('1 pages', () => afterwards!.length > 0)
      assert.deepEqual(seen, { skip: mounted, visitor: mounted, page: mounted })
      assert.equal(mounted!.length, 1)
      assert.deepEqual(pages, [mounted![0]!.path])
      assert.deepEqual(afterwards, answered, 'others see no change')
    })
  }

  test(`${name}: the request is put right again after callbacks that throw`, async () => {
    const fail = (): never => {
      throw new Error('thrown')
    }
    for (const options of [{ skip: fail }, { visitor: fail }, { page: fail }]) {
      const { pages, middleware } = watching(options)
      const [answered, afterwards]: Address[][] = [[], []]
      const app = express()
      app.use(middleware())
      app.use(
        '/a',
        express.Router().get('/:id', (req, res) => {
          answered!.push(addressOf(req))
          res.on('close', () => afterwards!.push(addressOf(req))).send('<p>')
        }),
      )
      await browse(app, '/a/1')
      await eventually('1 pages', () => afterwards!.length > 0)
      assert.deepEqual(afterwards, answered)
      assert.deepEqual(pages, ['/a/1'])
    }
  })

  test(`${name}: skip tells pages by their path, whatever routers they have`, async () => {
    const { pages, middleware } = watching({
      skip: (req) => req.path.startsWith('/admin'),
      page: undefined,
      visitor: undefined,
    })
    const app = express()
    app.use(middleware())
    app.use(
      '/admin',
      express.Router().get('/users', (_req, res) => void res.send('<p>')),
    )
    app.use((_req, res) => void res.send('<p>'))
    for (const path of ['/admin/users', '/admin', '/users']) await browse(app, path)
    await eventually('1 pages', () => pages.length > 0)
    assert.deepEqual(pages, ['/users'])
  })

  test(`${name}: each function of a site sees the place, beside ready-made ones, too`, async () => {
    const places: string[] = []
    const look = (req: Request) => void places.push(req.baseUrl)
    const own: ActivityOptions[] = [
      { skip: (req) => (look(req), false) },
      { visitor: (req) => (look(req), 'anna') },
      { page: (req) => (look(req), '/a/b/c') },
      { dimensions: { place: look } },
    ]
    const readyMade = { page: lenientPath, dimensions: { device: deviceClass() } }
    for (const one of own) {
      for (const beside of [{ page: undefined, dimensions: {} }, readyMade]) {
        places.length = 0
        const dimensions = { ...beside.dimensions, ...one.dimensions }
        const none = { skip: undefined, visitor: undefined }
        const { pages, middleware } = watching({ ...none, ...beside, ...one, dimensions })
        const app = express()
        app.use('/a', middleware())
        app.use(
          '/a/b',
          express.Router().get('/c', (_req, res) => void res.send('<p>')),
        )
        await browse(app, '/a/b/c')
        await eventually('1 pages', () => pages.length > 0)
        assert.deepEqual([pages, places], [['/a/b/c'], ['/a']], Object.keys(one).join())
      }
    }
  })

  test(`${name}: of two places the first decides, and a request counts once`, async () => {
    for (const paths of [
      ['/', '/a'],
      ['/a', '/'],
    ] as const) {
      const { pages, middleware } = watching({ page: (req) => `${req.baseUrl}|${req.path}` })
      const app = express()
      for (const path of paths) app.use(path, middleware())
      app.use((_req, res) => void res.send('<p>'))
      for (const path of ['/a/b', '/a/c']) await browse(app, path)
      await eventually('2 pages', () => pages.length > 1)
      assert.deepEqual(pages, paths[0] === '/' ? ['|/a/b', '|/a/c'] : ['/a|/b', '/a|/c'])
    }
  })
}
