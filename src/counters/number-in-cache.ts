import { type Cache, CacheError } from '../cache/cache.js'
import { Gather } from '../connections/gather.js'
import { type Addition, spread, sumOf } from './additions.js'
import type { CounterGeneration } from './generations.js'
import { OutcomeUnknownError } from './outcome.js'

/**
 * Larger increments are counted in SQL. Smaller ones that are refused, having passed 2^53-1 in the
 * cache, cannot carry the number there past 2^64, where it would begin at 0 again: that takes over
 * 4,000 million of them at once.
 */
export const MAX_CACHE_DELTA = 2 ** 32

/** An addition to the number of a generation; its value is `undefined` if the cache has none. */
interface InGeneration extends Addition<number | 'refused'> {
  readonly generation: CounterGeneration
}

/**
 * The number of a global counter in the cache. The cache takes a bounded number of requests at
 * once, so increments of one process that come while an operation is under way share the next one.
 */
export class NumberInCache {
  readonly #cache: Cache
  readonly #name: string
  readonly #additions: Gather<InGeneration, void>

  constructor(cache: Cache, name: string) {
    this.#cache = cache
    this.#name = name
    this.#additions = new Gather('increments', (items) => this.#addAll(items), fitTogether)
  }

  /** The number of a generation; `undefined` if the cache has none, or does not answer. */
  async get({ key }: CounterGeneration): Promise<number | undefined> {
    const text = (await this.#cache.get(key).catch(() => undefined))?.toString('latin1')
    const value = text ? Number(text) : NaN
    return Number.isSafeInteger(value) ? value : undefined
  }

  /**
   * Adds to the number of a generation. Returns the new number, which is the caller's own;
   * `undefined`: the cache has none; `refused`: it would pass 2^53-1, and the cache has none now.
   *
   * @throws OutcomeUnknownError, CacheError
   */
  async add(generation: CounterGeneration, delta: number): Promise<number | 'refused' | undefined> {
    const item: InGeneration = { generation, delta, value: undefined }
    await this.#additions.add(item)
    return item.value
  }

  /** Adds what several calls add, in their order, to the number of one generation. */
  async #addAll(items: readonly InGeneration[]): Promise<void> {
    const value = await this.#add(items[0]!.generation, sumOf(items))
    if (typeof value === 'number') spread(items, value)
    else for (const item of items) item.value = value
  }

  async #add({ key }: CounterGeneration, delta: number): Promise<number | 'refused' | undefined> {
    try {
      return await this.#cache.increment(key, delta)
    } catch (error) {
      // Closed or silent, it may have been asked; down or refusing, it has not counted.
      if (
        error instanceof CacheError &&
        (error.code === 'CACHE_TIMEOUT' || error.code === 'CACHE_CLOSED')
      ) {
        throw new OutcomeUnknownError(this.#name, error)
      }
      if (!(error instanceof RangeError)) throw error
      // The cache may have stored what is past 2^53-1. What is persisted is not, and a new
      // generation goes on from there.
      await this.#cache.delete(key)
      return 'refused'
    }
  }
}

/** Returns the number of additions, from the first, that the cache is asked for at once. */
function fitTogether(items: readonly InGeneration[]): number {
  const { generation } = items[0]!
  let sum = 0
  const end = items.findIndex(
    (item) => item.generation.number !== generation.number || (sum += item.delta) > MAX_CACHE_DELTA,
  )
  return end === -1 ? items.length : Math.max(1, end)
}
