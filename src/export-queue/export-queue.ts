import { BucketMetrics } from '../buckets/bucket-metrics.js'
import { Queue } from '../buckets/queue.js'
import { QueueProcessor } from '../buckets/queue-processor.js'
import type { RunSql } from '../buckets/site-transaction.js'
import type { Transaction } from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { Exporting } from './exporting.js'
import { EXPORT_METRICS } from './metrics.js'
import { type ExportQueueOptions, exportSettings } from './options.js'

export { BucketsDifferError } from '../buckets/buckets.js'
export type { RunSql } from '../buckets/site-transaction.js'
export type { ExportEntry, ExportQueueOptions } from './options.js'

const TABLES = {
  what: 'export queue',
  all: 'export_queues',
  buckets: 'export_queue_buckets',
  queued: 'export_queue_entries',
  owner: 'queue',
  key: 'entry_key',
  value: 'entry_value',
}

/** {@link ExportQueue}, in an environment that tests may own. */
export class ExportQueueIn<K, V> extends QueueProcessor {
  readonly #queue: Queue<K, V>

  /** @throws TypeError, RangeError */
  constructor(options: ExportQueueOptions<K, V>, environment: Environment) {
    const settings = exportSettings(options)
    const queue = new Queue('ExportQueue', TABLES, settings, environment)
    const { timeoutMs } = settings
    const calls = queue.callsOf('exporter', timeoutMs)
    const exporting = new Exporting(queue, settings.exporter, calls)
    super({
      queue,
      every: settings.every,
      metrics: new BucketMetrics(queue, EXPORT_METRICS, calls),
      calls,
      processBucket: (bucket) => exporting.process(bucket),
    })
    this.#queue = queue
  }

  /**
   * Adds an entry in the caller's transaction. It is inserted just before the commit, so that
   * entries of two transactions that change the same row come in the order of the commits. The
   * tables must be there by then: call `migrate()` at start. A `tx` that is a function runs one SQL
   * text in a transaction of your own library; the entry is inserted by the call.
   *
   * @throws TypeError without a transaction of its database; RangeError, TypeError for a key or
   * value that is too long or cannot be encoded; DatabaseError, such as `DATABASE_NO_TRANSACTION`
   */
  add(key: K, value: V, tx: Transaction | RunSql): Promise<void> {
    return this.#queue.connections.run(async () =>
      this.#queue.add([this.#queue.encode(key, value)], tx),
    )
  }
}

/**
 * Passes entries of committed transactions on to other systems, in order: an entry that was added
 * in a transaction reaches `exporter(entries)` at least once if that transaction commits, and never
 * otherwise. After Fluo Recipes, "Export Queue" (Apache Fluo, 2015), on SQL.
 *
 * - Entries of one key come side by side, with ascending versions: no entry comes with a lower
 *   version than one that its transaction could have seen. An entry has its version, in SQL, before
 *   the exporter sees it, and keeps it. So a receiver has each entry exactly once if it ignores
 *   versions that are not above the last one of the key.
 * - No two processors export one bucket at the same time, with one exception. A processor can be
 *   overtaken while its exporter is at work in three cases: it is paused for more than 10 s, cannot
 *   reach the database for as long, or the database's clock steps by as much. After that, repeats
 *   of old versions may come.
 * - If the exporter fails, or takes longer than `timeoutMs`, its bucket rests (1 s, doubled each
 *   time, up to 5 min, in all processes), the others do not.
 *
 * @example
 * ```js
 * import { sqlite } from 'wide-cache'
 * import { ExportQueue } from 'wide-cache/export-queue'
 *
 * const database = sqlite(':memory:')
 * const mails = new ExportQueue({
 *   name: 'mails',
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
export class ExportQueue<K, V> extends ExportQueueIn<K, V> {
  /** @throws TypeError, RangeError */
  constructor(options: ExportQueueOptions<K, V>) {
    super(options, systemEnvironment)
  }
}
