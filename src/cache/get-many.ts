import { CacheError } from './cache.js'

/** Keys of one server, and how one of them is got. */
interface KeysOfServer {
  readonly keys: readonly string[]
  readonly get: (key: string) => Promise<Buffer | undefined>
}

/**
 * Gets that one call has in flight at one server, so that many large cells do not time each other
 * out.
 */
const GETS_IN_FLIGHT = 16

/**
 * Gets keys from all their servers at once, one value a request. Asks for each key once.
 *
 * @param onUnanswered as in `Cache.getMany`
 */
export async function getMany(
  servers: readonly KeysOfServer[],
  onUnanswered?: (key: string, error: CacheError) => void,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  let failed = false
  const fetch = async (waiting: Iterator<string>, get: KeysOfServer['get']): Promise<void> => {
    for (let next = waiting.next(); !next.done && !failed; next = waiting.next()) {
      const key = next.value
      try {
        const value = await get(key)
        if (value) found.set(key, value)
      } catch (error) {
        const merelyUnanswered = error instanceof CacheError && error.code !== 'CACHE_CLOSED'
        if (!merelyUnanswered || !onUnanswered) {
          failed = true
          throw error
        }
        onUnanswered(key, error)
      }
    }
  }
  const lanes = servers.flatMap(({ keys, get }) => {
    const waiting = keys.values()
    return Array.from({ length: Math.min(GETS_IN_FLIGHT, keys.length) }, () => fetch(waiting, get))
  })
  await Promise.all(lanes)
  return found
}
