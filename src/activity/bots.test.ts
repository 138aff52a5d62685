/** Which bots read the pages, and which pages they read, on three databases. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { exportSums } from '../cli/export.js'
import { SILENT } from '../support/logger.js'
import { section } from './dimensions/section.js'
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
  [PERSON, '/a', 7],
  [PERSON, '/blog/x', 2],
  [PERSON, '/blog/y', 1],
  [PERSON, '/blogs/z', 1],
] as const

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'bots.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

for (const [where, fresh] of databases) {
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
      logger: SILENT,
    })
    const app = express()
    app.use('/admin', activity.dashboard({ authorize: () => true }))
    app.use(activity.middleware())
    app.use((_req, res) => void res.send('<h1>A page</h1>'))
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
      ['GPTBot', 6],
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
        [null, 1],
      ].toSorted(),
    )
    assert.deepEqual((await top('botPurpose')).slice(0, 2), [
      ['training', 9],
      ['monitoring', 5],
    ])
    assert.deepEqual(await top('page', true), [
      ['/a', 9],
      ['/', 7],
      ['/b', 3],
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
    assert.deepEqual(await listed('bots:page'), await top('page', true))
    assert.equal(
      (await top('d14', true)).reduce((sum, [, views]) => sum + Number(views), 0),
      19,
    )
    const days = await activity.history({ ...range, by: 'day', dimension: 'bot', value: 'GPTBot' })
    assert.equal(
      days.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0),
      6,
    )
    const all = await activity.history({ ...range, by: 'day' })
    assert.deepEqual(
      [
        all.reduce((sum, day) => sum + day.pageViews!, 0),
        all.reduce((sum, day) => sum + day.bots!, 0),
      ],
      [11, 19],
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
    const flags = { name: undefined, by: undefined, format: undefined, n: 2 }
    await exportSums({ database, from, to: until, top: 'bot', ...flags }, SILENT, out)
    assert.equal(printed, 'value,pageViews\r\nGPTBot,6\r\nUptimeRobot,5\r\n')
    await activity.close()
  })
}

test('the names of these dimensions are taken, and their fields are checked', async () => {
  const local = { cache: 'memory:', database: 'sqlite::memory:', logger: SILENT }
  for (const name of ['bot', 'botPurpose']) {
    assert.throws(() => createActivity({ ...local, dimensions: { [name]: () => 'x' } }), {
      name: 'RangeError',
      message: /option "dimensions" is ".*"; allowed: another name: views of bots have this/,
    })
  }
  const activity = createActivity(local)
  const wrong = { from: 0, to: 1, bots: 1 as unknown as boolean }
  await assert.rejects(activity.top('page', wrong), /option "bots" is 1; allowed: true or false/)
  await activity.close()
})
