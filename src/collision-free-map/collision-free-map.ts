import { BucketMetrics } from '../buckets/bucket-metrics.js'
import { Buckets } from '../buckets/buckets.js'
import { eachBucket } from '../buckets/each-bucket.js'
import { Encoding, hashOf } from '../buckets/encoding.js'
import { bucketsOf } from '../buckets/options.js'
import { Processing } from '../buckets/processing.js'
import { bytesOf, type Encoded, insertEncoded } from '../buckets/statements.js'
import { transactionOf, Waiting } from '../buckets/waiting.js'
import { Connections } from '../connections/connections.js'
import { CountingDatabase, errorsOf, isCounting } from '../connections/counting.js'
import type { MigratedDatabase } from '../connections/migrated-database.js'
import type { Transaction } from '../database/database.js'
import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { type Environment, keptAlive, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { Combining } from './combining.js'
import { MAP_METRICS, MAP_PROCESS_METRICS, readMapFigures } from './metrics.js'
import { type CollisionFreeMapOptions, mapSettings } from './options.js'

export { BucketsDifferError } from '../buckets/buckets.js'
export type { Change, CollisionFreeMapOptions } from './options.js'

const TABLES = {
  what: 'map',
  all: 'collision_free_maps',
  buckets: 'collision_free_map_buckets',
  queued: 'collision_free_map_queue',
  owner: 'map',
}

/** Updates of one call; all are encoded before the first is written. */
const MAX_UPDATES_A_CALL = 100_000
/** Queued updates of one key that `get` takes into account; with more, processing is far behind. */
const MAX_QUEUED_IN_GET = 100_000

/**
 * A map for many writers: an update is queued, in the writer's own transaction and without touching
 * the value, so writers never wait for each other, however often they write the same key;
 * `process()` combines what is queued into the values later, in bulk, and tells `onUpdate` of what
 * has changed, in the same transaction. After Fluo Recipes, "CollisionFreeMap" and "Combine Queue"
 * (Apache Fluo, 2015), on SQL.
 *
 * - A new value derives from all updates of its key committed before the transaction that makes it
 *   began. Updates come to `combine` in an order in which none comes before one that its
 *   transaction could have seen.
 * - In `onUpdate`, the `oldValue` of a change equals the `newValue` of the previous change of the
 *   key. It differs from the `newValue` of the same change.
 * - Each update counts once, through any crash, and in any number of processes that call
 *   `process()`.
 *
 * In TypeScript keys are strings and values are numbers, unless the parameters of `combine` say
 * otherwise, as in
 * `combine: (id: number, current: Cart | undefined, updates: readonly Cart[]) => …`.
 *
 * @example
 * ```js
 * import { CollisionFreeMap } from 'wide-cache/collision-free-map'
 *
 * const stock = new CollisionFreeMap({
 *   id: 'stock',
 *   combine: (item, current = 0, updates) => updates.reduce((sum, n) => sum + n, current),
 * })
 * await stock.update([['apples', -3], ['pears', 12]])
 * await stock.process()
 * await stock.get('pears') // 12
 * await stock.close()
 * ```
 */
export class CollisionFreeMap<K = string, V = number> {
  readonly #connections: Connections
  readonly #database: MigratedDatabase
  readonly #id: string
  readonly #keys: Encoding<K>
  readonly #values: Encoding<V>
  readonly #buckets: Buckets
  readonly #combining: Combining<K, V>
  readonly #environment: Environment
  readonly #metrics: BucketMetrics<typeof MAP_METRICS>
  readonly #processing: Processing
  readonly #waiting = new Waiting<Encoded>((tx, rows) => this.#insert(tx, rows))

  /** @throws TypeError, RangeError naming the option */
  constructor(
    options: CollisionFreeMapOptions<K, V>,
    environment: Environment = systemEnvironment,
  ) {
    const { id, buckets, every, combine, onUpdate, keyCodec, valueCodec, logger } =
      mapSettings(options)
    const burstLogger = new BurstLogger(logger, () => environment.clock.elapsed())
    this.#connections = new Connections('CollisionFreeMap', id, environment)
    this.#database = this.#connections.openDatabase(options.database, ['collision-free-map'], {
      logger,
      through: (opened) => CountingDatabase.of(opened, environment.clock),
    })
    this.#metrics = new BucketMetrics({
      id,
      clock: environment.clock,
      stored: MAP_METRICS,
      read: () => readMapFigures(this.#database, id),
      process: MAP_PROCESS_METRICS,
      errors: isCounting(options.database) ? undefined : errorsOf(this.#database.database),
    })
    this.#id = id
    this.#keys = new Encoding('key', keyCodec)
    this.#values = new Encoding('value', valueCodec)
    this.#buckets = new Buckets(this.#database, TABLES, id, buckets)
    this.#combining = new Combining({
      database: this.#database,
      buckets: this.#buckets,
      id,
      combine,
      onUpdate,
      keys: this.#keys,
      values: this.#values,
      logger: burstLogger,
    })
    this.#environment = environment
    this.#processing = new Processing({
      every,
      names: TABLES,
      id,
      database: this.#database.database,
      enter: () => this.#buckets.enter(),
      process: () => this.#process(),
      environment,
      logger: burstLogger,
    })
  }

  /**
   * Metrics behind {@link metrics} and {@link instrument}, for an owner that ends them before the
   * map.
   *
   * @internal
   */
  get bucketMetrics(): BucketMetrics<typeof MAP_METRICS> {
    return this.#metrics
  }

  /**
   * Queues updates, at most 100,000 a call: all, or when it rejects none. With `tx` they are part
   * of the caller's transaction, and count if and only if that commits. They are inserted just
   * before its commit, so that updates of two transactions that change the same row come in the
   * order of the commits. The tables must be there by then: call `migrate()` at start. Without,
   * they have a transaction of their own; if its commit fails with kind 'unreachable', it is not
   * known whether they are queued.
   *
   * @throws RangeError, TypeError for a key or value that is too long or cannot be encoded;
   * DatabaseError
   */
  update(updates: Iterable<readonly [K, V]>, tx?: Transaction): Promise<void> {
    return this.#connections.run(() => this.#update(updates, tx))
  }

  async #update(updates: Iterable<readonly [K, V]>, tx?: Transaction): Promise<void> {
    const rows: Encoded[] = []
    for (const [key, value] of updates) {
      if (rows.length === MAX_UPDATES_A_CALL) {
        throw new RangeError(
          `wide-cache: more than ${MAX_UPDATES_A_CALL} updates in one call; make several`,
        )
      }
      const bytes = this.#keys.encode(key)
      rows.push({ hash: hashOf(bytes), key: bytes, value: this.#values.encode(value) })
    }
    if (rows.length === 0) return
    if (tx === undefined) await this.#database.transaction((own) => this.#insert(own, rows))
    else this.#waiting.add(transactionOf(tx), rows)
  }

  #insert(tx: Transaction, rows: readonly Encoded[]): Promise<void> {
    return insertEncoded(
      tx,
      TABLES.queued,
      ['map', 'hash', 'map_key', 'map_value'],
      rows,
      ({ hash, key, value }) => [this.#id, hash, key, value],
    )
  }

  /**
   * Combines what is queued, bucket by bucket, passing by those that another processor is at. Any
   * number of processes may call it, at any time; call it again and again. When it resolves, all
   * updates committed before the call have been processed, but for those in buckets that others
   * were at.
   *
   * @returns how many updates it has taken from the queue, those parked included
   * @throws the first error of a bucket, such as `onUpdate`'s, after going on with all others; at
   * once if the database is unreachable or full. What is not processed stays queued.
   */
  process(): Promise<number> {
    return this.#connections.run(() => this.#process())
  }

  #process(): Promise<number> {
    return this.#metrics.count(() =>
      eachBucket(this.#buckets, this.#environment, (bucket) => this.#combining.process(bucket)),
    )
  }

  /**
   * Returns the value of a key with all that is queued for it, as of one moment, or `undefined`.
   * Does not change anything. With `tx` it also counts what that transaction has updated; within a
   * transaction of SQLite `tx` is needed, because the transaction has the database to itself.
   *
   * @throws what `combine` throws for it; RangeError if more than 100,000 updates of this key are
   * queued
   */
  get(key: K, tx?: Transaction): Promise<V | undefined> {
    return this.#connections.run(() => this.#get(key, tx))
  }

  async #get(key: K, tx?: Transaction): Promise<V | undefined> {
    const on = tx === undefined ? this.#database : transactionOf(tx)
    const bytes = this.#keys.encode(key)
    const place = [this.#id, hashOf(bytes), bytes]
    // One statement sees one moment: between two, an update could be in both or in neither.
    const { rows } = await on.query(
      'SELECT 0 AS id, map_value FROM collision_free_map_values ' +
        'WHERE map = ? AND hash = ? AND map_key = ? ' +
        `UNION ALL SELECT id, map_value FROM ${TABLES.queued} ` +
        `WHERE map = ? AND hash = ? AND map_key = ? ORDER BY id LIMIT ${MAX_QUEUED_IN_GET + 2}`,
      [...place, ...place],
    )
    const stored = rows[0]?.['id'] === 0 ? bytesOf(rows[0], 'map_value') : undefined
    const queued = rows.slice(stored ? 1 : 0).map((row) => bytesOf(row, 'map_value'))
    if (tx !== undefined) {
      for (const row of this.#waiting.of(tx)) if (row.key.equals(bytes)) queued.push(row.value)
    }
    if (queued.length > MAX_QUEUED_IN_GET) {
      throw new RangeError(
        `wide-cache: more than ${MAX_QUEUED_IN_GET} updates of one key are queued in map ` +
          `"${this.#id}"; call process()`,
      )
    }
    const value = queued.length === 0 ? stored : this.#combining.combined(bytes, stored, queued)
    return value && this.#values.decode(value)
  }

  /**
   * Returns the number of parked updates, whenever they were parked. Updates are parked if
   * `combine` throws for them, or returns what the codec refuses. They stay in the table
   * `collision_free_map_parked`, with the error, until you delete them or put them back into the
   * queue.
   */
  parked(): Promise<number> {
    return this.#connections.run(() => this.#parked())
  }

  async #parked(): Promise<number> {
    const {
      rows: [row],
    } = await this.#database.query(
      'SELECT COUNT(*) AS n FROM collision_free_map_parked WHERE map = ?',
      [this.#id],
    )
    return Number(row?.['n'])
  }

  /**
   * Returns its metrics as text for Prometheus: what SQL holds, at most 10 s old, and what this
   * process has done. Never waits for SQL for longer than 3 s. `joinMetrics()` joins those of
   * several objects to one page.
   */
  metrics(): Promise<string> {
    return this.#connections.run(() => keptAlive(this.#environment, () => this.#metrics.text()))
  }

  /**
   * Has a meter of OpenTelemetry observe the same figures, until `close()`.
   *
   * @throws TypeError
   */
  instrument(meter: MetricsMeter): void {
    this.#connections.check()
    this.#metrics.instrument(meter)
  }

  /**
   * Changes the number of buckets (1 to 1000), at any time: nothing is lost, and processes that are
   * at work go on with the new ones. Then give all processes the new number, or none: one that
   * starts with the old number is refused.
   *
   * @throws TypeError, RangeError; DatabaseError
   */
  changeBuckets(n: number): Promise<void> {
    return this.#connections.run(async () => this.#buckets.change(bucketsOf('n', n)))
  }

  /**
   * Makes the tables, or brings them up to this version, and stores the number of buckets where it
   * is new.
   *
   * @throws BucketsDifferError if the stored number is not the one given; DatabaseError
   */
  migrate(): Promise<void> {
    return this.#connections.run(() => this.#buckets.enter())
  }

  /**
   * Stops processing by itself, waits for what is under way, 5 s at most, and closes the database
   * if it was opened here. Idempotent. What is queued stays queued. From then on all other methods
   * reject with a `ClosedError`.
   */
  close(): Promise<void> {
    return this.#connections.close(() => {
      this.#metrics.end()
      return this.#connections.finish(this.#processing.stop())
    })
  }
}
