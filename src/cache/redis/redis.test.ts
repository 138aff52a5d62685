import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { after, before, describe, test } from 'node:test'
import { Redis as IoRedis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { createClient as createClientOfVersion5 } from 'redis5'
import { testCache } from '../../testing/cache.js'
import { testCacheModel } from '../model.suite.js'
import { testServerFaults } from '../server-faults.suite.js'
import { redis } from './redis.js'
import { eventually } from '../../support/eventually.fixture.js'
import { freePort } from '../../../test/servers/free-port.js'
import { PATIENT } from '../../../test/servers/memcached.js'
import { startRedisCluster } from '../../../test/servers/redis-cluster.js'
import { type Redis, startRedis } from '../../../test/servers/redis.js'

const MIB = 1024 * 1024
const x = Buffer.from('x')

let server: Redis
let client: ReturnType<typeof createClient>
let oldestClient: ReturnType<typeof createClientOfVersion5>
let cluster: Awaited<ReturnType<typeof startRedisCluster>>
let clusterClient: ReturnType<typeof createCluster>
before(async () => {
  ;[server, cluster] = await Promise.all([startRedis(), startRedisCluster()])
  client = createClient({ url: server.url })
  oldestClient = createClientOfVersion5({ url: server.url })
  clusterClient = createCluster({ rootNodes: [{ url: cluster.urls[0]! }] })
  await Promise.all([client.connect(), oldestClient.connect(), clusterClient.connect()])
})
after(async () => {
  client.destroy()
  oldestClient.destroy()
  clusterClient.destroy()
  await Promise.all([server.stop(), cluster.stop()])
})

const byUrl = () => redis(server.url, PATIENT)
const byClient = () => redis({ client, ...PATIENT })
const byOldestClient = () => redis({ client: oldestClient, ...PATIENT })
const byCluster = () => redis({ client: clusterClient, ...PATIENT })
const capabilities = { itemLimitBytes: MIB }
testCache({ test, name: 'redis', create: byUrl, capabilities })
testCache({ test, name: "the site's own client of redis", create: byClient, capabilities })
testCache({ test, name: 'a client of redis 5.0.0', create: byOldestClient, capabilities })
testCache({ test, name: 'redis cluster', create: byCluster, capabilities })
testCacheModel(test, 'redis', byUrl)
testCacheModel(test, 'redis cluster', byCluster, 20)

testServerFaults({
  name: 'redis',
  start: (port) => startRedis([], port),
  open: (address, options) => redis(`redis://${address}`, options),
  program:
    `(await import('${new URL('redis.ts', import.meta.url).href}')).redis` +
    "('redis://' + address, { timeoutMs: 300 })",
  strays: [Buffer.from('$1\r\ny\r\n'), Buffer.from('+OK\r\n'), Buffer.from('\0\0\0')],
})

describe('redis: a client of the site', () => {
  test('stays open when the cache is closed, and its replies stay texts', async () => {
    const cache = byClient()
    await cache.set('site:text', Buffer.from('text'), 60)
    await cache.close()
    assert.equal(await client.get('site:text'), 'text')
  })

  test('that is not connected is not waited for', async () => {
    const late = createClient({ url: server.url })
    const cache = redis({ client: late, ...PATIENT })
    await assert.rejects(cache.append('late', x), {
      code: 'CACHE_UNREACHABLE',
      message: /Redis client is not connected/,
    })
    await late.connect()
    assert.equal(await cache.set('late', x, 60), true)
    late.destroy()
  })

  test('in flight at the end of its connection rejects, and is not sent again', async () => {
    const received: Buffer[] = []
    let drops = false
    const proxy = createServer((socket) => {
      const upstream = connect(Number(new URL(server.url).port), '127.0.0.1')
      socket.on('data', (data) => {
        received.push(data)
        if (drops) socket.destroy()
        else upstream.write(data)
      })
      upstream.on('data', (data) => socket.write(data))
      socket.on('close', () => upstream.destroy()).on('error', () => undefined)
      upstream.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as { port: number }
    const own = createClient({ url: `redis://127.0.0.1:${port}` })
    own.on('error', () => undefined)
    await own.connect()
    const cache = redis({ client: own, ...PATIENT })
    await cache.set('cut', x, 60)
    drops = true
    await assert.rejects(cache.append('cut', Buffer.from('only-once')), { code: 'CACHE_TIMEOUT' })
    drops = false
    // It connects again by itself, and by then would send what it kept.
    while (!(await cache.get('cut').catch(() => undefined))) await new Promise(setImmediate)
    assert.equal(Buffer.concat(received).toString('latin1').split('only-once').length - 1, 1)
    own.destroy()
    proxy.close()
  })

  test('a connection of it that breaks ends its own requests, and no others', async () => {
    let answer = (_: Buffer): void => undefined
    const get = (key: string): Promise<unknown> =>
      key === 'broken'
        ? Promise.reject(new Error('Socket closed unexpectedly'))
        : new Promise((resolve) => (answer = resolve))
    const several = {
      isOpen: true,
      isReady: true,
      get,
      eval: () => undefined,
      withCommandOptions: () => several,
    }
    const cache = redis({ client: several, ...PATIENT })
    const other = cache.get('other')
    await assert.rejects(cache.get('broken'), { code: 'CACHE_TIMEOUT', message: /broke the conn/ })
    answer(x)
    assert.deepEqual(await other, x)
    await cache.close()
  })

  test('that connects again is not handed requests, which it would send late', async () => {
    let sent = 0
    const send = async () => void sent++
    const again = { isOpen: true, isReady: false, get: send, eval: send, withCommandOptions }
    function withCommandOptions() {
      return again
    }
    const cache = redis({ client: again, ...PATIENT })
    for (const ask of [cache.get('key'), cache.append('key', x), cache.increment('key')]) {
      await assert.rejects(ask, { code: 'CACHE_UNREACHABLE' })
    }
    assert.equal(sent, 0)
    await cache.close()
  })

  test('is handed no more than it may hold of what it has not answered', async () => {
    let sent = 0
    const send = () => (sent++, new Promise(() => undefined))
    const nodeClient = () => undefined
    const silent = { isOpen: true, nodeClient, get: send, eval: send, withCommandOptions }
    function withCommandOptions() {
      return silent
    }
    const cache = redis({ client: silent, timeoutMs: 10 })
    const asked = Array.from({ length: 8192 }, (_, i) =>
      assert.rejects(cache.get(`key-${i}`), { code: 'CACHE_TIMEOUT' }),
    )
    await Promise.all(asked)
    await assert.rejects(cache.get('key'), { message: /has 8192 requests in flight and is not/ })
    assert.equal(sent, 8192)
    await cache.close()
  })

  test('is asked once for a key that getMany names twice', async () => {
    const asked: string[] = []
    const counting = {
      isOpen: true,
      isReady: true,
      get: async (key: string) => (asked.push(key), x),
      eval: () => undefined,
      withCommandOptions: () => counting,
    }
    const cache = redis({ client: counting, ...PATIENT })
    assert.equal((await cache.getMany(['a', 'b', 'a', 'a'])).size, 2)
    assert.deepEqual(asked, ['a', 'b'])
    await cache.close()
  })

  test('has room for more after requests that were refused', async () => {
    await client.lPush('refused-list', 'x')
    const cache = byClient()
    const large = Buffer.alloc(MIB - 1_000)
    for (let i = 0; i < 40; i++) {
      await assert.rejects(cache.append('refused-list', large), { message: /WRONGTYPE/ })
    }
    const both = await Promise.all([cache.set('room', large, 60), cache.set('room', large, 60)])
    assert.deepEqual(both, [true, true])
    await cache.close()
  })

  test('that may send a request again is refused by name', async () => {
    const io = new IoRedis({ lazyConnect: true })
    const sentinel = createSentinel({ name: 'a', sentinelRootNodes: [{ host: 'h', port: 1 }] })
    const refused: readonly (readonly [unknown, RegExp])[] = [
      [io, /option "client" is "a client of ioredis, which sends a request again/],
      [sentinel, /option "client" is "a client of createSentinel\(\), which sends/],
      [createClientPool({}), /option "client" is "another object"; allowed: a client of the/],
      [{}, /option "client" is "another object"/],
      [undefined, /option "client" is undefined/],
      ['redis://h', /option "client" is "redis:\/\/h"; allowed: a client of/],
      ['redis://anna:secret@h', /option "client" is "\*\*\*@h"; allowed/],
    ]
    for (const [client, message] of refused) {
      // @ts-expect-error none of them is allowed
      assert.throws(() => redis({ client }), { message })
    }
    // @ts-expect-error an option that there is not
    assert.throws(() => redis({ client, retries: 1 }), /option "retries"/)
    io.disconnect()
  })
})

describe('redis: a connection that is not made', () => {
  test('is ended with its socket, whether TCP or the greeting of TLS is silent', async () => {
    const sockets = new Set<Socket>()
    let accepted = 0
    const silent = createServer((socket) => {
      accepted++
      sockets.add(socket.resume().on('error', () => undefined))
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const cache = redis(`rediss://127.0.0.1:${port}`, { timeoutMs: 100 })
    try {
      await assert.rejects(cache.get('silent'), {
        code: 'CACHE_UNREACHABLE',
        message: /cannot be reached within 100 ms/,
      })
      await eventually('the socket is closed', () => accepted === 1 && sockets.size === 0)
    } finally {
      await cache.close()
      for (const socket of sockets) socket.destroy()
      silent.close()
    }
  })

  test('asks a server with TLS for its name, by which one address can have several', async () => {
    const asked: string[] = []
    const server = createTlsServer({
      SNICallback: (name, done) => {
        asked.push(name)
        done(new Error('no certificate'))
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const cache = redis(`rediss://localhost:${(server.address() as { port: number }).port}`)
    try {
      await assert.rejects(cache.get('key'), { code: 'CACHE_UNREACHABLE' })
      assert.equal(asked[0], 'localhost')
    } finally {
      await cache.close()
      server.close()
    }
  })

  test('rejects with the oldest version of the package, whose destroy() throws then', async (t) => {
    const prototype = ownerOf(client, 'destroy')
    const { destroy } = prototype
    t.mock.method(prototype, 'destroy', function (this: typeof client) {
      if (!this.isOpen) throw new Error('The client is closed')
      destroy.call(this)
    })
    const cache = redis(`redis://127.0.0.1:${await freePort()}`, PATIENT)
    await assert.rejects(cache.get('nobody'), {
      code: 'CACHE_UNREACHABLE',
      message: /ECONNREFUSED/,
    })
    await cache.close()
  })
})

describe('redis: what the server refuses', () => {
  test('a full server of version 6, where a script says so in other words', async () => {
    const six = createServer((socket) =>
      socket.on('data', () =>
        socket.write(
          `-ERR Error running script (call to f_${'a'.repeat(40)}): @user_script:1: ` +
            "@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.\r\n",
        ),
      ),
    )
    await new Promise<void>((resolve) => six.listen(0, '127.0.0.1', resolve))
    const { port } = six.address() as { port: number }
    const cache = redis(`redis://127.0.0.1:${port}`, PATIENT)
    assert.equal(await cache.append('full', x), false)
    await assert.rejects(cache.increment('full'), { code: 'CACHE_REFUSED' })
    await cache.close()
    six.close()
  })

  test('a full server stores nothing, and says so by false', async () => {
    const small = await startRedis(['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'])
    const cache = redis(small.url, PATIENT)
    try {
      assert.equal(await cache.set('first', x, 60), true)
      const stored: boolean[] = []
      for (let i = 0; i < 30; i++) {
        stored.push(await cache.add(`full:${i}`, Buffer.alloc(200_000), 60))
      }
      assert.ok(stored.includes(true) && stored.at(-1) === false, String(stored))
      assert.equal(await cache.append('first', Buffer.alloc(200_000)), false)
      assert.equal(await cache.set('first', Buffer.alloc(200_000), 60), false)
      assert.deepEqual(await cache.get('first'), x)
    } finally {
      await cache.close()
      await small.stop()
    }
  })

  test('errors name server and reply, and never what was sent or the password', async () => {
    const closed = await startRedis(['--rename-command', 'EVAL', ''])
    const { port } = new URL(closed.url)
    const admin = createClient({ url: closed.url })
    await admin.connect()
    await admin.sendCommand(['CONFIG', 'SET', 'requirepass', 'opensesame'])
    admin.destroy()
    const wrong = redis(`redis://anna:hunter2@127.0.0.1:${port}`, PATIENT)
    const none = redis(closed.url, PATIENT)
    const right = redis(`redis://:opensesame@127.0.0.1:${port}`, PATIENT)
    try {
      for (const cache of [wrong, none]) {
        await assert.rejects(cache.append('key', x), (error: Error & { code: string }) => {
          assert.equal(error.code, 'CACHE_REFUSED')
          assert.match(error.message, /Redis 127\.0\.0\.1:[0-9]+ refused the request \([A-Z]+ /)
          assert.doesNotMatch(error.message, /hunter2|anna/)
          return true
        })
      }
      await assert.rejects(right.append('private-key', Buffer.from('private')), (error: Error) => {
        assert.match(error.message, /refused the request \(ERR unknown command/)
        assert.doesNotMatch(error.message, /private/)
        return true
      })
    } finally {
      await Promise.all([wrong, none, right].map((cache) => cache.close()))
      await closed.stop()
    }
  })

  test('a value of another type is refused', async () => {
    await client.lPush('a-list', 'x')
    const cache = byUrl()
    await assert.rejects(cache.append('a-list', x), { code: 'CACHE_REFUSED', message: /WRONGTYPE/ })
    await cache.close()
  })
})

/** The object in a client's chain of prototypes that has the property. */
function ownerOf<C extends object>(client: C, property: keyof C): C {
  return Object.hasOwn(client, property) ? client : ownerOf(Object.getPrototypeOf(client), property)
}

describe('redis: a cluster', () => {
  test('is used by a client of version 5, too, which has no isReady', async (t) => {
    const owner = ownerOf(clusterClient, 'isReady')
    const isReady = Object.getOwnPropertyDescriptor(owner, 'isReady')!
    Reflect.deleteProperty(owner, 'isReady')
    t.after(() => Object.defineProperty(owner, 'isReady', isReady))
    const cache = byCluster()
    assert.equal(await cache.set('five', x, 60), true)
    assert.deepEqual(await cache.get('five'), x)
    await cache.close()
  })

  test('has keys on all its nodes; one silent node delays no other', async () => {
    const cache = redis({ client: clusterClient, timeoutMs: 2_000 })
    const keys = Array.from({ length: 60 }, (_, i) => `spread:${i}`)
    await Promise.all(keys.map((key) => cache.set(key, x, 60)))
    cluster.pause(0)
    try {
      const unanswered = new Set<string>()
      const found = await cache.getMany(keys, (key) => unanswered.add(key))
      assert.ok(unanswered.size > 5 && unanswered.size < 40, `${unanswered.size} of 60`)
      assert.equal(found.size + unanswered.size, 60)
    } finally {
      cluster.resume(0)
    }
    assert.equal((await cache.getMany(keys)).size, 60)
    await cache.close()
  })

  test('holds a bounded number of bytes for a node that stays silent', async () => {
    const patient = redis({ client: clusterClient, ...PATIENT })
    const cache = redis({ client: clusterClient, timeoutMs: 500 })
    const keys = Array.from({ length: 60 }, (_, i) => `bound:${i}`)
    await Promise.all(keys.map((key) => patient.set(key, x, 60)))
    await patient.close()
    cluster.pause(0)
    try {
      const silent: string[] = []
      await cache.getMany(keys, (key) => silent.push(key))
      const refused: string[] = []
      for (let round = 0; round < 2; round++) {
        const large = Array.from({ length: 20 }, () =>
          cache
            .append(silent[0]!, Buffer.alloc(MIB))
            .catch((error: Error) => refused.push(error.message)),
        )
        await Promise.all(large)
      }
      const full = refused.filter((message) => /in flight and is not asked/.test(message)).length
      assert.ok(full >= 8 && full <= 10, `${full} of 40 MiB are refused over 32`)
    } finally {
      cluster.resume(0)
    }
    await eventually('the node answers', () =>
      cache.getMany(keys).then(
        (found) => found.size === 60,
        () => false,
      ),
    )
    // What was given up takes no room any more.
    const large = Buffer.alloc(MIB - 1_000)
    const both = keys.slice(0, 2).map((key) => cache.set(key, large, 60))
    assert.deepEqual(await Promise.all(both), [true, true])
    await cache.close()
  })
})
