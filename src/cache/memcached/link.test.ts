import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memcached } from './memcached.js'
import {
  behindProxy,
  recovery,
  SHORT,
  stoppedTime,
} from '../../../test/servers/cache-behind-proxy.js'
import { freePort } from '../../../test/servers/free-port.js'
import { type Memcached, PATIENT, startMemcached } from '../../../test/servers/memcached.js'

const x = Buffer.from('x')
const TIMEOUT = { name: 'CacheError', code: 'CACHE_TIMEOUT' }

let server: Memcached
before(async () => void (server = await startMemcached()))
after(() => server.kill())

/** Counts the occurrences of `needle` in the bytes that were sent. */
function count(haystack: Buffer, needle: string): number {
  return haystack.toString('latin1').split(needle).length - 1
}

describe('memcached: what memjs would do otherwise', () => {
  test('an append or increment whose reply is lost has been sent exactly once', () =>
    behindProxy(server.address, SHORT, async (cache, proxy) => {
      await cache.set('once:append', x, 60)
      await cache.set('once:number', Buffer.from('1'), 60)
      proxy.mute()
      proxy.forget()
      const lost = [cache.append('once:append', Buffer.from('yy')), cache.increment('once:number')]
      for (const one of lost) await assert.rejects(one, TIMEOUT)
      await sleep(600)
      assert.equal(count(proxy.received, 'once:append'), 1)
      assert.equal(count(proxy.received, 'once:number'), 1)
      proxy.pass()
      await recovery(cache)
      assert.equal(String(await cache.get('once:append')), 'xyy')
      assert.equal(String(await cache.get('once:number')), '2')
    }))

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

  for (const ending of ['fin', 'rst'] as const) {
    test(`requests in flight at the server's end (${ending}) reject at once; the next works`, (t) =>
      behindProxy(server.address, PATIENT, async (cache, proxy) => {
        await cache.set('closing', x, 60)
        // So no timeout ends them.
        stoppedTime(t)
        proxy.closeOnRequest(ending)
        const inFlight = [
          cache.append('closing', x),
          cache.get('closing'),
          cache.getMany(['closing', 'other']),
        ]
        for (const one of inFlight) await assert.rejects(one, TIMEOUT)
        proxy.pass()
        assert.equal(
          String(await cache.get('closing')),
          'x',
          'a connection that served and broke is simply made anew',
        )
      }))
  }

  test('a connection closed while idle costs nothing', () =>
    behindProxy(server.address, PATIENT, async (cache, proxy) => {
      await cache.set('idle', x, 60)
      proxy.drop('fin')
      await sleep(100)
      assert.equal(String(await cache.get('idle')), 'x')
    }))

  for (const then of ['silence', 'fin', 'rst'] as const) {
    test(`after half a reply, then ${then}, later operations work and get their own replies`, () =>
      behindProxy(server.address, SHORT, async (cache, proxy) => {
        const value = Buffer.alloc(1000, 'v')
        await cache.set('cut:a', value, 60)
        await cache.set('cut:b', Buffer.from('b'), 60)
        for (const length of [1, 23, 24, 30, 500]) {
          proxy.cutReply(length, then)
          await assert.rejects(cache.get('cut:a'), TIMEOUT)
          proxy.pass()
          await recovery(cache)
          assert.deepEqual(await cache.get('cut:a'), value)
          assert.equal(String(await cache.get('cut:b')), 'b')
        }
      }))
  }

  test('bytes nobody asked for are never taken for the next reply', () =>
    behindProxy(server.address, SHORT, async (cache, proxy) => {
      await cache.set('stray', x, 60)
      for (const stray of [
        Buffer.alloc(10, 0x81),
        Buffer.from('8100000000000000000000050000000100000000000000006669', 'hex'),
      ]) {
        proxy.inject(stray)
        await sleep(100)
        assert.equal(String(await cache.get('stray')), 'x')
      }
    }))

  test('replies of any size, in any pieces, are put together', () =>
    behindProxy(server.address, PATIENT, async (cache) => {
      const values = new Map(
        Array.from({ length: 60 }, (_, i) => [`large:${i}`, Buffer.alloc(i * 16_000, i)]),
      )
      for (const [key, value] of values) assert.equal(await cache.set(key, value, 60), true)
      assert.deepEqual(await cache.getMany([...values.keys()]), values)
    }))

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

  test('clients that race to plant an initial number are all counted', async () => {
    const clients = Array.from({ length: 6 }, () => memcached(server.address, PATIENT))
    for (let i = 0; i < 300; i++) {
      const sums = await Promise.all(
        clients.map((client) => client.increment(`race:${i}`, 1, { initial: 1, ttlSeconds: 60 })),
      )
      assert.deepEqual(sums.map(Number).sort(), [1, 2, 3, 4, 5, 6])
    }
    await Promise.all(clients.map((client) => client.close()))
  })

  test("one key of 251 bytes breaks nobody else's connection", () =>
    behindProxy(server.address, PATIENT, async (cache, proxy) => {
      const others = Array.from({ length: 50 }, () => cache.get('fine'))
      await assert.rejects(cache.get('k'.repeat(251)), RangeError)
      await Promise.all(others)
      assert.equal(proxy.connections, 1)
      assert.equal(count(proxy.received, 'kkk'), 0)
    }))

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
