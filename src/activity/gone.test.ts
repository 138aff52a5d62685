/** Addresses that people went to and that are not there, on three databases. */
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
import { createActivity } from './site-activity.js'

const folder = temporaryFolder('gone')
after(() => removeFolder(folder))

const PERSON = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0'
const HTML = { 'User-Agent': PERSON, Accept: 'text/html' }
const NEWS = { ...HTML, Referer: 'https://www.news.example/list?private=1' }

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'gone.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

for (const [where, fresh] of databases) {
  test(`${where}: missing addresses are listed, and in no other figure`, async () => {
    const database = await fresh()
    const activity = createActivity({
      cache: 'memory:',
      database,
      logger: SILENT,
      skip: (req) => req.path.startsWith('/admin'),
    })
    // A busy database may make its tables for longer than visits wait for the salt of visitors.
    await activity.migrate()
    const app = express()
    app.use('/admin', activity.dashboard({ authorize: () => true }))
    app.use(activity.middleware())
    app.get('/', (_req, res) => void res.send('<h1>A page</h1>'))
    app.get('/gone', (_req, res) => void res.sendStatus(410))
    app.get('/error', (_req, res) => void res.sendStatus(500))
    for (const [path, headers] of [
      ['/', HTML],
      ['/old?secret=1', NEWS],
      ['/old', NEWS],
      ['/old', HTML],
      ['/gone', { ...HTML, DNT: '1' }],
      ['/error', HTML],
      // Those are no pages that a person went to.
      ['/old.png', { ...HTML, Accept: 'image/*' }],
      ['/old', { ...HTML, 'Sec-Fetch-Dest': 'image' }],
      ['/old', { ...HTML, 'Sec-Purpose': 'prefetch' }],
      ['/old', { ...HTML, 'User-Agent': 'GPTBot/1.0' }],
      ['/admin/nothing', HTML],
    ] as const) {
      await request(app).get(path).set(headers)
    }
    await request(app).head('/old').set(HTML)
    await activity.flush()
    await activity.drain({ all: true })
    const to = Date.now() + 3_600_000
    const range = { from: to - 2 * 86_400_000, to }
    const listed = (await activity.top('gone', range)).map((one) => Object.values(one))
    assert.deepEqual(listed[0], ['/old ← news.example', 2])
    assert.deepEqual(listed.slice(1).toSorted(), [
      ['/gone', 1],
      ['/old', 1],
    ])
    assert.deepEqual(await activity.top('page', range), [{ value: '/', pageViews: 1 }])
    const value = '/old ← news.example'
    const days = await activity.history({ ...range, by: 'day', dimension: 'gone', value })
    assert.equal(
      days.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0),
      2,
    )
    const all = await activity.history({ ...range, by: 'day' })
    for (const [field, views] of [
      ['pageViews', 1],
      ['visitors', 1],
      ['bots', 0],
    ] as const) {
      assert.equal(
        all.reduce((sum, day) => sum + day[field]!, 0),
        views,
        field,
      )
    }
    const { body } = await request(app).get('/admin/shown.json?dimension=gone').expect(200)
    assert.deepEqual(body.figures[0], {
      value,
      pageViews: 2,
      share: null,
      over: null,
      before: null,
      change: null,
    })
    let printed = ''
    const out = new Writable({
      write(chunk, _, done) {
        printed += String(chunk)
        done()
      },
    })
    const [from, until] = [range.from, range.to].map((ms) => new Date(ms).toISOString())
    const unset = { name: undefined, by: undefined, format: undefined, value: undefined }
    const flags = { ...unset, dimension: undefined, n: 1 }
    await exportSums({ database, from, to: until, top: 'gone', ...flags }, SILENT, out)
    assert.equal(printed, `value,pageViews\r\n${value},2\r\n`)
    await activity.close()
  })
}
