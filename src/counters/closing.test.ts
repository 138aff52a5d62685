/** What a counter has opened by itself is closed with it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedMemcached } from '../../test/servers/shared.js'
import { countingProxy } from '../support/counting-proxy.suite.js'
import { until } from '../support/fixtures.suite.js'
import { GlobalCounter } from './global-counter.js'
import { ShardedCounter } from './sharded-counter.js'

for (const Counter of [GlobalCounter, ShardedCounter]) {
  test(`${Counter.name}: close() closes the cache and the database that it has opened`, async () => {
    const proxy = await countingProxy(await sharedMemcached())
    const counter = new Counter({ name: `closing-${process.pid}`, database: 'sqlite::memory:', cache: `memcached://${proxy.address}` })
    await counter.increment()
    assert.equal(await counter.get(), 1)
    assert(proxy.open() > 0)
    await counter.close()
    await until(() => proxy.open() === 0)
    assert.equal(proxy.open(), 0)
    await proxy.close()
    const unused = new Counter({ name: 'closing', database: 'sqlite::memory:', cache: 'memory:' })
    await unused.close()
    await assert.rejects(unused.migrate(), { code: 'DATABASE_CLOSED' })
  })
}
