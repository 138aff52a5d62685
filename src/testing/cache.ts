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
import { testSilence } from './cache-silence.js'
import { bytes, type CacheTest, twoUsers } from './on-cache.js'
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
  /**
   * Opens the cache with a server that does not answer, alone or beside others. @default none: what
   * happens then is not tested
   */
  readonly createSilent?: (() => Cache | Promise<Cache>) | undefined
}

/** A cache to test. */
export interface CacheUnderTest {
  /** Registers a test: `test` of `node:test`, or of any other runner. */
  readonly test: RegisterTest
  /** The names of the tests begin with it. @default 'cache' */
  readonly name?: string | undefined
  /**
   * Opens the cache. It may hold anything, but must take keys that begin with `suite:`. Each call
   * is a use of its own, as another process would have it. The suite closes them all.
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
 * ```ts
 * import { test } from 'node:test'
 * import { memory } from 'wide-cache'
 * import { testCache } from 'wide-cache/testing'
 *
 * testCache({ test, name: 'my cache', create: () => memory() })
 * ```
 */
export function testCache({
  test,
  name = 'cache',
  create,
  capabilities: {
    itemLimitBytes,
    passSeconds = (seconds: number) => delay(seconds * 1000),
    createSilent,
  } = {},
}: CacheUnderTest): void {
  const start = `suite:${process.pid}:${Date.now()}`
  const newKey = () => `${start}:${keys++}`
  const testOf =
    (make: () => Cache | Promise<Cache>): CacheTest =>
    (sentence, body) =>
      void test(`${name}: ${sentence}`, async () => {
        const opened: Cache[] = []
        const open = async (): Promise<Cache> => {
          const cache = await make()
          opened.push(cache)
          return cache
        }
        try {
          await body(await open(), newKey(), open)
        } finally {
          await Promise.all(opened.map((cache) => cache.close()))
        }
      })
  const it = testOf(create)

  it('it says whether processes share it, and these see each change', async (cache, key, open) => {
    const { scope } = cache
    assert(scope === 'shared' || scope === 'private', `scope is ${scope}`)
    const [one, other] = await twoUsers(cache, open)
    for (const value of ['first', 'second', 'third']) {
      await one.set(key, bytes(value), 60)
      assert.deepEqual(await other.get(key), bytes(value))
      assert.deepEqual(await other.getMany([key]), new Map([[key, bytes(value)]]))
    }
    await other.append(key, bytes('!'))
    assert.deepEqual(await one.get(key), bytes('third!'))
    await other.delete(key)
    assert.equal(await one.get(key), undefined)
  })

  it('it says whether it may go back to an earlier state', async ({ neverGoesBack }) => {
    assert(typeof neverGoesBack === 'boolean', `neverGoesBack is ${neverGoesBack}`)
  })

  testCacheValues(it, { itemLimitBytes, passSeconds })
  testCacheNumbers(it)
  testCacheRefusals(it)
  if (createSilent) testSilence(testOf(createSilent))
}
