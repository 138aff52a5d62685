import { type Cache, CacheError } from '../cache/cache.js'
import { ForwardingCache } from '../cache/forwarding.js'
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
class PrefixedCache extends ForwardingCache {
  readonly #prefix: Start

  constructor(cache: Cache, prefix: Start) {
    super(cache)
    this.#prefix = prefix
  }

  override getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    return this.#in(async (start) => {
      const found = await this.cache.getMany(
        keys.map((key) => start + key),
        onUnanswered && ((key, error) => onUnanswered(key.slice(start.length), error)),
      )
      return new Map([...found].map(([key, value]) => [key.slice(start.length), value]))
    })
  }

  protected override around<T>(key: string, call: (key: string) => Promise<T>): Promise<T> {
    return this.#in((start) => call(start + key))
  }

  #in<T>(call: (start: string) => Promise<T>): Promise<T> {
    const { start } = this.#prefix
    return start === undefined ? this.#entered().then(call) : call(start)
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

  constructor(cache: Cache, namespace: Namespace) {
    super(cache, namespace)
    this.namespace = namespace
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
    return { namespace: namespace.id!, cache: new PrefixedCache(this.cache, prefix) }
  }
}

/** Returns the part of a cache that belongs to a database. */
export function namespaced(cache: Cache, parts: Omit<NamespaceParts, 'cache'>): NamespacedCache {
  return new NamespacedCache(cache, new Namespace({ ...parts, cache }))
}
