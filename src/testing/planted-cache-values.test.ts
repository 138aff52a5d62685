import { type Cache, CacheError } from '../cache/cache.js'
import { lateCalls } from './planted.fixture.js'
import {
  addByGetAndSet,
  appendByGetAndSet,
  type CacheFault,
  testPlantedMemory,
} from './planted-caches.fixture.js'

const MIB = 1024 * 1024
const MISSING = 'a missing key cannot be read, appended to, deleted or incremented'
const SET = 'set stores bytes as they are and replaces what was there'
const ADD = 'add stores only where nothing is'
const ADDS = 'of many who add at once exactly one stores'
const APPEND = 'append puts bytes behind what is there, and keeps both as they are'
const APPENDS = 'concurrent appends lose nothing'
const DELETE = 'delete removes, and tells that there was something'
const GET_MANY = 'getMany returns each key that exists, however many are asked for'
const COPIES = 'a changed Buffer, handed in or out, changes nothing that is stored'
const LIMIT = 'what is over the item size limit is not stored'
const WRONG_KEYS = 'keys no cache could take are refused before they do harm'

/** Their calls come one after the other. */
const IN_ORDER = [
  MISSING,
  SET,
  ADD,
  APPEND,
  DELETE,
  COPIES,
  LIMIT,
  'a value ends with its TTL, which append and increment keep',
  'increment counts, from a stored number or from its initial one',
  'increment is right up to 2^53-1, in value, delta and initial',
]

/** Takes the bytes at once. */
const withLateCalls = lateCalls<Cache>(IN_ORDER, 20, (late) => (c) => ({
  get: (key) => late(() => c.get(key)),
  getMany: (...given) => late(() => c.getMany(...given)),
  set: (key, value, ttl) => {
    const copy = Buffer.from(value)
    return late(() => c.set(key, copy, ttl))
  },
  add: (key, value, ttl) => {
    const copy = Buffer.from(value)
    return late(() => c.add(key, copy, ttl))
  },
  append: (key, value) => {
    const copy = Buffer.from(value)
    return late(() => c.append(key, copy))
  },
  delete: (key) => late(() => c.delete(key)),
  increment: (...given) => late(() => c.increment(...given)),
}))

const asText = (value: Buffer) => Buffer.from(String(value))

const VALUES: Readonly<Record<string, CacheFault>> = {
  'get: a miss is null': [
    MISSING,
    (c) => ({ get: async (k) => (await c.get(k)) ?? (null as never) }),
  ],
  'get: an empty value is a miss': [
    SET,
    (c) => ({ get: (k) => c.get(k).then((value) => (value?.length ? value : undefined)) }),
  ],
  'set: bytes become text': [
    SET,
    (c) => ({ set: (k, value, ttl) => c.set(k, asText(value), ttl) }),
  ],
  'set: values are cut at 64 KiB': [
    SET,
    (c) => ({ set: (k, value, ttl) => c.set(k, value.subarray(0, 65_536), ttl) }),
  ],
  'set: keeps an old value': [
    SET,
    (c) => ({ set: (k, value, ttl) => c.add(k, value, ttl).then(() => true) }),
  ],
  'set: resolves before it has stored': [
    SET,
    (c) => ({
      set: async (...given) => (
        setTimeout(() => void c.set(...given).catch(() => false), 50),
        true
      ),
    }),
  ],
  'add: replaces': [ADD, (c) => ({ add: (...given) => c.set(...given) })],
  'add: bytes become text': [
    ADD,
    (c) => ({ add: (k, value, ttl) => c.add(k, asText(value), ttl) }),
  ],
  'add: an empty value counts as none': [
    ADD,
    (c) => ({
      add: async (k, ...rest) =>
        (await c.get(k))?.length === 0 ? c.set(k, ...rest) : c.add(k, ...rest),
    }),
  ],
  'add: made of get and set': [ADDS, (c) => ({ add: addByGetAndSet(c) })],
  'append: made of get and set': [APPENDS, (c) => ({ append: appendByGetAndSet(c, 60) })],
  'append: stores where nothing is': [
    MISSING,
    (c) => ({ append: async (k, value) => (await c.append(k, value)) || c.add(k, value, 60) }),
  ],
  'append: bytes become text': [
    APPEND,
    (c) => ({ append: (k, value) => c.append(k, asText(value)) }),
  ],
  'append: puts bytes in front': [
    APPEND,
    (c) => ({
      append: async (k, value) =>
        c.set(k, Buffer.concat([value, (await c.get(k)) ?? Buffer.alloc(0)]), 60),
    }),
  ],
  'append: no bytes are a failure': [
    APPEND,
    (c) => ({ append: async (k, value) => value.length > 0 && c.append(k, value) }),
  ],
  'append: sent twice': [
    APPEND,
    (c) => ({ append: async (k, value) => (await c.append(k, value)) && c.append(k, value) }),
  ],
  'append: over the limit the value goes': [
    LIMIT,
    (c) => ({
      append: async (k, value) => (await c.append(k, value)) || (await c.delete(k), false),
    }),
  ],
  'set: over the limit it says stored': [
    LIMIT,
    (c) => ({ set: (...given) => c.set(...given).then(() => true) }),
  ],
  'delete: always true': [MISSING, (c) => ({ delete: (k) => c.delete(k).then(() => true) })],
  'delete: always false': [DELETE, (c) => ({ delete: (k) => c.delete(k).then(() => false) })],
  'delete: leaves an empty value': [
    DELETE,
    (c) => ({ delete: async (k) => (await c.delete(k)) && c.set(k, Buffer.alloc(0), 60) }),
  ],
}

const MANY: Readonly<Record<string, CacheFault>> = {
  'getMany: misses are there, as undefined': [
    GET_MANY,
    (c) => ({
      getMany: async (keys) => {
        const found = await c.getMany(keys)
        return new Map(keys.map((key) => [key, found.get(key) as Buffer]))
      },
    }),
  ],
  'getMany: fails over 1,000 keys': [
    GET_MANY,
    (c) => ({
      getMany: async (keys, ...rest) => {
        if (keys.length > 1_000) throw new CacheError('CACHE_REFUSED', 'too many keys')
        return c.getMany(keys, ...rest)
      },
    }),
  ],
  'getMany: returns the first 1,000 keys': [
    GET_MANY,
    (c) => ({ getMany: (keys, ...rest) => c.getMany(keys.slice(0, 1_000), ...rest) }),
  ],
  'getMany: bytes become text': [
    GET_MANY,
    (c) => ({
      getMany: async (...given) =>
        new Map([...(await c.getMany(...given))].map(([key, value]) => [key, asText(value)])),
    }),
  ],
  'getMany: reports misses as unanswered': [
    GET_MANY,
    (c) => ({
      getMany: async (keys, onUnanswered) => {
        const found = await c.getMany(keys)
        const error = new CacheError('CACHE_TIMEOUT', 'missing')
        for (const key of keys) if (!found.has(key)) onUnanswered?.(key, error)
        return found
      },
    }),
  ],
  'getMany: hands out views of one buffer, which the next call overwrites': [
    COPIES,
    (c) => {
      const buffer = Buffer.alloc(MIB)
      return {
        getMany: async (...given) => {
          let end = 0
          const found = new Map<string, Buffer>()
          for (const [key, value] of await c.getMany(...given)) {
            found.set(key, buffer.subarray(end, (end += value.copy(buffer, end))))
          }
          return found
        },
      }
    },
  ],
  'set: takes the bytes a moment after the call': [
    COPIES,
    (c) => ({
      set: async (key, value, ttl) => {
        await new Promise((resolve) => setImmediate(resolve))
        return c.set(key, value, ttl)
      },
    }),
  ],
  'append: takes the bytes a moment after the call': [
    COPIES,
    (c) => ({
      append: async (key, value) => {
        await new Promise((resolve) => setImmediate(resolve))
        return c.append(key, value)
      },
    }),
  ],
  'getMany: hands out what it remembers': [
    COPIES,
    (c) => {
      const remembered = new Map<string, Buffer>()
      return {
        getMany: async (...given) => {
          for (const [key, value] of await c.getMany(...given)) {
            if (!remembered.has(key)) remembered.set(key, value)
          }
          return new Map(remembered)
        },
      }
    },
  ],
  'getMany: looks at its first key only': [
    WRONG_KEYS,
    (c) => ({
      getMany: (keys) =>
        c.getMany(keys.filter((key, index) => index === 0 || /^[\x21-\x7e]{1,250}$/.test(key))),
    }),
  ],
}

testPlantedMemory({ ...VALUES, ...MANY }, withLateCalls)
