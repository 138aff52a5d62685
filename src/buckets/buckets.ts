/**
 * Buckets: ranges of hashes, one row each from the start, whose lock is the right to work on the
 * range. What is queued carries its hash only, so it belongs to whatever bucket holds its hash at
 * the time: with all rows locked, the ranges can be changed, and nothing is stranded.
 */
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable, Transaction } from '../database/database.js'
import { skipLocked } from '../database/dialect.js'
import { execute, raw, selectOne } from '../database/sql.js'
import { type Table, table } from '../database/table.js'
import { HASHES } from './encoding.js'

/** From the first hash to the last, both within. */
export interface HashRange {
  readonly first: number
  readonly last: number
}

/** The names of the tables, and of their column with the id of the map or queue. */
export interface BucketTables {
  /** The word for it, in messages. */
  readonly what: string
  /** A row for each map or queue: its number of buckets, and who processes it. */
  readonly all: string
  readonly buckets: string
  readonly queued: string
  readonly owner: string
}

/** A process was given another number of buckets than the map or queue has. */
export class BucketsDifferError extends RangeError {
  override readonly name = 'BucketsDifferError'
  /** Stable code of the error, for programs. */
  readonly code = 'ERR_WIDE_CACHE_BUCKETS'

  constructor(what: string, id: string, given: number, stored: number) {
    super(
      `wide-cache: option "buckets" is ${given}, but the ${what} "${id}" has ${stored} in ` +
        `this database; give all processes ${stored}, or nothing. ` +
        `To change the number, call changeBuckets(${given}) once`,
    )
  }
}

export class Buckets {
  readonly #database: PreparedDatabase
  readonly #names: BucketTables
  readonly #all: Table<readonly [id: string, buckets: number]>
  readonly #buckets: Table<readonly [id: string, bucket: number, first: number, last: number]>
  readonly #id: string
  readonly #given: number | undefined
  readonly #default: number
  #entered: Promise<void> | undefined

  /** `given`: as the user said, if so; `byDefault`: for a new one. */
  constructor(
    database: PreparedDatabase,
    names: BucketTables,
    id: string,
    { given, byDefault }: { given: number | undefined; byDefault: number },
  ) {
    this.#database = database
    const { all, buckets, owner } = names
    this.#names = names
    this.#all = table(all, [owner], 'buckets')
    this.#buckets = table(buckets, [owner, 'bucket'], 'first_hash', 'last_hash')
    this.#id = id
    this.#given = given
    this.#default = byDefault
  }

  /**
   * The bucket of the first that is queued with a hash from `from` up to, but without, `to`; and
   * the last hash that it holds.
   */
  async next(from: number, to: number): Promise<{ bucket: number; last: number } | undefined> {
    await this.enter()
    const { buckets, queued, owner } = this.#names
    // One step in the index; with all buckets asked for at once, MariaDB reads the whole queue for
    // each.
    return selectOne(this.#database, { bucket: Number, last: [Number, 'last_hash'] })`FROM
      (SELECT hash FROM ${raw(queued)} WHERE ${raw(owner)} = ${this.#id} AND hash >= ${from}
      AND hash < ${to} ORDER BY hash LIMIT 1) AS q
      JOIN ${raw(buckets)} AS b ON b.${raw(owner)} = ${this.#id}
      AND q.hash BETWEEN b.first_hash AND b.last_hash`
  }

  /**
   * Locks a bucket until the transaction ends, and returns its present range; `undefined`: another
   * transaction has locked it, or it no longer exists.
   */
  lock(tx: Transaction, bucket: number): Promise<HashRange | undefined> {
    const { buckets, owner } = this.#names
    return selectOne(tx, { first: [Number, 'first_hash'], last: [Number, 'last_hash'] })`FROM
      ${raw(buckets)} WHERE ${raw(owner)} = ${this.#id}
      AND bucket = ${bucket}${raw(skipLocked(tx.dialect))}`
  }

  /**
   * Makes the tables and the buckets, once; retries after a failure. @throws BucketsDifferError;
   * DatabaseError
   */
  enter(): Promise<void> {
    this.#entered ??= this.#enter().catch((error: unknown) => {
      this.#entered = undefined
      throw error
    })
    return this.#entered
  }

  /** Divides the hashes anew. Processes that are at work go on with the new buckets. */
  async change(count: number): Promise<void> {
    await this.#database.retriedTransaction((tx) => this.#rewrite(tx, count))
    this.#entered = Promise.resolve()
  }

  async #enter(): Promise<void> {
    const { what, all, owner } = this.#names
    const stored = async (on: Pick<Queryable, 'query'>): Promise<number | undefined> =>
      (await selectOne(on, { buckets: Number })`FROM ${raw(all)} WHERE ${raw(owner)} = ${this.#id}`)
        ?.buckets
    // Read first without a lock, because the row mostly exists.
    const count =
      (await stored(this.#database)) ??
      (await this.#database.retriedTransaction(async (tx) => {
        await this.#lockAll(tx)
        const other = await stored(tx)
        if (other) return other
        await this.#rewrite(tx, this.#given ?? this.#default)
        return this.#given ?? this.#default
      }))
    if (this.#given !== undefined && this.#given !== count) {
      throw new BucketsDifferError(what, this.#id, this.#given, count)
    }
  }

  /**
   * Makes the row, with no buckets yet, or locks it: those who divide the hashes come one after the
   * other.
   */
  async #lockAll(tx: Transaction): Promise<void> {
    await this.#all.upsert(tx, [[this.#id, 0]])
  }

  async #rewrite(tx: Transaction, count: number): Promise<void> {
    const { all, buckets, owner } = this.#names
    // Locks the row, as above.
    await table(all, [owner], ['buckets', 'replace']).upsert(tx, [[this.#id, count]])
    // It waits for the processors that are at a bucket.
    await execute(tx)`DELETE FROM ${raw(buckets)} WHERE ${raw(owner)} = ${this.#id}`
    const bound = (bucket: number): number => Math.floor((bucket * HASHES) / count)
    await this.#buckets.insert(
      tx,
      Array.from({ length: count }, (_, bucket) => [
        this.#id,
        bucket,
        bound(bucket),
        bound(bucket + 1) - 1,
      ]),
    )
  }
}
