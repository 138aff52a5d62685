import type { Cache } from './cache.js'

/**
 * Appends `value` to the stored one, or stores it where there is none, with a TTL. `append` needs a
 * stored value, and `add` needs that there is none. Between the two, another process may have
 * stored one. `false`: not stored (over the limit, out of memory).
 *
 * @throws CacheError
 */
export async function appendOrAdd(
  cache: Pick<Cache, 'append' | 'add'>,
  key: string,
  value: Buffer,
  ttlSeconds: number,
): Promise<boolean> {
  return (
    (await cache.append(key, value)) ||
    (await cache.add(key, value, ttlSeconds)) ||
    cache.append(key, value)
  )
}
