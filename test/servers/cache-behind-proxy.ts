/**
 * Set-up shared by the tests of the memcached adapter: a cache whose server can be made to fail.
 */
import type { TestContext } from 'node:test'
import type { Cache } from '../../src/cache/cache.js'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { systemClock } from '../../src/support/clock.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { type FaultyTcp, startFaultyTcp } from './faulty-tcp.js'

/** For tests that wait for it to pass. */
export const SHORT = { timeoutMs: 500 }

// Too many listeners, a timer too long: nothing a cache does may make a process warn.
process.on('warning', (warning) => {
  throw warning
})

/** Runs `body` with a cache whose connections go through a proxy to the server at `address`. */
export function behindProxy(
  address: string,
  options: { timeoutMs: number },
  body: (cache: Cache, proxy: FaultyTcp) => Promise<void>,
): Promise<void> {
  return openBehindProxy(address, (proxied) => memcached(proxied, options), body)
}

/** {@link behindProxy} with another cache than memcached. */
export async function openBehindProxy(
  address: string,
  open: (address: string) => Cache,
  body: (cache: Cache, proxy: FaultyTcp) => Promise<void>,
): Promise<void> {
  const proxy = await startFaultyTcp(address)
  const cache = open(proxy.address)
  try {
    await body(cache, proxy)
  } finally {
    await cache.close()
    await proxy.close()
  }
}

/** The time of memcached clients, for the rest of a test: it stands still until it is moved. */
export function stoppedTime(t: TestContext): { pass(ms: number): void } {
  let now = systemClock.elapsed()
  t.mock.method(systemClock, 'elapsed', () => now)
  return {
    pass: (ms) => {
      now += ms
    },
  }
}

/** Asks until there is an answer. */
export const recovery = (cache: Cache) =>
  eventually('the cache answers', () =>
    cache.get('recovery').then(
      () => true,
      () => false,
    ),
  )
