/**
 * The Cache port: the operations that the protocol needs, in memcached's terms. A cache is treated
 * as a network that may lose, delay, repeat and reorder. Keys are printable ASCII of 1 to 250
 * bytes; values are Buffers; TTLs are whole seconds from 1 to 2,592,000 (30 days).
 *
 * A cache may forget at any moment. Whether it may also go back to an earlier state, it declares
 * with {@link Cache.neverGoesBack}.
 *
 * Every method rejects with a {@link CacheError} when no answer came; the operation may have been,
 * or may yet be, carried out.
 */
export interface Cache {
  /** `shared` between processes, or `private` to this one. */
  readonly scope: 'shared' | 'private'
  /**
   * `true`: the cache may forget, but a value never goes back to an earlier one by itself. `false`:
   * it may, as a server that restores a snapshot, or a replica that takes over without the newest
   * writes. `Sequence` and `GlobalCounter` count only in a cache that says `true`; with any other
   * they take their values from SQL alone. A wrapper passes on what the cache behind it says.
   */
  readonly neverGoesBack: boolean
  /** The value, or `undefined` on a miss. */
  get(key: string): Promise<Buffer | undefined>
  /**
   * The values of those keys that exist, all asked for at once. If some server did not answer: with
   * `onUnanswered` it is called once for each such key and the rest is returned; without, the call
   * rejects.
   */
  getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>>
  /**
   * Stores the value. `false`: not stored (over the item size limit, out of memory); an old value
   * may be gone.
   */
  set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean>
  /**
   * Stores the value if there is none. `false`: not stored (there is one; or over the limit, out of
   * memory).
   */
  add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean>
  /**
   * Appends `value` to the stored one, atomically, and keeps its TTL. `false`: not stored (a miss,
   * over the limit, out of memory).
   */
  append(key: string, value: Buffer): Promise<boolean>
  /** Removes the value. `false`: there was none. */
  delete(key: string): Promise<boolean>
  /**
   * Adds `delta` (0 to 2^53-1) to the decimal number stored, atomically, and returns the new
   * number. On a miss: `undefined`, or, with `initial`, `initial` is stored with its TTL and
   * returned.
   *
   * @throws RangeError if the new number would pass 2^53-1 (it may be stored all the same).
   */
  increment(
    key: string,
    delta?: number,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined>
  /**
   * Closes the connections. Idempotent. Calls under way get their answer, or reject with
   * `CACHE_CLOSED`. Every later call rejects with it.
   */
  close(): Promise<void>
}

/** memcached reads a TTL over 30 days as a date. */
export const MAX_TTL_SECONDS = 30 * 24 * 3600

/**
 * Reason why a cache gave no usable answer. `CACHE_TIMEOUT`: no answer in time, or the connection
 * broke with the request in flight. `CACHE_UNREACHABLE`: no connection, or not asked because the
 * server is down or has too many requests in flight. `CACHE_REFUSED`: it answered with an error.
 * `CACHE_CLOSED`: `close()` was called.
 */
export type CacheErrorCode =
  | 'CACHE_TIMEOUT'
  | 'CACHE_UNREACHABLE'
  | 'CACHE_REFUSED'
  | 'CACHE_CLOSED'

/**
 * A cache operation that got no usable answer. Its message names the server, never a value or
 * credentials.
 */
export class CacheError extends Error {
  override readonly name = 'CacheError'
  /** The reason, for programs. */
  readonly code: CacheErrorCode
  /** `host:port` of the server that did not answer, where there is one. */
  readonly server: string | undefined

  constructor(
    code: CacheErrorCode,
    message: string,
    options?: { server?: string; cause?: unknown },
  ) {
    super(message, options)
    this.code = code
    this.server = options?.server
  }
}
