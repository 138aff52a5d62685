/**
 * The helpers that retry, gather, split or pass on requests, and how often each may ask for one
 * item. The numbers are those of their docstrings.
 */
import { appendOrAdd } from '../../src/cache/append-or-add.js'
import type { Cache } from '../../src/cache/cache.js'
import { getMany } from '../../src/cache/get-many.js'
import { CountingCache, CountingDatabase } from '../../src/connections/counting.js'
import { Gather } from '../../src/connections/gather.js'
import { namespaced } from '../../src/connections/namespaced-cache.js'
import { PreparedDatabase } from '../../src/connections/prepared-database.js'
import { answered, retried } from '../../src/connections/retry.js'
import { sharedDatabase } from '../../src/connections/shared-database.js'
import { unlocked } from '../../src/connections/unlocked.js'
import { deleteRows } from '../../src/database/bulk.js'
import type { Database, QueryResult, Transaction } from '../../src/database/database.js'
import { table } from '../../src/database/table.js'
import { BatchedCounts } from '../../src/hits/batched-counts.js'
import type { Environment } from '../../src/support/environment.js'
import { BurstLogger, SILENT } from '../../src/support/logger.js'
import { shared } from '../../src/support/shared.js'
import { answerWithin } from '../../src/support/within.js'
import { FIRST_HEADER } from '../../src/wide-cache/frame.fixture.js'
import type { Frame } from '../../src/wide-cache/frame.js'
import { settle } from '../../src/wide-cache/ledger/settle.js'
import type { CountingServer, Failure } from './failures.js'

export interface Helper {
  /** The most requests for one item that meets a failure, however often that comes. */
  most(failure: Failure): number
  /** Asks for all items, in as many calls as callers would. */
  use(items: readonly string[], server: CountingServer, environment: Environment): Promise<unknown>
}

/** A transaction that other locks stop is tried so often. */
const TRIES = 8
/** So many tries fit into 10 s, if all waits are drawn short. */
const RETRIES = 24

const once = (): number => 1
const retriedIfLocked = ({ category }: Failure): number => (category === 'lock' ? TRIES : 1)
const retriedIfPassing = ({ category }: Failure): number =>
  category && ['unreachable', 'lock', 'capacity'].includes(category) ? RETRIES : 1

/** Calls `work` for each item at once, as callers do that know nothing of each other. */
const each = (items: readonly string[], work: (item: string) => Promise<unknown>) =>
  Promise.allSettled(items.map((item) => work(item)))

/** The first parameter of a statement names its items. */
function databaseOf(server: CountingServer): Database {
  const query = async (_sql: string, values: readonly unknown[] = []): Promise<QueryResult> => {
    await server.ask(String(values[0]).split(','))
    return { rows: [], affectedRows: 1 }
  }
  const common = { dialect: 'sqlite', maxStatementBytes: 1_000, now: async () => 0, query } as const
  return {
    ...common,
    transaction: (work) => work({ ...common, beforeCommit: () => undefined }),
    migrate: async () => undefined,
    close: async () => undefined,
  }
}

const insertOf = (item: string) => (tx: Transaction) => tx.query('INSERT', [item])

function cacheOf(server: CountingServer): Cache {
  const ask = async <T>(key: string, answer: T): Promise<T> => {
    await server.ask([key.replace(/.*:/, '')])
    return answer
  }
  return {
    scope: 'private',
    neverGoesBack: true,
    get: (key) => ask(key, undefined),
    getMany: async (keys) => {
      await server.ask(keys.map((key) => key.replace(/.*:/, '')))
      return new Map()
    },
    set: (key) => ask(key, true),
    add: (key) => ask(key, true),
    append: (key) => ask(key, false),
    delete: (key) => ask(key, true),
    increment: (key) => ask(key, 1),
    close: async () => undefined,
  }
}

/** A helper that passes on each operation of a cache. */
const operations = (cacheBy: (cache: Cache, environment: Environment) => Cache): Helper => ({
  most: once,
  use: async (items, server, environment) => {
    const cache = cacheBy(cacheOf(server), environment)
    const value = Buffer.from('1')
    const works = [
      (key: string) => cache.get(key),
      (key: string) => cache.set(key, value, 1),
      (key: string) => cache.add(key, value, 1),
      (key: string) => cache.append(key, value),
      (key: string) => cache.delete(key),
      (key: string) => cache.increment(key),
    ]
    for (const [at, work] of works.entries()) {
      await each(
        items.map((item) => `${item}${at}`),
        work,
      )
    }
    await cache.getMany(items).catch(() => undefined)
  },
})

/** A helper that passes on each operation of a database. */
const statements = (databaseBy: (database: Database, environment: Environment) => Database) => ({
  most: once,
  use: async (items: readonly string[], server: CountingServer, environment: Environment) => {
    const database = databaseBy(databaseOf(server), environment)
    await each(items, (item) => database.query('INSERT', [`${item} alone`]))
    await each(items, (item) => database.transaction(insertOf(item)))
    await database.close()
  },
})

const ROWS = table('rows_of_helpers', ['id'], ['value', 'add'])
const frameOf = (item: string): Frame => ({
  ...FIRST_HEADER,
  writer: item,
  bytes: Buffer.alloc(0),
})

export const HELPERS: Readonly<Record<string, Helper>> = {
  Gather: {
    // A RangeError says that items do not fit together: each is tried once more, alone.
    most: ({ name }) => (name === 'RangeError' ? 2 : 1),
    use: (items, server) => {
      const gather = new Gather<string, void>(
        'items',
        (batch) => server.ask(batch),
        (waiting) => waiting.length,
      )
      return each(items, (item) => gather.add(item))
    },
  },
  unlocked: {
    most: retriedIfLocked,
    use: (items, server, environment) =>
      each(items, (item) => unlocked(environment, () => server.ask([item]))),
  },
  retried: {
    most: retriedIfPassing,
    use: (items, server, environment) =>
      each(items, (item) =>
        retried(
          environment,
          async () => undefined,
          () => server.ask([item]),
        ),
      ),
  },
  answered: {
    most: once,
    use: (items, server, environment) =>
      each(items, (item) => answered(environment, () => server.ask([item]))),
  },
  answerWithin: {
    most: once,
    use: (items, server, { clock }) =>
      each(items, (item) => answerWithin(clock, 1_000, () => server.ask([item]))),
  },
  shared: {
    most: once,
    use: (items, server, { clock }) => {
      const ask = shared(clock, 1_000, () => server.ask(items))
      return each(items, () => ask())
    },
  },
  BatchedCounts: {
    most: once,
    use: (items, server, { clock }) => {
      const counts = new BatchedCounts(
        async (asked) => {
          await server.ask(asked)
          return new Map()
        },
        clock,
        1_000,
      )
      return each(items, (item) => counts.read(item))
    },
  },
  PreparedDatabase: statements(
    (database, environment) => new PreparedDatabase(database, [], environment),
  ),
  'PreparedDatabase.retriedTransaction': {
    most: retriedIfLocked,
    use: (items, server, environment) => {
      const prepared = new PreparedDatabase(databaseOf(server), [], environment)
      return each(items, (item) => prepared.retriedTransaction(insertOf(item)))
    },
  },
  CountingDatabase: statements((database, { clock }) => CountingDatabase.of(database, clock)),
  sharedDatabase: statements((database) => sharedDatabase('sqlite:errors', () => database)),
  CountingCache: operations((cache, { clock }) => new CountingCache(cache, clock)),
  namespaced: operations((cache, environment) => {
    const identity = { namespace: Buffer.alloc(16), name: 'site', secret: Buffer.alloc(32) }
    const database = {
      ...databaseOf({ ask: async () => undefined } as unknown as CountingServer),
      query: async () => ({ rows: [identity], affectedRows: 0 }),
    }
    const prepared = new PreparedDatabase(database, [], environment)
    const logger = new BurstLogger(SILENT, () => environment.clock.elapsed())
    return namespaced(cache, { database: prepared, environment, logger })
  }),
  appendOrAdd: {
    // A key that another process removes between two requests.
    most: once,
    use: (items, server) => {
      const cache = cacheOf(server)
      const kinds = {
        append: (key: string, value: Buffer) => cache.append(`${key} append`, value),
        add: (key: string, value: Buffer, ttl: number) => cache.add(`${key} add`, value, ttl),
      }
      return each(items, (item) => appendOrAdd(kinds, item, Buffer.from('1'), 1))
    },
  },
  getMany: {
    most: once,
    use: async (items, server) => {
      const get = async (key: string) => {
        await server.ask([key])
        return undefined
      }
      await getMany([{ keys: items, get }], () => undefined).catch(() => undefined)
    },
  },
  'table.upsert': {
    most: once,
    use: async (items, server) => {
      const query = async (_sql: string, values: readonly unknown[] = []) => {
        await server.ask(values.filter((_, at) => at % 2 === 0).map(String))
        return { rows: [], affectedRows: 1 }
      }
      const on = { ...databaseOf(server), query }
      const rows = items.map((item) => [item, 'x'.repeat(100)] as const)
      await ROWS.upsert(on, rows).catch(() => undefined)
    },
  },
  deleteRows: {
    most: once,
    use: async (items, server) => {
      const on = {
        dialect: 'sqlite',
        query: async () => {
          await server.ask(items)
          return { rows: [], affectedRows: 0 }
        },
      } as const
      await deleteRows(on, 'rows_of_helpers', [1, 2]).catch(() => undefined)
    },
  },
  settle: {
    // Of three frames: all, two, and one three times; then in quarantine.
    most: ({ category }) => (category === 'data' ? 6 : 1),
    use: async (items, server) => {
      const ask = async (frames: readonly Frame[]) => {
        await server.ask(frames.map(({ writer }) => writer))
        return { committed: 0, duplicate: 0, quarantined: 0, prefixes: new Map() }
      }
      const ledger = { nameOf: () => 'site', commit: ask, quarantine: ask }
      const logger = new BurstLogger(SILENT, () => 0)
      await settle(ledger, items.map(frameOf), logger).catch(() => undefined)
    },
  },
}
