import type { Cache, CacheError } from './cache.js'

/**
 * A cache that passes each request on to another one, once. A subclass says what happens around a
 * call, and may have other keys behind it.
 */
export abstract class ForwardingCache implements Cache {
  protected readonly cache: Cache

  constructor(cache: Cache) {
    this.cache = cache
  }

  get scope(): 'shared' | 'private' {
    return this.cache.scope
  }

  get neverGoesBack(): boolean {
    return this.cache.neverGoesBack
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.around(key, (behind) => this.cache.get(behind))
  }

  abstract getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>>

  set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.around(key, (behind) => this.cache.set(behind, value, ttlSeconds))
  }

  add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.around(key, (behind) => this.cache.add(behind, value, ttlSeconds))
  }

  append(key: string, value: Buffer): Promise<boolean> {
    return this.around(key, (behind) => this.cache.append(behind, value))
  }

  delete(key: string): Promise<boolean> {
    return this.around(key, (behind) => this.cache.delete(behind))
  }

  increment(
    key: string,
    delta?: number,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined> {
    return this.around(key, (behind) => this.cache.increment(behind, delta, onMiss))
  }

  close(): Promise<void> {
    return this.cache.close()
  }

  /** Makes the call with the key behind it, before, after or between what the subclass does. */
  protected abstract around<T>(key: string, call: (behind: string) => Promise<T>): Promise<T>
}
