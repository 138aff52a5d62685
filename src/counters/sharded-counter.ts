import { type Cache, MAX_TTL_SECONDS } from '../cache/cache.js'
import { Connections } from '../connections/connections.js'
import { Gather } from '../connections/gather.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import { answered, retried } from '../connections/retry.js'
import type { Database } from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { given, integer, identifier, onlyKnown } from '../support/options.js'
import { type Shared, shared } from '../support/shared.js'
import { CachedTotal } from './cached-total.js'
import { OutcomeUnknownError } from './outcome.js'
import { type Increment, MAX_SHARDS, Shards } from './shards.js'

/** Options of a {@link ShardedCounter}. */
export interface ShardedCounterOptions {
  /**
   * The counter's name: processes that give the same one share it. 1 to 32 letters, digits, `_`,
   * `.`, `-`.
   */
  name: string
  /**
   * The database that holds the shards. @default the environment variable WIDE_CACHE_DATABASE_URL
   * or DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /**
   * The cache that keeps totals for a while. @default the environment variable
   * WIDE_CACHE_SERVERS, MEMCACHE_SERVERS or REDIS_URL, else `memory:`
   */
  cache?: string | Cache | undefined
  /**
   * Rows a new counter is spread over, 1 to 1000; one that has fewer grows to it, one that has more
   * keeps them. @default 20
   */
  shards?: number | undefined
  /**
   * Seconds after which a total in the cache is read anew from the shards, 1 to 2,592,000 (30
   * days). Not used where the cache may go back, as Redis may: each total comes from the shards.
   * @default 60
   */
  cacheSeconds?: number | undefined
}

/** Most callers that share a transaction. */
const MAX_BATCH = 10_000
/** Callers join a reading under way that is no older. */
const JOIN_MS = 1_000

/** {@link ShardedCounter}, in an environment that tests may own. */
export class ShardedCounterIn {
  readonly #connections: Connections
  readonly #database: PreparedDatabase
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #shards: Shards
  /** `undefined`: the cache may go back, so totals come from SQL alone. */
  readonly #cached: CachedTotal | undefined
  readonly #increments: Gather<Increment, void>
  readonly #name: string
  #key: string | undefined
  readonly #recentTotal: Shared<number>

  /** @throws TypeError, RangeError */
  constructor(options: ShardedCounterOptions, environment: Environment) {
    const { name, database, cache, shards, cacheSeconds } = shardedCounterSettings(options)
    this.#name = name
    this.#connections = new Connections('ShardedCounter', this.#name, environment)
    this.#environment = environment
    this.#database = this.#connections.openDatabase(database, ['counters'])
    this.#cache = this.#connections.openNamespaced(cache, this.#database)
    this.#shards = new Shards(this.#database, environment, this.#name, shards)
    this.#cached = this.#cache.neverGoesBack
      ? new CachedTotal(this.#cache, environment, cacheSeconds)
      : undefined
    this.#recentTotal = shared(environment.clock, 0, () => this.#readRecent(), JOIN_MS)
    this.#increments = new Gather('increments', (items) => this.#commit(items), safeToAdd)
  }

  /**
   * Adds `delta`, which may be negative. Resolves when it is committed.
   *
   * @throws RangeError: the number would leave ±(2^53-1); nothing was counted. OutcomeUnknownError:
   * the database did not answer for some 10 s, and it may or may not have been counted.
   * DatabaseError, anything else: nothing was counted.
   */
  async increment(delta = 1): Promise<void> {
    return this.#connections.run(async () => {
      integer('delta', delta, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
      const one: Increment = { delta, refused: undefined }
      await this.#increments.add(one)
      if (one.refused) throw one.refused
    })
  }

  /**
   * Returns the total. It comes from the cache, and follows committed increments, those of other
   * processes on a shared cache included: an increment has changed it before `increment()`
   * resolves. If the cache did not answer just after a commit, or a process died then, it can lack
   * these increments for up to `cacheSeconds`. With a cache that may go back to an earlier state,
   * such as Redis, it comes from the shards. Calls of one process share a reading under way, which
   * lacks what other processes have counted since it began, for a second at most.
   * With `exact` it is read from the shards, as of a moment after this call. 0 for a counter that
   * never was incremented.
   *
   * @throws DatabaseError
   */
  async get(options: { exact?: boolean | undefined } = {}): Promise<number> {
    return this.#connections.run(async () => {
      onlyKnown('get', options, ['exact'])
      return options.exact ? this.#total() : this.#recentTotal()
    })
  }

  /**
   * Spreads the counter over `n` rows (1 to 1000), if it has fewer. Safe to repeat. Other processes
   * learn the new number with their next increment, from the row that it would update.
   *
   * @throws DatabaseError
   */
  async increaseShards(n: number): Promise<void> {
    return this.#connections.run(async () => {
      integer('n', n, 1, MAX_SHARDS, 'shards')
      return retried(
        this.#environment,
        () => this.#database.now(),
        () => this.#shards.grow(n),
      )
    })
  }

  /** Brings the tables up to this version; otherwise the first use does. @throws DatabaseError */
  migrate(): Promise<void> {
    return this.#connections.run(() => this.#database.migrate())
  }

  /**
   * Waits for what is under way, 5 s at most, and lets go of what was opened for this counter;
   * idempotent. From then on all other methods reject with a `ClosedError`.
   */
  close(): Promise<void> {
    return this.#connections.close(() => this.#connections.finish())
  }

  async #commit(increments: readonly Increment[]): Promise<void> {
    if (this.#cached) await this.#commitCached(increments, this.#cached)
    else await this.#shards.add(increments)
    // A total that is being read may lack this: up to now, the cache may have said the old one. It
    // is of no use to callers who come from now on.
    this.#recentTotal.forget()
  }

  async #commitCached(increments: readonly Increment[], cached: CachedTotal): Promise<void> {
    const seen = await cached.before(this.#key)
    let added: number
    try {
      added = await this.#shards.add(increments)
    } catch (error) {
      if (error instanceof OutcomeUnknownError && this.#key !== undefined) {
        await cached.after(this.#key, seen, undefined)
      }
      throw error
    }
    const key = await this.#keyOf().catch(() => undefined)
    if (key !== undefined) await cached.after(key, seen, added)
  }

  #total(): Promise<number> {
    return answered(this.#environment, () => this.#shards.total())
  }

  async #readRecent(): Promise<number> {
    if (!this.#cached) return this.#total()
    const key = await this.#keyOf()
    return key === undefined ? 0 : this.#cached.get(key, () => this.#total())
  }

  /** The key of the total in the cache; `undefined` if nothing was ever counted. */
  async #keyOf(): Promise<string | undefined> {
    if (this.#key !== undefined) return this.#key
    const id = await answered(this.#environment, () => this.#shards.id())
    if (id) this.#key = `sharded-counter:${this.#name}:${id.toString('hex')}`
    return this.#key
  }
}

/**
 * A number that any number of processes raise and lower at once. It is the sum of N rows, and each
 * transaction updates one of them, chosen at random. (After "Sharding Counters", Joe Gregorio,
 * 2008.)
 *
 * An increment resolves when it is committed. Those of one process that come while a transaction is
 * under way share the next. The number stays within ±(2^53-1), exactly.
 *
 * With the cache down totals are read from SQL; with the database down increments reject, and
 * totals come from the cache as long as it has them.
 *
 * @example
 * ```js
 * import { ShardedCounter } from 'wide-cache/counters'
 *
 * const downloads = new ShardedCounter({ name: 'downloads' })
 * await downloads.increment()
 * await downloads.get() // 1
 * await downloads.close()
 * ```
 */
export class ShardedCounter extends ShardedCounterIn {
  /** @throws TypeError, RangeError */
  constructor(options: ShardedCounterOptions) {
    super(options, systemEnvironment)
  }
}

/**
 * Returns how many of `items`, from the first, can be added exactly, whichever of them are refused;
 * at most MAX_BATCH.
 */
function safeToAdd(items: readonly Increment[]): number {
  let sum = 0
  const end = items.findIndex(
    ({ delta }, i) => i === MAX_BATCH || !Number.isSafeInteger((sum += Math.abs(delta))),
  )
  return end === -1 ? items.length : end
}

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function shardedCounterSettings(options: ShardedCounterOptions) {
  onlyKnown('ShardedCounter', options, ['name', 'database', 'cache', 'shards', 'cacheSeconds'])
  const { name, database, cache, shards = 20, cacheSeconds = 60 } = given(options)
  return {
    name: identifier('name', name),
    database,
    cache,
    shards: integer('shards', shards, 1, MAX_SHARDS, 'rows'),
    cacheSeconds: integer(
      'cacheSeconds',
      cacheSeconds,
      1,
      MAX_TTL_SECONDS,
      'seconds (30 days: memcached reads more as a date)',
    ),
  }
}
