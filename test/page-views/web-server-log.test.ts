/**
 * Real web servers log what people, bots and scripts ask of a site, through a cache and a CDN. The
 * log and the site count alike, and what is changed in SQL is found.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import express from 'express'
import { closeDays } from '../../src/activity/day-closing.js'
import { formatFor } from '../../src/cli/reconcile/fields.js'
import { reconcile } from '../../src/cli/reconcile/reconcile.js'
import { createActivity, type Database, memory, sqlite } from '../../src/index.js'
import { dayText } from '../../src/support/calendar-days.js'
import { DAY_MS } from '../../src/support/clock.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER, listening, serving } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { freePort } from '../servers/free-port.js'
import { fetchHttp2 } from '../servers/http2-client.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { behindProxy } from '../servers/proxies.js'

const folder = temporaryFolder('web-server-log')
after(() => removeFolder(folder))
// Workers of the servers, which are other users, keep their caches there.
chmodSync(folder, 0o777)

const ACCEPT = 'text/html,application/xhtml+xml,*/*;q=0.8'
const PERSON = { 'user-agent': BROWSER, accept: ACCEPT, 'sec-fetch-dest': 'document' }
const BOT = { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)', accept: '*/*' }
const SCRIPT = { 'user-agent': BROWSER, accept: '*/*', 'sec-fetch-dest': 'empty' }

type Headers = Readonly<Record<string, string>>

/** What is asked for, how often, and the reason of its lines in the log. */
const TRAFFIC: readonly (readonly [
  reason: string,
  times: number,
  path: string,
  headers: Headers,
  method?: string,
])[] = [
  ['page', 5, '/threads/1', PERSON],
  ['page', 2, '/threads/1?page=2', PERSON],
  ['page', 3, '/caf%c3%a9/%22', { ...PERSON, 'user-agent': `${BROWSER} "quoted\\` }],
  ['page', 2, '/same', { ...PERSON, 'if-none-match': '"same"' }],
  ['bot', 4, '/threads/1', BOT],
  ['prefetch', 2, '/threads/1', { ...PERSON, 'sec-purpose': 'prefetch' }],
  ['part', 3, '/threads/1', SCRIPT],
  ['part', 1, '/threads/2', { ...PERSON, 'sec-fetch-dest': 'iframe' }],
  ['type', 3, '/style.css', SCRIPT],
  ['type', 1, '/picture', PERSON],
  ['type', 2, '/picture', { ...PERSON, 'if-none-match': '"picture"' }],
  ['type', 1, '/saved', PERSON],
  ['redirect', 2, '/moved', PERSON],
  ['error', 2, '/missing', PERSON],
  ['method', 2, '/threads/1', PERSON, 'POST'],
  ['method', 1, '/threads/1', PERSON, 'HEAD'],
  ['never', 2, '/admin', PERSON],
]

function site(middleware: express.Handler): express.Express {
  const app = express()
  app.use((req, res, next) => (req.path === '/admin' ? next() : middleware(req, res, next)))
  app.get('/style.css', (_req, res) => void res.type('css').send('p {}'))
  app.get('/picture', (_req, res) => void res.set('ETag', '"picture"').type('png').send('x'))
  app.get('/same', (_req, res) => void res.set('ETag', '"same"').send('<p>same'))
  app.get('/saved', (_req, res) => void res.attachment('a.html').send('<p>'))
  app.get('/moved', (_req, res) => res.redirect('/threads/1'))
  app.get('/cached', (_req, res) => void res.set('Cache-Control', 'max-age=600').send('<p>'))
  app.get('/missing', (_req, res) => void res.status(404).send('<p>'))
  app.use((_req, res) => void res.send('<p>'))
  return app
}

const CADDY_H2C = 'servers {\nprotocols h1 h2c\n}\n'

/** Settings that log to `log`, keep `/cached`, serve `/own` themselves, and listen for HTTP/2. */
const SERVERS = {
  nginx: (log: string, pages: string, http2: number) => ({
    outer:
      formatFor('nginx').split('# In the block "server"')[0]! +
      `proxy_cache_path ${join(folder, 'nginx-cache')} keys_zone=pages:1m use_temp_path=off;\n`,
    snippet: `listen 127.0.0.1:${http2} http2;
      access_log ${log} wide_cache;
      access_log ${log}.combined combined;
      location = /own.html { root ${pages}; default_type text/html; }
      location / {
        proxy_pass http://127.0.0.1:3000;
        proxy_cache pages;
        proxy_cache_convert_head off;
      }`,
  }),
  apache: (log: string, pages: string) => ({
    outer: ['cache', 'cache_disk', 'http2', 'alias', 'mime']
      .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`)
      .join(''),
    snippet: `Protocols h2c http/1.1
      TypesConfig /dev/null
      ${formatFor('apache').replace(/CustomLog \S+/, `CustomLog ${log}`)}
      CacheRoot ${join(folder, 'apache-cache')}
      CacheEnable disk /cached
      AllowEncodedSlashes On
      <Directory ${pages}>
        Require all granted
        ForceType text/html
      </Directory>
      Alias /own.html ${pages}/own.html
      ProxyPass /own.html !
      ProxyPass / http://127.0.0.1:3000/ nocanon`,
  }),
  caddy: (log: string, pages: string) => ({
    outer: CADDY_H2C,
    snippet: `example.com {
      ${formatFor('caddy').replace(/output file \S+/, `output file ${log}`)}
      handle /own.html {
        root * ${pages}
        file_server
      }
      reverse_proxy 127.0.0.1:3000
    }`,
  }),
} satisfies Record<string, (log: string, pages: string, http2: number) => object>

async function ask(port: number, path: string, headers: Headers, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, method, headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode!))
    })
    asked.on('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`)))
    asked.end()
  })
}

/** Forwards requests, as a CDN that keeps what it may. */
function cdn(port: number) {
  const kept = new Map<string, string>()
  return createServer((req, res) => {
    const path = req.url ?? '/'
    const known = kept.get(path)
    if (known !== undefined) return void res.setHeader('Content-Type', 'text/html').end(known)
    const host = `127.0.0.1:${port}`
    const headers = { ...req.headers, host, via: '1.1 cdn', 'x-forwarded-for': '192.0.2.7' }
    const forwarded = request({ port, host: '127.0.0.1', path, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers)
      let body = ''
      answer.setEncoding('latin1').on('data', (text) => (body += text))
      answer.on('end', () => {
        if (answer.headers['cache-control']?.includes('max-age')) kept.set(path, body)
        res.end(body, 'latin1')
      })
    })
    forwarded.end()
  })
}

const countOfLines = (log: string): number =>
  existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0

async function visit(port: number, http2: number): Promise<void> {
  for (const [, times, path, headers, method] of TRAFFIC) {
    for (let time = 0; time < times; time++) await ask(port, path, headers, method)
  }
  for (let time = 0; time < 3; time++) {
    const answer = await fetchHttp2(`http://127.0.0.1:${http2}/threads/2`, { headers: PERSON })
    assert.equal(answer.status, 200)
  }
  for (let time = 0; time < 4; time++) await ask(port, '/cached', PERSON)
  for (let time = 0; time < 2; time++) await ask(port, '/own.html', PERSON)
  await listening(cdn(port), async (outside) => {
    for (let time = 0; time < 3; time++) {
      await ask(outside, '/cached?cdn', PERSON)
      await ask(outside, '/threads/3', PERSON)
    }
  })
}

/** Lines of the days before and after, since only whole days are compared. */
function withDaysAround(log: string, text: string): string {
  const line = text.split('\n').find((one) => one.includes('/style.css'))!
  const shifted = (days: number): string =>
    line
      .replace(/"(time|ts)":("?)([\d.]+)/, (_, field, quote, seconds) => {
        return `"${field}":${quote}${(Number(seconds) + days * 86_400).toFixed(3)}`
      })
      .replace(/\[\d\d\/[^\]]+\]/, () => {
        const [, date, month, year, time] = new Date(Date.now() + days * DAY_MS)
          .toUTCString()
          .split(' ')
        return `[${date}/${month}/${year}:${time} +0000]`
      })
  writeFileSync(log, `${shifted(-1)}\n${text}${shifted(1)}\n`)
  return log
}

async function reconciled(log: string, database: string, from: number, host?: string) {
  let stdout = ''
  const out = new Writable({ write: (chunk, _, done) => ((stdout += String(chunk)), done()) })
  const [first, end] = [dayText(from), dayText(Math.floor(Date.now() / DAY_MS) + 1)]
  const unset = { name: undefined, allow: '0', format: undefined, csv: false }
  const options = { ...unset, files: [log], database, from: first, to: end, host, json: true }
  const status = await reconcile(options, keptLog(), out)
  return { status, ...(JSON.parse(stdout) as Report) }
}

interface Report {
  readonly days: readonly { pages: { log: number; counted: number }; bots: object }[]
  readonly pages: readonly { day: string; page: string; log: number; counted: number }[]
  readonly lines: Readonly<Record<string, number>>
  readonly limits: readonly string[]
}

/** Has the days of the site until now closed, as if it was the day after tomorrow. */
async function close(database: Database): Promise<void> {
  for (const name of ['activity', 'activity.bots']) {
    await closeDays(database, name, Date.now() + 2 * DAY_MS, 0, () => {})
  }
}

for (const server of ['nginx', 'apache', 'caddy'] as const) {
  test(`the log of ${server} and the site count alike, and a changed day is found`, async () => {
    const [log, pages] = [join(folder, `${server}.log`), join(folder, `${server}-pages`)]
    for (const name of [`${server}-pages`, 'apache-cache', 'nginx-cache']) {
      mkdirSync(join(folder, name), { recursive: true, mode: 0o777 })
      chmodSync(join(folder, name), 0o777)
    }
    writeFileSync(join(pages, 'own.html'), '<p>')
    const file = join(folder, `${server}.db`)
    const [cache, database] = [memory(), sqlite(file)]
    const activity = createActivity({ cache, database, collect: false, logger: keptLog() })
    const today = Math.floor(Date.now() / DAY_MS)
    activity.record({ page: '/before', at: Date.now() - 3 * DAY_MS })
    try {
      await serving(site(activity.middleware()), async (sitePort) => {
        const http2 = await freePort()
        const { outer, snippet } = SERVERS[server](log, pages, http2)
        const lines = TRAFFIC.reduce((sum, [, times]) => sum + times, 0) + 3 + 4 + 2 + 4
        const use = async (port: number) => {
          await visit(port, server === 'nginx' ? http2 : port)
          await eventually('all lines are logged', () => countOfLines(log) === lines)
        }
        await behindProxy(server, snippet, sitePort, use, outer)
      })
      await activity.flush()
      await activity.drain({ all: true })
      await close(database)
      withDaysAround(log, readFileSync(log, 'utf8'))
      const found = await reconciled(log, `sqlite:${file}`, today)
      const { status, days, lines, pages: differing } = found
      assert.deepEqual(differing, [])
      assert.equal(status, 0)
      const wanted: Record<string, number> = { outside: 2, page: 3 + 1 + 3, unread: 0, host: 0 }
      for (const [reason, times] of TRAFFIC) wanted[reason] = (wanted[reason] ?? 0) + times
      // What the server has answered by itself; this Caddy does not say.
      const [own, kept] = server === 'caddy' ? ['never', 'page'] : ['server', 'server']
      wanted[own] = (wanted[own] ?? 0) + 2
      wanted[kept] = (wanted[kept] ?? 0) + 3
      wanted['page']! += 1
      assert.deepEqual(lines, { server: 0, content: 0, ...lines, ...wanted })
      const sum = days.reduce((views, one) => views + one.pages.counted, 0)
      assert.equal(sum, wanted['page'])

      if (server === 'nginx') {
        const combined = `${log}.combined`
        withDaysAround(combined, readFileSync(combined, 'utf8'))
        const less = await reconciled(combined, `sqlite:${file}`, today)
        // In advance, parts, and what the cache has answered.
        assert.equal(less.lines['page'], wanted['page']! + 2 + 4 + 3)
        assert.equal(less.lines['never'], 2 + 7 + 2)
        assert.deepEqual([less.status, less.lines['type'], less.limits.length], [1, 0, 2])
      }

      await database.query(
        'UPDATE activity_day_values SET views = views + 2 WHERE day >= ? AND value = ?',
        [today, Buffer.from('/threads/1')],
      )
      const after = await reconciled(log, `sqlite:${file}`, today)
      assert.equal(after.status, 1)
      assert.deepEqual(after.pages, [
        { day: dayText(today), page: '/threads/1', log: 7, counted: 9 },
      ])
    } finally {
      await activity.close()
      await Promise.all([cache.close(), database.close()])
    }
  })
}
