/** Which bots read the pages, and which pages they read, on three databases. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import express, { type Request } from 'express'
import request from 'supertest'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { exportSums } from '../cli/export.js'
import { SILENT } from '../support/logger.js'
import type { Activity } from './activity.js'
import { section } from './dimensions/section.js'
import { source } from './dimensions/source.js'
import { overview } from './overview.js'
import type { SiteFigures } from './overview-figures.js'
import { createActivity } from './site-activity.js'

const folder = temporaryFolder('bots')
after(() => removeFolder(folder))

const PERSON = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0'
/** Views of a day, by the user agent. */
const VIEWS = [
  ['GPTBot/1.2', '/a', 4],
  ['GPTBot/1.3', '/b', 2],
  ['ClaudeBot/1.0', '/a', 3],
  ['ChatGPT-User/1.0', '/a', 2],
  ['Mozilla/5.0 (compatible; Googlebot/2.1)', '/b', 1],
  ['Mozilla/5.0 (compatible; UptimeRobot/2.0)', '/', 5],
  ['MyOwnCrawler/3.1', '/', 1],
  ['', '/', 1],
  ['GPTBot/1.2', '/guide.md', 2],
  ['curl/8.5.0', '/llms.txt', 1],
  ['GPTBot/1.2', '/style.css', 4],
  [PERSON, '/a', 7],
  [PERSON, '/blog/x', 2],
  [PERSON, '/blog/y', 1],
  [PERSON, '/blogs/z', 1],
  [PERSON, '/guide.md', 3],
] as const
const TYPES = ['.md', '.txt', '.css']

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'bots.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

/** Referrers of people, and what they are. */
const SOURCES = [
  ['https://chatgpt.com/', 'assistants', 3],
  ['https://claude.ai/chat/1', 'assistants', 2],
  ['https://gemini.google.com/app', 'assistants', 1],
  ['https://www.perplexity.ai/search', 'assistants', 1],
  ['https://www.google.com/', 'search', 2],
] as const
const ago = (days: number): number => Date.now() - days * 86_400_000

for (const [where, fresh] of databases) {
  test(`${where}: three sites are on one page, each for those who may see it`, async () => {
    const database = await fresh()
    const options = { cache: 'memory:', database, logger: SILENT, dimensions: { source: source() } }
    const [blog, shop, forum] = ['blog', 'shop', 'forum'].map((name) =>
      createActivity({ ...options, name, timeZone: name === 'shop' ? 'Asia/Tokyo' : undefined }),
    ) as [Activity, Activity, Activity]
    const app = express()
    app.use('/blog/stats', blog.dashboard({ authorize: () => true }))
    app.use('/blog', blog.middleware(), (_req, res) => void res.send('<h1>A page</h1>'))
    const authorize = (req: Request, name: string) => req.get('x-sites')!.includes(name)
    app.use('/sites', overview([blog, shop, forum], { authorize }))
    for (const [referrer, , times] of SOURCES) {
      for (let n = 0; n < times; n++) {
        const asked = request(app).get('/blog').set('User-Agent', PERSON).set('Accept', 'text/html')
        await asked.set('Referer', referrer)
      }
    }
    for (const [site, week, before] of [
      [blog, 3, 4],
      [shop, 6, 4],
    ] as const) {
      for (let n = 0; n < week; n++) site.record({ page: '/', at: ago(1 + n) })
      for (let n = 0; n < before; n++) site.record({ page: '/', at: ago(8 + n) })
      site.record({ page: '/', at: ago(20) })
    }
    forum.record({ page: '/', at: ago(1) })
    for (const one of [blog, shop, forum]) {
      await one.flush()
      await one.drain({ all: true })
    }
    const sites = async (names: string) => {
      const { body } = await request(app).get('/sites/sites.json').set('x-sites', names).expect(200)
      return (body as SiteFigures[]).map(({ days, ...one }) => ({ ...one, days: days.length }))
    }
    const shown = { days: 30 }
    assert.deepEqual(await sites('blog shop forum'), [
      { name: 'shop', zone: 'Asia/Tokyo', now: 0, week: 6, before: 4, change: 0.5, ...shown },
      { name: 'blog', zone: 'UTC', now: 9, week: 3, before: 4, change: -0.25, ...shown },
      { name: 'forum', zone: 'UTC', now: 0, week: null, before: null, change: null, ...shown },
    ])
    assert.deepEqual(
      (await sites('forum shop')).map(({ name }) => name),
      ['shop', 'forum'],
    )
    const page = request(app).get('/sites/')
    await page.set('x-sites', 'none').expect(403, /You may not see this page/)
    await request(app).get('/sites/sites.json').set('x-sites', 'none').expect(403)
    const range = `from=${ago(2.5)}&to=${Date.now()}`
    const { body } = await request(app).get(`/blog/stats/top.json?dimension=source&${range}`)
    assert.deepEqual(body.figures, [
      { value: 'assistants', pageViews: 7 },
      { value: 'search', pageViews: 2 },
      { value: null, pageViews: 2 },
    ])
    await Promise.all([blog, shop, forum].map((one) => one.close()))
  })

  test(`${where}: bots are told by name and purpose, apart from people`, async () => {
    const database = await fresh()
    // As many as a site may have.
    const dimensions = Object.fromEntries(
      Array.from({ length: 15 }, (_, n) => [`d${n}`, () => `value ${n}`]),
    )
    const activity = createActivity({
      cache: 'memory:',
      database,
      dimensions: { ...dimensions, section: section() },
      botTypes: ['text/markdown', 'text/plain'],
      logger: SILENT,
    })
    const app = express()
    app.use('/admin', activity.dashboard({ authorize: () => true }))
    app.use(activity.middleware())
    app.use(({ path }, res) => {
      const type = TYPES.find((one) => path.endsWith(one)) ?? '.html'
      // Names of types are the same in capitals.
      if (type === '.md') res.setHeader('Content-Type', 'Text/Markdown ; charset=utf-8')
      else res.type(type)
      res.end('<h1>A page</h1>')
    })
    for (const [userAgent, page, times] of VIEWS) {
      for (let n = 0; n < times; n++) {
        await request(app).get(page).set('User-Agent', userAgent).set('Accept', 'text/html')
      }
    }
    await activity.flush()
    await activity.drain({ all: true })
    const to = Date.now() + 3_600_000
    const range = { from: to - 2 * 86_400_000, to }
    const top = async (dimension: string, bots?: boolean) =>
      (await activity.top(dimension, { ...range, bots })).map((one) => Object.values(one))
    const ofBots = [
      ['GPTBot', 8],
      ['UptimeRobot', 5],
      ['ClaudeBot', 3],
      ['ChatGPT-User', 2],
    ]
    assert.deepEqual((await top('bot')).slice(0, 4), ofBots)
    assert.deepEqual(
      (await top('bot')).slice(4).toSorted(),
      [
        ['Googlebot', 1],
        ['MyOwnCrawler', 1],
        ['curl', 1],
        [null, 1],
      ].toSorted(),
    )
    assert.deepEqual((await top('botPurpose')).slice(0, 2), [
      ['training', 11],
      ['monitoring', 5],
    ])
    assert.deepEqual(await top('page', true), [
      ['/a', 9],
      ['/', 7],
      ['/b', 3],
      ['/guide.md', 2],
      ['/llms.txt', 1],
    ])
    assert.deepEqual(await top('page'), [
      ['/a', 7],
      ['/blog/x', 2],
      ['/blog/y', 1],
      ['/blogs/z', 1],
    ])
    assert.deepEqual(await top('section'), [
      [null, 7],
      ['/blog/', 3],
      ['/blogs/', 1],
    ])
    const listed = async (dimension: string) => {
      const { body } = await request(app).get('/admin/top.json').query({ dimension })
      return body.figures.map((one: object) => Object.values(one))
    }
    assert.deepEqual(await listed('under:/blog/'), [
      ['/blog/x', 2],
      ['/blog/y', 1],
    ])
    for (const dimension of ['bot', 'botPurpose']) {
      assert.deepEqual(await listed(dimension), await top(dimension))
    }
    assert.deepEqual(await listed('bots:page'), await top('page', true))
    for (const [dimension, views] of [
      ['bots:page', 9],
      ['page', 7],
    ] as const) {
      const { body } = await request(app).get('/admin/item.json').query({ dimension, value: '/a' })
      const counts = body.sums.figures.map((day: { pageViews: number | null }) => day.pageViews)
      assert.equal(counts.at(-1), views, `${dimension} has a history of its own`)
    }
    assert.equal(
      (await top('d14', true)).reduce((sum, [, views]) => sum + Number(views), 0),
      22,
    )
    const days = await activity.history({ ...range, by: 'day', dimension: 'bot', value: 'GPTBot' })
    assert.equal(
      days.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0),
      8,
    )
    const all = await activity.history({ ...range, by: 'day' })
    assert.deepEqual(
      [
        all.reduce((sum, day) => sum + day.pageViews!, 0),
        all.reduce((sum, day) => sum + day.bots!, 0),
      ],
      [11, 22],
    )
    const today = new Date().toISOString().slice(0, 10)
    for (const text of ['Released', 'Released \u{1f389}']) await activity.note(today, text)
    const { body: noted } = await request(app).get('/admin/shown.json?range=7d').expect(200)
    assert.equal(noted.figures.at(-1).note, 'Released \u{1f389}')
    await activity.note(today, null)
    let printed = ''
    const out = new Writable({
      write(chunk, _, done) {
        printed += String(chunk)
        done()
      },
    })
    const [from, until] = [range.from, range.to].map((ms) => new Date(ms).toISOString())
    const unset = { name: undefined, by: undefined, format: undefined, value: undefined }
    const flags = { ...unset, dimension: undefined, n: 2 }
    await exportSums({ database, from, to: until, top: 'bot', ...flags }, SILENT, out)
    assert.equal(printed, 'value,pageViews\r\nGPTBot,8\r\nUptimeRobot,5\r\n')
    await activity.close()
  })
}

test('the names of these dimensions are taken, and their fields are checked', async () => {
  const local = { cache: 'memory:', database: 'sqlite::memory:', logger: SILENT }
  for (const name of ['bot', 'botPurpose', 'gone']) {
    assert.throws(() => createActivity({ ...local, dimensions: { [name]: () => 'x' } }), {
      name: 'RangeError',
      message: /option "dimensions" is ".*"; allowed: another name: a measure of its own has/,
    })
  }
  const types = 'an array of at most 16 types in lower case, such as "text/markdown"'
  for (const [botTypes, shown] of [
    ['text/plain', '"text/plain"'],
    [['text/Plain'], '"text/Plain"'],
    [[7], '7'],
    [Array(17).fill('text/plain'), 'an array'],
  ]) {
    assert.throws(() => createActivity({ ...local, botTypes: botTypes as string[] }), {
      message: `wide-cache: option "botTypes" is ${String(shown)}; allowed: ${types}`,
    })
  }
  const activity = createActivity(local)
  const wrong = { from: 0, to: 1, bots: 1 as unknown as boolean }
  await assert.rejects(activity.top('page', wrong), /option "bots" is 1; allowed: true or false/)
  await activity.close()
})
