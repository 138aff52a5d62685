/**
 * Tests that every adapter of the Cache port must pass: one suite for all of them, also for those
 * of other packages. It needs only `node:assert`.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cache } from '../cache/cache.js'
import { testCacheNumbers } from './cache-numbers.js'
import { testCacheRefusals } from './cache-refusals.js'
import { testCacheValues } from './cache-values.js'
import type { CacheTest } from './on-cache.js'
import type { RegisterTest } from './runner.js'

/** Abilities and limits of a cache that the port leaves open. */
export interface CacheCapabilities {
  /**
   * Bytes of key and value past which the cache does not store an item; `undefined` if there is no
   * limit worth testing. @default undefined
   */
  readonly itemLimitBytes?: number | undefined
  /**
   * Lets so many seconds pass by the cache's clock. @default waits for as long
   */
  readonly passSeconds?: ((seconds: number) => unknown) | undefined
}

/** A cache to test. */
export interface CacheUnderTest {
  /** Registers a test: `test` of `node:test`, or of any other runner. */
  readonly test: RegisterTest
  /** The names of the tests begin with it. @default 'cache' */
  readonly name?: string | undefined
  /**
   * Opens the cache. It may hold anything, but must take keys that begin with `suite:`. The suite
   * closes it.
   */
  readonly create: () => Cache | Promise<Cache>
  /** Abilities and limits of the adapter. @default none beyond the port */
  readonly capabilities?: CacheCapabilities | undefined
}

let keys = 0

/**
 * Registers the tests that every adapter of {@link Cache} passes.
 *
 * @example
 * import { test } from 'node:test'
 * testCache({ test, name: 'my cache', create: () => myCache() })
 */
export function testCache({
  test,
  name = 'cache',
  create,
  capabilities: { itemLimitBytes, passSeconds = (seconds: number) => delay(seconds * 1000) } = {},
}: CacheUnderTest): void {
  const start = `suite:${process.pid}:${Date.now()}`
  const newKey = () => `${start}:${keys++}`
  const it: CacheTest = (sentence, body) =>
    void test(`${name}: ${sentence}`, async () => {
      const cache = await create()
      try {
        await body(cache, newKey())
      } finally {
        await cache.close()
      }
    })

  it('it says whether other processes share it', async ({ scope }) => {
    assert(scope === 'shared' || scope === 'private', `scope is ${scope}`)
  })

  it('it says whether it may go back to an earlier state', async ({ neverGoesBack }) => {
    assert(typeof neverGoesBack === 'boolean', `neverGoesBack is ${neverGoesBack}`)
  })

  testCacheValues(it, { itemLimitBytes, passSeconds })
  testCacheNumbers(it)
  testCacheRefusals(it)
}
