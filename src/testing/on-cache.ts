/** Helpers of the tests of a cache. */
import type { Cache } from '../cache/cache.js'

/** Registers a test of a cache, and of a key that no other test uses. */
export type CacheTest = (
  sentence: string,
  body: (cache: Cache, key: string) => Promise<void>,
) => void

export function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}
