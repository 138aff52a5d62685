/** The same site on each server: all of it works there, with visitors. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createActivity, createHits, memory, referrerHost, sqlite } from '../../src/index.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER, listening, TO_A_PAGE } from '../../src/support/http.fixture.js'
import { type KeptLog, keptLog } from '../../src/support/kept-log.fixture.js'
import { fetchHttp2 } from '../servers/http2-client.js'
import { ADMIN, type Framework, frameworks, LATE, NOT_FOUND } from './sites.js'

const OTHER_BROWSER = BROWSER.replace('Chrome/126', 'Chrome/127')

type Ask = (
  path: string,
  init?: RequestInit & { readonly headers?: Record<string, string> },
) => Promise<Response>

interface Site {
  readonly log: KeptLog
  readonly origin: string
  readonly ask: Ask
  /** Views that SQL has of each page, and their visitors. */
  views(atLeast: number): Promise<{ page: string; visitor: string | null }[]>
  /** Hits of the item 7. */
  hits(): Promise<number>
  /** Referrers of today's views. */
  referrers(): Promise<unknown[]>
  /** Page views of today, served and seen. */
  measures(): Promise<unknown[]>
}

async function withSite(
  framework: Framework,
  use: (site: Site) => Promise<void>,
  trusts = false,
): Promise<void> {
  const [cache, database, log] = [memory(), sqlite(':memory:'), keptLog()]
  const grid = { cache, database, collect: false, logger: log } as const
  const activity = createActivity({ ...grid, dimensions: { referrer: referrerHost() } })
  const hits = createHits({ ...grid, name: 'threads' })
  await Promise.all([activity.migrate(), hits.migrate()])
  const rows = async () => {
    await activity.flush()
    await activity.drain({ all: true })
    const { rows } = await database.query('SELECT page, visitor FROM activities ORDER BY page')
    return rows.map(({ page, visitor }) => ({
      page: String(page),
      visitor: Buffer.isBuffer(visitor) ? visitor.toString('hex') : null,
    }))
  }
  try {
    await listening(await framework.site({ activity, hits }, trusts), (port) => {
      const origin = `${framework.http2 ?? 'http'}://127.0.0.1:${port}`
      const range = () => ({ from: Date.now() - 86_400_000, to: Date.now() })
      return use({
        log,
        origin,
        ask: (path, { headers, ...init } = {}) =>
          (framework.http2 ? fetchHttp2 : fetch)(`${origin}${path}`, {
            redirect: 'manual',
            ...init,
            headers: { ...TO_A_PAGE, ...headers },
          }),
        async views(atLeast) {
          await eventually('the views are in SQL', async () => (await rows()).length >= atLeast)
          return rows()
        },
        async hits() {
          await hits.flush()
          await hits.drain({ all: true })
          return hits.count('7')
        },
        referrers: () => activity.top('referrer', range()),
        async measures() {
          await rows()
          const days = await activity.history({ ...range(), by: 'day' })
          const sum = (field: 'pageViews' | 'seen') =>
            days.reduce((total, day) => total + Number(day[field]), 0)
          return [sum('pageViews'), sum('seen')]
        },
      })
    })
  } finally {
    await Promise.all([activity.close(), hits.close()])
    await Promise.all([cache.close(), database.close()])
  }
}

/** What Node warns of: a header that HTTP/2 does not have, for example. */
const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))

const visitorsOf = (views: readonly { visitor: string | null }[]): number =>
  new Set(views.map(({ visitor }) => visitor).filter((visitor) => visitor !== null)).size

for (const framework of frameworks) {
  describe(framework.name, () => {
    test('views count with their visitors, by address and user agent', () =>
      withSite(framework, async ({ ask, views, hits, log }) => {
        for (const [path, agent] of [
          ['/threads/7?a', BROWSER],
          ['/threads/7', OTHER_BROWSER],
          ['/threads/8', BROWSER],
        ] as const) {
          const response = await ask(path, { headers: { ...TO_A_PAGE, 'user-agent': agent } })
          assert.match(await response.text(), /^<h1>[78]<\/h1>$/)
        }
        await (await ask('/threads/7', { headers: { 'user-agent': 'curl/8' } })).text()
        assert.equal(await (await ask('/missing')).text(), NOT_FOUND)
        const counted = await views(3)
        assert.deepEqual(
          counted.map(({ page }) => page),
          ['/threads/7', '/threads/7', '/threads/8'],
        )
        assert.equal(visitorsOf(counted), 2)
        assert.equal(await hits(), 2)
        assert.deepEqual(log.lines, [])
      }))

    test('a view that an API route records is of the same visitor, and of people only', () =>
      withSite(framework, async ({ ask, views, hits, log }) => {
        await (await ask('/threads/7')).text()
        const post = async (headers: Record<string, string>): Promise<void> => {
          const { status } = await ask('/api/views/7', { method: 'POST', headers })
          assert.equal(status, 204)
        }
        await post({})
        await post({ 'user-agent': 'Googlebot/2.1' })
        await post({ 'sec-gpc': '1' })
        const counted = await views(3)
        assert.deepEqual(
          counted.map(({ page }) => page),
          ['/threads/7', '/threads/7', '/threads/7'],
        )
        assert.equal(visitorsOf(counted), 1)
        assert.equal(counted.filter(({ visitor }) => visitor === null).length, 1)
        // One viewer, and one who is not known.
        assert.equal(await hits(), 2)
        assert.deepEqual(log.lines, [])
      }))

    test('a view that is recorded when the client has gone is of the same visitor', () =>
      withSite(framework, async ({ ask, views, hits, log }) => {
        await (await ask('/threads/7')).text()
        for (let i = 0; i < 2; i++) {
          await ask('/api/views/7', { method: 'POST', headers: { [LATE]: '' } })
        }
        const counted = await views(3)
        assert.equal(counted.filter(({ visitor }) => visitor === null).length, 0)
        assert.equal(visitorsOf(counted), 1)
        assert.equal(await hits(), 1)
        assert.deepEqual(log.lines, [])
      }))

    test("the site's own pages are no referrers, and may report views", () =>
      withSite(framework, async ({ ask, origin, views, referrers, measures, log }) => {
        for (const referer of [`${origin}/a`, 'https://example.org/']) {
          await (await ask('/threads/7', { headers: { referer } })).text()
        }
        await views(2)
        assert.deepEqual(await referrers(), [
          { value: '(internal)', pageViews: 1 },
          { value: 'example.org', pageViews: 1 },
        ])
        const report = async (from: Record<string, string>, page = '/threads/7') => {
          const headers = { 'content-type': 'application/json', ...from }
          const body = JSON.stringify({ page })
          return (await ask('/activity/seen', { method: 'POST', headers, body })).status
        }
        assert.equal(await report({ origin }), 204)
        assert.equal(await report({ 'sec-fetch-site': 'same-origin' }), 204)
        assert.equal(await report({ origin }, `/${'a'.repeat(5_000)}`), 413)
        assert.deepEqual([log.lines, warnings], [[], []])
        assert.equal(await report({ origin: 'https://example.org' }), 403)
        assert.deepEqual(await measures(), [2, 2])
        assert.match(log.lines.join('\n'), /a page of https:\/\/example\.org, .* is for 127\.0/)
      }))

    test('behind a proxy that it trusts, visitors are told apart by what the proxy says', () =>
      withSite(
        framework,
        async ({ ask, views, log }) => {
          for (const address of ['192.0.2.1', '192.0.2.2', '6.6.6.6, 192.0.2.1']) {
            await (await ask('/threads/7', { headers: { 'x-forwarded-for': address } })).text()
          }
          assert.equal(visitorsOf(await views(3)), 2)
          assert.deepEqual(log.lines, [])
        },
        true,
      ))

    test("the proxy's own address is never taken for a visitor's in silence", () =>
      withSite(framework, async ({ ask, views, log }) => {
        for (const address of ['192.0.2.1', '192.0.2.2']) {
          await (await ask('/threads/7', { headers: { 'x-forwarded-for': address } })).text()
        }
        const isExpress = framework.name.startsWith('Express')
        assert.equal(visitorsOf(await views(2)), isExpress ? 1 : 0)
        assert.equal(log.lines.length, 2, 'the activity says it once, and so do the hits')
        assert.match(
          log.lines[0]!,
          isExpress
            ? /X-Forwarded-For arrives, but "trust proxy" is off/
            : /the header x-forwarded-for arrives, but req\.ip is not set, .*docs\/frameworks\.md/,
        )
      }))

    test('the figures and the widget are served, with 304 and 405', () =>
      withSite(framework, async ({ ask }) => {
        for (const path of ['/activity', '/activity/', '/activity?x', '/activity/widget.js']) {
          const response = await ask(path)
          assert.equal(response.status, 200, path)
          const body = await response.text()
          assert(body.includes(path.endsWith('.js') ? 'site-activity' : '"pageViews":0'))
          const etag = response.headers.get('etag')!
          const again = await ask(path, { headers: { 'if-none-match': etag } })
          assert.deepEqual([again.status, await again.text()], [304, ''])
          const head = await ask(path, { method: 'HEAD' })
          assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(body)))
        }
        const refused = await ask('/activity', { method: 'DELETE' })
        assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
        assert.equal((await ask('/activity/other')).status, 404)
      }))

    test('the dashboard is served to those who may see it', () =>
      withSite(framework, async ({ ask }) => {
        assert.equal((await ask('/admin/activity/')).status, 403)
        const headers = { [ADMIN]: 'yes' }
        const moved = await ask('/admin/activity?x', { headers })
        assert.deepEqual([moved.status, moved.headers.get('location')], [302, './activity/?x'])
        const page = await ask('/admin/activity/', { headers })
        assert.equal(page.status, 200)
        assert.match(page.headers.get('content-security-policy')!, /^default-src 'none'/)
        assert.match(await page.text(), /<script/)
        const now = await ask('/admin/activity/now.json', { headers })
        const { name } = (await now.json()) as { name: string }
        assert.equal(name, 'activity')
        const csv = await ask('/admin/activity/history.csv?by=hour', { headers })
        assert.equal(csv.status, 200)
        assert.match(await csv.text(), /^start,pageViews,visitors,bots\r\n/)
        assert.equal((await ask('/admin/activity/top.json?n=0', { headers })).status, 400)
      }))

    test('badges are served of the items that are allowed', () =>
      withSite(framework, async ({ ask }) => {
        const badge = await ask('/hits/7.svg')
        assert.equal(badge.headers.get('content-type'), 'image/svg+xml; charset=utf-8')
        assert.match(await badge.text(), /^<svg .*views: 0/)
        assert.deepEqual(await (await ask('/hits/7.json')).json(), { item: '7', hits: 0 })
        assert.equal((await ask('/hits/8.svg')).status, 404)
      }))
  })
}
