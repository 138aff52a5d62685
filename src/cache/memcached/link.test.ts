import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, Socket, type AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../support/clock.js'
import type { CacheError } from '../cache.js'
import { testServerFaults } from '../server-faults.suite.js'
import { memcached } from './memcached.js'
import { behindProxy, SHORT } from '../../../test/servers/cache-behind-proxy.js'
import { freePort } from '../../../test/servers/free-port.js'
import { type Memcached, PATIENT, startMemcached } from '../../../test/servers/memcached.js'

const x = Buffer.from('x')

let server: Memcached
before(async () => void (server = await startMemcached()))
after(() => server.kill())

testServerFaults({
  name: 'memcached',
  start: async (port) => {
    const server = await startMemcached(port === undefined ? {} : { port })
    return { address: server.address, stop: () => server.kill() }
  },
  open: memcached,
  program:
    `(await import('${new URL('memcached.ts', import.meta.url).href}')).memcached` +
    '(address, { timeoutMs: 300 })',
  strays: [
    Buffer.alloc(10, 0x81),
    Buffer.from('8100000000000000000000050000000100000000000000006669', 'hex'),
  ],
})

describe('memcached: what memjs would do otherwise', () => {
  test('misses, refusals and dead servers print nothing', async (t) => {
    const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((method) =>
      t.mock.method(console, method, () => undefined),
    )
    const cache = memcached(`${server.address},127.0.0.1:${await freePort()}`, SHORT)
    for (let i = 0; i < 20; i++) {
      await cache.append(`quiet:${i}`, x).catch(() => undefined)
      await cache.set(`quiet:${i}`, x, 60).catch(() => undefined)
      await cache.increment(`quiet:${i}`).catch(() => undefined)
    }
    await cache.close()
    for (const spy of spies) assert.equal(spy.mock.callCount(), 0)
  })

  test('what one turn asks is one write, and no timer outlasts its requests', async (t) => {
    const cache = memcached(server.address, PATIENT)
    await cache.get('connected')
    const sockets = Socket.prototype as Required<Socket>
    const writes = (['_write', '_writev'] as const).map((way) => t.mock.method(sockets, way).mock)
    const timers = new Set<object>()
    const { after } = systemClock
    t.mock.method(systemClock, 'after', (ms: number, callback: () => void) => {
      const { cancel } = after(ms, callback)
      const timer = { cancel: () => (cancel(), void timers.delete(timer)) }
      timers.add(timer)
      return timer
    })
    const asked = cache.getMany(['a', 'b', 'c'])
    const more = [cache.set('d', x, 60), cache.delete('e')]
    assert.equal(timers.size, 1)
    await Promise.all([asked, ...more])
    assert.equal(writes[0]!.callCount() + writes[1]!.callCount(), 1)
    assert.equal(timers.size, 0)
    await cache.get('a')
    assert.equal(timers.size, 0)
    await cache.close()
  })

  test('more requests than a small counter holds go through one connection', () =>
    behindProxy(server.address, PATIENT, async (cache, proxy) => {
      await cache.set('many', Buffer.from('0'), 60)
      for (let sent = 0; sent < 140_000; sent += 2000) {
        await Promise.all(Array.from({ length: 2000 }, () => cache.increment('many')))
      }
      assert.equal(await cache.increment('many', 0), 140_000)
      assert.equal(proxy.connections, 1)
      // The id of a request lies in bytes 12 to 16 of its header; memjs's own counter throws at
      // 2^31.
      const { received } = proxy
      let highest = 0
      for (let at = 0; at < received.length; at += 24 + received.readUInt32BE(at + 8)) {
        highest = Math.max(highest, received.readUInt32BE(at + 12))
      }
      assert.equal(highest, 0xffff)
    }))

  test('an increment that never succeeds is sent three times', async () => {
    let sent = 0
    // As if another client made the key, and a third one deleted it, each time.
    const racing = createServer((socket) =>
      socket.on('data', (request) => {
        // A client that never gave up would keep the test from ending.
        if (++sent > 9) return void socket.destroy()
        const reply = Buffer.alloc(24)
        reply.writeUInt8(0x81, 0)
        reply.writeUInt8(0x05, 1)
        reply.writeUInt16BE(0x05, 6)
        request.copy(reply, 12, 12, 16)
        socket.write(reply)
      }),
    ).listen(0, '127.0.0.1')
    await once(racing, 'listening')
    const cache = memcached(`127.0.0.1:${(racing.address() as AddressInfo).port}`, PATIENT)
    const refused = await cache
      .increment('key', 1, { initial: 1, ttlSeconds: 60 })
      .catch(({ code }: CacheError) => code)
    await cache.close()
    racing.close()
    assert.deepEqual([refused, sent], ['CACHE_REFUSED', 3])
  })

  test('out of memory is "not stored"', async () => {
    const small = await startMemcached({ memoryMb: 2, args: ['-M'] })
    const cache = memcached(small.address, PATIENT)
    try {
      const stored: boolean[] = []
      for (let i = 0; i < 100; i++) {
        stored.push(await cache.add(`oom:${i}`, Buffer.alloc(200_000), 60))
      }
      assert.ok(stored.includes(true))
      assert.ok(stored.includes(false))
    } finally {
      await cache.close()
      await small.kill()
    }
  })
})
