/**
 * One small site on each server that docs/frameworks.md has a recipe for, and on Express. Each sets
 * `req.ip` to what the framework has found, if it `trusts` one proxy.
 */
import { createServer, type RequestListener } from 'node:http'
import { createSecureServer, createServer as createHttp2Server } from 'node:http2'
import type { Server } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import type { Activity, Handler, Hits, ServerRequest, ServerAnswer } from '../../src/index.js'
import { expresses } from '../../src/support/http.fixture.js'
import { certificate } from '../servers/certificate.js'

/** Parts of a site that are made anew for each. */
export interface Parts {
  readonly activity: Activity
  readonly hits: Hits
}

export interface Framework {
  readonly name: string
  /** It speaks HTTP/2: without TLS, or with it. */
  readonly http2?: 'http' | 'https'
  /** Returns a server that does not listen yet. */
  site(parts: Parts, trusts: boolean): Server | Promise<Server>
}

/** With this header, a view is recorded when the client has gone. */
export const LATE = 'x-late'
/** Only those with this header see the dashboard. */
export const ADMIN = 'x-admin'
export const NOT_FOUND = 'the site says no'

const itemOf = (req: ServerRequest): string | undefined =>
  /^\/(?:threads|api\/views)\/([^/?]+)/.exec(req.url ?? '')?.[1]

const titleOf = (req: ServerRequest): string => `<h1>${itemOf(req)}</h1>`

/** All that a site mounts; at which path, where the server leaves it in `req.url`. */
function partsOf({ activity, hits }: Parts, leavesPath: boolean) {
  const at = (mountPath: string) => (leavesPath ? { mountPath } : {})
  const routers: readonly (readonly [path: string, handler: Handler])[] = [
    ['/activity', activity.router(at('/activity'))],
    [
      '/admin/activity',
      activity.dashboard({
        authorize: ({ headers }) => headers[ADMIN] === 'yes',
        ...at('/admin/activity'),
      }),
    ],
    ['/hits', hits.router({ allow: ['7'], ...at('/hits') })],
  ]
  return {
    count: activity.middleware(),
    countItem: hits.middleware({ item: itemOf }),
    routers,
    viewed(req: ServerRequest): void {
      const record = (): void => {
        activity.record(req, { page: `/threads/${itemOf(req)}` })
        hits.record(itemOf(req) ?? '', req)
      }
      if (req.headers[LATE] === undefined) record()
      else req.on('close', () => setImmediate(record))
    },
  }
}

const onExpress = (express: (typeof expresses)[0][1], parts: Parts, trusts: boolean) => {
  const app = express()
  if (trusts) app.set('trust proxy', 1)
  const { count, countItem, routers, viewed } = partsOf(parts, false)
  app.use(count)
  for (const [path, handler] of routers) app.use(path, handler)
  app.get('/threads/:id', countItem, (req, res) => void res.send(titleOf(req)))
  app.post('/api/views/:id', (req, res) => {
    viewed(req)
    res.sendStatus(204)
  })
  app.use((_req, res) => void res.status(404).send(NOT_FOUND))
  return app
}

/** Behind one proxy, the last address is the one that it has added. */
function trustOneProxy(req: ServerRequest): void {
  const forwarded = String(req.headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  if (forwarded) Object.assign(req, { ip: forwarded })
}

/** Hands a request to each router, and then to the site. */
function before(
  routers: ReturnType<typeof partsOf>['routers'],
  req: ServerRequest,
  res: ServerAnswer,
  site: () => void,
): void {
  const handle = routers.reduceRight<() => void>(
    (next, [, handler]) =>
      () =>
        handler(req, res, next),
    site,
  )
  handle()
}

const onNode = (parts: Parts, trusts: boolean) => {
  const { count, countItem, routers, viewed } = partsOf(parts, true)
  return (req: ServerRequest, res: ServerAnswer): void => {
    if (trusts) trustOneProxy(req)
    count(req, res)
    const page = (): void => {
      if (req.method === 'GET' && req.url?.startsWith('/threads/')) {
        countItem(req, res)
        res.setHeader('Content-Type', 'text/html')
        res.end(titleOf(req))
      } else if (req.method === 'POST' && req.url?.startsWith('/api/views/')) {
        viewed(req)
        res.writeHead(204).end()
      } else {
        res.writeHead(404).end(NOT_FOUND)
      }
    }
    before(routers, req, res, page)
  }
}

const onFastify = async (parts: Parts, trusts: boolean, http2: boolean): Promise<Server> => {
  const trustProxy = trusts ? '127.0.0.1' : false
  const app = http2
    ? // Its types differ in the request and the response only.
      (fastify({ trustProxy, http2 }) as unknown as FastifyInstance)
    : fastify({ trustProxy })
  const { count, countItem, routers, viewed } = partsOf(parts, true)
  app.addHook('onRequest', ({ raw, ip }, reply, done) => {
    if (trusts) Object.assign(raw, { ip })
    count(raw, reply.raw, done)
  })
  for (const [path, handler] of routers) {
    for (const url of [path, `${path}/*`]) {
      app.all(url, (request, reply) => {
        reply.hijack()
        Object.assign(request.raw, { body: request.body })
        handler(request.raw, reply.raw)
      })
    }
  }
  app.get(
    '/threads/:id',
    { preHandler: (request, reply, done) => countItem(request.raw, reply.raw, done) },
    ({ raw }, reply) => reply.type('text/html').send(titleOf(raw)),
  )
  app.post('/api/views/:id', ({ raw }, reply) => {
    viewed(raw)
    return reply.code(204).send()
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND))
  await app.ready()
  return app.server
}

const onKoa = (parts: Parts, trusts: boolean): RequestListener => {
  const app = new Koa({ proxy: trusts, maxIpsCount: 1 })
  const { count, countItem, routers, viewed } = partsOf(parts, true)
  app.use(async ({ req, res, ip }, next) => {
    if (trusts) Object.assign(req, { ip })
    count(req, res)
    await next()
  })
  for (const [path, handler] of routers) {
    app.use(async (ctx, next) => {
      if (ctx.path !== path && !ctx.path.startsWith(`${path}/`)) return next()
      ctx.respond = false
      handler(ctx.req, ctx.res)
    })
  }
  app.use((ctx) => {
    if (ctx.method === 'GET' && ctx.path.startsWith('/threads/')) {
      countItem(ctx.req, ctx.res)
      ctx.body = titleOf(ctx.req)
    } else if (ctx.method === 'POST' && ctx.path.startsWith('/api/views/')) {
      viewed(ctx.req)
      ctx.status = 204
    } else {
      ctx.status = 404
      ctx.body = NOT_FOUND
    }
  })
  const listener = app.callback()
  return (req, res) => void listener(req, res)
}

/** The routers lie before Hono, which does not let a handler of Node answer HEAD. */
const onHono = (parts: Parts, trusts: boolean): RequestListener => {
  const { count, countItem, routers, viewed } = partsOf(parts, true)
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.get('/threads/:id', ({ env, html }) => {
    countItem(env.incoming, env.outgoing)
    return html(titleOf(env.incoming))
  })
  app.post('/api/views/:id', ({ env, body }) => {
    viewed(env.incoming)
    return body(null, 204)
  })
  app.notFound(({ text }) => text(NOT_FOUND, 404))
  const listener = getRequestListener(app.fetch)
  return (req, res) => {
    if (trusts) trustOneProxy(req)
    count(req, res)
    before(routers, req, res, () => void listener(req, res))
  }
}

export const frameworks: readonly Framework[] = [
  ...expresses.map(([name, express]) => ({
    name,
    site: (parts: Parts, trusts: boolean) => createServer(onExpress(express, parts, trusts)),
  })),
  { name: 'node:http', site: (...site) => createServer(onNode(...site)) },
  { name: 'node:http2', http2: 'http', site: (...site) => createHttp2Server(onNode(...site)) },
  {
    name: 'node:http2 with TLS',
    http2: 'https',
    site: (...site) => createSecureServer(certificate(), onNode(...site)),
  },
  { name: 'Fastify', site: (...site) => onFastify(...site, false) },
  { name: 'Fastify with HTTP/2', http2: 'http', site: (...site) => onFastify(...site, true) },
  { name: 'Koa', site: (...site) => createServer(onKoa(...site)) },
  { name: 'Hono', site: (...site) => createServer(onHono(...site)) },
]
