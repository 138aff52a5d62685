import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memcachedAddresses } from './addresses.js'
import { memcached } from './memcached.js'
import { memcachedStats } from './stats.js'
import { stoppedTime } from '../../../test/servers/cache-behind-proxy.js'
import { startFaultyTcp } from '../../../test/servers/faulty-tcp.js'
import { freePort } from '../../../test/servers/free-port.js'
import { type Memcached, PATIENT, startMemcached } from '../../../test/servers/memcached.js'

const x = Buffer.from('x')
const UNREACHABLE = { name: 'CacheError', code: 'CACHE_UNREACHABLE' }

/** Returns the server of an error. */
function serverOf(error: { server?: string }): string | undefined {
  return error.server
}

let server: Memcached
let others: Memcached[]
before(async () => {
  server = await startMemcached()
  others = await Promise.all([startMemcached(), startMemcached()])
})
after(() => Promise.all([server, ...others].map((one) => one.kill())))

describe('memcached: a server that is down', () => {
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
})
