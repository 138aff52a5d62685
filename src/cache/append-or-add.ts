import type { Cache } from './cache.js'

/** How a value comes to a key: `append` needs a stored one, and `add` needs that there is none. */
export type WayToStore = 'append' | 'add'

/**
 * Appends `value` to the stored one, or stores it where there is none, with a TTL. Between two
 * tries another process may have stored one, or it may have gone: then the first way is tried
 * again. `undefined`: not stored (over the limit, out of memory).
 *
 * @param first the way that is tried first
 * @returns the way by which it was stored
 * @throws CacheError
 */
export async function appendOrAdd(
  cache: Pick<Cache, 'append' | 'add'>,
  key: string,
  value: Buffer,
  ttlSeconds: number,
  first: WayToStore = 'append',
): Promise<WayToStore | undefined> {
  for (const way of [first, first === 'add' ? 'append' : 'add', first] as const) {
    const isStored =
      way === 'add' ? await cache.add(key, value, ttlSeconds) : await cache.append(key, value)
    if (isStored) return way
  }
  return undefined
}
