/** Helpers of the tests of a cache. */
import type { Cache } from '../cache/cache.js'

/** Opens the cache of a test once more, as another process would. */
export type OpenCache = () => Promise<Cache>

/** Registers a test of a cache, and of a key that no other test uses. */
export type CacheTest = (
  sentence: string,
  body: (cache: Cache, key: string, open: OpenCache) => Promise<void>,
) => void

export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Every byte once. */
export const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

/** Two users of the same values: two processes where these share them, else one for both. */
export async function twoUsers(cache: Cache, open: OpenCache): Promise<readonly [Cache, Cache]> {
  return [cache, cache.scope === 'shared' ? await open() : cache]
}

/** Each operation called once on `key`. */
export function* callsWith(cache: Cache, key: string): Generator<Promise<unknown>> {
  yield cache.get(key)
  yield cache.getMany([key])
  yield cache.set(key, bytes('x'), 60)
  yield cache.add(key, bytes('x'), 60)
  yield cache.append(key, bytes('x'))
  yield cache.delete(key)
  yield cache.increment(key)
}
