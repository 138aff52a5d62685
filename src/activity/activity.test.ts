import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import request from 'supertest'
import { PATIENT } from '../../test/servers/memcached.js'
import { type Cache } from '../cache/cache.js'
import { memcached } from '../cache/memcached/memcached.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { freePort } from '../../test/servers/free-port.js'
import { sharedMemcached, sharedMysqlUrl } from '../../test/servers/shared.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import type { Activity, RecordedVisit } from './activity.js'
import { createActivity, SiteActivity } from './site-activity.js'
import { systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { BROWSER, cutOff, expresses, TO_A_PAGE } from '../support/http.fixture.js'
import { withNodeEnv } from '../support/node-env.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { type ActivityOptions, activitySettings } from './options.js'
import { inWindow, SHORT_LAYERS } from './in-window.fixture.js'
import { readStats } from './stats.js'

const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]
const opened: Activity[] = []
after(() => Promise.all(opened.map((activity) => activity.close())))

function create(options: ActivityOptions = {}): Activity {
  const activity = createActivity({
    cache: memory(),
    database: 'sqlite::memory:',
    collect: false,
    ...SHORT_LAYERS,
    ...options,
  })
  opened.push(activity)
  return activity
}

/** All that is on its way is in SQL. */
async function arrive(activity: Activity): Promise<void> {
  await activity.flush()
  await activity.drain({ all: true })
}

/** A port that passes all calls on to `target` and keeps what they were called with. */
function listened<T extends object>(target: T, heard: unknown[]): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const last = args.at(-1)
        if (name === 'transaction' && typeof last === 'function') {
          return value.call(target, (tx: object) => last(listened(tx, heard)))
        }
        heard.push(args)
        return value.apply(target, args)
      }
    },
  })
}

/** Everything said to a port, as one text: bytes as latin1 and as hex. */
function textOf(heard: readonly unknown[]): string {
  const flat: unknown[] = [heard].flat(5)
  return flat
    .map((value) =>
      Buffer.isBuffer(value)
        ? `${value.toString('latin1')} ${value.toString('hex')}`
        : inspect(value),
    )
    .join('\n')
}

test('metrics count visits, and tell nothing of pages or visitors', async () => {
  const activity = create()
  activity.record({ page: '/secret-page', visitor: 'secret-visitor' })
  await arrive(activity)
  const page = await activity.metrics()
  assert.match(page, /^wide_cache_committed_total\{name="activity"\} 1$/m)
  assert.match(page, /^wide_cache_process_issued_total\{name="activity"\} 1$/m)
  assert.doesNotMatch(page, /secret/)
  assert.deepEqual(activity.health(), { live: true, ready: true, reasons: [] })
  await activity.close()
  assert.deepEqual(activity.health(), {
    live: true,
    ready: false,
    reasons: ['it has been closed by close()'],
  })
})

test('requests come back as figures and as rows', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ database })
  const app = express()
  app.use(activity.middleware())
  app.use('/activity', activity.router())
  app.use((_req, res) => void res.send('<p>a page</p>'))
  for (const [agent, path] of [
    [BROWSER, '/'],
    [BROWSER, '/a?b'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', '/'],
  ] as const) {
    await request(app)
      .get(path)
      .set({ ...TO_A_PAGE, 'user-agent': agent })
  }
  await inWindow(activity)
  const { body } = await request(app).get('/activity').expect(200)
  assert.deepEqual(
    { ...body, asOf: '' },
    {
      windowSeconds: 600,
      pageViews: 3,
      visitors: 2,
      asOf: '',
      stale: false,
      lower: 3,
      upper: 3,
    },
  )
  assert(Math.abs(Date.parse(body.asOf) - Date.now()) < 60_000)
  assert.deepEqual(await activity.stats(), body)
  const { rows } = await database.query('SELECT page FROM activities ORDER BY number')
  assert.deepEqual(
    rows.map(({ page }) => page),
    ['/', '/a', '/'],
  )
  assert.deepEqual(await activity.ledger(), {
    issued: 3,
    committed: 3,
    duplicate: 0,
    quarantined: 0,
    dropped: 0,
    outstanding: 0,
    owed: 0,
    lost: 0,
  })
  await activity.close()
  await database.close()
})

test('upper has the rows known to be missing, and equals lower once they have come', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const cache = new FaultyCache(memory())
  const options = { database, cache, name: 'bounds', windowSeconds: 600 }
  const bounds = async (activity: Activity) => {
    await cache.flush()
    const { pageViews, lower, upper } = await activity.stats()
    assert.equal(lower, pageViews)
    return [lower, upper]
  }
  const activity = create(options)
  activity.record({ page: '/' })
  await inWindow(activity)
  const lostAt = Date.now()
  activity.record({ page: '/lost' })
  await activity.flush()
  await cache.flush()
  activity.record({ page: '/' })
  const recordedAt = Date.now()
  await arrive(activity)
  const isMissing = async (): Promise<boolean> => {
    const [lower, upper] = await bounds(activity)
    return upper! - lower! === 1
  }
  await eventually('the row is known to be missing', isMissing)
  await eventually('the layer of the later row has been drained', async () => {
    const { watermark } = await activity.drain()
    return watermark >= Math.floor(recordedAt / 1000)
  })
  assert(await isMissing())
  assert(Date.parse((await activity.stats()).asOf) <= lostAt, 'the window ends before it')
  // Of a process that is not seen in the window, nothing is in it.
  const asOf = Date.now() + 601_000
  const later = await readStats(database, { name: 'bounds', asOf, stale: false }, 600)
  assert.deepEqual([later.lower, later.upper], [0, 0])
  await activity.close()
  const next = create(options)
  await eventually('nothing is missing', async () => {
    await next.drain()
    return (await bounds(next))[0] === 3
  })
  assert.deepEqual(await bounds(next), [3, 3])
  await next.close()
  await database.close()
})

test('upper has the visits that their process has dropped, as long as the window', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ database, maxFrameBytes: 1_024 })
  const boundsAt = async (seconds: number) => {
    const asOf = Date.now() + 1000 * seconds
    const { lower, upper } = await readStats(
      database,
      { name: 'activity', asOf, stale: false },
      600,
    )
    return [lower, upper]
  }
  const tooLong = { page: 'x'.repeat(1_024) }
  activity.record(tooLong)
  activity.record({ page: '/' })
  await arrive(activity)
  assert.deepEqual(await boundsAt(1), [1, 2])
  await database.query('UPDATE wide_cache_writers SET gone_at = gone_at - 601000')
  activity.record({ page: '/' })
  await arrive(activity)
  assert.deepEqual(await boundsAt(1), [2, 2])
  activity.record(tooLong)
  await activity.close()
  // Of what it has dropped since its last frame, its process tells as it ends.
  assert.deepEqual(await boundsAt(1), [2, 4])
  assert.deepEqual(await boundsAt(601), [0, 0])
  await database.close()
})

test('a visit recorded right after creation has a visitor: flush waits for the salt', async () => {
  const activity = create()
  activity.record({ visitor: 'anna', page: '/' })
  activity.record({ visitor: 'anna', page: '/' })
  await inWindow(activity)
  const { pageViews, visitors } = await activity.stats()
  assert.deepEqual([pageViews, visitors], [2, 1])
})

test('two processes on one memcached and one MariaDB share figures and visitors', async () => {
  const servers = await sharedMemcached()
  const options = {
    name: `a-${process.pid}-${Date.now()}`,
    database: await sharedMysqlUrl(),
    statsTtlSeconds: 1,
  }
  const caches = [memcached(servers, PATIENT), memcached(servers, PATIENT)] as const
  const [one, two] = [
    create({ ...options, cache: caches[0] }),
    create({ ...options, cache: caches[1] }),
  ]
  for (const activity of [one, two]) {
    activity.record({ visitor: 'anna', page: '/' })
    activity.record({ visitor: `only ${activity === one ? 'one' : 'two'}`, page: '/' })
    await activity.flush()
  }
  await inWindow(one)
  const figures = await two.stats()
  assert.deepEqual([figures.pageViews, figures.visitors], [4, 3])
  assert.deepEqual(await one.stats(), figures)
  await Promise.all([one, two].map((activity) => activity.close()))
  await Promise.all(caches.map((cache) => cache.close()))
})

test('SQL and logs get no address, user agent or salt; the cache gets only the salt', async () => {
  const toCache: unknown[] = []
  const toDatabase: unknown[] = []
  const log = keptLog()
  const cache: Cache = listened(memory(), toCache)
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({
    cache,
    database: listened<Database>(database, toDatabase),
    logger: log,
    page: (req) => {
      if (req.path === '/throws') throw new Error(`from ${req.ip} ${req.headers['user-agent']}`)
      return req.path
    },
    skip: (req) => {
      if (req.path === '/throws') throw new Error(`from ${req.ip} ${req.headers['user-agent']}`)
      return false
    },
  })
  const app = express()
  app.set('trust proxy', true)
  app.use(activity.middleware())
  app.use((_req, res) => void res.send('<p>'))
  const [address, agent] = ['203.0.113.77', 'Mozilla/5.0 (TattleTale 4711)']
  for (const path of ['/', '/throws', '/2']) {
    await request(app)
      .get(path)
      .set({ ...TO_A_PAGE, 'user-agent': agent, 'x-forwarded-for': address })
  }
  activity.record({ visitor: `someone ${address}`, page: '/' })
  activity.record({ visitor: { toString: () => address } as never, page: '/', at: new Date(NaN) })
  await inWindow(activity)
  assert.equal((await activity.stats()).pageViews, 5)
  await activity.close()
  await database.close()

  const saltBytes = (toCache as unknown[][]).find(
    ([key, value]) => String(key).includes(':salt:') && Buffer.isBuffer(value),
  )?.[1]
  assert(Buffer.isBuffer(saltBytes) && saltBytes.length === 32)
  const forms = (text: string): string[] => [
    text,
    Buffer.from(text).toString('hex'),
    Buffer.from(text).toString('base64').slice(0, -4),
  ]
  const [cached, stored, logged] = [textOf(toCache), textOf(toDatabase), log.lines.join('\n')]
  assert.match(stored, /INSERT INTO activities /)
  assert(logged.length > 0 && cached.includes(saltBytes.toString('hex')))
  for (const [place, text] of [
    ['the cache', cached],
    ['SQL', stored],
    ['the log', logged],
  ] as const) {
    for (const form of [address, 'TattleTale', agent].flatMap(forms)) {
      assert(!text.includes(form), `${form} is in ${place}`)
    }
    if (place !== 'the cache') {
      for (const encoding of ['latin1', 'hex', 'base64'] as const) {
        assert(!text.includes(saltBytes.toString(encoding)), `the salt is in ${place}`)
      }
    }
  }
})

test('record takes what is right of a wrong argument, never throws, and says so once', async () => {
  const log = keptLog()
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ logger: log, database })
  const fails = () => {
    throw new Error('a trap')
  }
  const hostile = new Proxy({}, { get: fails, getPrototypeOf: fails, ownKeys: fails })
  const wrong: unknown[] = [
    undefined,
    null,
    7,
    0,
    {},
    { page: 5 },
    { page: '' },
    { page: '/x', visitor: NaN },
    { page: '/x', visitor: {} },
    { page: '/x', visitor: '' },
    { page: '/x', at: 'yesterday' },
    { page: '/x', at: NaN },
    { page: '/x', at: -1 },
    { page: '/x', at: 2 ** 60 },
    { page: '/x', at: Infinity },
    { page: '/x', at: new Date(NaN) },
    { page: '/x', at: Object.assign(new Date(NaN), { getTime: fails }) },
    hostile,
    { page: '/x', visitor: hostile },
    { page: '/x', at: hostile },
  ]
  for (const visit of wrong) activity.record(visit as RecordedVisit)
  await arrive(activity)
  const { rows } = await database.query('SELECT page, visitor, created_at FROM activities')
  assert.equal(rows.length, wrong.length)
  assert.equal(rows.filter(({ page }) => page === '/').length, 8)
  assert(
    rows.every(
      ({ visitor, created_at: at }) =>
        visitor === null && Math.abs(Number(at) - Date.now()) < 60_000,
    ),
  )
  assert.deepEqual(log.lines, [
    'wide-cache: record() got undefined as "page", not a text; the visit counts for the page "/"',
    'wide-cache: record() got NaN as "visitor", not a text or a number; the visit counts ' +
      'without a visitor',
    'wide-cache: record() got a string as "at", not a Date, or milliseconds since 1970; the ' +
      'visit counts as of now',
  ])
  await activity.close()
  await database.close()
})

test('record takes a time, as a number or a Date, an unknown visitor, and any page', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ database })
  const time = Date.now() - 3_600_000
  activity.record({ page: '/a', at: time + 0.7, visitor: null })
  activity.record({ page: '/b', at: new Date(time), visitor: undefined })
  activity.record({ page: `\0${'😀'.repeat(1000)}`, at: Date.now() + 86_400_000, visitor: 'anna' })
  await arrive(activity)
  const { rows } = await database.query(
    'SELECT page, visitor, created_at FROM activities ORDER BY page',
  )
  assert.deepEqual(
    rows.slice(0, 2).map((row) => ({ ...row })),
    [
      { page: '/a', visitor: null, created_at: time },
      { page: '/b', visitor: null, created_at: time },
    ],
  )
  assert.equal(rows[2]?.['page'], `\ufffd${'😀'.repeat(255)}`)
  assert(Number(rows[2]?.['created_at']) <= Date.now())
  await activity.close()
  await database.close()
})

test('with cache and database unreachable, requests are served and count later', async () => {
  const { database } = openDatabase('sqlite::memory:')
  let reachable = false
  const fault = () => (reachable ? 'none' : 'refused')
  const flaky = new FaultyDatabase(database, fault, fault)
  const log = keptLog()
  const activity = create({
    cache: memcached(`127.0.0.1:${await freePort()}`),
    database: flaky,
    logger: log,
  })
  const app = express()
  app.use(activity.middleware())
  app.use('/activity', activity.router())
  app.use((_req, res) => void res.send('<p>'))
  for (let i = 0; i < 5; i++) await request(app).get('/').set(TO_A_PAGE).expect(200)
  await request(app).get('/activity').expect(503)
  reachable = true
  // The failure is the answer for a second.
  await delay(1_000)
  await request(app).get('/activity').expect(200)
  await activity.close()
  const { rows } = await database.query('SELECT visitor FROM activities')
  assert.deepEqual(
    rows.map(({ visitor }) => visitor),
    [null, null, null, null, null],
  )
  assert.equal(
    log.lines.filter((line) => line.includes('without a visitor')).length,
    1,
    log.lines.join('\n'),
  )
  await database.close()
})

test('a silent cache holds up neither close nor its visits for long', async () => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ cache: memcached(`127.0.0.1:${port}`), database, logger: keptLog() })
  activity.record({ visitor: 'anna', page: '/' })
  await activity.close()
  const { rows } = await database.query('SELECT visitor FROM activities')
  assert.deepEqual(
    rows.map(({ visitor }) => visitor),
    [null],
  )
  await database.close()
  silent.close()
})

test('close is idempotent and brings all to SQL; later calls do not throw or wait', async () => {
  const { database } = openDatabase('sqlite::memory:')
  const activity = create({ database })
  activity.record({ visitor: 'anna', page: '/' })
  await Promise.all([activity.close(), activity.close()])
  const report = { committed: 1, quarantined: 0, inCache: 0, lost: 0 }
  assert.deepEqual(await activity.close(), report)
  activity.record({ visitor: 'anna', page: '/late' })
  const { rows } = await database.query('SELECT page, visitor FROM activities')
  assert.deepEqual(
    rows.map(({ page, visitor }) => [page, Buffer.isBuffer(visitor)]),
    [['/', true]],
  )
  await database.close()
})

test('a cache of this process alone is warned of in production, once', async () => {
  const log = keptLog()
  withNodeEnv('production', () => create({ logger: log }))
  assert.equal(
    log.matching(/the cache is memory:.* would count one visitor several times\. Set WIDE_/).length,
    1,
  )
})

for (const [name, express] of expresses) {
  for (const when of ['on close', 'at once'] as const) {
    test(`${name}: pages that are cut off count though close() runs ${when}`, async () => {
      const { database } = openDatabase('sqlite::memory:')
      const log = keptLog()
      const activity = create({ database, logger: log })
      await activity.migrate()
      const app = express()
      app.use(activity.middleware())
      app.use((_req, res) => void res.type('html').write('<p>the beginning of a page'))
      await cutOff(app, ['/a', '/b', '/c'], () => activity.close(), when)
      const { rows } = await database.query('SELECT page FROM activities ORDER BY page')
      assert.deepEqual(
        rows.map(({ page }) => page),
        ['/a', '/b', '/c'],
      )
      assert.deepEqual(log.lines, [])
      await database.close()
    })
  }
}

for (const apart of [-3_600_000, 3_600_000]) {
  test(`visits of a process whose clock is ${apart} ms apart count as of their time`, async () => {
    const { database } = openDatabase('sqlite::memory:')
    const log = keptLog()
    const clock = { ...systemEnvironment.clock, now: () => Date.now() + apart }
    const activity = new SiteActivity(
      activitySettings({ database, cache: memory(), collect: false, logger: log }),
      { ...systemEnvironment, clock },
    )
    await activity.migrate()
    const from = Date.now()
    activity.record({ visitor: 'anna', page: '/' })
    activity.record({ visitor: 'anna', page: '/given', at: from - 600_000 })
    await activity.flush()
    await activity.drain({ all: true })
    const { rows } = await database.query('SELECT page, created_at FROM activities ORDER BY page')
    const times = rows.map((row) => [row['page'], Number(row['created_at']) - from] as const)
    const [[, own] = [], [, given] = []] = times
    assert(Math.abs(own!) < 60_000, JSON.stringify(times))
    assert.equal(given, -600_000)
    const reasons = activity
      .health()
      .reasons.filter((reason) => /the clock of this host/.test(reason))
    assert.equal(reasons.length, 1)
    assert.equal(log.matching(/the clock of this host .* is 3600 s/).length, 1)
    await activity.close()
    await database.close()
  })
}

test('figures that an outage of SQL makes old are marked', async () => {
  let [ahead, isAway] = [0, false]
  const { database } = openDatabase('sqlite::memory:')
  const fault = () => (isAway ? 'refused' : 'none')
  const clock = {
    ...systemEnvironment.clock,
    now: () => Date.now() + ahead,
    elapsed: () => performance.now() + ahead,
  }
  const activity = new SiteActivity(
    activitySettings({
      database: new FaultyDatabase(database, fault, fault),
      cache: memory(),
      logger: keptLog(),
    }),
    { ...systemEnvironment, clock },
  )
  await eventually('a collecting run has ended', async () => !(await activity.stats()).stale)
  const good = await activity.stats()
  isAway = true
  ahead += 5_000
  assert.deepEqual(await activity.stats(), good)
  ahead += 60_000
  assert.deepEqual(await activity.stats(), { ...good, stale: true })
  isAway = false
  await activity.close()
  await database.close()
})
