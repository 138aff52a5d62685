/**
 * Set-up shared by the tests of the memcached adapter: a cache whose server can be made to fail.
 */
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cache } from '../../src/cache/cache.js'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { systemClock } from '../../src/support/clock.js'
import { type FaultyTcp, startFaultyTcp } from './faulty-tcp.js'

/** For tests in which no time passes: far more than anything takes on a busy machine. */
export const PATIENT = { timeoutMs: 5000 }
/** For tests that wait for it to pass. */
export const SHORT = { timeoutMs: 500 }

const RECOVERY_MS = 20_000

// Too many listeners, a timer too long: nothing a cache does may make a process warn.
process.on('warning', (warning) => {
  throw warning
})

/** Runs `body` with a cache whose connections go through a proxy to the server at `address`. */
export async function behindProxy(
  address: string,
  options: { timeoutMs: number },
  body: (cache: Cache, proxy: FaultyTcp) => Promise<void>,
): Promise<void> {
  const proxy = await startFaultyTcp(address)
  const cache = memcached(proxy.address, options)
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
export async function recovery(cache: Cache): Promise<void> {
  const deadline = performance.now() + RECOVERY_MS
  for (;;) {
    try {
      await cache.get('recovery')
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(50)
    }
  }
}
