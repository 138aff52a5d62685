import type { Database } from '../database/database.js'
import type { Logger } from '../support/logger.js'
import { DAY_MS } from '../support/clock.js'
import { given, integer, loggerOf, identifier, wrongType } from '../support/options.js'
import type { Codec } from '../support/codec.js'
import { exactJson } from '../support/exact-json.js'
import { cronPeriodSeconds } from '../support/schedule.js'

/** Options that maps and export queues share. */
export interface BucketOptions<K, V> {
  /**
   * The database of the tables. @default the environment variable WIDE_CACHE_DATABASE_URL or
   * DATABASE_URL, else `sqlite:./wide-cache.db`
   */
  database?: string | Database | undefined
  /** Processes that give the same name share it. 1 to 32 letters, digits, `_`, `.`, `-`. */
  name: string
  /**
   * Number of parts that are worked on independently, at least a few times as many as processors, 1
   * to 1000. The first process stores it; one that gives another number later is refused, with a
   * `BucketsDifferError`. `changeBuckets(n)` changes it. @default what is stored
   */
  buckets?: number | undefined
  /**
   * Schedule on which `process()` runs by itself: a number of milliseconds between runs (10 to a
   * day), or a cron line (UTC) such as `"*\/10 * * * * *"`. A lease in SQL decides which of the
   * processes with a schedule runs it. `false`: never, you call `process()`. A process that gives a
   * schedule stays alive until `close()`; the default does not keep it alive. @default 2000
   */
  every?: number | string | false | undefined
  /**
   * Longest time of one call of `exporter` or `onUpdate`, in milliseconds: 100 to a day. A call
   * that takes longer counts as failed, and the `signal` that it was given is aborted. @default
   * 60000
   */
  timeoutMs?: number | undefined
  /** Receives reports of failed runs, slow calls and, of maps, parked updates. @default console */
  logger?: Logger | undefined
  /**
   * Turns keys into bytes (at most 700) and back. Two keys are the same if their bytes are.
   * @default JSON
   */
  keyCodec?: Codec<K> | undefined
  /** Turns values into bytes (at most 65,535) and back. @default JSON */
  valueCodec?: Codec<V> | undefined
}

/** More would make a step from one bucket to the next slow. */
const MAX_BUCKETS = 1_000
const LEAST_TIMEOUT_MS = 100
const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_EVERY_MS = 2_000
const LEAST_EVERY_MS = 10
const EVERY_ALLOWED =
  'milliseconds, a cron line such as "*/10 * * * * *" (every 10 seconds), or false'

/** When to process. */
export interface Every {
  /** Milliseconds between runs, or a cron line. `false`: never. */
  readonly schedule: number | string | false
  /** Whether the process lives for it, because its user has asked for a schedule. */
  readonly keepsAlive: boolean
}

/** @throws TypeError, RangeError */
export function everyOf(every: unknown): Every {
  if (every === undefined) return { schedule: DEFAULT_EVERY_MS, keepsAlive: false }
  if (every === false) return { schedule: every, keepsAlive: false }
  if (typeof every === 'number') {
    integer('every', every, LEAST_EVERY_MS, DAY_MS, 'milliseconds')
    return { schedule: every, keepsAlive: true }
  }
  if (typeof every !== 'string') throw wrongType('every', every, EVERY_ALLOWED)
  cronPeriodSeconds(every, 'every', EVERY_ALLOWED)
  return { schedule: every, keepsAlive: true }
}

/** The names of {@link BucketOptions}. */
export const BUCKET_OPTIONS = [
  'database',
  'name',
  'buckets',
  'every',
  'timeoutMs',
  'keyCodec',
  'valueCodec',
  'logger',
]

/** A number of buckets. @throws TypeError, RangeError */
export function bucketsOf(option: string, buckets: unknown): number {
  return integer(option, buckets, 1, MAX_BUCKETS)
}

/** The checked {@link BucketOptions}. */
export interface QueueSettings<K, V> {
  readonly database: string | Database | undefined
  readonly name: string
  /** `given`: as the user said, if so; `byDefault`: for a new one. */
  readonly buckets: { readonly given: number | undefined; readonly byDefault: number }
  readonly every: Every
  readonly timeoutMs: number
  readonly logger: Logger
  readonly keyCodec: Codec<K>
  readonly valueCodec: Codec<V>
}

/** Checks the options that both have, and fills in what is not given. */
export function queueSettings<K, V>(
  options: BucketOptions<K, V>,
  defaultBuckets: number,
): QueueSettings<K, V> {
  const {
    database,
    name,
    buckets,
    every,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    logger = console,
    keyCodec = exactJson<K>('key'),
    valueCodec = exactJson<V>('value'),
  } = given(options)
  return {
    database,
    name: identifier('name', name),
    buckets: {
      given: buckets === undefined ? undefined : bucketsOf('buckets', buckets),
      byDefault: defaultBuckets,
    },
    every: everyOf(every),
    timeoutMs: integer('timeoutMs', timeoutMs, LEAST_TIMEOUT_MS, DAY_MS, 'milliseconds'),
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
