/**
 * The counters of one sequence in the cache, one for each generation. A counter lives under a key
 * with its generation's unique token.
 */
import { type Cache, CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'

const ZERO = Buffer.from('0')
/** Has one digit more than {@link ZERO}. */
const LONGER = 10
/** Lifetime of a counter that is only tried. */
const TRY_SECONDS = 60

export class CacheCounters {
  readonly #cache: Cache
  readonly #name: string
  readonly #newId: () => Buffer

  constructor(cache: Cache, name: string, newId: () => Buffer) {
    this.#cache = cache
    this.#name = name
    this.#newId = newId
  }

  /** Puts a counter that stands at 0 into the cache. Returns its token. @throws CacheError */
  async create(ttlSeconds = MAX_TTL_SECONDS): Promise<Buffer> {
    const token = this.#newId()
    if (await this.#cache.add(this.#key(token), ZERO, ttlSeconds)) return token
    throw new CacheError(
      'CACHE_REFUSED',
      'wide-cache: the cache does not store the counter of a new generation: give it more memory',
    )
  }

  /**
   * Tells whether the cache still has the counter, and counts: one that reads values and refuses to
   * increment them is of no use. @throws CacheError
   */
  async has(token: Buffer): Promise<boolean> {
    return (await this.raise(token, 0)) !== undefined
  }

  /**
   * Tells whether the cache still has the counter, and stores a number that gets longer. A full
   * memory may refuse that alone. @throws CacheError
   */
  async keeps(token: Buffer): Promise<boolean> {
    if (!(await this.has(token))) return false
    return (await this.raise(await this.create(TRY_SECONDS), LONGER)) !== undefined
  }

  /**
   * Raises the counter by `count` and returns the number it came to; `undefined` if the cache has
   * lost it. @throws CacheError
   */
  raise(token: Buffer, count: number): Promise<number | undefined> {
    return this.#cache.increment(this.#key(token), count)
  }

  #key(token: Buffer): string {
    return `sequence:${this.#name}:${token.toString('hex')}`
  }
}
