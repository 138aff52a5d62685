import type { Cache } from '../cache/cache.js'
import { Connections } from '../connections/connections.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Database } from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger, type Logger } from '../support/logger.js'
import { given, integer, loggerOf, identifier, onlyKnown } from '../support/options.js'
import { GenerationRecord } from './generation-record.js'
import { Numbers } from './numbers.js'

/** Options of a {@link Sequence}. */
export interface SequenceOptions {
  /**
   * Processes that give the same name share one sequence. 1 to 32 letters, digits, `_`, `.`, `-`.
   */
  name: string
  /**
   * The cache that counts. One that is private to this process (`memory:`), or that may go back to
   * an earlier state, is not used: numbers come from SQL alone.
   * @default the environment variable WIDE_CACHE_SERVERS, MEMCACHE_SERVERS or REDIS_URL, else SQL
   * alone
   */
  cache?: string | Cache | undefined
  /**
   * The database that keeps the reserve. @default the environment variable WIDE_CACHE_DATABASE_URL
   * or DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /**
   * Largest reserve of numbers in SQL. At most this reserve is skipped when the cache loses the
   * counter. @default 100
   */
  block?: number | undefined
  /**
   * The first number, 1 to 2^53-1. It counts at the first use of the name alone: from then on
   * numbers go on from where the name is. @default 1
   */
  start?: number | undefined
  /** Receives information, warnings and errors. @default `console` */
  logger?: Logger | undefined
}

const MAX_BLOCK = 1_000_000_000

/** {@link Sequence}, in an environment that tests may own. */
export class SequenceIn {
  readonly #connections: Connections
  readonly #database: PreparedDatabase
  readonly #numbers: Numbers

  /**
   * @throws TypeError, RangeError
   */
  constructor(options: SequenceOptions, environment: Environment) {
    const { name, block, start, logger, ...rest } = sequenceSettings(options)
    this.#connections = new Connections('Sequence', name, environment)
    this.#database = this.#connections.openDatabase(rest.database, ['sequence'], { logger })
    const burstLogger = new BurstLogger(logger, () => environment.clock.elapsed())
    const cache = this.#connections.openNamespaced(rest.cache, this.#database, burstLogger)
    this.#numbers = new Numbers({
      name,
      block,
      // One that goes back would give numbers again.
      cache: cache.scope === 'shared' && cache.neverGoesBack ? cache : undefined,
      record: new GenerationRecord(this.#database, name, block, start),
      environment,
      logger: burstLogger,
    })
  }

  /**
   * The next number. All calls of this process that wait at one time share one operation, and are
   * answered in their order.
   *
   * @throws RangeError when 2^53-1 has been handed out
   * @throws SequenceError `SEQUENCE_UNANSWERED` when cache or database have not answered for 10 s,
   * `SEQUENCE_QUEUE_FULL` when 100,000 calls wait
   * @throws ClosedError when `close()` is called before the number is there
   * @throws DatabaseError when the database refuses for good: a missing right, closed
   */
  next(): Promise<number> {
    return this.#connections.run(() => this.#numbers.next())
  }

  /** Brings the tables up to this version. Done by itself before the first use of SQL. */
  migrate(): Promise<void> {
    return this.#connections.run(() => this.#database.migrate())
  }

  /**
   * Rejects the calls that still wait, and all later ones, with a `ClosedError`, and lets go
   * of the connections that it has opened. Idempotent.
   */
  close(): Promise<void> {
    return this.#connections.close(() => {
      this.#numbers.close()
      return this.#connections.finish()
    })
  }
}

/**
 * Numbers 1, 2, 3, …, or from `start` on, for any number of processes. They are always unique, and
 * a call after an answer gets a greater number, on every process. After "Implementing Sequences
 * with Google AppEngine", with the questions it leaves open answered:
 * - A loss of the cache skips at most `block` numbers, and calls wait for about 0.7 s. Losses are a
 *   flush, an eviction, a restart, and the 30 days that memcached keeps a value at most.
 * - While the cache lives, the only numbers skipped are those on their way to a process that has
 *   died, and those whose answer a time-out or a broken connection has lost. These are as many as
 *   shared the operation: up to `block`, or 100 if that is more, and never over 1,000.
 *
 * A cache that goes back to an earlier state would give numbers again. So only one counts that
 * declares that it never does ({@link Cache.neverGoesBack}), as memcached; restoring memcached
 * itself from a snapshot breaks that.
 *
 * With such a cache a number costs a share of one cache operation, and SQL one write per half a
 * block. Without one it costs a share of one transaction. The only numbers skipped are then those
 * of a transaction whose reply was lost, or whose process was killed before it answered its callers
 * (up to 1,000). While the cache is silent calls wait. After 5 s of silence, or the third lost
 * counter within 10 s, numbers come from SQL alone, and the log says so. The cache is used again
 * when a counter has stayed in it for 3 s, 10 s later at the earliest. While the database is away
 * numbers go on for up to half a second, then calls wait. A call that has waited 10 s rejects.
 *
 * The guarantees are the database's: one that loses committed transactions (a power cut with
 * relaxed durability, a failover to a replica that lags behind, a restored backup) may give numbers
 * again.
 *
 * @example
 * ```js
 * import { Sequence } from 'wide-cache/sequence'
 *
 * const orders = new Sequence({ name: 'orders' })
 * await orders.next() // 1
 * await orders.close()
 * ```
 */
export class Sequence extends SequenceIn {
  /**
   * @throws TypeError, RangeError
   */
  constructor(options: SequenceOptions) {
    super(options, systemEnvironment)
  }
}

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function sequenceSettings(options: SequenceOptions) {
  onlyKnown('Sequence', options, ['name', 'cache', 'database', 'block', 'start', 'logger'])
  const { name, cache, database, block = 100, start = 1, logger = console } = given(options)
  return {
    name: identifier('name', name),
    cache,
    database,
    block: integer('block', block, 1, MAX_BLOCK, 'numbers'),
    start: integer('start', start, 1, Number.MAX_SAFE_INTEGER),
    logger: loggerOf('logger', logger),
  }
}
