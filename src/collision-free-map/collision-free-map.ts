import { BucketMetrics } from '../buckets/bucket-metrics.js'
import { type Encoded, hashOf } from '../buckets/encoding.js'
import { Queue } from '../buckets/queue.js'
import type { RunSql } from '../buckets/site-transaction.js'
import { type ProcessorParts, QueueProcessor } from '../buckets/queue-processor.js'
import type { Transaction } from '../database/database.js'
import { bytes, select, selectOne, sql } from '../database/sql.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { wrongType } from '../support/options.js'
import { Combining } from './combining.js'
import { MAP_METRICS } from './metrics.js'
import { type CollisionFreeMapOptions, mapSettings } from './options.js'

export { BucketsDifferError } from '../buckets/buckets.js'
export type { RunSql } from '../buckets/site-transaction.js'
export type { Change, CollisionFreeMapOptions } from './options.js'

const TABLES = {
  what: 'map',
  all: 'collision_free_maps',
  buckets: 'collision_free_map_buckets',
  queued: 'collision_free_map_queue',
  owner: 'map',
  key: 'map_key',
  value: 'map_value',
}

/** Updates of one call; all are encoded before the first is written. */
const MAX_UPDATES_A_CALL = 100_000
/** Queued updates of one key that `get` takes into account; with more, processing is far behind. */
const MAX_QUEUED_IN_GET = 100_000

/** Parts of a map. */
export interface MapParts<K, V> extends Omit<ProcessorParts, 'processBucket'> {
  readonly queue: Queue<K, V>
  readonly combining: Combining<K, V>
}

/** Makes the parts of a map. @throws TypeError, RangeError */
export function mapParts<K, V>(
  options: CollisionFreeMapOptions<K, V>,
  environment: Environment,
): MapParts<K, V> {
  const settings = mapSettings(options)
  const queue = new Queue('CollisionFreeMap', TABLES, settings, environment)
  const calls = queue.callsOf('onUpdate', settings.timeoutMs)
  const combining = new Combining(queue, settings, calls)
  const metrics = new BucketMetrics(queue, MAP_METRICS, calls)
  return { queue, combining, metrics, calls, every: settings.every }
}

/** {@link CollisionFreeMap}, over parts that tests may own. */
export class MapOfParts<K, V> extends QueueProcessor {
  readonly #queue: Queue<K, V>
  readonly #combining: Combining<K, V>

  constructor({ combining, ...parts }: MapParts<K, V>) {
    super({ ...parts, processBucket: (bucket) => combining.process(bucket) })
    this.#queue = parts.queue
    this.#combining = combining
  }

  /**
   * Queues updates, at most 100,000 a call: all, or when it rejects none. With `tx` they are part
   * of the caller's transaction, and count if and only if that commits. They are inserted just
   * before its commit, so that updates of two transactions that change the same row come in the
   * order of the commits. The tables must be there by then: call `migrate()` at start. A `tx` that
   * is a function runs one SQL text in a transaction of your own library; the updates are inserted
   * by the call. Without `tx`, they have a transaction of their own; if its commit fails with
   * category 'unreachable', it is not known whether they are queued.
   *
   * @throws RangeError, TypeError naming a wrong argument, or a key or value that is too long or
   * cannot be encoded; DatabaseError, such as `DATABASE_NO_TRANSACTION`
   */
  update(updates: Iterable<readonly [K, V]>, tx?: Transaction | RunSql): Promise<void> {
    return this.#queue.connections.run(() => this.#update(updates, tx))
  }

  async #update(updates: Iterable<readonly [K, V]>, tx?: Transaction | RunSql): Promise<void> {
    const rows = this.#encoded(updates)
    if (rows.length === 0) return
    if (tx !== undefined) await this.#queue.add(rows, tx)
    else await this.#queue.database.retriedTransaction((own) => this.#queue.insert(own, rows))
  }

  #encoded(updates: Iterable<readonly [K, V]>): Encoded[] {
    if (typeof updates === 'string' || typeof Object(updates)[Symbol.iterator] !== 'function') {
      throw wrongType('updates', updates, 'an array, or another iterable, of pairs [key, update]')
    }
    const rows: Encoded[] = []
    for (const update of updates) {
      const place = `updates[${rows.length}]`
      if (rows.length === MAX_UPDATES_A_CALL) {
        throw new RangeError(
          `wide-cache: more than ${MAX_UPDATES_A_CALL} updates in one call; make several`,
        )
      }
      if (!Array.isArray(update) || update.length !== 2) {
        throw wrongType(place, update, 'a pair [key, update]')
      }
      try {
        rows.push(this.#queue.encode(update[0], update[1]))
      } catch (error) {
        if (error instanceof Error) error.message += ` (${place})`
        throw error
      }
    }
    return rows
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
    return this.#queue.connections.run(() => this.#get(key, tx))
  }

  async #get(key: K, tx?: Transaction): Promise<V | undefined> {
    const own = tx === undefined ? this.#queue.database : this.#queue.own(tx)
    const on = own instanceof Promise ? await own : own
    const encoded = this.#queue.keys.encode(key)
    const ofKey = sql`WHERE map = ${this.#queue.name} AND hash = ${hashOf(encoded)}
      AND map_key = ${encoded}`
    // One statement sees one moment: between two, an update could be in both or in neither.
    const found = await select(on, { id: [Number, '0'], value: [bytes, 'map_value'] })`
      FROM collision_free_map_values ${ofKey}
      UNION ALL SELECT id, map_value FROM collision_free_map_queue ${ofKey}
      ORDER BY id LIMIT ${MAX_QUEUED_IN_GET + 2}`
    const stored = found[0]?.id === 0 ? found.shift()!.value : undefined
    const queued = found.map(({ value }) => value)
    for (const row of this.#queue.addedIn(on)) if (row.key.equals(encoded)) queued.push(row.value)
    if (queued.length > MAX_QUEUED_IN_GET) {
      throw new RangeError(
        `wide-cache: more than ${MAX_QUEUED_IN_GET} updates of one key are queued in map ` +
          `"${this.#queue.name}"; call process()`,
      )
    }
    const value = queued.length === 0 ? stored : this.#combining.combined(encoded, stored, queued)
    return value && this.#queue.values.decode(value)
  }

  /**
   * Returns the number of parked updates, whenever they were parked. Updates are parked if
   * `combine` throws for them, or returns what the codec refuses. They stay in the table
   * `collision_free_map_parked`, with the error, until the command `wide-cache parked` retries or
   * skips them.
   */
  parked(): Promise<number> {
    return this.#queue.connections.run(() => this.#parked())
  }

  async #parked(): Promise<number> {
    const parked = await selectOne(this.#queue.database, { n: [Number, 'COUNT(*)'] })`FROM
      collision_free_map_parked WHERE map = ${this.#queue.name}`
    return parked!.n
  }
}

/**
 * A map for many writers. An update is queued, in the writer's own transaction and without touching
 * the value. So writers never wait for each other, however often they write the same key.
 * `process()` later combines the queued updates into the values, in bulk. In the same transaction
 * it passes the changes to `onUpdate`. After Fluo Recipes, "CollisionFreeMap" and "Combine Queue"
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
 *   name: 'stock',
 *   combine: (item, current = 0, updates) => updates.reduce((sum, n) => sum + n, current),
 * })
 * await stock.update([['apples', -3], ['pears', 12]])
 * await stock.process()
 * await stock.get('pears') // 12
 * await stock.close()
 * ```
 */
export class CollisionFreeMap<K = string, V = number> extends MapOfParts<K, V> {
  /** @throws TypeError, RangeError */
  constructor(options: CollisionFreeMapOptions<K, V>) {
    super(mapParts(options, systemEnvironment))
  }
}
