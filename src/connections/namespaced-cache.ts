import { type Cache, CacheError } from '../cache/cache.js'
import { messageOf } from '../support/errors.js'
import { Namespace, type NamespaceParts } from './namespace.js'

/** Start of all keys, which may not be known yet. */
interface Start {
  readonly start: string | undefined
  /** Resolves with it once it is known. */
  enter(): Promise<string>
}

/**
 * A cache in which all keys begin with one text. Requests wait until that is known. Each is passed
 * on once.
 */
class PrefixedCache implements Cache {
  readonly #cache: Cache
  readonly #prefix: Start

  constructor(cache: Cache, prefix: Start) {
    this.#cache = cache
    this.#prefix = prefix
  }

  get scope(): 'shared' | 'private' {
    return this.#cache.scope
  }

  get neverGoesBack(): boolean {
    return this.#cache.neverGoesBack
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#in((start) => this.#cache.get(start + key))
  }

  getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    return this.#in(async (start) => {
      const found = await this.#cache.getMany(
        keys.map((key) => start + key),
        onUnanswered && ((key, error) => onUnanswered(key.slice(start.length), error)),
      )
      return new Map([...found].map(([key, value]) => [key.slice(start.length), value]))
    })
  }

  set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#in((start) => this.#cache.set(start + key, value, ttlSeconds))
  }

  add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#in((start) => this.#cache.add(start + key, value, ttlSeconds))
  }

  append(key: string, value: Buffer): Promise<boolean> {
    return this.#in((start) => this.#cache.append(start + key, value))
  }

  delete(key: string): Promise<boolean> {
    return this.#in((start) => this.#cache.delete(start + key))
  }

  increment(
    key: string,
    delta?: number,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined> {
    return this.#in((start) => this.#cache.increment(start + key, delta, onMiss))
  }

  close(): Promise<void> {
    return this.#cache.close()
  }

  #in<T>(ask: (start: string) => Promise<T>): Promise<T> {
    const { start } = this.#prefix
    return start === undefined ? this.#entered().then(ask) : ask(start)
  }

  async #entered(): Promise<string> {
    try {
      return await this.#prefix.enter()
    } catch (error) {
      if (error instanceof CacheError) throw error
      throw new CacheError(
        'CACHE_UNREACHABLE',
        'the database has not answered yet, so the keys of its cache are not known: ' +
          messageOf(error),
        { cause: error },
      )
    }
  }
}

/** The part of a cache under one namespace, even if the database takes another one later. */
export interface Looked {
  readonly namespace: Buffer
  readonly cache: Cache
}

/** The part of a cache that belongs to one database: all keys begin with its namespace. */
export class NamespacedCache extends PrefixedCache {
  readonly namespace: Namespace
  readonly #cache: Cache

  constructor(cache: Cache, namespace: Namespace) {
    super(cache, namespace)
    this.namespace = namespace
    this.#cache = cache
  }

  /**
   * Looks at the marks of the cache, unless that was done within the last 10 s, or `always`.
   * Returns the part of the cache that belongs to the database by then.
   *
   * @throws DatabaseError; CacheError before the first answer
   */
  async looked(options?: { always?: boolean }): Promise<Looked> {
    const { namespace } = this
    await namespace.enter()
    await namespace.look(options).catch((error: unknown) => {
      if (!(error instanceof CacheError)) throw error
    })
    const start = await namespace.enter()
    const prefix = { start, enter: async () => start }
    return { namespace: namespace.id!, cache: new PrefixedCache(this.#cache, prefix) }
  }
}

/** Returns the part of a cache that belongs to a database. */
export function namespaced(cache: Cache, parts: Omit<NamespaceParts, 'cache'>): NamespacedCache {
  return new NamespacedCache(cache, new Namespace({ ...parts, cache }))
}
