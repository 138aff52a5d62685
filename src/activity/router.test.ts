import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Script } from 'node:vm'
import type { Response } from 'express'
import request from 'supertest'
import { expresses } from '../support/http.fixture.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { activityRouter, type ActivityRouterOptions } from './router.js'
import type { ActivityStats } from './stats.js'

const FIGURES: ActivityStats = {
  windowSeconds: 600,
  pageViews: 345,
  visitors: 12,
  asOf: '2026-05-17T12:00:00.000Z',
  stale: false,
  lower: 345,
  upper: 350,
}

const logger = new BurstLogger(SILENT, () => 0)

for (const [name, express] of expresses) {
  const site = (
    stats: () => Promise<ActivityStats>,
    statsTtlSeconds = 30,
    options?: ActivityRouterOptions,
  ) => {
    const app = express()
    app.set('etag', false)
    app.use(
      '/activity',
      activityRouter({ stats, statsTtlSeconds, publicPath: '', seen: () => {}, logger }, options),
    )
    return app
  }

  test(`${name}: GET / returns the figures as JSON, cacheable for some seconds`, async () => {
    const { body, headers } = await request(site(async () => FIGURES))
      .get('/activity')
      .expect(200)
      .expect('Content-Type', /application\/json/)
    assert.deepEqual(body, FIGURES)
    assert.equal(headers['cache-control'], 'public, max-age=10')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    const short = await request(site(async () => FIGURES, 2)).get('/activity/')
    assert.equal(short.headers['cache-control'], 'public, max-age=2')
  })

  test(`${name}: figures behind a login are kept by browsers only, the widget by all`, async () => {
    const app = site(async () => FIGURES, 30, { cacheControl: 'private' })
    const { headers } = await request(app).get('/activity').expect(200)
    assert.equal(headers['cache-control'], 'private, max-age=10')
    const { headers: widget } = await request(app).get('/activity/widget.js').expect(200)
    assert.match(widget['cache-control']!, /^public, /)
    assert.throws(() => site(async () => FIGURES, 30, { cacheControl: 'no-store' as never }), {
      name: 'RangeError',
      message: /option "cacheControl" is "no-store"; allowed: "public" or "private"$/,
    })
    assert.throws(() => site(async () => FIGURES, 30, { cache: 'private' } as never), /"cache"/)
  })

  test(`${name}: who has the figures already gets 304, until there are others`, async () => {
    let figures = FIGURES
    const app = site(async () => figures)
    const { headers } = await request(app).get('/activity')
    assert.match(headers['etag']!, /^"[\w-]{22}"$/)
    const again = await request(app)
      .get('/activity')
      .set('If-None-Match', headers['etag']!)
      .expect(304)
    assert.equal(again.text, '')
    figures = { ...FIGURES, pageViews: 346 }
    await request(app).get('/activity').set('If-None-Match', headers['etag']!).expect(200)
  })

  test(`${name}: without any figures the answer is 503 with Retry-After, not cached`, async () => {
    const { body, headers } = await request(
      site(() => Promise.reject(new Error('connect ECONNREFUSED user:password@db'))),
    )
      .get('/activity')
      .expect(503)
    assert.deepEqual(body, { error: 'There are no figures yet' })
    assert.equal(headers['retry-after'], '5')
    assert.equal(headers['cache-control'], 'no-store')
  })

  test(`${name}: figures or errors that come after the site's own timeout do no harm`, async () => {
    for (const late of [() => Promise.resolve(FIGURES), () => Promise.reject(new Error('late'))]) {
      const app = express()
      let given: Promise<unknown> | undefined
      app.use((_req: unknown, res: Response, next: () => void) => {
        setTimeout(() => res.status(504).send('too late'), 20)
        next()
      })
      app.use(
        activityRouter({
          stats() {
            const figures = new Promise((resolve) => setTimeout(resolve, 60)).then(late)
            given = figures.catch(() => undefined)
            return figures
          },
          statsTtlSeconds: 30,
          publicPath: '',
          seen: () => {},
          logger,
        }),
      )
      await request(app).get('/').expect(504)
      await given
    }
  })

  test(`${name}: the widget asks below the public path, whatever characters it has`, async () => {
    const publicPath = "/a$&b$'c$1"
    const app = express()
    const stats = async () => FIGURES
    const parts = { stats, statsTtlSeconds: 30, publicPath, seen: () => {}, logger }
    app.use(activityRouter(parts))
    const { text } = await request(app).get('/widget.js').expect(200)
    assert(text.includes(`|| ${JSON.stringify(`${publicPath}/activity`)}`))
  })

  test(`${name}: GET /seen.js gives a module, and 304 to who has it`, async () => {
    const app = site(async () => FIGURES)
    const { text, headers } = await request(app)
      .get('/activity/seen.js')
      .expect(200)
      .expect('Content-Type', 'text/javascript; charset=utf-8')
      .expect('X-Content-Type-Options', 'nosniff')
      .expect('Cache-Control', 'public, max-age=3600')
    assert.match(text, /import\.meta\.url/)
    await request(app).get('/activity/seen.js').set('If-None-Match', headers['etag']!).expect(304)
  })

  test(`${name}: GET /widget.js gives a script, and 304 to who has it`, async () => {
    const app = site(async () => FIGURES)
    const { text, headers } = await request(app)
      .get('/activity/widget.js')
      .expect(200)
      .expect('Content-Type', 'text/javascript; charset=utf-8')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(headers['cache-control']!, /^public, max-age=\d+$/)
    assert.match(text, /site-activity/)
    new Script(text)
    await request(app).get('/activity/widget.js').set('If-None-Match', headers['etag']!).expect(304)
  })

  test(`${name}: HEAD works, other methods are refused, other paths left to the site`, async () => {
    const app = site(async () => FIGURES)
    await request(app).head('/activity').expect(200)
    await request(app).post('/activity').expect(405).expect('Allow', 'GET, HEAD')
    for (const path of ['/activity/other', '/activity/widget.js/', '/activity/WIDGET.js']) {
      await request(app).get(path).expect(404)
    }
  })
}

for (const script of ['widget.js', 'seen.js']) {
  test(`${script} is written for a strict Content-Security-Policy, and stores nothing`, () => {
    const source = readFileSync(new URL(script, import.meta.url), 'utf8')
    for (const unsafe of [
      /innerHTML|insertAdjacentHTML|outerHTML|\beval\b|new Function|^import /m,
      /\.style\b|cssText|createElement\('(?:style|script)'\)/,
      /cookie|localStorage|sessionStorage|indexedDB|caches|navigator|screen\./,
    ]) {
      assert.doesNotMatch(source, unsafe)
    }
  })
}
