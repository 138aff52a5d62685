import type { Cache } from '../cache/cache.js'
import { memcached } from '../cache/memcached/memcached.js'
import { PATIENT } from '../../test/servers/memcached.js'
import { sharedMemcached } from '../../test/servers/shared.js'
import { testCache } from './cache.js'
import { testPlanted } from './planted.fixture.js'
import {
  addByGetAndSet,
  appendByGetAndSet,
  incrementByGetAndSet,
} from './planted-caches.fixture.js'

const ADDS = 'of many who add at once exactly one stores'
const APPENDS = 'concurrent appends lose nothing'
const INCREMENTS = 'many who increment at once are all counted'
const SCOPE = 'it says whether processes share it, and these see each change'

/** Runs one call after the other, of those that this process makes. */
function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work, work)
    last = result.catch(() => undefined)
    return result
  }
}

/**
 * Plants a method of two processes that is made of `get` and `set`, under a lock of each. The
 * first `set` of each waits until the other one has read, too. Otherwise one process may be ready
 * before the other's connection is open, and the fault does not show.
 */
function lockedInProcess(
  make: (c: Pick<Cache, 'get' | 'set'>, locked: ReturnType<typeof oneByOne>) => Partial<Cache>,
): (cache: Cache) => Partial<Cache> {
  let bothHaveRead!: () => void
  const both = new Promise<void>((resolve) => (bothHaveRead = resolve))
  let processes = 0
  return (cache) => {
    let reads = 0
    return make(
      {
        async get(key) {
          const value = await cache.get(key)
          if (++reads === 1 && ++processes === 2) bothHaveRead()
          await both
          return value
        },
        set: (...given) => cache.set(...given),
      },
      oneByOne(),
    )
  }
}

testPlanted<Cache>(
  'a shared cache',
  (register, wrap) =>
    testCache({
      test: register,
      name: 'planted',
      create: async () => wrap(memcached(await sharedMemcached(), PATIENT)),
    }),
  {
    'get: remembers what it has read': [
      SCOPE,
      (c) => {
        const remembered = new Map<string, Buffer | undefined>()
        return {
          async get(key) {
            if (!remembered.has(key)) remembered.set(key, await c.get(key))
            return remembered.get(key)
          },
        }
      },
    ],
    'add: get and set, under a lock of the process': [
      ADDS,
      lockedInProcess((c, locked) => {
        const add = addByGetAndSet(c)
        return { add: (...given) => locked(() => add(...given)) }
      }),
    ],
    'append: get and set, under a lock of the process': [
      APPENDS,
      lockedInProcess((c, locked) => {
        const append = appendByGetAndSet(c, 60)
        return { append: (...given) => locked(() => append(...given)) }
      }),
    ],
    'increment: get and set, under a lock of the process': [
      INCREMENTS,
      lockedInProcess((c, locked) => {
        const increment = incrementByGetAndSet(c)
        return { increment: (...given) => locked(() => increment(...given)) }
      }),
    ],
  },
)
