/**
 * A database behind an address that swallows packets: MySQL's client sends nothing before the
 * server's greeting, so nothing was counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import { sharedMysqlUrl } from '../../test/servers/shared.js'
import { memory } from '../cache/memory.js'
import { mysql } from '../database/mysql/mysql.js'
import { systemClock } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { flushPromises } from '../support/manual-clock.fixture.js'
import { GlobalCounterIn } from './global-counter.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { ShardedCounterIn } from './sharded-counter.js'

/**
 * A world in which an answer is waited for a second longer than for a connection: long enough for
 * two tries to connect.
 */
const environment = {
  ...systemEnvironment,
  clock: {
    ...systemClock,
    after: (ms: number, callback: () => void) =>
      systemClock.after(ms === 10_000 ? 6_000 : ms, callback),
  },
}

test('an increment that only waited for a connection was not counted, and says so', async () => {
  const url = new URL(await sharedMysqlUrl())
  const proxy = await startFaultyTcp(url.host)
  url.host = proxy.address
  const database = mysql(url.href)
  const cache = new FaultyCache(memory())
  const sharded = new ShardedCounterIn({ name: 'swallowed', database, cache }, environment)
  const global = new GlobalCounterIn({ name: 'swallowed', database, cache }, environment)
  try {
    await Promise.all([sharded.increment(), global.increment()])
    // It knows its key for a second. Without the number there, the increment is for SQL.
    assert.equal(await global.get(), 1)
    // New connections are accepted, and never greeted.
    proxy.swallow()
    proxy.drop('rst')
    proxy.forget()
    // The resets arrive.
    await flushPromises()
    await cache.flush()
    const notCounted = {
      name: 'DatabaseError',
      code: 'ETIMEDOUT',
      category: 'unreachable',
      unsent: true,
    }
    await Promise.all(
      [sharded, global].map((counter) => assert.rejects(counter.increment(), notCounted)),
    )
    assert.equal(proxy.received.length, 0)
    proxy.pass()
    proxy.drop('rst')
    assert.equal(await global.increment(), 2)
    await sharded.increment()
    assert.equal(await sharded.get({ exact: true }), 2)
  } finally {
    await Promise.all([sharded.close(), global.close()])
    await database.close()
    await proxy.close()
  }
})
