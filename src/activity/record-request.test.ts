/** `activity.record(req)`: the rules of the middleware, but for those of a response. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, expresses, serving, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { packedPairs, unpackPair } from './packed-dimensions.js'
import { BurstLogger } from '../support/logger.js'
import { deviceClass } from './dimensions/device-class.js'
import type { Measure } from '../page-views/measures.js'
import { requestViews } from './middleware.js'
import { type ActivityOptions, activitySettings } from './options.js'
import type { Request } from '../page-views/express.js'
import { createActivity } from './site-activity.js'

/** A request for `/api/views?x` from a browser, or what `fields` make of it. */
function requestOf(headers: Record<string, string> = {}, fields: object = {}): IncomingMessage {
  const req: unknown = {
    method: 'POST',
    url: '/views?x',
    originalUrl: '/api/views?x',
    headers: { ...TO_A_PAGE, ...headers },
    socket: { remoteAddress: '192.0.2.1' },
    ...fields,
  }
  return req as IncomingMessage
}

function recorder(options: ActivityOptions = {}) {
  const counted: (readonly [page: string, identity: string | undefined, agent: boolean])[] = []
  const dimensions: (readonly string[])[] = []
  const measures: Measure[] = []
  const log = keptLog()
  const { record } = requestViews(
    activitySettings({ collect: false, ...options }),
    (viewed, identity, userAgent) => {
      counted.push([viewed.page, identity, userAgent === BROWSER])
      measures.push(viewed.measure)
      dimensions.push(packedPairs(viewed.dimensions ?? '').flatMap(unpackPair))
    },
    new BurstLogger(log, () => 0),
  )
  return { counted, dimensions, measures, log, record }
}

test('the page is the one given, else that of the option, else the path', () => {
  const { counted, record } = recorder()
  record(requestOf(), '/threads/7')
  record(requestOf(), undefined)
  record(requestOf({}, { originalUrl: undefined }), undefined)
  const asked = recorder({ page: (req) => `of ${req.originalUrl}` })
  asked.record(requestOf(), '/threads/7')
  asked.record(requestOf(), undefined)
  const behind = {
    publicPath: '/app',
    page: ({ originalUrl, baseUrl }: Request) => originalUrl + baseUrl,
  }
  const proxied = recorder(behind)
  proxied.record(requestOf(), undefined)
  assert.deepEqual(
    [...counted, ...asked.counted, ...proxied.counted].map(([page]) => page),
    ['/threads/7', '/api/views', '/views', '/threads/7', 'of /api/views?x', '/app/api/views?x/app'],
  )
})

test('the visitor is the address with the user agent, or what the option says', () => {
  const { counted, record } = recorder()
  record(requestOf(), '/')
  const asked = recorder({ visitor: (req) => req.headers['x-user'] as string })
  asked.record(requestOf({ 'x-user': 'anna' }), '/')
  asked.record(requestOf(), '/')
  assert.deepEqual(counted, [['/', '192.0.2.1', true]])
  assert.deepEqual(asked.counted, [
    ['/', 'anna', false],
    ['/', undefined, false],
  ])
  assert.match(asked.log.lines.join('\n'), /given as "visitor" returned undefined/)
})

test('bots and who asks for privacy are treated as the options say', () => {
  const bot = { 'user-agent': 'Googlebot/2.1' }
  const all = (options: ActivityOptions) => {
    const { counted, measures, record } = recorder(options)
    for (const headers of [bot, { 'sec-gpc': '1' }, { dnt: '1' }, {}]) {
      record(requestOf(headers), '/')
    }
    return counted.map(([, identity], at) =>
      measures[at] === 'bots' && identity === undefined ? 'bots' : identity !== undefined,
    )
  }
  assert.deepEqual(all({}), ['bots', false, false, true])
  assert.deepEqual(all({ privacySignals: 'skip' }), ['bots', true])
  assert.deepEqual(all({ privacySignals: 'ignore' }), ['bots', true, true, true])
})

test('dimensions have their values; skip is not asked, since there is no response', () => {
  const { counted, dimensions, record } = recorder({
    skip: () => assert.fail('skip is asked'),
    dimensions: { device: deviceClass(), path: (req) => req.url },
  })
  record(requestOf(), '/')
  assert.equal(counted.length, 1)
  assert.deepEqual(dimensions, [['device', 'desktop', 'path', '/views?x']])
})

test('a request that cannot be looked at is not counted, and the log says so', () => {
  const { counted, log, record } = recorder()
  record(requestOf({}, { socket: undefined }), '/')
  assert.deepEqual(counted, [])
  assert.match(log.lines.join('\n'), /a request could not be read \(.* TypeError\)/)
})

test('record() tells a request from a visit, and takes what is right of a view', async () => {
  const [database, log] = [sqlite(':memory:'), keptLog()]
  const activity = createActivity({ database, cache: memory(), collect: false, logger: log })
  activity.record(requestOf(), { page: '/given' })
  activity.record(requestOf())
  activity.record(requestOf(), { page: 7 as never })
  activity.record({ page: '/told', visitor: 'anna' })
  await activity.flush()
  await activity.drain({ all: true })
  const { rows } = await database.query('SELECT page, visitor FROM activities ORDER BY page')
  assert.deepEqual(
    rows.map(({ page }) => page),
    ['/api/views', '/api/views', '/given', '/told'],
  )
  assert.equal(new Set(rows.map(({ visitor }) => String(visitor))).size, 2)
  assert.deepEqual(log.lines, [
    'wide-cache: record() got a number as "page", not a text; ' +
      'the visit counts for the page of the request',
  ])
  await activity.close()
  await database.close()
})

for (const [name, express] of expresses) {
  test(`${name}: a request whose client has gone counts for it, by any method`, async () => {
    const counted: (string | undefined)[] = []
    const { middleware, record } = requestViews(
      activitySettings({ collect: false }),
      (_viewed, identity) => counted.push(identity),
      new BurstLogger(keptLog(), () => 0),
    )
    const app = express()
    const [asked, gone]: IncomingMessage[][] = [[], []]
    app.use(middleware())
    app.post('/api', (req) => {
      asked!.push(req)
      req.socket.on('close', () => gone!.push(req))
    })
    await serving(app, async (port) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`POST /api HTTP/1.1\r\nHost: x\r\nUser-Agent: ${BROWSER}\r\n\r\n`)
      await eventually('it is asked', () => asked!.length === 1)
      socket.destroy()
      await eventually('the client has gone', () => gone!.length === 1)
      record(gone![0]!, '/read')
    })
    assert.deepEqual(counted, ['127.0.0.1'])
  })
}
