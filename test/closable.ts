/** What the package exports that can be closed, and how to open and to use it. */
import * as map from '../src/collision-free-map/index.js'
import * as counters from '../src/counters/index.js'
import * as queue from '../src/export-queue/index.js'
import * as root from '../src/index.js'
import type { Logger } from '../src/support/logger.js'
import * as sequence from '../src/sequence/index.js'

/** All that is public. */
export const wideCache = { ...root, ...counters, ...sequence, ...map, ...queue }

type Method = (...args: unknown[]) => unknown
export type Closable = { close(): Promise<unknown> } & Record<string, Method>

export interface Surroundings {
  readonly database: string | root.Database
  readonly cache: string | root.Cache
  readonly logger: Logger
}

export interface Opener {
  /** As the error names it. */
  readonly what: string
  make(surroundings: Surroundings): object
  /** Arguments of the methods; a method that is not listed takes none. */
  readonly args: Readonly<Record<string, readonly unknown[]>>
}

const name = 'ended'

/** A meter that observes nothing. */
const meter = {
  createObservableCounter: () => ({}),
  createObservableGauge: () => ({}),
  addBatchObservableCallback: () => undefined,
  removeBatchObservableCallback: () => undefined,
}

/** By the name under which the package exports it. */
export const OPENERS: Readonly<Record<string, Opener>> = {
  createActivity: {
    what: `Activity "${name}"`,
    make: (options) => wideCache.createActivity({ ...options, name }),
    args: {
      record: [{ page: '/' }],
      history: [{ from: 0, to: 1, by: 'day' }],
      top: ['page', { from: 0, to: 1 }],
      instrument: [meter],
      certificate: ['2026-05-17'],
      note: ['2026-05-17', 'Released 2.0'],
      drain: [{ all: true }],
    },
  },
  createHits: {
    what: `Hits "${name}"`,
    make: (options) => wideCache.createHits({ ...options, name }),
    args: {
      record: ['a'],
      middleware: [{ item: () => 'a' }],
      count: ['a'],
      counts: [['a']],
      top: [1],
      router: [{ allow: ['a'] }],
      history: ['a'],
      delete: ['a'],
      rename: ['a', 'b'],
      instrument: [meter],
      drain: [{ all: true }],
    },
  },
  WideCache: {
    what: `WideCache "${name}"`,
    make: (options) =>
      new wideCache.WideCache({
        ...options,
        name,
        commit: async (_rows: number[]) => undefined,
        read: async () => 7,
      }),
    args: {
      append: [1],
      drain: [{ all: true }],
      readCached: ['key', async () => 7],
      readLive: [0, () => undefined],
      instrument: [meter],
    },
  },
  ShardedCounter: {
    what: `ShardedCounter "${name}"`,
    make: ({ database, cache }) => new wideCache.ShardedCounter({ database, cache, name }),
    args: { increaseShards: [30] },
  },
  GlobalCounter: {
    what: `GlobalCounter "${name}"`,
    make: ({ database, cache }) => new wideCache.GlobalCounter({ database, cache, name }),
    args: {},
  },
  Sequence: {
    what: `Sequence "${name}"`,
    make: (options) => new wideCache.Sequence({ ...options, name }),
    args: {},
  },
  CollisionFreeMap: {
    what: `CollisionFreeMap "${name}"`,
    make: ({ database, logger }) =>
      new wideCache.CollisionFreeMap({
        database,
        name: name,
        logger,
        combine: (_key: string, sum: number | undefined, updates) =>
          updates.reduce((a, b) => a + b, sum ?? 0),
      }),
    args: { update: [[['a', 1]]], get: ['a'], changeBuckets: [7], instrument: [meter] },
  },
  ExportQueue: {
    what: `ExportQueue "${name}"`,
    make: ({ database, logger }) =>
      new wideCache.ExportQueue({ database, name: name, logger, exporter: () => undefined }),
    args: {
      changeBuckets: [7],
      instrument: [meter],
      add: ['a', 1, { query: () => undefined, beforeCommit: () => undefined }],
    },
  },
}

const ofCache = { get: ['key'], append: ['key', Buffer.from('x')], increment: ['number'] }
const ofDatabase = { query: ['SELECT 1'], now: [], transaction: [async () => 7] }

/**
 * Caches and databases. They have errors of their own, CACHE_CLOSED and DATABASE_CLOSED; their
 * suites test them.
 */
export const PORTS: Readonly<Record<string, Pick<Opener, 'make' | 'args'>>> = {
  memcached: { make: ({ cache }) => wideCache.memcached(cache as string), args: ofCache },
  memory: { make: () => wideCache.memory(), args: ofCache },
  mysql: { make: ({ database }) => wideCache.mysql(database as string), args: ofDatabase },
  postgres: { make: ({ database }) => wideCache.postgres(database as string), args: ofDatabase },
  redis: { make: ({ cache }) => wideCache.redis(cache as string), args: ofCache },
  sqlite: { make: ({ database }) => wideCache.sqlite(database as string), args: ofDatabase },
}
/** Functions that make nothing to close. */
export const OTHERS = [
  'browser',
  'campaign',
  'country',
  'deviceClass',
  'joinMetrics',
  'jsonCodec',
  'language',
  'lenientPath',
  'overview',
  'referrerHost',
  'section',
  'source',
  'system',
]

/** The methods of an object, also those of its classes. */
export function methodsOf(object: object): string[] {
  const names = new Set<string>()
  for (
    let level = object;
    level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object
  ) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof value === 'function') names.add(key)
    }
  }
  return [...names].filter((method) => method !== 'constructor')
}
