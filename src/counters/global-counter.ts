import assert from 'node:assert/strict'
import { type Cache, CacheError } from '../cache/cache.js'
import { Connections } from '../connections/connections.js'
import { Gather } from '../connections/gather.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import { answered } from '../connections/retry.js'
import type { Database } from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { given, integer, identifier, onlyKnown, wrongType, wrongValue } from '../support/options.js'
import { type Shared, shared } from '../support/shared.js'
import { type Addition, spread, sumOf } from './additions.js'
import { type CounterGeneration, CounterGenerations } from './generations.js'
import { MAX_CACHE_DELTA, NumberInCache } from './number-in-cache.js'
import { outcomeOf } from './outcome.js'
import { Persisting } from './persisting.js'

/** Options of a {@link GlobalCounter}. */
export interface GlobalCounterOptions {
  /**
   * The counter's name: processes that give the same one share it. 1 to 32 letters, digits, `_`,
   * `.`, `-`.
   */
  name: string
  /**
   * The database that persists the value. @default the environment variable WIDE_CACHE_DATABASE_URL
   * or DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /**
   * The cache that holds the value. One that may go back to an earlier state is not used: values
   * come from SQL alone. @default the environment variable WIDE_CACHE_SERVERS, MEMCACHE_SERVERS or
   * REDIS_URL, else `memory:`
   */
  cache?: string | Cache | undefined
  /**
   * Rows the persisted maximum is spread over, 1 to 1000. The greatest of all processes holds, from
   * the next loss in the cache on. @default 20
   */
  shards?: number | undefined
  /**
   * Share of the values that is persisted, 0 to 1. With 0 none is. In SQL alone each is. @default 1
   */
  chanceToWrite?: number | undefined
}

const MAX_SHARDS = 1_000
const MIN_CHANCE = 1e-6
/** Lifetime in this process of the newest generation and the persisted value from SQL, in ms. */
const RECENT_MS = 1_000

/** Losses in the cache that one increment goes through. */
const MAX_LOSSES = 100

/** {@link GlobalCounter}, in an environment that tests may own. */
export class GlobalCounterIn {
  readonly #connections: Connections
  readonly #database: PreparedDatabase
  readonly #environment: Environment
  readonly #generations: CounterGenerations
  readonly #persisting: Persisting
  readonly #name: string
  /** The newest generation. */
  readonly #newest: Shared<CounterGeneration | undefined>
  /** The greatest value persisted. */
  readonly #persisted: Shared<number>
  #opening: Promise<unknown> | undefined
  readonly #inSql: Gather<Addition<number>, void>
  /** `undefined`: the cache may go back, so values come from SQL alone. */
  readonly #inCache: NumberInCache | undefined
  /** The greatest value this process knows of. */
  #reached = 0

  /** @throws TypeError, RangeError */
  constructor(options: GlobalCounterOptions, environment: Environment) {
    const { name, database, cache, shards, chanceToWrite } = globalCounterSettings(options)
    this.#name = name
    this.#connections = new Connections('GlobalCounter', this.#name, environment)
    this.#environment = environment
    this.#database = this.#connections.openDatabase(database, ['counters'])
    const opened = this.#connections.openNamespaced(cache, this.#database)
    this.#inCache = opened.neverGoesBack ? new NumberInCache(opened, this.#name) : undefined
    this.#generations = new CounterGenerations({
      database: this.#database,
      cache: this.#inCache && opened,
      environment,
      name: this.#name,
      shards,
    })
    this.#persisting = new Persisting(this.#generations, this.#name, chanceToWrite)
    const recent = <T>(ask: () => Promise<T>): Shared<T> =>
      shared(environment.clock, RECENT_MS, ask, RECENT_MS)
    this.#newest = recent(() => this.#askNewest())
    this.#persisted = recent(() => this.#askPersisted())
    this.#inSql = new Gather(
      'increments',
      (items) => this.#countInSql(items),
      (items) => items.length,
    )
  }

  /**
   * Adds `delta` (1 to 2^53-1) and returns the number it came to: the caller's own.
   *
   * @throws RangeError: it would pass 2^53-1; nothing was counted. OutcomeUnknownError: cache or
   * database did not answer, and it may or may not have been counted; its value is given to nobody
   * else. CacheError, DatabaseError, anything else: nothing was counted.
   */
  async increment(delta = 1): Promise<number> {
    return this.#connections.run(async () => {
      integer('delta', delta, 1, Number.MAX_SAFE_INTEGER)
      try {
        const value = await this.#increment(delta)
        this.#reached = Math.max(this.#reached, value)
        return value
      } finally {
        this.#persisted.forget()
      }
    })
  }

  /**
   * The number, as the cache has it, with the increments that are under way. While the cache has no
   * number, or does not answer, and in SQL alone: the greatest one persisted. It may then lack what
   * other processes have counted in the last second.
   *
   * @throws DatabaseError
   */
  async get(): Promise<number> {
    return this.#connections.run(async () => {
      const generation = this.#inCache && (await this.#newest())
      const value = generation && (await this.#inCache?.get(generation))
      return value ?? this.#persisted()
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

  async #increment(delta: number): Promise<number> {
    const inCache = this.#inCache
    if (!inCache || delta > MAX_CACHE_DELTA || !Number.isSafeInteger(this.#reached + delta)) {
      return this.#addInSql(delta)
    }
    for (let losses = 0; losses < MAX_LOSSES; losses++) {
      const newest = this.#newest()
      const generation = await newest
      const value = generation && (await inCache.add(generation, delta))
      if (value === 'refused') return this.#addInSql(delta)
      let opened: number | undefined
      if (generation === undefined || value === undefined) {
        opened = await this.#open(generation, delta)
      } else if (await this.#persisting.keeps(generation, value, delta)) {
        return value
      }
      this.#newest.forget(newest)
      if (opened !== undefined) return opened
    }
    throw new CacheError(
      'CACHE_REFUSED',
      `wide-cache: counter "${this.#name}": the cache has lost it ${MAX_LOSSES} times during ` +
        'one increment: give it more memory, or find out what empties it',
    )
  }

  /** Counts a delta that the cache is not asked for. Returns the new number, the caller's own. */
  async #addInSql(delta: number): Promise<number> {
    const item: Addition<number> = { delta, value: undefined }
    await this.#inSql.add(item)
    assert(item.value !== undefined, 'it has been counted')
    return item.value
  }

  /** Counts what several calls add, in their order, in one transaction. */
  async #countInSql(items: readonly Addition<number>[]): Promise<void> {
    const sum = sumOf(items)
    if (this.#inCache) {
      // Too large for the cache, most are refused here, without a lock that others would wait for.
      const persisted = await this.#askPersisted()
      this.#reached = Math.max(this.#reached, persisted)
      this.#generations.refuse(persisted, sum)
    }
    try {
      spread(items, await this.#generations.openNext(sum))
    } catch (error) {
      throw outcomeOf(this.#name, error)
    } finally {
      this.#newest.forget()
    }
  }

  /** Opens a generation, one at a time: the others of this process find it opened. */
  async #open(missed: CounterGeneration | undefined, delta: number): Promise<number | undefined> {
    if (this.#opening) {
      await this.#opening.catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error
      })
      return undefined
    }
    const opening = this.#generations.open(missed, delta).finally(() => {
      this.#opening = undefined
    })
    this.#opening = opening
    try {
      return await opening
    } catch (error) {
      throw outcomeOf(this.#name, error)
    }
  }

  #askNewest(): Promise<CounterGeneration | undefined> {
    return answered(this.#environment, () => this.#generations.newest())
  }

  #askPersisted(): Promise<number> {
    return answered(this.#environment, () => this.#generations.persisted())
  }
}

/**
 * A number that only rises, shared by any number of processes, and that gives each caller its own
 * value. It lives in a cache that never goes back, where an increment is one operation, and is
 * persisted in SQL as the maximum over random rows. (After "Efficient Global Counters, revisited",
 * Jens Scheffler, 2009.)
 *
 * With `chanceToWrite` 1 an increment resolves when its value, or a later one, is persisted. Then a
 * value is never given out twice and no acknowledged increment is lost, whatever the cache forgets
 * and whenever. `add` and `increment` alone leave two gaps. They are closed so:
 * - *A stale `add`* of an old maximum after an eviction. Here every loss of the key opens a new
 *   generation, with a key that holds a unique token. One transaction locks the counter's rows,
 *   takes the maximum, seeds the new key and commits, so a key is seeded exactly once, before
 *   anybody can know it. An old key that comes back is out of use.
 * - *A loss between increment and persisting.* The rows carry the generation, and a value is
 *   persisted into its own or refused. When it is refused, the value with which the next generation
 *   began tells whether it contains the increment. If so, the increment is acknowledged; else it
 *   was lost, and is done again. It never counts twice.
 *
 * A cache that goes back to an earlier state would give values again. So only one counts that
 * declares that it never does ({@link Cache.neverGoesBack}), as memcached and `memory:`; restoring
 * memcached itself from a snapshot breaks that. With any other cache values come from SQL alone:
 * increments that come while a transaction is under way share the next, which opens a generation
 * whose key nobody seeds. A process that counts in SQL alone, and one that counts in a cache, end
 * each other's generations; with `chanceToWrite` 1 they give no value twice.
 *
 * Increments of over 2^32 are counted in SQL, in transactions.
 *
 * With a `chanceToWrite` below 1, one value in 1/chanceToWrite is persisted, and only its caller
 * waits for that. Values are then taken back, and given out again:
 * - By a loss in the cache, or an increment of up to 2^32 refused for passing 2^53-1: at most
 *   ⌈1/chanceToWrite⌉ - 1, and those counted while a value was on its way to SQL, or that never
 *   came there, because a process died or SQL was down. With 0 no value is persisted, and a loss
 *   takes back all since the loss before it.
 * - By a cache server that is lost and comes back with its old memory: for a second.
 * - By an increment of over 2^32: those counted in the cache at the same moment.
 *
 * With the cache down increments reject, and `get()` reads SQL; with the database down both reject,
 * from a second on. On `memory:` several processes have a memory each: with `chanceToWrite` 1 that
 * is right, but costs a transaction at every change of process; with less it is wrong.
 *
 * @example
 * ```js
 * import { GlobalCounter } from 'wide-cache/counters'
 *
 * const tickets = new GlobalCounter({ name: 'tickets' })
 * await tickets.increment() // 1, and no other call gets it
 * await tickets.close()
 * ```
 */
export class GlobalCounter extends GlobalCounterIn {
  /** @throws TypeError, RangeError */
  constructor(options: GlobalCounterOptions) {
    super(options, systemEnvironment)
  }
}

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function globalCounterSettings(options: GlobalCounterOptions) {
  onlyKnown('GlobalCounter', options, ['name', 'database', 'cache', 'shards', 'chanceToWrite'])
  const { name, database, cache, shards = 20, chanceToWrite = 1 } = given(options)
  return {
    name: identifier('name', name),
    database,
    cache,
    shards: integer('shards', shards, 1, MAX_SHARDS, 'rows'),
    chanceToWrite: chanceOf(chanceToWrite),
  }
}

function chanceOf(value: unknown): number {
  const allowed = `0, or a number from ${MIN_CHANCE} to 1`
  if (typeof value !== 'number') throw wrongType('chanceToWrite', value, allowed)
  const isAllowed = value === 0 || (value >= MIN_CHANCE && value <= 1)
  if (!isAllowed) throw wrongValue('chanceToWrite', value, allowed)
  return value
}
