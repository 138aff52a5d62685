/**
 * From the first use of a counter, which makes the tables, to its close, which closes what the
 * counter has opened.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedMemcached } from '../../test/servers/shared.js'
import { countingProxy } from '../support/counting-proxy.fixture.js'
import { eventually } from '../support/eventually.fixture.js'
import { GlobalCounter } from './global-counter.js'
import { ShardedCounter } from './sharded-counter.js'

for (const Counter of [GlobalCounter, ShardedCounter]) {
  test(`${Counter.name}: close() closes the cache and database that it opened`, async () => {
    const proxy = await countingProxy(await sharedMemcached())
    const counter = new Counter({
      name: `closing-${process.pid}`,
      database: 'sqlite::memory:',
      cache: `memcached://${proxy.address}`,
    })
    await counter.increment()
    assert.equal(await counter.get(), 1)
    assert(proxy.open() > 0)
    await counter.close()
    await eventually('all connections end', () => proxy.open() === 0)
    assert.equal(proxy.open(), 0)
    await proxy.close()
    const unused = new Counter({ name: 'closing', database: 'sqlite::memory:', cache: 'memory:' })
    await unused.close()
    await assert.rejects(unused.migrate(), { code: 'CLOSED' })
  })
}

test('whichever method comes first makes the tables', async () => {
  const local = { name: 'first', database: 'sqlite::memory:', cache: 'memory:' }
  const uses: [() => GlobalCounter | ShardedCounter, (counter: never) => Promise<unknown>][] = [
    [() => new GlobalCounter(local), (counter: GlobalCounter) => counter.increment()],
    [() => new GlobalCounter(local), (counter: GlobalCounter) => counter.get()],
    [() => new ShardedCounter(local), (counter: ShardedCounter) => counter.increment()],
    [() => new ShardedCounter(local), (counter: ShardedCounter) => counter.get()],
    [() => new ShardedCounter(local), (counter: ShardedCounter) => counter.get({ exact: true })],
    [() => new ShardedCounter(local), (counter: ShardedCounter) => counter.increaseShards(30)],
  ]
  for (const [open, use] of uses) {
    const counter = open()
    await use(counter as never)
    await counter.close()
  }
})
