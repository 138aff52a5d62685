/** The page of several sites, in a browser, and what it asks of the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import express, { type ErrorRequestHandler } from 'express'
import request from 'supertest'
import { startBrowser } from '../../test/servers/browser.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { complaintsOf } from '../support/browser.fixture.js'
import { BROWSER } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import type { Activity } from './activity.js'
import { overview } from './overview.js'
import { createActivity } from './site-activity.js'

const NAMES = ['blog', 'shop', ...Array.from({ length: 20 }, (_, n) => `site-${n}`)]
const DAY_MS = 86_400_000

test('the page has a row for each site that the request may see, by two statements', async () => {
  const inner = sqlite(':memory:')
  let statements = 0
  const database = {
    ...inner,
    dialect: inner.dialect,
    maxStatementBytes: inner.maxStatementBytes,
    query(...args: Parameters<typeof inner.query>) {
      statements++
      return inner.query(...args)
    },
    transaction: inner.transaction.bind(inner),
    now: () => inner.now(),
    migrate: inner.migrate.bind(inner),
    close: () => inner.close(),
  }
  const log = keptLog()
  const options = { database, cache: memory(), collect: false, logger: log } as const
  const activities = NAMES.map((name) => createActivity({ ...options, name }))
  for (const [index, activity] of activities.entries()) {
    for (const days of [1, 2, 9, 30]) {
      activity.record({ page: '/', at: Date.now() - days * DAY_MS })
    }
    for (let more = 0; more < index % 3; more++) {
      activity.record({ page: '/', at: Date.now() - 3 * DAY_MS })
    }
    await activity.flush()
    await activity.drain({ all: true })
  }
  const app = express()
  const authorize = (_: unknown, name: string): boolean => !name.endsWith('7')
  app.use('/sites', overview(activities, { authorize }))
  app.use('/broken', overview(activities, { authorize: () => 'yes' as unknown as boolean }))
  const server = app.listen(0)
  const browser = await startBrowser({ args: [`--user-agent=${BROWSER}`] })
  try {
    const { port } = server.address() as { port: number }
    const page = await browser.newPage({ locale: 'en-GB' })
    const complaints = complaintsOf(page)
    statements = 0
    await page.goto(`http://127.0.0.1:${port}/sites`)
    await page.getByRole('row').nth(20).waitFor()
    assert.equal(statements, 2)
    statements = 0
    for (let n = 0; n < 4; n++) await request(app).get('/sites/sites.json').expect(200)
    assert(statements <= 2, 'one answer serves all who ask within five seconds')
    const rows = await page.getByRole('row').allInnerTexts()
    assert.equal(rows.length, 1 + NAMES.length - 2)
    assert.deepEqual(rows[0]?.split(/\s*\t\s*/), [
      'Site',
      'Last 10 minutes',
      'Last 7 days',
      'Change',
      'Last 30 days',
    ])
    assert.match(rows[1] ?? '', /^site-0\s+0\s+4\s+\+300\s?%/)
    assert.match(rows.at(-1) ?? '', /^site-\d+\s+0\s+2\s+\+100\s?%/)
    assert.equal(await page.getByRole('status').innerText(), '20 sites')
    const label = '1 page view on the busiest day'
    assert((await page.getByRole('img', { name: label }).count()) > 0)
    const lines = page.locator('polyline')
    for (const line of await lines.all()) {
      const points = (await line.getAttribute('points')) ?? ''
      assert.match(points, /,1\.0( |$)/, 'it is as high as it can')
      assert.match(points, /(?:^| )120\.0,[\d.]+$/, 'it is as wide as it can')
    }
    assert.deepEqual(complaints, [])
    for (const [status, text] of [
      [401, /^You are signed out: sign in/],
      [503, /^There are no new figures at the moment\.$/],
    ] as const) {
      await page.unrouteAll()
      await page.route('**/sites.json', (route) => route.fulfill({ status, body: '{}' }))
      await page.reload()
      await page.getByRole('status').getByText(text).waitFor()
    }
    await request(app).get('/broken/sites.json').expect(403)
    assert.equal(log.matching(/"authorize" returned/).length, 1)
    await inner.query('DROP TABLE activity_days')
    const broken = overview(activities, { authorize })
    await request(express().use(broken)).get('/sites.json').expect(503)
    assert.equal(log.matching(/the overview has no figures at the moment/).length, 1)
  } finally {
    await browser.close()
    server.close()
    await Promise.all(activities.map((one) => one.close()))
    await inner.close()
  }
})

test('what comes after the site has answered does no harm, and no proxy keeps a page', async () => {
  const one = createActivity({ cache: memory(), database: sqlite(':memory:'), collect: false })
  const errors: unknown[] = []
  const handler = overview([one], { authorize: async () => true })
  const late = express()
  late.use((_req, res, next) => {
    next()
    res.status(504).send('too late')
  })
  late.use(handler, ((error, _req, _res, _next) => errors.push(error)) as ErrorRequestHandler)
  for (const path of ['/', '/sites.json']) await request(late).get(path).expect(504, 'too late')
  assert.deepEqual(errors, [])
  for (const path of ['/', '/sites.json']) {
    const { headers } = await request(express().use(handler)).get(path).expect(200)
    assert.match(headers['cache-control'] ?? '', /^private|^no-store/, path)
  }
  await one.close()
})

test('what is no list of open activities is refused, and one of more than a thousand', async () => {
  const one = createActivity({ cache: memory(), database: sqlite(':memory:'), collect: false })
  overview(Array(1_000).fill(one))
  for (const wrong of [[], [{}], 'blog', undefined, Array(1_001).fill(one)]) {
    assert.throws(() => overview(wrong as Activity[]), {
      name: 'TypeError',
      message: /option "activities" is .*; allowed: an array of 1 to 1000 activities/,
    })
  }
  await one.close()
  assert.throws(() => overview([one]), /close/)
})
