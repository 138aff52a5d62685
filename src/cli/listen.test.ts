import assert from 'node:assert/strict'
import { request, Server } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { raw } from '../support/http.fixture.js'
import { type KeptLog, keptLog } from '../support/kept-log.fixture.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { freePort } from '../../test/servers/free-port.js'
import { createActivity } from '../activity/site-activity.js'
import { eventually } from '../support/eventually.fixture.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMemcached } from '../../test/servers/shared.js'
import { commandOf, UsageError } from './arguments.js'
import { collect } from './collect.js'
import { addressOf, listen, hostAndPort, type Served } from './listen.js'
import { servedBy } from './served.js'

describe('where to listen', () => {
  const allowed: [text: string, host: string, port: number][] = [
    ['9464', '127.0.0.1', 9464],
    [':9464', '127.0.0.1', 9464],
    ['0', '127.0.0.1', 0],
    ['0.0.0.0:80', '0.0.0.0', 80],
    ['collector.site-1.example:65535', 'collector.site-1.example', 65_535],
    ['[::1]:9464', '::1', 9464],
  ]
  for (const [text, host, port] of allowed) {
    test(`${text} is port ${port} of ${host}`, () => {
      assert.deepEqual(addressOf(text), { host, port })
    })
  }
  for (const text of [
    '',
    'localhost',
    'localhost:',
    '::1:9464',
    '[localhost]:1',
    '127.0.0.1:65536',
    '127.0.0.1:-1',
    '127.0.0.1:9464/metrics',
    'http://127.0.0.1:9464',
    'u:s3cret@h:1',
    '1 2',
    '9464\n',
  ]) {
    test(`${JSON.stringify(text)} is refused, and not repeated`, () => {
      assert.throws(
        () => addressOf(text),
        (error) => {
          assert(error instanceof UsageError)
          assert.match(error.message, /^--listen wants host:port[^\n]*$/)
          return true
        },
      )
    })
  }
})

/** Serves while `use` runs; counts how often its source is asked. */
async function serving(
  served: Partial<Served>,
  use: (port: number, asked: Readonly<Record<keyof Served, number>>) => Promise<void>,
): Promise<void> {
  const asked = { metrics: 0, troubles: 0 }
  const server = await listen(addressOf('0'), {
    metrics: async () => (asked.metrics++, (await served.metrics?.()) ?? 'up 1\n'),
    troubles: async () => (asked.troubles++, (await served.troubles?.()) ?? []),
  })
  try {
    await use(server.port, asked)
  } finally {
    server.close()
  }
}

function ask(port: number, path: string, method = 'GET') {
  return new Promise<{ status: number | undefined; headers: NodeJS.Dict<unknown>; body: string }>(
    (resolve, reject) => {
      request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
        const { statusCode: status, headers } = response
        text(response).then((body) => resolve({ status, headers, body }), reject)
      })
        .on('error', reject)
        .end()
    },
  )
}

/** The port that the command says it listens on. */
function portOf({ lines }: KeptLog): number | undefined {
  const [, port] = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(lines.join('\n')) ?? []
  return port === undefined ? undefined : Number(port)
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

test('three paths are served, to be read only, and nothing else', async () => {
  await serving({}, async (port) => {
    const cases: [method: string, path: string, status: number, type: string, body: string][] = [
      ['GET', '/healthz', 200, JSON_TYPE, '{"live":true}\n'],
      ['GET', '/readyz?verbose=1', 200, JSON_TYPE, '{"ready":true,"reasons":[]}\n'],
      ['GET', '/metrics', 200, METRICS_TYPE, 'up 1\n'],
      ['HEAD', '/metrics', 200, METRICS_TYPE, ''],
      ['POST', '/metrics', 405, TEXT_TYPE, 'Method not allowed\n'],
      ['DELETE', '/healthz', 405, TEXT_TYPE, 'Method not allowed\n'],
      ['GET', '/', 404, TEXT_TYPE, 'Not found\n'],
      ['POST', '/', 404, TEXT_TYPE, 'Not found\n'],
      ['GET', '/metrics/', 404, TEXT_TYPE, 'Not found\n'],
      ['GET', '//metrics', 404, TEXT_TYPE, 'Not found\n'],
      ['GET', '/%6detrics', 404, TEXT_TYPE, 'Not found\n'],
      ['GET', '/__proto__', 404, TEXT_TYPE, 'Not found\n'],
    ]
    for (const [method, path, status, type, body] of cases) {
      const { headers, ...answer } = await ask(port, path, method)
      assert.deepEqual(answer, { status, body }, `${method} ${path}`)
      assert.equal(headers['content-type'], type)
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['allow'], status === 405 ? 'GET, HEAD' : undefined)
    }
    assert.match(await raw(port, 'NONSENSE\r\n\r\n'), /^HTTP\/1.1 400 /)
  })
})

test('a hundred requests in a second ask once', async () => {
  await serving({}, async (port, asked) => {
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => ask(port, n % 2 ? '/metrics' : '/readyz')),
    )
    assert(asked.metrics <= 2 && asked.troubles <= 2, JSON.stringify(asked))
  })
})

test('who still waits for an answer when it closes does not wait for ever', async () => {
  const never = new Promise<string>(() => undefined)
  const metrics = () => (queueMicrotask(() => server.close()), never)
  const server = await listen(addressOf('0'), { metrics, troubles: async () => [] })
  await assert.rejects(ask(server.port, '/metrics'), { code: 'ECONNRESET' })
})

test('a connection that cannot be accepted ends nothing', async (t) => {
  const started = t.mock.method(Server.prototype, 'listen')
  await serving({}, async (port) => {
    const server = started.mock.calls[0]!.this as Server
    // As Node says it for lack of file descriptors.
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
    assert.equal((await ask(port, '/healthz')).status, 200)
  })
})

test('a collector that lags is not ready, and says why', async () => {
  const troubles = async () => ['activity: collecting lags 90 s behind']
  await serving({ troubles }, async (port) => {
    const { status, body } = await ask(port, '/readyz')
    assert.equal(status, 503)
    assert.deepEqual(JSON.parse(body), { ready: false, reasons: await troubles() })
    assert.equal((await ask(port, '/healthz')).status, 200)
  })
})

test('a place that is taken is named, with the reason', async () => {
  await serving({}, async (port) => {
    const served = { metrics: async () => '', troubles: async () => [] }
    await assert.rejects(
      listen({ host: '127.0.0.1', port }, served),
      (error) =>
        error instanceof UsageError &&
        error.message === `--listen: nothing can listen on 127.0.0.1:${port} (EADDRINUSE)`,
    )
  })
  assert.equal(hostAndPort({ host: '::1', port: 80 }), '[::1]:80')
})

test('collect --listen tells how what it collects is', async () => {
  const folder = temporaryFolder('listen')
  const cache = `memcached://${await sharedMemcached()}`
  const database = `sqlite:${join(folder, 'site.db')}`
  const name = `listened-${process.pid}`
  const activity = createActivity({ name, cache, database, collect: false })
  activity.record({ page: '/secret-page' })
  await activity.flush()
  await activity.drain({ all: true })
  const log = keptLog()
  const stop = new AbortController()
  const asked = commandOf(['collect', '--collect', '* * * * * *', '--listen', '0', '--name', name])
  assert(asked.command === 'collect')
  const collecting = collect({ ...asked.options, cache, database }, log, stop.signal)
  const port = await eventually('it listens', () => portOf(log))
  await eventually('it is ready', async () => (await ask(port, '/readyz')).status === 200)
  const page = await eventually('it has figures', async () => {
    const { body } = await ask(port, '/metrics')
    return body.includes('wide_cache_committed_total') && body
  })
  assert.match(page, new RegExp(`^wide_cache_committed_total\\{name="${name}"\\} 1$`, 'm'))
  assert.doesNotMatch(page, /secret/)
  stop.abort()
  await collecting
  await assert.rejects(ask(port, '/healthz'), { code: 'ECONNREFUSED' })
  // What it collects has been closed before the database.
  const site = sqlite(join(folder, 'site.db'))
  const { rows } = await site.query('SELECT lease_until FROM wide_cache_grids')
  assert.deepEqual(rows, [{ lease_until: 0 }])
  await site.close()
  await activity.close()
  removeFolder(folder)
})

test('collect --listen says that the database does not answer', async () => {
  const stop = new AbortController()
  const asked = commandOf(['collect', '--listen', '0'])
  assert(asked.command === 'collect')
  const log = keptLog()
  const cache = await sharedMemcached()
  const database = `mysql://root@127.0.0.1:${await freePort()}/none`
  const collecting = collect({ ...asked.options, cache, database }, log, stop.signal)
  const port = await eventually('it listens', () => portOf(log))
  await eventually('it has asked', async () => {
    const { status, body } = await ask(port, '/readyz')
    assert.equal(status, 503)
    return body.includes('the database does not answer')
  })
  stop.abort()
  await collecting
})

test('several collectors make one page, and one list of reasons with their names', async () => {
  const one = (name: string, troubles: string[]) =>
    [
      name,
      {
        metrics: async () => `# TYPE rows counter\nrows{name="${name}"} 1\n`,
        collectingTroubles: async () => troubles,
      },
    ] as const
  const closing = [
    'closing',
    {
      metrics: () => Promise.reject(new Error('closed')),
      collectingTroubles: () => Promise.reject(new Error('closed')),
    },
  ] as const
  const served = servedBy(
    () => [one('a', []), closing, one('b', ['lags'])],
    () => 'the database does not answer',
  )
  assert.equal(await served.metrics(), '# TYPE rows counter\nrows{name="a"} 1\nrows{name="b"} 1\n')
  assert.deepEqual(await served.troubles(), ['the database does not answer', 'b: lags'])
  assert.deepEqual(await servedBy(() => []).troubles(), [])
})
