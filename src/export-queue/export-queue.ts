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
import { deleteRows } from '../database/bulk.js'
import type { Transaction } from '../database/database.js'
import { updateByIds, upsert } from '../database/dialect.js'
import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { type Environment, keptAlive, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { Leases } from './leases.js'
import { EXPORT_METRICS, EXPORT_PROCESS_METRICS, readExportFigures } from './metrics.js'
import { type ExportEntry, type ExportQueueOptions, exportSettings } from './options.js'

export { BucketsDifferError } from '../buckets/buckets.js'
export type { ExportEntry, ExportQueueOptions } from './options.js'

const TABLES = {
  what: 'export queue',
  all: 'export_queues',
  buckets: 'export_queue_buckets',
  queued: 'export_queue_entries',
  owner: 'queue',
}

/** Entries of one call of the exporter. */
const ENTRIES_A_BATCH = 500
/**
 * Batches of one bucket in one `process()`, so that busy writers do not keep it from the other
 * buckets.
 */
const BATCHES_A_RUN = 100
/** Version of an entry in the table before it is given one. All versions are below it. */
const NO_VERSION = Number.MAX_SAFE_INTEGER

interface Queued {
  readonly id: number
  readonly key: Buffer
  readonly value: Buffer
  version: number
}

interface Batch {
  readonly holder: Buffer
  readonly entries: readonly Queued[]
}

/**
 * Brings what transactions say to the world outside the database, in order: an entry that was added
 * in a transaction reaches `exporter(entries)` at least once if that transaction commits, and never
 * otherwise. After Fluo Recipes, "Export Queue" (Apache Fluo, 2015), on SQL.
 *
 * - Entries of one key come side by side, with ascending versions: no entry comes with a lower
 *   version than one that its transaction could have seen. An entry has its version, in SQL, before
 *   the exporter sees it, and keeps it. So a receiver has each entry exactly once if it ignores
 *   versions that are not above the last one of the key.
 * - No two processors export one bucket at the same time. The exception: a processor that is paused
 *   for more than 10 s while its exporter is at work, or is without the database for as long, can
 *   be overtaken. After that, late repeats of old versions may come.
 * - If the exporter fails, its bucket rests (1 s, doubled each time, up to 5 min, in all
 *   processes), the others do not.
 *
 * @example
 * ```js
 * import { sqlite } from 'wide-cache'
 * import { ExportQueue } from 'wide-cache/export-queue'
 *
 * const database = sqlite(':memory:')
 * const mails = new ExportQueue({
 *   id: 'mails',
 *   database,
 *   exporter: (entries) => {
 *     for (const { key, value, version } of entries) console.log(key, value, version)
 *   },
 * })
 * await mails.migrate()
 * await database.transaction((tx) => mails.add('anna', 'your order is on its way', tx))
 * await mails.process()
 * await mails.close()
 * await database.close()
 * ```
 */
export class ExportQueue<K, V> {
  readonly #connections: Connections
  readonly #database: MigratedDatabase
  readonly #id: string
  readonly #exporter: (entries: readonly ExportEntry<K, V>[]) => Promise<void> | void
  readonly #keys: Encoding<K>
  readonly #values: Encoding<V>
  readonly #buckets: Buckets
  readonly #leases: Leases
  readonly #environment: Environment
  readonly #metrics: BucketMetrics<typeof EXPORT_METRICS>
  readonly #processing: Processing
  readonly #waiting = new Waiting<Encoded>((tx, rows) =>
    insertEncoded(
      tx,
      TABLES.queued,
      ['queue', 'hash', 'entry_key', 'entry_value'],
      rows,
      ({ hash, key, value }) => [this.#id, hash, key, value],
    ),
  )

  /** @throws TypeError, RangeError naming the option */
  constructor(options: ExportQueueOptions<K, V>, environment: Environment = systemEnvironment) {
    const { id, buckets, every, exporter, keyCodec, valueCodec, logger } = exportSettings(options)
    const burstLogger = new BurstLogger(logger, () => environment.clock.elapsed())
    this.#connections = new Connections('ExportQueue', id, environment)
    this.#database = this.#connections.openDatabase(options.database, ['collision-free-map'], {
      logger,
      through: (opened) => CountingDatabase.of(opened, environment.clock),
    })
    this.#metrics = new BucketMetrics({
      id,
      clock: environment.clock,
      stored: EXPORT_METRICS,
      read: () => readExportFigures(this.#database, id),
      process: EXPORT_PROCESS_METRICS,
      errors: isCounting(options.database) ? undefined : errorsOf(this.#database.database),
    })
    this.#id = id
    this.#exporter = exporter
    this.#keys = new Encoding('key', keyCodec)
    this.#values = new Encoding('value', valueCodec)
    this.#buckets = new Buckets(this.#database, TABLES, id, buckets)
    this.#leases = new Leases(this.#database, id, environment)
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
   * Adds an entry in the caller's transaction. It is inserted just before the commit, so that
   * entries of two transactions that change the same row come in the order of the commits. The
   * tables must be there by then: call `migrate()` at start.
   *
   * @throws TypeError without a transaction; RangeError, TypeError for a key or value that is too
   * long or cannot be encoded; DatabaseError
   */
  add(key: K, value: V, tx: Transaction): Promise<void> {
    return this.#connections.run(async () => {
      const [keyBytes, valueBytes] = [this.#keys.encode(key), this.#values.encode(value)]
      this.#waiting.add(transactionOf(tx), [
        { hash: hashOf(keyBytes), key: keyBytes, value: valueBytes },
      ])
    })
  }

  /**
   * Exports what is queued, bucket by bucket, passing by those that rest or that another processor
   * is at. Any number of processes may call it, at any time; call it again and again.
   *
   * @returns how many entries it has exported and taken from the queue
   * @throws the first error of a bucket, such as the exporter's, after going on with all others; at
   * once if the database is unreachable or full
   */
  process(): Promise<number> {
    return this.#connections.run(() => this.#process())
  }

  #process(): Promise<number> {
    return this.#metrics.count(() =>
      eachBucket(this.#buckets, this.#environment, (bucket) => this.#processBucket(bucket)),
    )
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

  async #processBucket(bucket: number): Promise<number> {
    let sum = 0
    for (let batch = 0; batch < BATCHES_A_RUN; batch++) {
      const batch = await this.#database.transaction((tx) => this.#take(tx, bucket))
      if (!batch) break
      await this.#export(batch)
      if (!(await this.#database.transaction((tx) => this.#settle(tx, batch)))) break
      sum += batch.entries.length
      if (batch.entries.length < ENTRIES_A_BATCH) break
    }
    return sum
  }

  /**
   * A lease on the bucket and its next entries, each with a version that is in SQL when this
   * transaction is.
   */
  async #take(tx: Transaction, bucket: number): Promise<Batch | undefined> {
    const range = await this.#buckets.lock(tx, bucket)
    if (!range) return undefined
    const holder = await this.#leases.take(tx, range)
    if (!holder) return undefined
    // Versions given before come first, so that a key's entries never overtake each other.
    const { rows } = await tx.query(
      `SELECT id, entry_key, entry_value, version FROM ${TABLES.queued} WHERE queue = ? ` +
        `AND hash BETWEEN ? AND ? ORDER BY hash, version, id LIMIT ${ENTRIES_A_BATCH}`,
      [this.#id, range.first, range.last],
    )
    const entries = rows.map((row): Queued => ({
      id: Number(row['id']),
      key: bytesOf(row, 'entry_key'),
      value: bytesOf(row, 'entry_value'),
      version: Number(row['version']),
    }))
    if (entries.length === 0) {
      await this.#leases.end(tx, holder)
      return undefined
    }
    await this.#giveVersions(
      tx,
      entries.filter(({ version }) => version === NO_VERSION),
    )
    return { holder, entries }
  }

  async #giveVersions(tx: Transaction, entries: readonly Queued[]): Promise<void> {
    if (entries.length === 0) return
    await tx.query(
      upsert(
        tx.dialect,
        'export_queue_versions',
        ['queue'],
        ['queue', 'last_version'],
        { last_version: 'add' },
        1,
      ),
      [this.#id, entries.length],
    )
    const {
      rows: [row],
    } = await tx.query('SELECT last_version FROM export_queue_versions WHERE queue = ?', [this.#id])
    const last = Number(row?.['last_version'])
    if (last >= NO_VERSION) {
      throw new RangeError(
        `wide-cache: the versions of export queue "${this.#id}" have reached 2^53 - 1`,
      )
    }
    for (const [index, entry] of entries.entries()) {
      entry.version = last - entries.length + 1 + index
    }
    await tx.query(updateByIds(tx.dialect, TABLES.queued, 'version'), [
      JSON.stringify(entries.map(({ id, version }) => [id, version])),
    ])
  }

  async #export({ holder, entries }: Batch): Promise<void> {
    const byKey = new Map<string, ExportEntry<K, V>[]>()
    try {
      for (const { key, value, version } of entries) {
        const name = key.toString('latin1')
        const entry = { key: this.#keys.decode(key), value: this.#values.decode(value), version }
        const same = byKey.get(name)
        if (same) same.push(entry)
        else byKey.set(name, [entry])
      }
      await this.#leases.during(holder, async () => this.#exporter([...byKey.values()].flat()))
    } catch (error) {
      // If even that fails, the lease runs out by itself.
      await this.#leases.rest(holder).catch(() => undefined)
      throw error
    }
  }

  /**
   * Deletes what has been exported, unless the lease was lost: then it is exported again, with the
   * same versions.
   */
  async #settle(tx: Transaction, { holder, entries }: Batch): Promise<boolean> {
    if (!(await this.#leases.end(tx, holder))) return false
    await deleteRows(
      tx,
      TABLES.queued,
      entries.map(({ id }) => id),
    )
    return true
  }
}
