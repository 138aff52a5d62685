import type { Cache } from '../cache/cache.js'

/** The longest entry that is read. */
const MAX_BYTES = 1_000
const ENTRY = /^([0-9a-f]+);(?:.*;)?\1=(-?\d{1,16});/s

/**
 * A total in the cache that is never older than its TTL, however long its reader hangs and whatever its clock
 * says. The reader first puts down a token with the TTL, only then reads SQL, and then appends token and total:
 * appending keeps the TTL, so the entry ends `ttlSeconds` after a moment before the reading, by the cache's own
 * clock. A total that comes too late meets no entry, or another's token, and is not believed.
 */
export class CachedTotal {
  readonly #cache: Cache
  readonly #ttlSeconds: number

  constructor(cache: Cache, ttlSeconds: number) {
    this.#cache = cache
    this.#ttlSeconds = ttlSeconds
  }

  /**
   * The total in the cache; else what `read` returns, for the cache too if nobody else is about to. A cache that
   * does not answer is passed by.
   *
   * @param token hexadecimal, never used before
   * @throws what `read` throws
   */
  async get(key: string, token: string, read: () => Promise<number>): Promise<number> {
    let mine = false
    try {
      const entry = await this.#cache.get(key)
      const total = entry && ENTRY.exec(entry.toString('latin1', 0, MAX_BYTES))?.[2]
      if (total !== undefined) return Number(total)
      // An `add` without an answer may yet be carried out, after the reading: its token is never followed by a total.
      mine = !entry && (await this.#cache.add(key, Buffer.from(`${token};`), this.#ttlSeconds))
    } catch {
      mine = false
    }
    const total = await read()
    if (mine) await this.#cache.append(key, Buffer.from(`${token}=${total};`)).catch(() => false)
    return total
  }
}
