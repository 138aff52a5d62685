import { BUCKET_OPTIONS, type BucketOptions, queueSettings } from '../buckets/options.js'
import { onlyKnown, wrongType } from '../support/options.js'

/** Something to be exported. */
export interface ExportEntry<K, V> {
  /** Key of the entry. Entries of one key come in the order in which they were added. */
  readonly key: K
  /** The value that was added. */
  readonly value: V
  /**
   * Version of the entry. Of two entries with one key, the later one has the greater version. A
   * repeat has the version it had before.
   */
  readonly version: number
}

/** Options of an {@link ExportQueue}. */
export interface ExportQueueOptions<K, V> extends BucketOptions<K, V> {
  /**
   * Number of parts that are worked on independently, 1 to 1000: at least a few times as many as
   * processors. The first process stores it. @default what is stored; 31 for a new queue
   */
  buckets?: number | undefined
  /**
   * Brings entries (at most 500) to where they are to go: all of one key side by side, versions
   * ascending. Must not end before it is done. If it rejects, or takes longer than `timeoutMs`, the
   * same entries come again. `signal` is aborted when nobody waits for the call any more: after
   * `timeoutMs`, when another process has taken the entries over, and when `close()` gives up.
   */
  exporter(
    entries: readonly ExportEntry<K, V>[],
    context: { readonly signal: AbortSignal },
  ): Promise<void> | void
}

/**
 * Checks the options of an export queue and fills in what is not given. @throws TypeError,
 * RangeError
 */
export function exportSettings<K, V>(options: ExportQueueOptions<K, V>) {
  onlyKnown('ExportQueue', options, [...BUCKET_OPTIONS, 'exporter'])
  if (typeof options.exporter !== 'function') {
    throw wrongType('exporter', options.exporter, 'a function (entries, { signal })')
  }
  return { ...queueSettings(options, 31), exporter: options.exporter }
}
