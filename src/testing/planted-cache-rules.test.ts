import { type Cache, CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'
import {
  appendByGetAndSet,
  type CacheFault,
  incrementByGetAndSet,
  testPlantedMemory,
} from './planted-caches.fixture.js'

const TTL = 'a value ends with its TTL, which append and increment keep'
const INCREMENT = 'increment counts, from a stored number or from its initial one'
const EXACT = 'increment is right up to 2^53-1, in value, delta and initial'
const INCREMENTS = 'many who increment at once are all counted'
const KEYS = 'keys that differ in one character are different keys'
const WRONG_KEYS = 'keys no cache could take are refused before they do harm'
const RANGES = 'TTLs, numbers and values of a wrong type or range are refused'
const CLOSED = 'after close, which is idempotent, everything rejects'
const SETTLED = 'close leaves no call without an answer'
const GOES_BACK = 'it says whether it may go back to an earlier state'
const SCOPE = 'it says whether processes share it, and these see each change'

/** All methods with another key in the place of the given one. */
function withKeys(cache: Cache, other: (key: string) => string): Partial<Cache> {
  return {
    get: (key) => cache.get(other(key)),
    getMany: async (keys) => {
      const found = await Promise.all(keys.map(async (key) => [key, await cache.get(other(key))]))
      return new Map(found.filter(([, value]) => value !== undefined) as [string, Buffer][])
    },
    set: (key, ...rest) => cache.set(other(key), ...rest),
    add: (key, ...rest) => cache.add(other(key), ...rest),
    append: (key, value) => cache.append(other(key), value),
    delete: (key) => cache.delete(other(key)),
    increment: (key, ...rest) => cache.increment(other(key), ...rest),
  }
}

const TIMES_AND_NUMBERS: Readonly<Record<string, CacheFault>> = {
  'set: the TTL is in milliseconds': [
    TTL,
    (c) => ({ set: (k, value, ttl) => c.set(k, value, Math.ceil(ttl / 1_000)) }),
  ],
  'set: the TTL is ignored': [
    TTL,
    (c) => ({ set: (k, value) => c.set(k, value, MAX_TTL_SECONDS) }),
  ],
  'add: the TTL is ignored': [
    TTL,
    (c) => ({ add: (k, value) => c.add(k, value, MAX_TTL_SECONDS) }),
  ],
  'append: begins a new TTL': [TTL, (c) => ({ append: appendByGetAndSet(c, 60) })],
  'increment: begins a new TTL': [TTL, (c) => ({ increment: incrementByGetAndSet(c) })],
  'increment: the initial number stays': [
    TTL,
    (c) => ({
      increment: (k, delta, onMiss) =>
        c.increment(k, delta, onMiss && { ...onMiss, ttlSeconds: MAX_TTL_SECONDS }),
    }),
  ],
  'increment: made of get and set': [INCREMENTS, (c) => ({ increment: incrementByGetAndSet(c) })],
  'increment: returns the old number': [
    INCREMENT,
    (c) => ({
      increment: async (k, delta = 1, onMiss) => {
        const old = await c.get(k)
        const sum = await c.increment(k, delta, onMiss)
        return old ? Number(old) : sum
      },
    }),
  ],
  'increment: returns text': [
    INCREMENT,
    (c) => ({ increment: async (...given) => String(await c.increment(...given)) as never }),
  ],
  'increment: adds the delta to the initial number': [
    INCREMENT,
    (c) => ({
      increment: (k, delta = 1, onMiss) =>
        c.increment(k, delta, onMiss && { ...onMiss, initial: onMiss.initial + delta }),
    }),
  ],
  'increment: a delta of 0 counts as 1': [
    INCREMENT,
    (c) => ({ increment: (k, delta, onMiss) => c.increment(k, delta || 1, onMiss) }),
  ],
  'increment: takes 32 bits of a delta': [
    EXACT,
    (c) => ({ increment: (k, delta = 1, onMiss) => c.increment(k, delta % 2 ** 32, onMiss) }),
  ],
  'increment: stays at 2^53-1': [
    'increment past 2^53-1 rejects with a RangeError',
    (c) => ({
      increment: (...given) => c.increment(...given).catch(() => Number.MAX_SAFE_INTEGER),
    }),
  ],
  'increment: counts from 0 where no number is': [
    'increment refuses what is no number',
    (c) => ({
      increment: async (k, delta, onMiss) => {
        if (Number.isNaN(Number(await c.get(k)))) await c.set(k, Buffer.from('0'), 60)
        return c.increment(k, delta, onMiss)
      },
    }),
  ],
}

const KEYS_AND_ENDS: Readonly<Record<string, CacheFault>> = {
  'keys: capitals are folded': [KEYS, (c) => withKeys(c, (key) => key.toLowerCase())],
  'keys: cut at 200 characters': [KEYS, (c) => withKeys(c, (key) => key.slice(0, 200))],
  'keys: special characters are replaced': [
    KEYS,
    (c) => withKeys(c, (key) => key.replace(/[^\w:]/g, '_')),
  ],
  'keys: read as part of a URL': [
    KEYS,
    (c) =>
      withKeys(c, (key) =>
        key.replace(/%([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16))),
      ),
  ],
  'keys: a path': [
    KEYS,
    (c) =>
      withKeys(
        c,
        (key) => new URL(`file:///${encodeURIComponent(key).replaceAll('%2F', '/')}`).pathname,
      ),
  ],
  'keys: slashes that follow each other are one': [
    KEYS,
    (c) => withKeys(c, (key) => key.replaceAll('//', '/')),
  ],
  'keys: a dot at the end is cut': [
    KEYS,
    (c) => withKeys(c, (key) => key.replace(/(?<=\w)\.$/, '')),
  ],
  'keys: a colon at the end is cut': [
    KEYS,
    (c) => withKeys(c, (key) => key.replace(/(?<=\w):$/, '')),
  ],
  'keys: read as HTML': [KEYS, (c) => withKeys(c, (key) => key.replaceAll('&amp;', '&'))],
  'keys: any text is taken': [
    WRONG_KEYS,
    (c) => withKeys(c, (key) => Buffer.from(`k${key}`).toString('hex').slice(0, 250)),
  ],
  'TTLs: those out of range are brought into it': [
    RANGES,
    (c) => ({
      set: (k, value, ttl) =>
        c.set(k, value, Math.min(Math.max(1, Math.ceil(ttl) || 1), MAX_TTL_SECONDS)),
    }),
  ],
  'values: text is taken': [
    RANGES,
    (c) => ({ set: (k, value, ttl) => c.set(k, Buffer.from(value), ttl) }),
  ],
  'close: does nothing': [CLOSED, () => ({ close: async () => undefined })],
  'close: fails the second time': [
    CLOSED,
    (c) => {
      let closed = false
      return {
        async close() {
          if (closed) throw new CacheError('CACHE_CLOSED', 'closed already')
          closed = true
          await c.close()
        },
      }
    },
  ],
  'close: keys of a closed cache are reported as unanswered': [
    CLOSED,
    (c) => ({
      getMany: (keys, onUnanswered) =>
        c.getMany(keys).catch((error: CacheError) => {
          if (!onUnanswered) throw error
          for (const key of keys) onUnanswered(key, error)
          return new Map()
        }),
    }),
  ],
  'close: calls under way never end': [
    SETTLED,
    (c) => {
      let closed = false
      return {
        async get(key) {
          await new Promise((resolve) => setImmediate(resolve))
          return closed ? new Promise(() => undefined) : c.get(key)
        },
        async close() {
          closed = true
          await c.close()
        },
      }
    },
  ],
  'scope: says shared and is private': [SCOPE, () => ({ scope: 'shared' })],
  'neverGoesBack: not said': [GOES_BACK, () => ({ neverGoesBack: undefined as never })],
}

testPlantedMemory({ ...TIMES_AND_NUMBERS, ...KEYS_AND_ENDS })
