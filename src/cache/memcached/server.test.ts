import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { memcachedAddresses } from './addresses.js'
import { memcached } from './memcached.js'
import { memcachedStats } from './stats.js'
import {
  behindProxy,
  recovery,
  SHORT,
  stoppedTime,
} from '../../../test/servers/cache-behind-proxy.js'
import { eventually } from '../../support/eventually.fixture.js'
import { startFaultyTcp } from '../../../test/servers/faulty-tcp.js'
import { freePort } from '../../../test/servers/free-port.js'
import { type Memcached, PATIENT, startMemcached } from '../../../test/servers/memcached.js'

const MIB = 1024 * 1024
const x = Buffer.from('x')
const TIMEOUT = { name: 'CacheError', code: 'CACHE_TIMEOUT' }
const UNREACHABLE = { name: 'CacheError', code: 'CACHE_UNREACHABLE' }

/** Interval at which a server that is down is asked again. */
const PROBE_MS = 1000

/** Returns the server of an error. */
function serverOf(error: { server?: string }): string | undefined {
  return error.server
}

/** Returns the outcome of what ends without any wait, and otherwise `waits`. */
function atOnce(outcome: Promise<unknown>): Promise<unknown> {
  return Promise.race([outcome, nextTurn('waits')])
}

let server: Memcached
let others: Memcached[]
before(async () => {
  server = await startMemcached()
  others = await Promise.all([startMemcached(), startMemcached()])
})
after(() => Promise.all([server, ...others].map((one) => one.kill())))

describe('memcached: a server that is down', () => {
  test('that stays silent: requests time out, then fail at once, until it is noticed again', (t) =>
    behindProxy(server.address, SHORT, async (cache, proxy) => {
      await cache.set('silent', x, 60)
      const time = stoppedTime(t)
      proxy.swallow()
      const waiting = Array.from({ length: 20 }, () => assert.rejects(cache.get('silent'), TIMEOUT))
      time.pass(SHORT.timeoutMs)
      await Promise.all(waiting)
      const connections = proxy.connections
      for (let i = 0; i < 100; i++) {
        assert.equal(await atOnce(cache.append('silent', x).catch(serverOf)), proxy.address)
      }
      assert.equal(proxy.connections, connections)
      proxy.pass()
      time.pass(PROBE_MS)
      await recovery(cache)
      assert.equal(String(await cache.get('silent')), 'x')
    }))

  test('that stays silent while more is being written all the time is noticed too', () =>
    behindProxy(server.address, SHORT, async (cache, proxy) => {
      await cache.get('busy')
      proxy.swallow()
      const outcomes = new Set<string>()
      await eventually('requests time out, then are refused', () => {
        cache.append('busy', x).catch((error: { code: string }) => outcomes.add(error.code))
        return outcomes.has('CACHE_TIMEOUT') && outcomes.has('CACHE_UNREACHABLE')
      })
    }))

  test('is tried once a second, by one request', (t) =>
    behindProxy(server.address, SHORT, async (cache, proxy) => {
      await cache.get('probe')
      const time = stoppedTime(t)
      proxy.swallow()
      const ask = () => [1, 2, 3].map(() => cache.get('probe').then(() => 'answered', serverOf))
      const fail = async (asked: readonly Promise<unknown>[]) => {
        let failed = false
        void Promise.all(asked).then(() => (failed = true))
        // It may have to connect first, and then waits anew.
        await eventually('they fail', () => {
          if (!failed) time.pass(SHORT.timeoutMs)
          return failed
        })
      }
      await fail(ask())
      const before = proxy.connections
      for (let probes = 1; probes <= 3; probes++) {
        time.pass(PROBE_MS - 1)
        for (const refused of ask()) assert.equal(await atOnce(refused), proxy.address)
        time.pass(1)
        // Several at once: only one of them may be the probe.
        const asked = ask()
        assert.deepEqual(await Promise.all(asked.map(atOnce)), [
          'waits',
          proxy.address,
          proxy.address,
        ])
        await fail(asked)
        assert.equal(proxy.connections - before, probes)
      }
    }))

  test('that nobody listens on is unreachable, and found when it starts', async () => {
    const port = await freePort()
    const cache = memcached(`127.0.0.1:${port}`, PATIENT)
    await assert.rejects(cache.get('late'), {
      ...UNREACHABLE,
      message: new RegExp(`memcached 127\\.0\\.0\\.1:${port} cannot be reached \\(ECONNREFUSED\\)`),
    })
    const late = await startMemcached({ port })
    try {
      await recovery(cache)
      assert.equal(await cache.set('late', x, 60), true)
    } finally {
      await cache.close()
      await late.kill()
    }
  })

  test('whose host name is unknown is unreachable', async () => {
    const cache = memcached('no-such-host.invalid:11211', PATIENT)
    await assert.rejects(cache.get('nowhere'), UNREACHABLE)
    await cache.close()
  })

  test('that accepts and closes at once is not connected to at each request', () =>
    behindProxy(server.address, PATIENT, async (cache, proxy) => {
      proxy.closeOnRequest('fin')
      for (let i = 0; i < 50; i++) await assert.rejects(cache.get('door'))
      assert.ok(proxy.connections <= 3, `${proxy.connections} connections`)
    }))

  test('among three slows down no operation on the other two', async (t) => {
    const proxy = await startFaultyTcp(server.address)
    const cache = memcached([proxy, ...others].map((one) => one.address).join(), {
      timeoutMs: 2000,
    })
    try {
      const keys = Array.from({ length: 300 }, (_, i) => `three:${100 + i}`)
      await Promise.all(keys.map((key) => cache.set(key, x, 60)))
      const onIt = keys.filter((key) => proxy.received.includes(key))
      assert.ok(onIt.length > 50 && onIt.length < 150, `${onIt.length} of 300 keys lie on it`)
      const time = stoppedTime(t)
      proxy.swallow()
      const slow = cache.getMany(keys, () => undefined)
      const fates = keys.map((key) => cache.append(key, x).then(() => 'stored', serverOf))
      // While no time passes, what waits for the silent server waits for ever.
      assert.deepEqual(
        await Promise.all(fates.filter((_, index) => !onIt.includes(keys[index]!))),
        Array.from({ length: 300 - onIt.length }, () => 'stored'),
      )
      // The same gets again: those that were sent before are answered before them.
      await cache.getMany(keys.filter((key) => !onIt.includes(key)))
      time.pass(2000)
      const failed = (await Promise.all(fates)).filter((fate) => fate !== 'stored')
      assert.deepEqual(
        failed,
        onIt.map(() => proxy.address),
      )
      assert.equal((await slow).size, 300 - onIt.length)
    } finally {
      await cache.close()
      await proxy.close()
    }
  })

  test('getMany tells which keys were not answered, or rejects', async () => {
    const cache = memcached(`${server.address},127.0.0.1:${await freePort()}`, PATIENT)
    const keys = Array.from({ length: 100 }, (_, i) => `partly:${i}`)
    for (const key of keys) await cache.set(key, x, 60).catch(() => undefined)
    const unanswered = new Set<string>()
    const found = await cache.getMany(keys, (key, error) => {
      assert.match(error.code, /CACHE_UNREACHABLE/)
      unanswered.add(key)
    })
    assert.ok(found.size > 20 && unanswered.size > 20)
    assert.deepEqual([...found.keys(), ...unanswered].sort(), [...keys].sort())
    await assert.rejects(cache.getMany(keys), UNREACHABLE)
    await cache.close()
  })

  test('getMany that rejects asks the other servers for nothing more', async () => {
    const cache = memcached(`${server.address},127.0.0.1:${await freePort()}`, PATIENT)
    const keys = Array.from({ length: 4_000 }, (_, i) => `stops:${i}`)
    const [address] = memcachedAddresses('servers', server.address)
    const asked = async (): Promise<number> =>
      Number((await memcachedStats(address!, 10_000)).get('cmd_get'))
    // From here on the other one is known to be down, and fails at once.
    await assert.rejects(cache.getMany(keys), UNREACHABLE)
    const steady = async (last: number): Promise<number> => {
      await sleep(50)
      const now = await asked()
      return now === last ? now : steady(now)
    }
    const before = await steady(await asked())
    await assert.rejects(cache.getMany(keys), UNREACHABLE)
    const more = (await steady(await asked())) - before
    assert(more < 1_000, `${more} of some 2,000`)
    await cache.close()
  })

  test('requests that were answered take no room', () =>
    behindProxy(server.address, PATIENT, async (cache) => {
      const large = Buffer.alloc(MIB - 1_000)
      for (let i = 0; i < 40; i++) await cache.set('room', large, 60)
      await Promise.all([cache.set('room', large, 60), cache.set('room', large, 60)])
    }))

  test('holds a bounded number of requests and of bytes', () =>
    behindProxy(server.address, { timeoutMs: 1000 }, async (cache, proxy) => {
      proxy.swallow()
      const codes: string[] = []
      const note = (error: { code: string; message: string }) =>
        codes.push(/in flight and is not asked/.test(error.message) ? 'full' : error.code)
      const small = Array.from({ length: 10_000 }, () => cache.append('full', x).catch(note))
      await sleep(0)
      assert.equal(codes.filter((code) => code === 'full').length, 10_000 - 8192)
      await Promise.all(small)
      assert.equal(codes.filter((code) => code === 'full').length, 10_000 - 8192)

      proxy.pass()
      await recovery(cache)
      proxy.swallow()
      codes.length = 0
      const large = Array.from({ length: 40 }, () =>
        cache.append('full', Buffer.alloc(MIB)).catch(note),
      )
      await Promise.all(large)
      const full = codes.filter((code) => code === 'full').length
      assert.ok(full >= 8 && full <= 10, `${full} of 40 MiB are refused over 32`)
    }))

  test('is not taken for silent by a busy process that has not read its answers', async () => {
    const busy = () => {
      const begun = performance.now()
      while (performance.now() - begun < 1500);
    }
    const cache = memcached(server.address, { timeoutMs: 300 })
    const connecting = cache.set('busy', x, 60)
    busy()
    assert.equal(await connecting, true)
    const answers = [cache.get('busy'), cache.append('busy', x)]
    busy()
    await Promise.all(answers)
    await cache.close()
  })
})
