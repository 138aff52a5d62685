import type { Cache } from './cache.js'
import { MAX_TTL_SECONDS } from './cache.js'
import { integer, wrongType, wrongValue } from '../support/options.js'

/**
 * The port's own rules for what is handed to a cache, the same for all adapters. What memcached
 * cannot take is refused before it is sent, because a key over 250 bytes breaks the connection for
 * all requests on it.
 */
const KEY = /^[\x21-\x7e]{1,250}$/

/** @throws TypeError, RangeError */
export function checkKey(key: string): void {
  const allowed = '1 to 250 printable ASCII characters without spaces'
  if (typeof key !== 'string') throw wrongType('key', key, allowed)
  if (!KEY.test(key)) throw wrongValue('key', key, allowed)
}

/** @throws TypeError */
export function checkValue(value: Buffer): void {
  if (!Buffer.isBuffer(value)) throw wrongType('value', value, 'a Buffer')
}

/** @throws TypeError, RangeError */
export function checkTtl(ttlSeconds: number): void {
  integer(
    'ttlSeconds',
    ttlSeconds,
    1,
    MAX_TTL_SECONDS,
    'seconds (30 days: memcached reads more as a date)',
  )
}

/** Checks the delta and the initial number of `increment`. @throws TypeError, RangeError */
export function checkIncrement(
  delta: number,
  onMiss: { initial: number; ttlSeconds: number } | undefined,
): void {
  integer('delta', delta, 0, Number.MAX_SAFE_INTEGER)
  if (!onMiss) return
  integer('initial', onMiss.initial, 0, Number.MAX_SAFE_INTEGER)
  checkTtl(onMiss.ttlSeconds)
}

/**
 * Returns the new number of `increment`. @throws RangeError past 2^53-1, where it would not be
 * exact.
 */
export function safeSum(key: string, sum: bigint): number {
  if (sum <= Number.MAX_SAFE_INTEGER) return Number(sum)
  throw new RangeError(
    `wide-cache: the number at cache key "${key}" has come to ${sum}, past 2^53-1; delete ` +
      'the key or begin another',
  )
}

const METHODS = [
  'get',
  'getMany',
  'set',
  'add',
  'append',
  'delete',
  'increment',
  'close',
] as const satisfies (keyof Cache)[]

/** Tells whether `given` has the methods of a {@link Cache}. */
export function isCache(given: unknown): given is Cache {
  if (typeof given !== 'object' || given === null) return false
  const methods = given as Record<string, unknown>
  return METHODS.every((name) => typeof methods[name] === 'function')
}
