import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Response } from 'express'
import request from 'supertest'
import { eventually } from '../support/eventually.fixture.js'
import { expresses, serving } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { servedAssets } from './assets.js'
import { unpacked } from './assets/packed.js'
import { HOSTILE, InventedSource, inventedHits } from './invented-source.fixture.js'
import type { DashboardOptions } from './options.js'
import { dashboardRouter } from './router.js'

const NOW = Date.parse('2026-11-22T10:40:00Z')
const DATA = [
  '/now.json',
  '/hits.json',
  '/figures.json',
  '/operation.json',
  '/item.json?dimension=page&value=%2F',
  '/times.json',
  '/history.json',
  '/top.json?dimension=page',
  '/shown.json',
]
const FILES = ['/history.csv', '/top.csv?dimension=page', '/shown.csv?dimension=page']
const ASSETS = [...servedAssets().keys()].filter((path) => !/(?:list|chart)\.js$/.test(path))

/** Parses an answer as the page does. */
function asThePageReads(
  res: request.Response,
  done: (error: Error | null, body: unknown) => void,
): void {
  res.text = ''
  res.setEncoding('utf8')
  res.on('data', (chunk: string) => (res.text += chunk))
  res.on('end', () => {
    const isJson = res.headers['content-type']?.includes('json') && res.text !== ''
    done(null, isJson ? JSON.parse(res.text, unpacked) : {})
  })
}

for (const [name, express] of expresses) {
  const site = (
    options: DashboardOptions = { authorize: () => true },
    path = '/admin/activity',
  ) => {
    const app = express()
    const log = keptLog()
    const clock = new ManualClock(NOW)
    const source = new InventedSource(clock.now)
    app.set('etag', false)
    app.set('query parser', false)
    app.use((_req: unknown, res: { set(name: string, value: string): void }, next: () => void) => {
      res.set('Content-Security-Policy', "script-src 'unsafe-inline'")
      next()
    })
    app.use(path, dashboardRouter(source, options, new BurstLogger(log, clock.elapsed), clock))
    const get = (below: string) =>
      request(app)
        .get(path + below)
        .parse(asThePageReads)
    return { app, log, clock, source, get }
  }

  describe(name, () => {
    test('strangers get 403 from each path that there is, and learn nothing', async () => {
      const { get, source } = site({ authorize: async () => false })
      const { text, headers } = await get('/').expect(403)
      assert.match(headers['content-type']!, /text\/html/)
      assert.match(headers['content-security-policy']!, /^default-src 'none'/)
      assert.match(text, /You may not see this page/)
      assert.doesNotMatch(text, /authorize/)
      await get('').expect(403)
      for (const path of [...DATA, ...FILES, ...ASSETS]) {
        const answer = await get(path).expect(403)
        assert.deepEqual(answer.body, { error: 'This request may not see the dashboard' })
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
      assert.deepEqual(source.asked, [])
    })

    test('without authorize the page says what to set', async () => {
      const { get, log } = site({})
      const { text } = await get('/').expect(403)
      assert.match(text, /authorize: \(req\) =&gt;/)
      assert.match(text, /NODE_ENV/)
      await get('/now.json').expect(403)
      assert.equal(log.lines.length, 1)
    })

    test('authorize sees the request', async () => {
      const seen: string[] = []
      const { get } = site({
        authorize: (req) => {
          seen.push(req.originalUrl)
          return req.get('x-user') === 'anna'
        },
      })
      await get('/now.json').set('x-user', 'anna').expect(200)
      await get('/now.json').set('x-user', 'bert').expect(403)
      assert.deepEqual(seen, ['/admin/activity/now.json', '/admin/activity/now.json'])
    })

    test('the page and its files come with a strict policy, and 304 to who has them', async () => {
      const { get } = site()
      for (const path of ['/', ...ASSETS]) {
        const { headers } = await get(path).expect(200)
        const policy = headers['content-security-policy']!
        assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
        assert.match(
          policy,
          /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
        )
        assert.doesNotMatch(policy, /unsafe/)
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.equal(headers['x-frame-options'], 'DENY')
        assert.equal(headers['referrer-policy'], 'no-referrer')
        assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
        assert.equal(headers['x-robots-tag'], 'noindex')
        const isKept = path !== '/'
        assert.equal(
          headers['cache-control'],
          isKept ? 'private, max-age=31536000, immutable' : 'private, no-cache',
        )
        await get(path).set('If-None-Match', headers['etag']!).expect(304)
      }
      const { text } = await get('/').expect(200)
      const named = Array.from(
        text.matchAll(/(?:src|href)="([^"?#]+\.\w+)"/g),
        ([, of]) => `/${of}`,
      )
      assert.equal(named.length, 3)
      for (const path of named) assert(ASSETS.includes(path), `${path} is named after its content`)
      await get('/dashboard.js').expect(404)
    })

    test('the path without a slash leads to the one with it, whatever is before', async () => {
      const { get } = site()
      await get('').expect(302).expect('Location', './activity/')
      await get('?a=b').expect(302).expect('Location', './activity/?a=b')
      await site(undefined, '/').get('').expect(200)
    })

    test('now has the figures, the visits on their way, and the ledger', async () => {
      const { get, source } = site()
      const { body, headers } = await get('/now.json').expect(200)
      assert.equal(headers['cache-control'], 'private, no-cache')
      assert.equal(body.name, 'forum')
      assert.equal(body.time, '2026-11-22T10:40:00.000Z')
      const overview = await source.overview()
      assert.deepEqual(body.overview, overview)
      const live = await source.live(overview.asOf)
      const { layers, ...tail } = live
      const pageViews = layers.reduce((sum, layer) => sum + layer.pageViews, 0)
      assert.deepEqual(body.live, { ...tail, pageViews })
      assert.deepEqual(body.ledger, { asOf: body.time, ...(await source.ledger()) })
      assert.equal(body.trouble, null)
    })

    test('the operation has the cells, the days and the health', async () => {
      const { get, source } = site()
      const { body } = await get('/operation.json').expect(200)
      assert.deepEqual(body.live, await source.live((await source.overview()).asOf))
      assert.deepEqual(body.certificates, await source.certificates(30))
      assert.deepEqual(body.collectors, await source.collectors())
      assert.deepEqual(body.reasons, [])
      source.asked.length = 0
      source.trouble = 'The database does not answer: start it.'
      const { body: again } = await get('/operation.json').expect(200)
      assert.deepEqual(again.reasons, ['the database has failed for 9 s'])
      assert.deepEqual(source.asked, ['collectors'], 'all tabs share the certificates')
    })

    test("'figures' see figures and nothing of the operation", async () => {
      const { get, source } = site({ authorize: () => 'figures', hits: [inventedHits('threads')] })
      source.trouble = 'The database db.internal does not answer: start it.'
      await get('/operation.json').expect(403)
      const { body, text } = await get('/now.json').expect(200)
      assert.deepEqual([body.sees, body.trouble, body.ledger], ['figures', null, null])
      assert.doesNotMatch(text, /cells|internal/)
      assert.deepEqual(source.asked.sort(), ['live', 'overview'])
      source.staleSince = NOW - 60_000
      const readable = [...DATA.filter((path) => path !== '/operation.json'), ...FILES, ...ASSETS]
      for (const path of ['/', ...readable]) await get(path).expect(200)
    })

    test('a shared dashboard has totals for everybody, and nothing else', async () => {
      const { get, source } = site({ shared: true })
      const { body } = await get('/now.json').expect(200)
      assert.deepEqual([body.sees, body.live, body.ledger], ['totals', null, null])
      assert.equal(body.overview.figures.pageViews, 1_345)
      const { body: figures } = await get('/figures.json').expect(200)
      assert.deepEqual([figures.lists, figures.later, figures.sums.figures.length], [[], [], 7])
      assert.deepEqual(Object.keys(figures.sums.figures[0]), ['start', 'pageViews', 'visitors'])
      assert.deepEqual((await get('/hits.json').expect(200)).body, [])
      const of = 'dimension=page&value=%2F'
      for (const path of ['/operation.json', '/times.json', `/item.json?${of}`]) {
        await get(path).expect(403)
      }
      for (const path of [
        '/top.json?dimension=page',
        '/top.csv?dimension=page',
        '/top.csv?dimension=bot',
        '/history.json?by=hour',
        '/history.csv',
      ]) {
        await get(path).expect(403)
      }
      // No list at all, those that are no dimension of the site among them.
      for (const list of ['page', 'under:/', 'gone', 'bot', 'botPurpose', 'bots:page']) {
        await get(`/figures.json?dimension=${list}`).expect(400)
        for (const type of ['csv', 'json']) {
          await get(`/shown.${type}?dimension=${list}`).expect(400)
        }
      }
      await get('/figures.json?from=2026-11-01T01:00:00Z&to=2026-11-02').expect(400)
      for (const query of ['', '?range=30d', '?range=today']) {
        const { text } = await get(`/shown.csv${query}`).expect(200)
        assert.match(text, /^start,pageViews,visitors,before\r\n/)
      }
      const { body: today } = await get('/figures.json?range=today').expect(200)
      assert.deepEqual(Object.keys(today.days[0]), ['start', 'pageViews', 'visitors'])
      for (const part of ['dimension=page', 'dimension=page&value=x', 'hits=threads']) {
        for (const type of ['csv', 'json']) await get(`/shown.${type}?${part}`).expect(400)
      }
      assert.deepEqual(
        source.asked.filter((question) => /^(?:top|history of|ledger|certificates)/.test(question)),
        [],
      )
    })

    test('what fails is missing, and does not keep the rest; the log says why once', async () => {
      const { get, source, log } = site()
      for (const what of ['overview', 'history', 'top']) source.failing.add(what)
      for (let i = 0; i < 2; i++) {
        const { body } = await get('/now.json').expect(200)
        assert.deepEqual([body.overview, body.live], [null, null])
        assert.equal(body.ledger.issued, 1_204_511)
        for (const path of ['/history.json', '/top.json?dimension=page', ...FILES]) {
          const { body, headers } = await get(path).expect(503)
          assert.deepEqual(body, { error: 'There are no figures at the moment' })
          assert.equal(headers['retry-after'], '5')
          assert.equal(headers['cache-control'], 'no-store')
          assert.equal(headers['content-disposition'], undefined)
        }
      }
      source.failing.add('certificates')
      await get('/operation.json').expect(200)
      const all = ['overview', 'history', 'top', 'shown', 'certificates']
      assert.equal(log.lines.length, all.length)
      for (const [i, what] of all.entries()) {
        assert.match(log.lines[i]!, new RegExp(`no figures for "${what}" at the moment: connect E`))
      }
    })

    test('now says in a sentence what is wrong, the cause before what follows', async () => {
      const { get, source, clock } = site()
      const trouble = async (): Promise<unknown> => {
        await clock.advance(10_000)
        const { body } = await get('/now.json').expect(200)
        return body.trouble
      }
      assert.equal(await trouble(), null)
      source.slow.add('overview')
      assert.equal(await trouble(), 'The figures are old: the database takes long to answer.')
      source.slow.clear()
      source.staleSince = NOW
      assert.match(String(await trouble()), /^The figures are older than they should be: see /)
      source.failing.add('ledger')
      assert.match(String(await trouble()), /^Some figures cannot be read: the log /)
      source.trouble = 'The database does not answer: start it.'
      assert.equal(await trouble(), source.trouble)
    })

    test('30 days are 30 days, and 30 days by the hour 720 hours', async () => {
      const { get } = site()
      for (const [path, first, rows] of [
        ['/history.csv', '2026-10-24T00:00:00.000Z', 30],
        ['/history.csv?by=hour', '2026-10-23T11:00:00.000Z', 720],
        ['/history.csv?to=2026-11-01', '2026-10-02T00:00:00.000Z', 30],
      ] as const) {
        const { text } = await get(path).expect(200)
        const lines = text.trimEnd().split('\r\n')
        assert.equal(lines.length - 1, rows, path)
        assert(lines[1]!.startsWith(first), lines[1])
      }
    })

    test('a source that does not answer is waited for three seconds', async () => {
      const { app, source, clock, log } = site()
      source.live = () => {
        source.asked.push('live')
        return new Promise(() => undefined)
      }
      await serving(app, async (port) => {
        const answer = fetch(`http://127.0.0.1:${port}/admin/activity/now.json`)
        await eventually('the source is asked', () => source.asked.includes('live'))
        await clock.advance(3_000)
        const body = (await (await answer).json()) as { overview: unknown; live: unknown }
        assert.equal(body.live, null)
        assert.notEqual(body.overview, null)
      })
      assert.match(
        log.lines.join('\n'),
        /no figures for "live" at the moment: no answer within 3 s$/,
      )
    })

    test('a calendar that cannot be read in time is the one that was read last', async () => {
      const { app, source, clock } = site()
      const { current } = source.calendar
      let asked = 0
      const read = () => {
        asked++
        return new Promise<never>(() => undefined)
      }
      source.calendar = { current, read }
      await serving(app, async (port) => {
        let answer: globalThis.Response | undefined
        void fetch(`http://127.0.0.1:${port}/admin/activity/figures.json`).then((response) => {
          answer = response
        })
        await eventually('the calendar is asked', () => asked > 0)
        await clock.advance(3_000)
        const { span } = (await (await eventually('it answers', () => answer)).json()) as {
          span: { zone: string }
        }
        assert.equal(span.zone, current.zone)
      })
    })

    test('many tabs ask the source no more than one does', async () => {
      const { get, source, clock } = site()
      await Promise.all(Array.from({ length: 10 }, () => get('/now.json').expect(200)))
      assert.deepEqual(source.asked.sort(), ['ledger', 'live', 'overview'])
      await clock.advance(2_000)
      await get('/now.json').expect(200)
      assert.deepEqual(source.asked.sort(), ['ledger', 'live', 'live', 'overview', 'overview'])
    })

    test('history and tops are those that were asked for', async () => {
      const { get, source } = site()
      const range = 'from=2026-11-01&to=2026-11-03'
      const { body: days } = await get(`/history.json?by=day&${range}`).expect(200)
      assert.deepEqual(
        days.figures.map(({ start }: { start: string }) => start),
        ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'],
      )
      const { body: top } = await get(`/top.json?dimension=referrer&n=2&${range}`).expect(200)
      assert.deepEqual(
        top.figures.map(({ value }: { value: string }) => value),
        [null, 'news.example'],
      )
      assert.equal(source.asked.at(-1), 'top referrer 2')
      const { asOf, stale } = await source.overview()
      const { body: today } = await get('/history.json').expect(200)
      assert.deepEqual([today.asOf, today.stale], [asOf, stale])
      source.staleSince = NOW - 60_000
      const { body: old } = await get('/top.json?dimension=referrer').expect(200)
      assert.deepEqual([old.asOf, old.stale], ['2026-11-22T10:39:00.000Z', true])
    })

    test('a range that is over is of its end: 304 to who has it, until it changes', async () => {
      const { get, source, clock } = site({
        authorize: (req) => req.get('x-user') !== 'bert',
        hits: [inventedHits('threads')],
      })
      const over = 'range=yesterday'
      const end = '2026-11-22T00:00:00.000Z'
      for (const [path, isOver] of [
        [`/figures.json?${over}`, true],
        [`/figures.json?${over}&dimension=page`, true],
        [`/item.json?${over}&dimension=page&value=%2F`, true],
        [`/item.json?${over}&hits=threads&value=x`, true],
        [`/hits.json?${over}`, true],
        ['/history.json?from=2026-11-01&to=2026-11-22', true],
        ['/top.json?dimension=page&from=2026-11-01&to=2026-11-22', true],
        ['/item.json?range=today&dimension=page&value=%2F', false],
      ] as const) {
        const { headers, text } = await get(path).expect(200)
        assert.equal(headers['cache-control'], 'private, no-cache')
        const moments = Array.from(text.matchAll(/"asOf":"([^"]+)"/g), ([, moment]) => moment)
        assert.deepEqual([...new Set(moments)], [isOver ? end : '2026-11-22T10:46:30.000Z'], path)
        await clock.advance(60_000)
        source.staleSince = clock.now() - 30_000
        const again = get(path).set('If-None-Match', headers['etag']!)
        await again.expect(isOver ? 304 : 200)
        await get(path).set('x-user', 'bert').set('If-None-Match', headers['etag']!).expect(403)
        source.staleSince = undefined
      }
      const { headers } = await get(`/figures.json?${over}`).expect(200)
      const top = source.top.bind(source)
      source.top = async (dimension, range) => ({ ...(await top(dimension, range)), figures: [] })
      const changed = get(`/figures.json?${over}`).set('If-None-Match', headers['etag']!)
      await changed.expect(200)
    })

    test('figures are those of a range, each beside that of the same weekdays before', async () => {
      const { get, source } = site()
      for (const [range, from, to, by, then, until] of [
        ['range=today', '2026-11-22', '2026-11-23', 'hour', '2026-11-15', '2026-11-16'],
        ['range=yesterday', '2026-11-21', '2026-11-22', 'hour', '2026-11-14', '2026-11-15'],
        ['range=7d', '2026-11-16', '2026-11-23', 'day', '2026-11-09', '2026-11-16'],
        ['range=30d', '2026-10-24', '2026-11-23', 'day', '2026-09-19', '2026-10-19'],
        ['range=month', '2026-11-01', '2026-12-01', 'day', '2026-09-27', '2026-10-27'],
        ['range=month&step=-1', '2026-10-01', '2026-11-01', 'day', '2026-08-27', '2026-09-27'],
        ['range=12m', '2025-12-01', '2026-12-01', 'month', '2024-12-01', '2025-12-01'],
        [
          'from=2026-09-02&to=2026-10-20',
          '2026-08-31',
          '2026-10-26',
          'week',
          '2026-07-06',
          '2026-08-31',
        ],
        ['range=7d&against=year', '2026-11-16', '2026-11-23', 'day', '2025-11-17', '2025-11-24'],
      ] as const) {
        const { body } = await get(`/figures.json?${range}`).expect(200)
        const { span, sums, before, earlier, days: whole, lists } = body
        const [of, ofThen] = [
          [from, to],
          [then, until],
        ].map((ends) => ({ from: Date.parse(ends[0]!), to: Date.parse(ends[1]!) }))
        assert.deepEqual(
          { ...span, earlier: 0, later: 0, zone: 0, daysAgo: 0 },
          { ...of, by, before: ofThen, earlier: 0, later: 0, zone: 0, daysAgo: 0 },
        )
        const { asOf, ...read } = await source.history(span)
        assert.deepEqual(sums, {
          ...read,
          asOf: Date.parse(to) < NOW ? `${to}T00:00:00.000Z` : asOf,
        })
        const { figures } = await source.history({ ...ofThen!, by })
        assert.deepEqual(
          before,
          figures.map(({ pageViews }) => pageViews),
        )
        assert.deepEqual(
          [earlier.visitors, earlier.seen],
          [figures.map(({ visitors }) => visitors), figures.map(({ seen }) => seen)],
        )
        assert.equal(whole?.length, by === 'hour' ? 1 : undefined)
        assert.deepEqual(
          lists.map(({ dimension }: { dimension: string }) => dimension),
          ['page', 'referrer', 'campaign', 'country', 'device'],
        )
      }
      const { body } = await get('/figures.json?from=2026-11-02&to=2026-11-04').expect(200)
      assert.deepEqual([body.sums.figures.length, body.span.by], [3, 'day'])
      const { body: one } = await get('/figures.json?dimension=country').expect(200)
      assert.deepEqual([Object.keys(one), one.lists.length], [['span', 'lists'], 1])
    })

    test('a range names those before and after it, and all begins with the first day', async () => {
      const { get, source } = site()
      const steps = async (query: string): Promise<unknown[]> => {
        const { body } = await get(`/figures.json?${query}`).expect(200)
        return [body.span.earlier, body.span.later]
      }
      for (const [query, earlier, later] of [
        ['', { range: '7d', step: '-1' }, null],
        ['step=-1', { range: '7d', step: '-2' }, { range: '7d' }],
        ['range=12m&step=-2', { range: '12m', step: '-3' }, { range: '12m', step: '-1' }],
        ['range=yesterday', { range: 'yesterday', step: '-1' }, { range: 'today' }],
        [
          'from=2026-10-01&to=2026-10-31',
          { from: '2026-09-01', to: '2026-09-30' },
          { from: '2026-11-01', to: '2026-11-30' },
        ],
        ['from=2026-11-20&to=2026-11-22', { from: '2026-11-17', to: '2026-11-19' }, null],
      ] as const) {
        assert.deepEqual(await steps(query), [earlier, later], query)
      }
      Object.assign(source, { firstDay: async () => '2026-03-04' })
      const { body } = await get('/figures.json?range=all').expect(200)
      assert.deepEqual([body.span.by, body.span.before, body.before], ['month', null, null])
      assert.deepEqual(
        body.sums.figures.map(({ start }: { start: string }) => start.slice(0, 7)),
        [
          '2026-03',
          '2026-04',
          '2026-05',
          '2026-06',
          '2026-07',
          '2026-08',
          '2026-09',
          '2026-10',
          '2026-11',
        ],
      )
      const nothing = await get('/figures.json?range=30d&against=none').expect(200)
      assert.deepEqual([nothing.body.before, nothing.body.earlier], [null, null])
      assert.deepEqual(Object.keys(nothing.body.lists[0].top.figures[0]), [
        'value',
        'pageViews',
        'seen',
      ])
    })

    test('bots, and the tabs of other lists, are lists that the page asks for later', async () => {
      const { get, source } = site()
      const { body } = await get('/figures.json').expect(200)
      assert.deepEqual(body.later, [
        { dimension: 'section', tabOf: 'page' },
        { dimension: 'browser', tabOf: 'device' },
        { dimension: 'system', tabOf: 'device' },
        { dimension: 'language', tabOf: 'country' },
        { dimension: 'gone', tabOf: 'page' },
        { dimension: 'bot' },
        { dimension: 'botPurpose', tabOf: 'bot' },
        { dimension: 'bots:page', tabOf: 'bot' },
      ])
      for (const [name, asked, ofFile] of [
        ['section', 'top section 1000', 'top section 4'],
        ['bot', 'top bot 1000 by bots', 'top bot 4 by bots'],
        ['botPurpose', 'top botPurpose 1000 by bots', 'top botPurpose 4 by bots'],
        ['bots:page', 'top page 1000 by bots', 'top page 4 by bots'],
        ['under:/thread/', 'top page 1000 under /thread/', 'top page 4 under /thread/'],
      ] as const) {
        source.asked.length = 0
        const { body } = await get(`/figures.json?dimension=${name}`).expect(200)
        assert.equal(body.lists[0].dimension, name)
        const { body: top } = await get(`/top.json?dimension=${name}&n=1`).expect(200)
        assert.equal(source.asked.at(-1), asked.replace('1000', '1'))
        assert.equal(top.figures.length, 1)
        const { body: shown } = await get(`/shown.json?dimension=${name}&n=1`).expect(200)
        const tops = source.asked.filter((one) => one.startsWith('top '))
        assert.deepEqual(new Set(tops), new Set([asked, ofFile, asked.replace('1000', '1')]), name)
        const { figures } = await source.history(body.span)
        const total = figures.reduce(
          (all, { pageViews, bots }) => all + (name.startsWith('bot') ? bots : pageViews),
          0,
        )
        const [{ pageViews, share }] = shown.figures
        assert.equal(share, Math.min(1, Math.round((1e4 * pageViews) / total) / 1e4), name)
      }
      const { body: gone } = await get('/shown.json?dimension=gone&n=1').expect(200)
      assert.equal(gone.figures[0].share, null, 'views of no page are no share of page views')
      const { body: under } = await get('/figures.json?dimension=under:/thread/').expect(200)
      assert.deepEqual(
        under.lists[0].top.figures.map((one: object) => Object.keys(one).includes('before')),
        [true, true],
      )
      const top = source.top.bind(source)
      source.top = async (dimension, range) => {
        const answer = await top(dimension, range)
        return range.to < NOW - 86_400_000 ? { ...answer, figures: [] } : answer
      }
      const again = await get('/figures.json?range=yesterday&dimension=under:/thread/').expect(200)
      assert.deepEqual(
        again.body.lists[0].top.figures.map((one: object) => Object.keys(one).includes('before')),
        [false, false],
        'a page that was not listed before may have been among all others',
      )
      source.asked.length = 0
      await get('/item.json?dimension=bots:page&value=%2F').expect(200)
      assert(source.asked.includes('history of page / by bots'))
      for (const name of ['under:/thread/', 'under:x', 'bots:referrer']) {
        await get(`/item.json?dimension=${name}&value=%2F`).expect(400)
      }
      await get('/figures.json?dimension=under:x').expect(400)
    })

    test('the hours of a week are those of the range', async () => {
      const { get, source } = site()
      const { body } = await get('/times.json?range=yesterday').expect(200)
      assert.equal(body.figures.length, 168)
      const { figures } = await source.hours({
        from: Date.parse('2026-10-25'),
        to: Date.parse('2026-11-22'),
      })
      const sum = body.figures.reduce(
        (all: number, { pageViews }: { pageViews: number }) => all + pageViews,
        0,
      )
      assert.equal(
        sum,
        figures.reduce((all, views) => all + views),
      )
      await get('/times.json?n=1').expect(400)
      source.failing.add('hours')
      await get('/times.json').expect(503)
    })

    test('visits from the site itself are no referrer among others', async () => {
      const { get, source } = site()
      const figures = ['(internal)', 'a.example', null].map((value) => ({ value, pageViews: 1 }))
      const top = async () => ({ asOf: '2026-11-22T10:39:00.000Z', stale: false, figures })
      Object.assign(source, { top })
      const { body } = await get('/figures.json').expect(200)
      const [page, referrer] = body.lists.map((list: { top: { figures: { value: unknown }[] } }) =>
        list.top.figures.map(({ value }) => value),
      )
      assert.deepEqual(page, ['(internal)', 'a.example', null])
      assert.deepEqual(referrer, ['a.example', '(internal)', null])
    })

    test('a list ends with what has no name, and knows what was before where it can', async () => {
      const { get, source } = site()
      const asOf = '2026-11-22T10:39:00.000Z'
      const TODAY = Date.parse('2026-11-22')
      const values = (...figures: (readonly [string | null, number])[]) => ({
        asOf,
        stale: false,
        figures: figures.map(([value, pageViews]) => ({ value, pageViews })),
      })
      const listed = async (then: Parameters<typeof values>) => {
        const now = values([null, 9], ['(other)', 8], ['a', 7], ['b', 6])
        const asked: number[][] = []
        Object.assign(source, {
          top: async (_: string, { from, to, n }: { from: number; to: number; n: number }) => {
            asked.push([from, to, n])
            if (n === 13) return now
            return from === TODAY
              ? values(['a', 5], ['b', 6], [null, 8], ['(other)', 8])
              : values(...then)
          },
        })
        const { body } = await get('/figures.json?range=today').expect(200)
        assert.deepEqual(asked.slice(0, 3), [
          [TODAY, Date.parse('2026-11-23'), 13],
          [TODAY, Date.parse('2026-11-22T10:00Z'), 1_000],
          [Date.parse('2026-11-15'), Date.parse('2026-11-15T10:00Z'), 1_000],
        ])
        return body.lists[0].top.figures.map((one: object) => Object.values(one))
      }
      assert.deepEqual(await listed([['a', 1]]), [
        ['a', 7, 5, 1],
        ['b', 6, 6, 0],
        [null, 9, 8, 0],
        ['(other)', 8, 8, 0],
      ])
      const others: Parameters<typeof values> = [
        ['a', 1],
        ['(other)', 2],
      ]
      assert.deepEqual(await listed(others), [
        ['a', 7, 5, 1],
        ['b', 6],
        [null, 9],
        ['(other)', 8, 8, 2],
      ])
    })

    test('the history of a value or an item has null where it is not known', async () => {
      const { get } = site({ authorize: () => true, hits: [inventedHits('threads')] })
      const range = 'from=2026-11-01&to=2026-11-03'
      const views = (body: { figures: { pageViews: number | null }[] }) =>
        body.figures.map(({ pageViews }) => pageViews)
      const { body } = await get(`/history.json?dimension=page&value=%2F&${range}`).expect(200)
      assert.deepEqual([views(body)[0], views(body).length], [null, 2])
      const { text } = await get(`/history.csv?dimension=page&value=%2F&${range}`)
        .expect(200)
        .expect('Content-Disposition', /"forum-value-days-2026-11-01-2026-11-02\.csv"/)
      assert.match(text, /^start,pageViews\r\n2026-11-01T00:00:00.000Z,\r\n2026-11-02.*Z,\d+\r\n$/)
      const { body: item } = await get(`/history.json?hits=threads&value=x&${range}`).expect(200)
      assert.deepEqual(views(item), [0, 1])
      const of = 'range=yesterday&hits=threads&value=x'
      const { body: shown } = await get(`/item.json?${of}`).expect(200)
      assert.deepEqual([views(shown.sums).length, shown.before.length], [24, 24])
    })

    test('hits are listed by name, each on its own', async () => {
      const failing = {
        name: 'images',
        top: () => Promise.reject(new Error('away')),
        history: async () => [],
      }
      const { get } = site({ authorize: () => true, hits: [inventedHits('threads'), failing] })
      const { body } = await get('/hits.json?range=30d').expect(200)
      assert.deepEqual(body[0].items[0], {
        item: 'threads-1',
        hits: 30 * 900,
        over: 29 * 900,
        before: 29 * 900,
      })
      assert.equal(body[0].asOf, '2026-11-22T10:40:00.000Z')
      assert.deepEqual(body[1], { name: 'images', asOf: body[0].asOf, items: null, total: null })
    })

    test('a wrong query is 400, with the parameter, its value and what is allowed', async () => {
      const { get, source } = site()
      const wrong: [string, string, string][] = [
        ['/history.csv?from=2026-11-02&to=2026-11-01', 'from', '2026-11-02'],
        ['/history.json?by=year', 'by', 'year'],
        ['/figures.json?step=1', 'step', '1'],
        ['/figures.json?step=-1001', 'step', '-1001'],
        ['/figures.json?against=all', 'against', 'all'],
        ['/top.csv?dimension=color', 'dimension', 'color'],
        ['/figures.json?range=week', 'range', 'week'],
        ['/hits.json?range=week', 'range', 'week'],
        ['/figures.json?from=2026-11-02&to=2026-11-01', 'from', '2026-11-02'],
        ['/figures.json?from=2026-02-30&to=2026-11-01', 'from', '2026-02-30'],
        ['/figures.json?dimension=color', 'dimension', 'color'],
        ['/history.json?hits=threads&value=x', 'hits', 'threads'],
        ['/history.json?dimension=page&value=', 'value', ''],
        [`/item.json?dimension=page&value=${'x'.repeat(4_097)}`, 'value', 'x'.repeat(80)],
        ['/top.json?dimension=page&n=0', 'n', '0'],
        ['/top.csv?dimension=page&n=1000000', 'n', '1000000'],
        ['/shown.csv?dimension=page&n=0', 'n', '0'],
        ['/shown.json?hits=none', 'hits', 'none'],
        ['/shown.json?range=week', 'range', 'week'],
      ]
      for (const [path, parameter, value] of wrong) {
        const { body, headers } = await get(path).expect(400)
        assert.equal(body.parameter, parameter)
        assert.equal(body.value, value)
        assert(body.error.includes(`"${parameter}"`) && body.error.includes(body.allowed))
        assert.equal(headers['cache-control'], 'no-store')
      }
      assert.deepEqual(source.asked, [])
    })

    test('hits that are asked for with a dimension, or too long an item, are refused', async () => {
      const { get } = site({ authorize: () => true, hits: [inventedHits('threads')] })
      for (const path of ['/item.json?value=x&', '/shown.csv?']) {
        const { body } = await get(`${path}hits=threads&dimension=page`).expect(400)
        assert.deepEqual([body.parameter, body.value], ['hits', 'threads'])
        assert.equal(body.allowed, 'threads, without a dimension')
      }
      const { body } = await get(`/item.json?hits=threads&value=${'é'.repeat(128)}`).expect(400)
      assert.deepEqual([body.parameter, body.allowed], ['value', 'an item of hits'])
    })

    test('the history is a CSV file', async () => {
      const { get, source } = site()
      const { text, headers } = await get('/history.csv?by=hour&from=2026-09-01&to=2026-11-01')
        .expect(200)
        .expect('Content-Type', 'text/csv; charset=utf-8')
      assert.equal(
        headers['content-disposition'],
        'attachment; filename="forum-hours-2026-09-01-2026-10-31.csv"',
      )
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      const lines = text.split('\r\n')
      assert.equal(lines[0], 'start,pageViews,visitors,bots,seen,unseen')
      assert.match(lines[1]!, /^2026-09-01T00:00:00.000Z(?:,\d+){5}$/)
      assert.match(lines.at(-2)!, /^2026-10-31T23:00:00.000Z(?:,\d+){5}$/)
      assert.equal(lines.length, 1 + 61 * 24 + 1)
      assert.equal(new Set(lines).size, lines.length)
      assert.equal(source.asked.length, 1)
      const { text: days } = await get('/history.csv?from=2024-01-01&to=2026-01-01').expect(200)
      assert.equal(days.split('\r\n').length, 1 + 731 + 1)
    })

    test('the tops are a CSV file in which no text is a formula or a word of its own', async () => {
      const { get, source } = site()
      const { headers } = await get('/top.csv?dimension=under:/%22a%C3%A9%0D%0A').expect(200)
      assert.equal(
        headers['content-disposition'],
        'attachment; filename="forum-under___a___-2026-10-23-2026-11-22.csv"',
      )
      const range = 'from=2026-11-01&to=2026-11-02'
      const { text } = await get(`/top.csv?dimension=page&n=100&${range}`).expect(200)
      assert.match(text, /^value,pageViews,seen\r\n\/,2160,1080\r\n/)
      assert(text.includes(`"'=HYPERLINK(""http://example.org"",""x"")",432,216\r\n`))
      assert(text.includes(`${HOSTILE},540,270\r\n`))
      const { text: referrers } = await get(`/top.csv?dimension=referrer&${range}`).expect(200)
      assert.match(referrers, /\r\n\(none\),2160,\d+\r\n/)
      const figures = [null, '(none)'].map((value) => ({ value, pageViews: 1 }))
      const top = async () => ({ asOf: '2026-11-22T10:39:00.000Z', stale: false, figures })
      Object.assign(source, { top })
      const { text: forged } = await get('/top.csv?dimension=campaign').expect(200)
      assert.equal(forged, "value,pageViews\r\n(none),1\r\n'(none),1\r\n")
    })

    test('what the page shows is a file, with shares, changes and what was before', async () => {
      const { get, source } = site({ authorize: () => true, hits: [inventedHits('threads')] })
      const rowsOf = async (query: string) => {
        const { text } = await get(`/shown.csv?${query}`).expect(200)
        return text.trimEnd().split('\r\n')
      }
      const { text, headers } = await get('/shown.csv?dimension=referrer&n=2').expect(200)
      assert.equal(
        headers['content-disposition'],
        'attachment; filename="forum-referrer-2026-11-16-2026-11-22.csv"',
      )
      assert.equal(text.split('\r\n')[0], 'value,pageViews,seen,share,over,before,change')
      const { body } = await get('/shown.json?dimension=referrer&n=2').expect(200)
      assert.deepEqual(
        body.figures.map(({ value }: { value: string }) => value),
        ['news.example', 'search.example', null, '(other)'],
        'what has no name comes last, whatever its rank',
      )
      assert.deepEqual(
        text.split('\r\n').map((line) => line.split(',')[0]),
        ['value', 'news.example', 'search.example', '(none)', '(other)', ''],
      )
      const { body: week } = await get('/figures.json').expect(200)
      const total = week.sums.figures.reduce(
        (sum: number, { pageViews }: { pageViews: number }) => sum + pageViews,
        0,
      )
      const [{ pageViews, share, over, before, change }] = body.figures
      assert.equal(share, Math.round((1e4 * pageViews) / total) / 1e4)
      assert.equal(change, Math.round(1e4 * (over / before - 1)) / 1e4)
      assert(over < pageViews, 'without the hour that has begun')

      const today = await rowsOf('range=today')
      assert.equal(today[0], 'start,pageViews,visitors,bots,seen,unseen,before')
      assert.equal(today.length, 1 + 24)
      assert.match(today[11]!, /^2026-11-22T10:00:00.000Z(?:,\d+){6}$/)
      assert.match(today[12]!, /^2026-11-22T11:00:00.000Z,{6}\d+$/, 'it is not 0: it has not come')
      const value = await rowsOf('range=7d&dimension=page&value=%2F')
      assert.equal(value[0], 'start,pageViews,before')
      assert.match(value[7]!, /^2026-11-22T00:00:00.000Z,,$/, 'not known on Sundays')
      assert.match(value[6]!, /^2026-11-21T00:00:00.000Z,\d+,\d+$/)

      const items = await rowsOf('hits=threads&n=1')
      assert.equal(items[0], 'item,hits,share,over,before,change')
      assert.deepEqual(items.slice(1), ['threads-1,6300,0.3679,5400,5400,0'], 'six days are over')
      assert.deepEqual((await rowsOf('hits=threads&n=1&range=today')).slice(1), [
        'threads-1,900,0.3678,,,',
      ])
      source.failing.add('history')
      await get('/shown.csv?dimension=page').expect(503)
      await get('/shown.json').expect(503)
    })

    test('hits are compared from their first whole day on', async () => {
      const young = (firstDay: string | null) => ({
        ...inventedHits('young'),
        firstDay: async () => firstDay,
      })
      for (const [firstDay, compared] of [
        [null, {}],
        ['2026-11-20', {}],
        ['2026-11-14', {}],
        ['2026-11-11', { over: 2_700, before: 2_700 }],
        ['2026-11-08', { over: 5_400, before: 5_400 }],
      ] as const) {
        const { get } = site({ authorize: () => true, hits: [young(firstDay)] })
        const { body } = await get('/hits.json').expect(200)
        assert.deepEqual(body[0].items[0], { item: 'young-1', hits: 6_300, ...compared })
        const { text } = await get('/shown.csv?hits=young&n=1').expect(200)
        assert.match(text, 'over' in compared ? /,0\r\n$/ : /,,,\r\n$/)
      }
    })

    test('nothing is compared while the first day cannot be read', async () => {
      const { get, source } = site()
      Object.assign(source, { firstDay: () => Promise.reject(new Error('away')) })
      const { body } = await get('/figures.json').expect(200)
      assert.equal(body.firstDay, null)
      assert(body.before.every((one: unknown) => one === null))
      assert.deepEqual(Object.keys(body.lists[0].top.figures[0]), ['value', 'pageViews', 'seen'])
    })

    test('items of hits beyond those that are listed are not known, and not 0', async () => {
      const many = {
        ...inventedHits('many'),
        top: async (n: number, { to }: { to: number }) =>
          Array.from({ length: to < NOW - 86_400_000 ? 2 : n }, (_, at): [string, number] => [
            `item-${at}`,
            10,
          ]),
      }
      const { get } = site({ authorize: () => true, hits: [many] })
      const { body } = await get('/hits.json?range=yesterday&n=100').expect(200)
      const [{ items, total }] = body
      assert.equal(total, null, 'so there are no shares')
      assert.equal(items.length, 100)
      assert.deepEqual(items[1], { item: 'item-1', hits: 10, over: 10, before: 10 })
      assert.deepEqual(items[2], { item: 'item-2', hits: 10, over: 10, before: 0 })
      const shown = await get('/shown.json?hits=many&range=yesterday&n=1').expect(200)
      assert.equal(shown.body.figures[0].share, null)
      assert.equal(shown.body.span.by, 'hour')
    })

    test('HEAD asks nothing for files; what is no path or method of its own fails', async () => {
      const { app, get, source } = site()
      await request(app).head('/admin/activity/').expect(200)
      for (const path of FILES) await request(app).head(`/admin/activity${path}`).expect(200)
      assert.deepEqual(source.asked, [])
      await request(app).post('/admin/activity/now.json').expect(405)
      for (const path of [
        '/other',
        '/page.html',
        '/refused.html',
        '/tsconfig.json',
        '/../router.js',
      ]) {
        await get(path).expect(404)
      }
    })

    test("an answer of the site's own, sent meanwhile, does no harm", async () => {
      const errors: unknown[] = []
      /** The site answers while `authorize` or the source is asked. */
      const answering = (whom: 'authorize' | 'source', fails = false) => {
        const app = express()
        const clock = new ManualClock(NOW)
        const source = new InventedSource(clock.now)
        let answer = (): void => {}
        app.use((_req: unknown, res: Response, next: () => void) => {
          answer = () => void res.status(504).send('too late')
          next()
        })
        const { history, overview } = source
        const late = <T>(work: () => Promise<T>): Promise<T> => {
          if (whom === 'source') answer()
          return fails ? Promise.reject(new Error('away')) : work()
        }
        source.history = (range) => late(() => history.call(source, range))
        source.overview = () => late(() => overview.call(source))
        const authorize = async (): Promise<boolean> => {
          if (whom === 'authorize') answer()
          return true
        }
        const logger = new BurstLogger(keptLog(), clock.elapsed)
        app.use(dashboardRouter(source, { authorize }, logger, clock))
        app.use((error: unknown, _req: unknown, _res: unknown, next: () => void) => {
          errors.push(error)
          next()
        })
        return app
      }
      for (const path of ['/', '/now.json', '/history.csv', ASSETS[0]!, '/top.json?n=0']) {
        await request(answering('authorize')).get(path).expect(504)
      }
      for (const path of ['/now.json', '/history.csv', '/history.json']) {
        await request(answering('source')).get(path).expect(504)
        await request(answering('source', true)).get(path).expect(504)
      }
      assert.deepEqual(errors, [])
    })

    test("an error that is not the query's goes on to the site", async () => {
      const { app, source } = site()
      const time = new Date(NOW).toISOString()
      const circular: unknown[] = []
      circular.push(circular)
      Object.assign(source, {
        history: async () => ({ figures: circular, asOf: time, stale: false }),
      })
      const errors: string[] = []
      app.use((error: Error, _req: unknown, res: Response, _next: () => void) => {
        errors.push(error.name)
        res.status(500).end()
      })
      await request(app).get('/admin/activity/history.json').expect(500)
      assert.deepEqual(errors, ['TypeError'])
    })
  })
}
