/**
 * After `close()` every class does the same. What can be closed is found among the exports, and its
 * methods on its prototype, so that a new one is not forgotten.
 */
import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import * as map from '../src/collision-free-map/index.js'
import * as counters from '../src/counters/index.js'
import * as queue from '../src/export-queue/index.js'
import * as root from '../src/index.js'
import * as sequence from '../src/sequence/index.js'
import { eventually } from '../src/support/eventually.fixture.js'
import { keptLog } from '../src/support/kept-log.fixture.js'

/** All that is public. */
const wideCache = { ...root, ...counters, ...sequence, ...map, ...queue }

type Method = (...args: unknown[]) => unknown
type Closable = { close(): Promise<unknown> } & Record<string, Method>

interface Ports {
  readonly database: string | root.Database
  readonly cache: string | root.Cache
}

interface Opener {
  /** As the error names it. */
  readonly what: string
  make(ports: Ports): object
  /** Arguments of the methods; a method that is not listed takes none. */
  readonly args: Readonly<Record<string, readonly unknown[]>>
}

const name = 'ended'
const logger = keptLog()

/** A meter that observes nothing. */
const meter = {
  createObservableCounter: () => ({}),
  createObservableGauge: () => ({}),
  addBatchObservableCallback: () => undefined,
  removeBatchObservableCallback: () => undefined,
}

/** By the name under which the package exports it. */
const OPENERS: Readonly<Record<string, Opener>> = {
  createActivity: {
    what: `Activity "${name}"`,
    make: (ports) => wideCache.createActivity({ ...ports, name, logger }),
    args: {
      record: [{ page: '/' }],
      history: [{ from: 0, to: 1, by: 'day' }],
      top: ['page', { from: 0, to: 1 }],
      instrument: [meter],
      certificate: ['2026-05-17'],
      drain: [{ all: true }],
    },
  },
  createHits: {
    what: `Hits "${name}"`,
    make: (ports) => wideCache.createHits({ ...ports, name, logger }),
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
    make: (ports) =>
      new wideCache.WideCache({
        ...ports,
        name,
        logger,
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
    make: (ports) => new wideCache.ShardedCounter({ ...ports, name }),
    args: { increaseShards: [30] },
  },
  GlobalCounter: {
    what: `GlobalCounter "${name}"`,
    make: (ports) => new wideCache.GlobalCounter({ ...ports, name }),
    args: {},
  },
  Sequence: {
    what: `Sequence "${name}"`,
    make: (ports) => new wideCache.Sequence({ ...ports, name, logger }),
    args: {},
  },
  CollisionFreeMap: {
    what: `CollisionFreeMap "${name}"`,
    make: ({ database }) =>
      new wideCache.CollisionFreeMap({
        database,
        id: name,
        logger,
        combine: (_key: string, sum: number | undefined, updates) =>
          updates.reduce((a, b) => a + b, sum ?? 0),
      }),
    args: { update: [[['a', 1]]], get: ['a'], changeBuckets: [7], instrument: [meter] },
  },
  ExportQueue: {
    what: `ExportQueue "${name}"`,
    make: ({ database }) =>
      new wideCache.ExportQueue({ database, id: name, logger, exporter: () => undefined }),
    args: {
      changeBuckets: [7],
      instrument: [meter],
      add: ['a', 1, { query: () => undefined, beforeCommit: () => undefined }],
    },
  },
}

/**
 * Caches and databases have errors of their own, CACHE_CLOSED and DATABASE_CLOSED; their suites
 * test them.
 */
const PORTS = ['memcached', 'memory', 'mysql', 'postgres', 'redis', 'sqlite']
/** Functions that make nothing to close. */
const OTHERS = ['campaign', 'country', 'deviceClass', 'joinMetrics', 'jsonCodec', 'referrerHost']

/** They never throw, whatever happens. */
const NEVER_REFUSED = ['record', 'append', 'middleware', 'health']
/** They are not asynchronous, and throw. */
const THROW = ['router', 'dashboard', 'instrument', 'collectBy']

/** Files in `folder` that this process has open. */
function openFiles(folder: string): number {
  const linkOf = (descriptor: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // Closed since it was listed.
      return ''
    }
  }
  return readdirSync('/proc/self/fd').filter((descriptor) => linkOf(descriptor).startsWith(folder))
    .length
}

function methodsOf(object: object): string[] {
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

/** Has each method refused, all in one turn. Only those that are not asynchronous may throw. */
async function allRefused(object: Closable, { what, args }: Opener): Promise<void> {
  const refusal = (method: string) => (error: unknown) => {
    assert(error instanceof wideCache.ClosedError, `${method}: ${String(error)}`)
    assert.deepEqual([error.name, error.code], ['ClosedError', 'CLOSED'])
    assert.match(
      error.message,
      new RegExp(
        `^wide-cache: ${what} has been closed by close\\(\\)\\. Call close\\(\\) after the ` +
          `last use, or create a new ${what.split(' ')[0]}$`,
      ),
    )
    return true
  }
  const refused = methodsOf(object).filter(
    (method) => method !== 'close' && !NEVER_REFUSED.includes(method),
  )
  assert(refused.includes('migrate'), `the methods are found: ${refused.join(' ')}`)
  await Promise.all(
    refused.map((method) => {
      const call = () => object[method]!(...(args[method] ?? [])) as Promise<unknown>
      return THROW.includes(method)
        ? assert.throws(call, refusal(method))
        : assert.rejects(call(), refusal(method))
    }),
  )
  // Before all other errors, those of wrong arguments too.
  await Promise.all(
    refused.map((method) => assert.rejects(async () => object[method]!(), refusal(method))),
  )
  for (const method of NEVER_REFUSED) object[method]?.(...(args[method] ?? []))
}

describe('after close()', () => {
  test('the exports that can be closed are all here', () => {
    const closable: string[] = []
    for (const [key, value] of Object.entries(wideCache)) {
      if (typeof value !== 'function' || PORTS.includes(key) || OTHERS.includes(key)) continue
      const prototype = value.prototype as object | undefined
      const isClass = /^[A-Z]/.test(key)
      if (!isClass || (prototype && 'close' in prototype)) closable.push(key)
    }
    assert.deepEqual(closable.sort(), Object.keys(OPENERS).sort())
  })

  for (const [key, opener] of Object.entries(OPENERS)) {
    test(`${key}: each method rejects after close(), and borrowed ports stay open`, async () => {
      const [database, cache] = [wideCache.sqlite(':memory:'), wideCache.memory()]
      const object = opener.make({ database, cache }) as Closable
      await object['migrate']!()
      const closing = object.close()
      await allRefused(object, opener)
      const report = await closing
      await allRefused(object, opener)
      assert.equal(await object.close(), report, 'idempotent, with the same report')

      assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
      await cache.set('here', Buffer.from('still'), 60)
      assert.equal((await cache.get('here'))?.toString(), 'still')
      await (opener.make({ database, cache }) as Closable).close()
      await Promise.all([database.close(), cache.close()])
    })

    test(`${key}: the same with a database of its own, which is closed, and unused`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'wide-cache-closed-'))
      const ports = { database: `sqlite:${join(folder, 'own.db')}`, cache: 'memory:' }
      const [unused, used] = [opener.make(ports) as Closable, opener.make(ports) as Closable]
      await used['migrate']!()
      assert(openFiles(folder) > 0)
      await Promise.all([unused.close(), used.close()])
      await eventually('all files are closed', () => openFiles(folder) === 0)
      assert.equal(openFiles(folder), 0)
      await allRefused(unused, opener)
      await allRefused(used, opener)
      await rm(folder, { recursive: true })
    })

    test(
      `${key}: calls under way end as if it went on, or with the same error`,
      { timeout: 20_000 },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'wide-cache-closed-'))
        const object = opener.make({
          database: `sqlite:${join(folder, 'own.db')}`,
          cache: 'memory:',
        }) as Closable
        const methods = methodsOf(object).filter((method) => method !== 'close')
        const calls = methods.map(async (method) => object[method]!(...(opener.args[method] ?? [])))
        const closed = object.close()
        const ends = await Promise.allSettled(calls)
        const failed = ends.flatMap((end) =>
          end.status === 'rejected' && !(end.reason instanceof wideCache.ClosedError)
            ? [end.reason as unknown]
            : [],
        )
        assert.deepEqual(failed, [])
        await closed
        await allRefused(object, opener)
        await rm(folder, { recursive: true })
      },
    )
  }
})
