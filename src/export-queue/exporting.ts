/**
 * One bucket's queued entries reach the exporter, in batches of three steps: a transaction takes a
 * lease and gives the entries their versions, the exporter gets them, and another transaction
 * deletes them and ends the lease. After each failure the next batch is smaller, and only of
 * entries that were in the batch that failed first. So in the end a single entry stands for the
 * failure, those before it have come, and entries that are added meanwhile do not put that off.
 */
import assert from 'node:assert/strict'
import type { Calls } from '../buckets/calls.js'
import type { Queue } from '../buckets/queue.js'
import { reasonOf } from '../buckets/reason.js'
import { deleteRows } from '../database/bulk.js'
import type { Transaction } from '../database/database.js'
import { updateByIds } from '../database/dialect.js'
import { bytes, raw, select, selectOne, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import { entriesAfter, NO_VERSION } from './failing-entries.js'
import { type RangeLease, RangeLeases } from './leases.js'
import type { ExportEntry, ExportQueueOptions } from './options.js'

const ENTRIES = 'export_queue_entries'
const VERSIONS = table('export_queue_versions', ['queue'], ['last_version', 'add'])

/**
 * Batches of one bucket in one `process()`, so that busy writers do not keep it from the other
 * buckets.
 */
const BATCHES_A_RUN = 100

const QUEUED = {
  id: Number,
  key: [bytes, 'entry_key'],
  value: [bytes, 'entry_value'],
  version: Number,
} as const

interface Queued {
  readonly id: number
  readonly key: Buffer
  readonly value: Buffer
  version: number
}

interface Batch {
  readonly lease: RangeLease
  readonly entries: readonly Queued[]
}

type Exporter<K, V> = ExportQueueOptions<K, V>['exporter']

export class Exporting<K, V> {
  readonly #queue: Queue<K, V>
  readonly #exporter: Exporter<K, V>
  readonly #calls: Calls
  readonly #leases: RangeLeases

  constructor(queue: Queue<K, V>, exporter: Exporter<K, V>, calls: Calls) {
    this.#queue = queue
    this.#exporter = exporter
    this.#calls = calls
    this.#leases = new RangeLeases(queue.database, queue.name, queue.environment)
  }

  /** Exports a bucket, batch by batch. Returns how many entries it has exported. */
  async process(bucket: number): Promise<number> {
    let sum = 0
    for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
      const batch = await this.#queue.database.retriedTransaction((tx) => this.#take(tx, bucket))
      if (!batch) break
      await this.#export(batch)
      if (!(await this.#queue.database.retriedTransaction((tx) => this.#remove(tx, batch)))) break
      sum += batch.entries.length
      if (batch.lease.failures === 0 && batch.entries.length < entriesAfter(0)) break
    }
    return sum
  }

  /**
   * A lease on the bucket and its next entries, each with a version that is in SQL when this
   * transaction is.
   */
  async #take(tx: Transaction, bucket: number): Promise<Batch | undefined> {
    const range = await this.#queue.buckets.lock(tx, bucket)
    if (!range) return undefined
    const lease = await this.#leases.take(tx, range)
    if (!lease) return undefined
    const hasFailed = lease.failures > 0
    // Versions given before come first, so that a key's entries never overtake each other.
    const hasVersion = hasFailed ? sql`AND version < ${NO_VERSION}` : raw('')
    const entries: Queued[] = await select(tx, QUEUED)`FROM export_queue_entries
      WHERE queue = ${this.#queue.name} AND hash BETWEEN ${range.first} AND ${range.last}
      ${hasVersion} ORDER BY hash, version, id LIMIT ${entriesAfter(lease.failures)}`
    if (entries.length === 0) {
      await this.#leases.end(tx, lease.holder)
      return hasFailed ? this.#take(tx, bucket) : undefined
    }
    await this.#giveVersions(
      tx,
      entries.filter(({ version }) => version === NO_VERSION),
    )
    return { lease, entries }
  }

  async #giveVersions(tx: Transaction, entries: readonly Queued[]): Promise<void> {
    if (entries.length === 0) return
    await VERSIONS.upsert(tx, [[this.#queue.name, entries.length]])
    const row = await selectOne(tx, { lastVersion: Number })`FROM export_queue_versions
      WHERE queue = ${this.#queue.name}`
    assert(row, 'the row has just been made')
    const last = row.lastVersion
    if (last >= NO_VERSION) {
      throw new RangeError(
        `wide-cache: the versions of export queue "${this.#queue.name}" have reached 2^53 - 1`,
      )
    }
    for (const [index, entry] of entries.entries()) {
      entry.version = last - entries.length + 1 + index
    }
    await tx.query(updateByIds(tx.dialect, ENTRIES, 'version'), [
      JSON.stringify(entries.map(({ id, version }) => [id, version])),
    ])
  }

  async #export({ lease: { holder, failures }, entries }: Batch): Promise<void> {
    const byKey = new Map<string, ExportEntry<K, V>[]>()
    try {
      for (const { key, value, version } of entries) {
        const name = key.toString('latin1')
        const entry = {
          key: this.#queue.keys.decode(key),
          value: this.#queue.values.decode(value),
          version,
        }
        const same = byKey.get(name)
        if (same) same.push(entry)
        else byKey.set(name, [entry])
      }
      await this.#leases.during(holder, (lost) =>
        this.#calls.run((signal) => this.#exporter([...byKey.values()].flat(), { signal }), lost),
      )
    } catch (error) {
      // If even that fails, the lease runs out by itself.
      await this.#leases.rest(holder, reasonOf(error, 'exporter')).catch(() => undefined)
      const [first, second] = entries
      if (failures > 0 && first && !second) this.#warnOf(first)
      throw error
    }
  }

  #warnOf({ id }: Queued): void {
    const { logger, name: queue } = this.#queue
    logger.warn(
      'entry',
      `wide-cache: the export queue "${queue}" has failed again at a single entry, and others ` +
        `wait behind it; run wide-cache parked show entry-${id}, then correct the exporter or ` +
        'skip the entry',
    )
  }

  /**
   * Deletes what has been exported, unless the lease was lost: then it is exported again, with the
   * same versions.
   */
  async #remove(tx: Transaction, { lease, entries }: Batch): Promise<boolean> {
    if (!(await this.#leases.succeed(tx, lease))) return false
    await deleteRows(
      tx,
      ENTRIES,
      entries.map(({ id }) => id),
    )
    return true
  }
}
