import { type Cache, CacheError, type CacheErrorCode } from '../../src/cache/cache.js'

export type Operation = Exclude<keyof Cache, 'scope' | 'neverGoesBack' | 'close'>

/**
 * Outcome of an operation: as it should be; an error, and it was not carried out, or was, or the
 * cache is being closed; a value that was there is lost before; or no answer, ever.
 */
export type CacheFault = 'none' | 'down' | 'timeout' | 'done' | 'closed' | 'lost' | 'silent'

/** What a snapshot has lives longer than a test. */
const RESTORED_SECONDS = 3600

/** A real cache that fails as `fault` says. It may stand before one that others share. */
export class FaultyCache implements Cache {
  fault: (operation: Operation, key: string) => CacheFault
  readonly scope: Cache['scope']
  neverGoesBack: boolean
  readonly keys = new Set<string>()
  operations = 0
  readonly #inner: Cache

  constructor(
    inner: Cache,
    fault: (operation: Operation, key: string) => CacheFault = () => 'none',
    scope = inner.scope,
  ) {
    this.#inner = inner
    this.fault = fault
    this.scope = scope
    this.neverGoesBack = inner.neverGoesBack
  }

  close() {
    return this.#inner.close()
  }
  get(key: string) {
    return this.#do('get', key, () => this.#inner.get(key))
  }
  set(key: string, value: Buffer, ttl: number) {
    return this.#do('set', key, () => this.#inner.set(key, value, ttl))
  }
  add(key: string, value: Buffer, ttl: number) {
    return this.#do('add', key, () => this.#inner.add(key, value, ttl))
  }
  append(key: string, value: Buffer) {
    return this.#do('append', key, () => this.#inner.append(key, value))
  }
  delete(key: string) {
    return this.#do('delete', key, () => this.#inner.delete(key))
  }
  increment(key: string, delta?: number, onMiss?: { initial: number; ttlSeconds: number }) {
    return this.#do('increment', key, () => this.#inner.increment(key, delta, onMiss))
  }
  getMany(keys: readonly string[], onUnanswered?: (key: string, error: CacheError) => void) {
    return this.#do('getMany', keys[0] ?? '', () => this.#inner.getMany(keys, onUnanswered))
  }

  /** Forgets all it has been asked about. */
  async flush(): Promise<void> {
    await Promise.all([...this.keys].map((key) => this.#inner.delete(key)))
  }

  /** Takes a snapshot of all it has been asked about. */
  snapshot(): Promise<ReadonlyMap<string, Buffer>> {
    return this.#inner.getMany([...this.keys])
  }

  /** Goes back to a snapshot. */
  async restore(snapshot: ReadonlyMap<string, Buffer>): Promise<void> {
    await this.flush()
    for (const [key, value] of snapshot) await this.#inner.set(key, value, RESTORED_SECONDS)
  }

  async #do<T>(operation: Operation, key: string, work: () => Promise<T>): Promise<T> {
    this.operations++
    this.keys.add(key)
    const fault = this.fault(operation, key)
    if (fault === 'lost') await this.#inner.delete(key)
    if (fault === 'down') throw noAnswer('CACHE_UNREACHABLE')
    if (fault === 'timeout') throw noAnswer('CACHE_TIMEOUT')
    if (fault === 'closed') throw noAnswer('CACHE_CLOSED')
    if (fault === 'silent') await new Promise(() => undefined)
    const result = await work()
    if (fault === 'done') throw noAnswer('CACHE_TIMEOUT')
    return result
  }
}

function noAnswer(code: CacheErrorCode): CacheError {
  return new CacheError(code, 'No answer, says the test')
}
