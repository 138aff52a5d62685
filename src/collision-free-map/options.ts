import { BUCKET_OPTIONS, type BucketOptions, queueSettings } from '../buckets/options.js'
import type { Transaction } from '../database/database.js'
import { onlyKnown, optionalFunction, wrongType } from '../support/options.js'

/** A value that has changed; `undefined` is no value. */
export interface Change<K, V> {
  /** The key whose value has changed. */
  readonly key: K
  /** The value before. It equals the `newValue` of the key's last change. */
  readonly oldValue: V | undefined
  /** The value from now on. */
  readonly newValue: V | undefined
}

/** Options of a {@link CollisionFreeMap}. */
export interface CollisionFreeMapOptions<K = string, V = number> extends BucketOptions<K, V> {
  /**
   * Number of parts that are worked on independently, 1 to 1000: at least a few times as many as
   * processors. The first process stores it. @default what is stored; 119 for a new map
   */
  buckets?: number | undefined
  /**
   * Returns the new value of `key`, or `undefined` to delete it. `current` is the present value;
   * `undefined`: there is none. `updates` are some updates of the key. If the transaction of one
   * update could have seen another one, the other one comes first. Updates come in portions as they
   * come to SQL, so a portion cut in two must give the same value as the whole. Synchronous,
   * without effects: it may run again after a rollback. If it throws, or returns what the codec
   * refuses, exactly the updates it was given are parked.
   */
  combine(key: K, current: V | undefined, updates: readonly V[]): V | undefined
  /**
   * Told of values that have changed, in the transaction that changes them; one key at most once in
   * one transaction. It may run again after a rollback, so it does nothing outside `tx`. If it
   * rejects, or takes longer than `timeoutMs`, or runs no statement for 10 s, that transaction is
   * rolled back, and tried again by the next `process()`. `signal` is then aborted. @default nobody
   * is told
   */
  onUpdate?:
    | ((
        changes: readonly Change<K, V>[],
        tx: Transaction,
        context: { readonly signal: AbortSignal },
      ) => Promise<void> | void)
    | undefined
}

/**
 * Checks the options of a map and fills in what is not given. @throws TypeError, RangeError naming
 * the option
 */
export function mapSettings<K, V>(options: CollisionFreeMapOptions<K, V>) {
  onlyKnown('CollisionFreeMap', options, [...BUCKET_OPTIONS, 'combine', 'onUpdate'])
  if (typeof options.combine !== 'function') {
    throw wrongType(
      'combine',
      options.combine,
      'a function (key, current, updates) that returns the new value',
    )
  }
  return {
    ...queueSettings(options, 119),
    combine: options.combine,
    onUpdate: optionalFunction(
      'onUpdate',
      options.onUpdate,
      'a function (changes, tx, { signal })',
    ),
  }
}
