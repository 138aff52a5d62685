import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { testCache } from './cache.js'
import { testPlanted } from './planted.fixture.js'
import type { CacheFault } from './planted-caches.fixture.js'

const SILENT = 'with a silent server getMany returns the rest, or rejects'
const NO_MISS = 'a server that does not answer is no miss'

/** Half of the keys belong to a server that does not answer. */
function halfSilent(cache: Cache): Cache {
  const isSilent = (key: string) => key.charCodeAt(key.length - 1) % 2 === 0
  const answered =
    <A extends [key: string, ...unknown[]], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (isSilent(given[0])) throw new CacheError('CACHE_TIMEOUT', 'no answer')
      return call(...given)
    }
  return wrapped(cache, {
    get: answered((key) => cache.get(key)),
    set: answered((...given: Parameters<Cache['set']>) => cache.set(...given)),
    add: answered((...given: Parameters<Cache['add']>) => cache.add(...given)),
    append: answered((...given: Parameters<Cache['append']>) => cache.append(...given)),
    delete: answered((key) => cache.delete(key)),
    increment: answered((...given: Parameters<Cache['increment']>) => cache.increment(...given)),
    async getMany(keys, onUnanswered) {
      for (const key of keys.filter(isSilent)) {
        const error = new CacheError('CACHE_TIMEOUT', 'no answer')
        if (!onUnanswered) throw error
        onUnanswered(key, error)
      }
      return cache.getMany(keys.filter((key) => !isSilent(key)))
    },
  })
}

/** A fault of one method that replies in the place of a silent server. */
const replies = (
  method: 'get' | 'set' | 'add' | 'append' | 'delete' | 'increment',
  reply: unknown,
): CacheFault => [
  NO_MISS,
  (c) => ({
    [method]: (...given: unknown[]) =>
      (c[method] as (...all: unknown[]) => Promise<unknown>)(...given).catch(() => reply),
  }),
]

testPlanted<Cache>(
  'a cache with a silent server',
  (register, wrap) =>
    testCache({
      test: register,
      name: 'planted',
      create: () => wrap(memory()),
      capabilities: { createSilent: () => wrap(halfSilent(memory())) },
    }),
  {
    'get: a miss': replies('get', undefined),
    'set: not stored': replies('set', false),
    'add: not stored': replies('add', false),
    'append: not stored': replies('append', false),
    'delete: there was none': replies('delete', false),
    'increment: a miss': replies('increment', undefined),
    "get: the client's own error": [
      NO_MISS,
      (c) => ({ get: (key) => c.get(key).catch(() => Promise.reject(new Error('ECONNRESET'))) }),
    ],
    'get: says that the server has refused': [
      NO_MISS,
      (c) => ({
        get: (key) =>
          c.get(key).catch(() => Promise.reject(new CacheError('CACHE_REFUSED', 'refused'))),
      }),
    ],
    'getMany: what is unanswered is missing': [
      SILENT,
      (c) => ({ getMany: (keys) => c.getMany(keys, () => undefined) }),
    ],
    'getMany: rejects whether or not it may report': [
      SILENT,
      (c) => ({ getMany: (keys) => c.getMany(keys) }),
    ],
    'getMany: reports all keys if one is unanswered': [
      SILENT,
      (c) => ({
        getMany: (keys, onUnanswered) =>
          c.getMany(keys).catch((error: CacheError) => {
            if (!onUnanswered) throw error
            for (const key of keys) onUnanswered(key, error)
            return new Map()
          }),
      }),
    ],
    'getMany: reports a key twice': [
      SILENT,
      (c) => ({
        getMany: (keys, onUnanswered) =>
          c.getMany(
            keys,
            onUnanswered && ((...all) => (onUnanswered(...all), onUnanswered(...all))),
          ),
      }),
    ],
    'getMany: reports no error': [
      SILENT,
      (c) => ({
        getMany: (keys, onUnanswered) =>
          c.getMany(keys, onUnanswered && ((key) => onUnanswered(key, undefined as never))),
      }),
    ],
  },
  {
    oddities: {
      'a server that answers again has nothing': [
        SILENT,
        (c) => ({
          set: async (key, ...rest) => {
            if (key.endsWith('1')) throw new CacheError('CACHE_TIMEOUT', 'no answer')
            return c.set(key, ...rest)
          },
        }),
      ],
    },
  },
)
