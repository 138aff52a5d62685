/**
 * Buckets: ranges of hashes, one row each from the start, whose lock is the right to work on the range. What
 * is queued carries its hash only, so it belongs to whatever bucket holds its hash at the time: with all rows
 * locked, the ranges can be changed, and nothing is stranded.
 */
import type { Queryable, Transaction } from '../database/database.js'
import { writeRows } from '../database/bulk.js'
import { forUpdate, insert, skipLocked, upsert } from '../database/dialect.js'
import type { Tables } from '../database/tables.js'
import { HASHES } from './encoding.js'

/** From the first hash to the last, both within. */
export interface HashRange {
  readonly first: number
  readonly last: number
}

/** The names of the tables and of their column that says whose row it is. */
export interface BucketTables {
  readonly buckets: string
  readonly queued: string
  readonly owner: string
}

export class Buckets {
  readonly #tables: Tables
  readonly #names: BucketTables
  readonly #id: string
  readonly #count: number
  #entered = false

  constructor(tables: Tables, names: BucketTables, id: string, count: number) {
    this.#tables = tables
    this.#names = names
    this.#id = id
    this.#count = count
  }

  /** The bucket of the first that is queued with a hash from `from` up to, but without, `to`; and the last hash that it holds. */
  async next(from: number, to: number): Promise<{ bucket: number; last: number } | undefined> {
    await this.#enter()
    const { buckets, queued, owner } = this.#names
    // One step in the index; with all buckets asked for at once, MariaDB reads the whole queue for each.
    const { rows: [row] } = await this.#tables.database.query(
      `SELECT b.bucket, b.last_hash FROM (SELECT hash FROM ${queued} WHERE ${owner} = ? AND hash >= ? AND hash < ? ORDER BY hash LIMIT 1) AS q ` +
      `JOIN ${buckets} AS b ON b.${owner} = ? AND q.hash BETWEEN b.first_hash AND b.last_hash`,
      [this.#id, from, to, this.#id])
    return row && { bucket: Number(row['bucket']), last: Number(row['last_hash']) }
  }

  /** Locks a bucket until the transaction ends, and says its range as it is now; `undefined`: another one has it, or it is no more. */
  async lock(tx: Transaction, bucket: number): Promise<HashRange | undefined> {
    const { buckets, owner } = this.#names
    const { rows: [row] } = await tx.query(
      `SELECT first_hash, last_hash FROM ${buckets} WHERE ${owner} = ? AND bucket = ?${skipLocked(tx.dialect)}`, [this.#id, bucket])
    return row && { first: Number(row['first_hash']), last: Number(row['last_hash']) }
  }

  async #enter(): Promise<void> {
    if (this.#entered) return
    await this.#tables.ready()
    // Mostly all is as it should be, and nobody's lock is waited for.
    if (await this.#counted(this.#tables.database) !== this.#count) await this.#tables.transaction((tx) => this.#rewrite(tx))
    this.#entered = true
  }

  async #counted(queryable: Queryable): Promise<number> {
    const { buckets, owner } = this.#names
    const { rows: [row] } = await queryable.query(`SELECT COUNT(*) AS n FROM ${buckets} WHERE ${owner} = ?`, [this.#id])
    return Number(row?.['n'])
  }

  /** Bucket 0 is locked first, and made if need be, so that those who rewrite come one after the other. */
  async #rewrite(tx: Transaction): Promise<void> {
    const { buckets, owner } = this.#names
    const columns = [owner, 'bucket', 'first_hash', 'last_hash']
    await tx.query(upsert(tx.dialect, buckets, [owner, 'bucket'], columns, {}, 1), [this.#id, 0, 0, HASHES - 1])
    if (await this.#counted(tx) === this.#count) return
    await tx.query(`SELECT bucket FROM ${buckets} WHERE ${owner} = ? ORDER BY bucket${forUpdate(tx.dialect)}`, [this.#id])
    await tx.query(`DELETE FROM ${buckets} WHERE ${owner} = ?`, [this.#id])
    const bound = (bucket: number): number => Math.floor(bucket * HASHES / this.#count)
    const rows = Array.from({ length: this.#count }, (_, bucket) => [this.#id, bucket, bound(bucket), bound(bucket + 1) - 1])
    await writeRows(tx, rows, (count) => insert(buckets, columns, count))
  }
}
