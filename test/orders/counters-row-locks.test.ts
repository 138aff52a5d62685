/**
 * Laws of orders that only a database with row locks shows: one transaction has locked something,
 * and another one that locks something else comes in between.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { memory } from '../../src/cache/memory.js'
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import { GlobalCounter } from '../../src/counters/global-counter.js'
import { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { keyStartOf } from '../../src/connections/namespace.js'
import { type Database, DatabaseError } from '../../src/database/database.js'
import { namespaceOf } from '../../src/database/identity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { ExportQueue } from '../../src/export-queue/export-queue.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { wrapped, wrappedDatabase } from '../servers/wrapped.js'
import { SILENT } from '../../src/support/logger.js'
import { atEachStatement } from './each-statement.js'

/** Time for which work that ought to wait for a lock could overtake. */
const OVERTAKING_MS = 200

/** Options of a map of sums. */
const SUMS = {
  name: 'law',
  every: false as const,
  logger: SILENT,
  combine: (_: string, current = 0, updates: readonly number[]) =>
    updates.reduce((sum, n) => sum + n, current),
}

async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  const database = mysql(await sharedMysqlUrl())
  try {
    await work(database)
  } finally {
    await database.close()
  }
}

/** What others wait for. */
function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

/**
 * A database whose first transaction with a statement that matches `pattern` stops after it, until
 * `meanwhile` has ended, or waits for a lock. `overtaking()` is what `meanwhile` has returned.
 */
function stopping<T>(
  database: Database,
  pattern: RegExp,
  meanwhile: () => Promise<T>,
): { readonly database: Database; readonly overtaking: () => Promise<T> } {
  let overtaking: Promise<T> | undefined
  const stops = wrappedDatabase(database, {}, (tx) => ({
    query: async (sql, values) => {
      const result = await tx.query(sql, values)
      if (overtaking || !pattern.test(sql)) return result
      overtaking = meanwhile()
      await Promise.race([overtaking, delay(OVERTAKING_MS)])
      return result
    },
  }))
  return {
    database: stops,
    overtaking: () => {
      assert(overtaking, 'the transaction has come to the statement')
      return overtaking
    },
  }
}

/**
 * A database whose first transaction fails as its commit begins, and yet commits, a while later.
 * `committing()` ends when it has.
 */
function answeringLate(database: Database): {
  readonly database: Database
  readonly committing: () => Promise<unknown>
} {
  let committing: Promise<unknown> | undefined
  const losing = wrapped(database, {
    transaction: async (work) => {
      if (committing) return database.transaction(work)
      const [worked, mayCommit] = [gate(), gate()]
      committing = database.transaction(async (tx) => {
        const result = await work(tx)
        worked.open()
        await mayCommit.opened
        return result
      })
      await worked.opened
      setTimeout(mayCommit.open, OVERTAKING_MS)
      throw new DatabaseError('CONNECTION_LOST', 'unreachable', 'lost, says the test')
    },
  })
  return {
    database: losing,
    committing: () => {
      assert(committing, 'the transaction has begun')
      return committing
    },
  }
}

test('MariaDB: an increment that has locked all shards loses none by the quick way', async () =>
  withDatabase(async (database) => {
    const options = { name: 'law', cache: memory(), shards: 1 }
    const quick = new ShardedCounter({ ...options, database })
    await quick.increment(1)
    const { database: stops, overtaking } = stopping(database, /FROM sharded_counter_shards/, () =>
      quick.increment(10),
    )
    await new ShardedCounter({ ...options, database: stops }).increment(100)
    await overtaking()
    assert.equal(await quick.get({ exact: true }), 111)
  }))

test('MariaDB: no value is persisted while a new generation takes their maximum', async () =>
  withDatabase(async (database) => {
    const cache = memory()
    const options = { name: 'law', cache, shards: 1 }
    await new GlobalCounter({ ...options, database }).increment()
    const [persists, mayPersist] = [gate(), gate()]
    const slow = new GlobalCounter({
      ...options,
      database: wrapped(database, {
        query: async (sql, values) => {
          if (sql.startsWith('UPDATE global_counter_shards')) {
            persists.open()
            await mayPersist.opened
          }
          return database.query(sql, values)
        },
      }),
    })
    const second = slow.increment()
    await persists.opened
    const start = keyStartOf(await namespaceOf(database))
    const { rows } = await database.query(
      'SELECT LOWER(HEX(token)) AS token FROM global_counter_generations',
    )
    assert(await cache.delete(`${start}global-counter:law:${rows[0]!['token']}`))
    const { database: stops, overtaking } = stopping(database, /FROM global_counter_shards/, () => {
      mayPersist.open()
      return second
    })
    const opening = new GlobalCounter({ ...options, database: stops })
    const values = [await opening.increment(), await overtaking()]
    assert.deepEqual(values, [2, 3])
  }))

test('MariaDB: an increment whose commit takes until it is tried again is counted once', async () =>
  withDatabase(async (database) => {
    const { database: losing, committing } = answeringLate(database)
    const counter = new GlobalCounter({ name: 'law', cache: memory(), database: losing })
    await counter.migrate()
    assert.equal(await counter.increment(), 1)
    await committing()
    assert.equal(await counter.increment(), 2)
  }))

test('MariaDB: a processor passes by a bucket that another one is at', async () =>
  withDatabase(async (database) => {
    const options = { ...SUMS, database, buckets: 1 }
    const other = new CollisionFreeMap(options)
    const passed: number[] = []
    const map = new CollisionFreeMap({
      ...options,
      onUpdate: async () => void passed.push(await other.process()),
    })
    await map.update([['key', 1]])
    assert.equal(await map.process(), 1)
    assert.deepEqual(passed, [0])
    assert.equal(await other.get('key'), 1)
  }))

test('MariaDB: an update that is queued while a processor reads is not deleted', async () =>
  withDatabase(async (database) => {
    const options = { ...SUMS, buckets: 1 }
    const other = new CollisionFreeMap({ ...options, database })
    const { database: stops, overtaking } = stopping(
      database,
      /FROM collision_free_map_queue/,
      () => other.update([['key', 10]]),
    )
    await other.update([['key', 1]])
    const map = new CollisionFreeMap({ ...options, database: stops })
    assert.equal(await map.process(), 1)
    await overtaking()
    assert.equal(await other.get('key'), 11)
    assert.equal(await other.process(), 1)
  }))

test('MariaDB: buckets change only when no processor is at one', async () =>
  withDatabase(async (database) => {
    const options = { ...SUMS, database }
    const other = new CollisionFreeMap(options)
    let changing: Promise<unknown> | undefined
    const map = new CollisionFreeMap({
      ...options,
      onUpdate: async () => {
        changing = other.changeBuckets(2).then(async () => {
          await other.update([['key', 10]])
          return other.process()
        })
        await Promise.race([changing, delay(OVERTAKING_MS)])
      },
    })
    await map.update([['key', 1]])
    assert.equal(await map.process(), 1)
    await changing
    assert.equal(await other.get('key'), 11)
  }))

test('MariaDB: two processors that come to a bucket at once do not both export it', async () =>
  withDatabase(async (database) => {
    const came: string[] = []
    const open = (process: string, through: Database): ExportQueue<string, number> =>
      new ExportQueue<string, number>({
        name: 'law',
        database: through,
        buckets: 1,
        every: false,
        logger: SILENT,
        exporter: (entries) => {
          for (const { value, version } of entries) came.push(`${process}: ${value} as ${version}`)
        },
      })
    const other = open('other', database)
    const { database: stops, overtaking } = stopping(
      database,
      /^SELECT .* FROM export_queue_buckets/,
      () => other.process(),
    )
    const queue = open('one', stops)
    await queue.migrate()
    await database.transaction((tx) => queue.add('key', 1, tx))
    assert.equal(await queue.process(), 1)
    assert.equal(await overtaking(), 0)
    assert.deepEqual(came, ['one: 1 as 1'])
  }))

test('MariaDB: a sharded increment tried again during its commit is counted once', async () =>
  withDatabase(async (database) => {
    const { database: losing, committing } = answeringLate(database)
    const counter = new ShardedCounter({ name: 'law', cache: memory(), database: losing })
    await counter.migrate()
    await counter.increment(1)
    await committing()
    await counter.increment(10)
    assert.equal(await counter.get({ exact: true }), 11)
  }))

test("MariaDB: increments at any moment of a counter's first one are counted", async () =>
  withDatabase(async (database) => {
    const cache = memory()
    const open = (statement: number, through = database): ShardedCounter =>
      new ShardedCounter({ name: `new${statement}`, cache, shards: 2, database: through })
    await open(0).migrate()
    const statements = await atEachStatement(
      database,
      (stopped, statement) => open(statement, stopped).increment(1),
      (statement) => open(statement).increment(10),
    )
    assert(statements > 3)
    for (let statement = 1; statement <= statements; statement++) {
      assert.equal(await open(statement).get({ exact: true }), 11, `at statement ${statement}`)
    }
  }))

test('MariaDB: increments at any moment of a growth of shards are counted', async () =>
  withDatabase(async (database) => {
    const cache = memory()
    const statements = await atEachStatement(
      database,
      async (stopped, statement) => {
        const options = { name: `grows${statement}`, cache, shards: 1 }
        await new ShardedCounter({ ...options, database }).increment(1)
        await new ShardedCounter({ ...options, database: stopped }).increaseShards(3)
      },
      async (statement) => {
        const options = { name: `grows${statement}`, cache, shards: 1, database }
        const counter = new ShardedCounter(options)
        await counter.increment(10)
        await counter.increment(100)
      },
    )
    assert(statements > 3)
    for (let statement = 1; statement <= statements; statement++) {
      const counter = new ShardedCounter({ name: `grows${statement}`, cache, database })
      assert.equal(await counter.get({ exact: true }), 111, `at statement ${statement}`)
      const { rows } = await database.query(
        'SELECT DISTINCT of_shards FROM sharded_counter_shards WHERE name = ?',
        [`grows${statement}`],
      )
      assert.deepEqual(rows, [{ of_shards: 3 }])
    }
  }))

test('MariaDB: a lease that is renewed as another one takes it is kept', async () =>
  withDatabase(async (database) => {
    let exported = 0
    const { database: stops, overtaking } = stopping(
      database,
      /^SELECT holder, held_until, failures, failed_at, reason FROM export_queue_leases/,
      async () => {
        const until = (await database.now()) + 10_000
        return database.query('UPDATE export_queue_leases SET held_until = ?', [until])
      },
    )
    const queue = new ExportQueue<string, number>({
      name: 'law',
      database: stops,
      buckets: 1,
      every: false,
      logger: SILENT,
      exporter: () => void exported++,
    })
    await queue.migrate()
    await database.transaction((tx) => queue.add('key', 1, tx))
    const holder = Buffer.alloc(16, 1)
    await database.query(
      'INSERT INTO export_queue_leases ' +
        '(queue, holder, first_hash, last_hash, held_until, failures) ' +
        'SELECT queue, ?, first_hash, last_hash, 0, 0 FROM export_queue_buckets',
      [holder],
    )
    assert.equal(await queue.process(), 0)
    await overtaking()
    assert.equal(exported, 0)
    const { rows } = await database.query('SELECT holder FROM export_queue_leases')
    assert.deepEqual(rows, [{ holder }])
  }))

test('MariaDB: an update at any moment of two changes of buckets is kept', async () =>
  withDatabase(async (database) => {
    const open = (statement: number, through = database): CollisionFreeMap<string, number> =>
      new CollisionFreeMap({ ...SUMS, name: `changes${statement}`, database: through, buckets: 1 })
    await open(0).migrate()
    const statements = await atEachStatement(
      database,
      async (stopped, statement) => {
        await open(statement).update([['key', 1]])
        await open(statement, stopped).changeBuckets(3)
      },
      async (statement) => {
        const other = open(statement)
        await other.changeBuckets(2)
        await other.update([['key', 10]])
        await other.process()
      },
    )
    assert(statements >= 3)
    for (let statement = 1; statement <= statements; statement++) {
      const { rows } = await database.query(
        'SELECT buckets, COUNT(*) AS n, MIN(first_hash) AS first, MAX(last_hash) AS last, ' +
          'SUM(last_hash - first_hash + 1) AS hashes FROM collision_free_maps ' +
          'NATURAL JOIN collision_free_map_buckets WHERE map = ? GROUP BY buckets',
        [`changes${statement}`],
      )
      const [row] = rows
      assert.equal(row?.['n'], row?.['buckets'], `at statement ${statement}`)
      assert.deepEqual(
        [row?.['first'], row?.['last'], Number(row?.['hashes'])],
        [0, 2 ** 32 - 1, 2 ** 32],
      )
      const map = new CollisionFreeMap({ ...SUMS, name: `changes${statement}`, database })
      await map.process()
      assert.equal(await map.get('key'), 11, `at statement ${statement}`)
    }
  }))

test('MariaDB: two that begin a global counter at once get 1 and 2', async () =>
  withDatabase(async (database) => {
    const cache = memory()
    const values = new Map<number, number[]>()
    const counts = async (statement: number, through: Database): Promise<void> => {
      const counter = new GlobalCounter({ name: `new${statement}`, cache, database: through })
      const value = await counter.increment()
      values.set(statement, [...(values.get(statement) ?? []), value])
    }
    await new GlobalCounter({ name: 'first', cache, database }).migrate()
    const statements = await atEachStatement(
      database,
      (stopped, statement) => counts(statement, stopped),
      (statement) => counts(statement, database),
    )
    assert(statements > 5)
    for (let statement = 1; statement <= statements; statement++) {
      assert.deepEqual(values.get(statement)!.toSorted(), [1, 2], `at statement ${statement}`)
    }
  }))

test('MariaDB: of two growths of shards at once the greater one holds', async () =>
  withDatabase(async (database) => {
    const cache = memory()
    const statements = await atEachStatement(
      database,
      async (stopped, statement) => {
        const options = { name: `both${statement}`, cache, shards: 1 }
        await new ShardedCounter({ ...options, database }).increment(1)
        await new ShardedCounter({ ...options, database: stopped }).increaseShards(3)
      },
      async (statement) => {
        const options = { name: `both${statement}`, cache, shards: 1, database }
        const counter = new ShardedCounter(options)
        await counter.increaseShards(5)
        for (let i = 0; i < 5; i++) await counter.increment(10)
      },
    )
    assert(statements > 3)
    for (let statement = 1; statement <= statements; statement++) {
      const name = `both${statement}`
      const { rows } = await database.query('SELECT shards FROM sharded_counters WHERE name = ?', [
        name,
      ])
      assert.deepEqual(rows, [{ shards: 5 }], `at statement ${statement}`)
      const counter = new ShardedCounter({ name, cache, database })
      await counter.increment(100)
      assert.equal(await counter.get({ exact: true }), 151, `at statement ${statement}`)
    }
  }))
