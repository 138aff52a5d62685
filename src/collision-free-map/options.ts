import type { Database, Transaction } from '../database/database.js'
import type { Logger } from '../support/logger.js'
import {
  given,
  integer,
  loggerOf,
  nameOf,
  onlyKnown,
  optionalFunction,
  wrongType,
} from '../support/options.js'
import type { Codec } from '../wide-cache/codec.js'
import { exactJson } from './exact-json.js'
import { everyOf } from './processing.js'

/** A value that has changed; `undefined` is no value. */
export interface Change<K, V> {
  readonly key: K
  readonly oldValue: V | undefined
  readonly newValue: V | undefined
}

/** What maps and export queues share. */
export interface BucketOptions<K, V> {
  /**
   * The database of the tables. @default the environment variable WIDE_CACHE_DATABASE_URL or
   * DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /** Processes that give the same id share it. 1 to 32 letters, digits, `_`, `.`, `-`. */
  id: string
  /**
   * Number of parts that are worked on independently, at least a few times as many as processors, 1
   * to 1000. The first process stores it; one that gives another number later is refused, with a
   * `BucketsDifferError`. `changeBuckets(n)` changes it. @default what is stored
   */
  buckets?: number | undefined
  /**
   * How often `process()` runs by itself: in milliseconds (10 to a day), or as a cron line (UTC)
   * such as `"*\/10 * * * * *"`. One process of those that give it runs it, which a lease in SQL
   * tells. `false`: never, you call `process()`. @default 2000
   */
  every?: number | string | false | undefined
  /** Where failed runs and, of maps, parked updates are logged. @default console */
  logger?: Logger | undefined
  /**
   * How a key becomes bytes (at most 700); two keys are the same if their bytes are. @default JSON
   */
  keyCodec?: Codec<K> | undefined
  /** How a value becomes bytes (at most 65,535). @default JSON */
  valueCodec?: Codec<V> | undefined
}

/** Options of a {@link CollisionFreeMap}. */
export interface CollisionFreeMapOptions<K = string, V = number> extends BucketOptions<K, V> {
  /** @default what is stored; 119 for a new map */
  buckets?: number | undefined
  /**
   * The new value of `key`, or `undefined` to delete it, from its current one, or `undefined` where
   * there is none, and some of its updates, in an order in which no update comes before one that
   * its transaction could have seen. Updates come in portions as they come to SQL, so a portion cut
   * in two must give the same value as the whole. Synchronous, without effects: it may run again
   * after a rollback. If it throws, or returns what the codec refuses, exactly the updates it was
   * given are parked.
   */
  combine(key: K, current: V | undefined, updates: readonly V[]): V | undefined
  /**
   * Told of values that have changed, in the transaction that changes them; one key at most once in
   * one transaction. It may run again after a rollback, so it does nothing outside `tx`. If it
   * rejects, that transaction is rolled back, and tried again by the next `process()`.
   */
  onUpdate?:
    ((changes: readonly Change<K, V>[], tx: Transaction) => Promise<void> | void) | undefined
}

/** Something to be exported. */
export interface ExportEntry<K, V> {
  readonly key: K
  readonly value: V
  /**
   * Of two entries with one key, the later one has the greater version. A repeat has the version it
   * had before.
   */
  readonly version: number
}

/** Options of an {@link ExportQueue}. */
export interface ExportQueueOptions<K, V> extends BucketOptions<K, V> {
  /** @default what is stored; 31 for a new queue */
  buckets?: number | undefined
  /**
   * Brings entries (at most 500) to where they are to go: all of one key side by side, versions
   * ascending. Must settle, and not before it is done. If it rejects, the same entries come again.
   */
  exporter(entries: readonly ExportEntry<K, V>[]): Promise<void> | void
}

/** More would make a step from one bucket to the next slow. */
const MAX_BUCKETS = 1_000
const DEFAULT_EVERY_MS = 2_000
const SHARED = ['database', 'id', 'buckets', 'every', 'keyCodec', 'valueCodec', 'logger']

/**
 * Checks the options of a map and fills in what is not given. @throws TypeError, RangeError naming
 * the option
 */
export function mapSettings<K, V>(options: CollisionFreeMapOptions<K, V>) {
  onlyKnown('CollisionFreeMap', options, [...SHARED, 'combine', 'onUpdate'])
  if (typeof options.combine !== 'function') {
    throw wrongType(
      'combine',
      options.combine,
      'a function (key, current, updates) that returns the new value',
    )
  }
  return {
    ...sharedSettings(options, 119),
    combine: options.combine,
    onUpdate: optionalFunction('onUpdate', options.onUpdate, 'a function (changes, tx)'),
  }
}

/**
 * Checks the options of an export queue and fills in what is not given. @throws TypeError,
 * RangeError naming the option
 */
export function exportSettings<K, V>(options: ExportQueueOptions<K, V>) {
  onlyKnown('ExportQueue', options, [...SHARED, 'exporter'])
  if (typeof options.exporter !== 'function') {
    throw wrongType('exporter', options.exporter, 'a function (entries)')
  }
  return { ...sharedSettings(options, 31), exporter: options.exporter }
}

/** A number of buckets. @throws TypeError, RangeError naming the option */
export function bucketsOf(option: string, buckets: unknown): number {
  return integer(option, buckets, 1, MAX_BUCKETS)
}

function sharedSettings<K, V>(options: BucketOptions<K, V>, defaultBuckets: number) {
  const {
    id,
    buckets,
    every = DEFAULT_EVERY_MS,
    logger = console,
    keyCodec = exactJson<K>(),
    valueCodec = exactJson<V>(),
  } = given(options)
  return {
    id: nameOf('id', id),
    buckets: {
      given: buckets === undefined ? undefined : bucketsOf('buckets', buckets),
      byDefault: defaultBuckets,
    },
    every: everyOf(every),
    logger: loggerOf('logger', logger),
    keyCodec: codecOf('keyCodec', keyCodec),
    valueCodec: codecOf('valueCodec', valueCodec),
  }
}

function codecOf<C>(option: string, codec: C): C {
  const methods = codec as { encode?: unknown; decode?: unknown } | null
  const fits =
    typeof codec === 'object' &&
    methods !== null &&
    typeof methods.encode === 'function' &&
    typeof methods.decode === 'function'
  if (!fits) {
    throw wrongType(option, codec, 'an object with encode(value, target, offset) and decode(bytes)')
  }
  return codec
}
