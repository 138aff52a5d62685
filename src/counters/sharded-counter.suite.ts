/** Tests of a sharded counter, on any pair of a cache and a database. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { DatabaseError } from '../database/database.js'
import { ClosedError } from '../support/closed-error.js'
import { systemEnvironment } from '../support/environment.js'
import {
  PATIENT_WORLD,
  withoutWaiting,
  type Pair,
  randomFrom,
  rejectsAfterTenSeconds,
  type Site,
} from './pairs.fixture.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { type DatabaseFault, FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { ShardedCounter, ShardedCounterIn } from './sharded-counter.js'

const MAX = Number.MAX_SAFE_INTEGER
const PROPERTY_RUNS = fewOrMany(15, 40)

export function shardedCounterSuite(
  test: (name: string, body: () => Promise<void>) => unknown,
  pair: Pair,
): void {
  const it = (name: string, body: (site: Site) => Promise<void>): void => {
    test(`${pair.name}: ${name}`, async () => {
      const site = await pair.open()
      // Redis says that it may go back, and then none of this is about the cache.
      const cache = () => Object.assign(site.cache(), { neverGoesBack: true })
      try {
        await body({ ...site, cache })
      } finally {
        await site.close()
      }
    })
  }
  const open = (
    site: Site,
    options: { name?: string; shards?: number; cacheSeconds?: number } = {},
  ) =>
    new ShardedCounterIn(
      { name: 'test', database: site.database(), cache: site.cache(), ...options },
      PATIENT_WORLD,
    )
  const shardsOf = async (site: Site): Promise<[shard: number, value: number][]> => {
    const { rows } = await site
      .database()
      .query('SELECT shard, value FROM sharded_counter_shards ORDER BY shard')
    return rows.map(({ shard, value }) => [Number(shard), Number(value)])
  }

  /** Its cache, which may go back. */
  const withoutPromise = (site: Site) => Object.assign(site.cache(), { neverGoesBack: false })

  /** Whether a statement, or `transaction`, commits increments. */
  const commits = (sql: string): boolean => sql === 'transaction' || sql.startsWith('UPDATE')

  it('a counter that never was incremented is 0', async (site) => {
    const counter = open(site)
    await counter.migrate()
    assert.deepEqual([await counter.get(), await counter.get({ exact: true })], [0, 0])
  })

  it('migrate() makes the tables', async (site) => {
    const database = site.database()
    await new ShardedCounter({ name: 'test', database, cache: site.cache() }).migrate()
    assert.deepEqual((await database.query('SELECT * FROM sharded_counters')).rows, [])
  })

  it('counters are made on the fly, and do not know each other', async (site) => {
    const counters = ['x1', 'x', 'x10'].map((name) => open(site, { name, shards: 11 }))
    await Promise.all(
      counters.map(async (counter, i) => {
        for (let n = 0; n <= 20; n++) await counter.increment(i + 1)
      }),
    )
    assert.deepEqual(
      await Promise.all(counters.map((counter) => counter.get({ exact: true }))),
      [21, 42, 63],
    )
  })

  it("the total is the sum of all processes' increments, spread over the shards", async (site) => {
    const counters = Array.from({ length: 4 }, () => open(site))
    const random = randomFrom(1)
    let sum = 0
    await Promise.all(
      counters.map(async (counter) => {
        for (let round = 0; round < 30; round++) {
          await Promise.all(
            Array.from({ length: 10 }, async () => {
              const delta = Math.floor(random() * 201) - 100
              await counter.increment(delta)
              sum += delta
            }),
          )
        }
      }),
    )
    for (const counter of counters) assert.equal(await counter.get({ exact: true }), sum)
    assert((await shardsOf(site)).length > 10)
  })

  it('law: the total equals a plain number; what would pass 2^53-1 is refused', async (site) => {
    const [database, cache] = [site.database(), site.cache()]
    const delta = fc.oneof(
      fc.integer({ min: -5, max: 5 }),
      fc.maxSafeInteger(),
      fc.constantFrom(MAX, -MAX, MAX - 1, 1 - MAX, Math.floor(MAX / 2)),
    )
    const step = fc.oneof(
      { weight: 6, arbitrary: delta.map((by) => ({ by })) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }).map((grow) => ({ grow })) },
    )
    let runs = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 14 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, shards) => {
          const name = `law${runs++}`
          const counters = [0, 1].map(() => new ShardedCounter({ name, shards, database, cache }))
          let total = 0
          for (const [i, one] of steps.entries()) {
            const counter = counters[i % 2]!
            if ('grow' in one) await counter.increaseShards(one.grow)
            else if (Number.isSafeInteger(total + one.by)) {
              await counter.increment(one.by)
              total += one.by
            } else await assert.rejects(counter.increment(one.by), RangeError)
            assert.equal(await counter.get({ exact: true }), total)
          }
        },
      ),
      { numRuns: PROPERTY_RUNS },
    )
  })

  it('of increments in one transaction only those that do not fit are refused', async (site) => {
    const counter = open(site)
    await counter.increment(MAX - 3)
    const results = await Promise.allSettled(
      [1, 1, 5, 1, 1].map((delta) => counter.increment(delta)),
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    assert.equal(await counter.get({ exact: true }), MAX)
  })

  it('callers that come together share transactions, and each waits for its own', async (site) => {
    const database = new FaultyDatabase(site.database())
    const counter = new ShardedCounter({ name: 'test', database, cache: site.cache() })
    await counter.increment()
    const commitsOf = (): number =>
      database.transactions + database.statements.filter(commits).length
    const before = commitsOf()
    await Promise.all(
      Array.from({ length: 64 }, async (_, i) => {
        for (let n = 0; n < 10; n++) await counter.increment(i)
      }),
    )
    // Besides, a shard's first increment is tried both ways.
    assert(commitsOf() - before <= 60, `${commitsOf() - before} commits for 640 increments`)
    assert.equal(await counter.get({ exact: true }), 1 + 10 * 63 * 32)
  })

  it('callers whose increments never fit leave the others their transactions', async (site) => {
    const database = new FaultyDatabase(site.database())
    const counter = new ShardedCounter({ name: 'test', database, cache: site.cache(), shards: 1 })
    await counter.increment(MAX - 1_000)
    const commitsOf = (): number =>
      database.transactions + database.statements.filter(commits).length
    const before = commitsOf()
    const others = Array.from({ length: 64 }, async (_, i) => {
      for (let n = 0; n < 10; n++) await counter.increment(i % 2 === 0 ? 1 : -1)
    })
    const hopeless = [MAX, 2_000, MAX - 1].map(async (delta) => {
      for (let n = 0; n < 10; n++) await assert.rejects(counter.increment(delta), RangeError)
    })
    await Promise.all([...others, ...hopeless])
    assert(commitsOf() - before <= 50, `${commitsOf() - before} commits for 640 increments`)
    assert.equal(await counter.get({ exact: true }), MAX - 1_000)
  })

  it('one that a try without an answer has refused counts if it fits by the next', async (site) => {
    const inner = site.database()
    let tries = NaN
    let room: Promise<unknown> | undefined
    const database = new FaultyDatabase(inner, (sql) => {
      if (tries === 0 ? sql !== 'transaction' : !commits(sql)) return 'none'
      if (Number.isNaN(tries++)) return 'none'
      room ??= inner.query('UPDATE sharded_counter_shards SET value = value - 100')
      return tries === 1 ? 'rolled back' : tries === 2 ? 'done' : 'none'
    })
    const options = { name: 'test', cache: site.cache(), shards: 1 }
    await new ShardedCounter({ ...options, database: inner }).increment(MAX - 5)
    const counter = new ShardedCounterIn({ ...options, database }, withoutWaiting())
    await counter.increaseShards(1)
    tries = 0
    await Promise.all([3, 10].map((delta) => counter.increment(delta)))
    await room
    assert.equal(await counter.get({ exact: true }), MAX - 92)
  })

  it('law: a commit without an answer is counted once, done or not', async (site) => {
    for (const seed of [1, 2, 3]) {
      const random = randomFrom(seed)
      const faults: DatabaseFault[] = [
        ...Array<DatabaseFault>(8).fill('none'),
        'not begun',
        'rolled back',
        'done',
      ]
      const counters = Array.from(
        { length: 3 },
        () =>
          new ShardedCounterIn(
            {
              name: `unsure${seed}`,
              database: new FaultyDatabase(site.database(), (sql) =>
                commits(sql) ? faults[Math.floor(random() * faults.length)]! : 'none',
              ),
              cache: site.cache(),
            },
            withoutWaiting(),
          ),
      )
      await Promise.all(
        counters.flatMap((counter) =>
          Array.from({ length: 3 }, async () => {
            for (let n = 0; n < 15; n++) await counter.increment(7)
          }),
        ),
      )
      assert.equal(await counters[0]!.get({ exact: true }), 3 * 3 * 15 * 7)
    }
  })

  it('a commit with a lost reply, still open at its retry, is counted once', async (site) => {
    const inner = site.database()
    let late: Promise<unknown> | undefined
    let silent = false
    const database = new FaultyDatabase(inner, async (sql) => {
      if (!silent || !commits(sql)) return 'none'
      silent = false
      // The server is still at it when the connection is given up.
      await new Promise<void>((resolve) => {
        late = inner.transaction(async (tx) => {
          await tx.query('UPDATE sharded_counter_lanes SET sequence = sequence + 1')
          await tx.query('UPDATE sharded_counter_shards SET value = value + 10')
          resolve()
          await delay(300)
        })
      })
      return 'not begun'
    })
    const counter = new ShardedCounter({ name: 'test', database, cache: site.cache(), shards: 1 })
    await counter.increment()
    silent = true
    await counter.increment(10)
    await late
    assert.equal(await counter.get({ exact: true }), 11)
  })

  it('an unanswered increment is unknown, not refused; later ones are right', async (site) => {
    const inner = site.database()
    let silent = false
    const database = new FaultyDatabase(inner, (sql) => {
      if (!silent || !commits(sql)) return 'none'
      silent = false
      return 'not begun'
    })
    const counter = new ShardedCounterIn(
      { name: 'test', database, cache: site.cache(), shards: 1 },
      withoutWaiting(),
    )
    await counter.increment(MAX - 5)
    silent = true
    await assert.rejects(counter.increment(10), { name: 'OutcomeUnknownError' })
    // The server comes to the first try at last, another one having made room.
    await inner.query('UPDATE sharded_counter_shards SET value = value - 10')
    await inner.query('UPDATE sharded_counter_lanes SET sequence = sequence + 1')
    await inner.query('UPDATE sharded_counter_shards SET value = value + 10')
    await counter.increment(3)
    assert.equal(await counter.get({ exact: true }), MAX - 2)
    await assert.rejects(counter.increment(10), RangeError)
  })

  it('a silent database: the increment rejects as unknown, and later ones work', async (site) => {
    let fault: DatabaseFault = 'none'
    const database = new FaultyDatabase(site.database(), (sql) => (commits(sql) ? fault : 'none'))
    const counter = new ShardedCounterIn(
      { name: 'test', database, cache: site.cache(), shards: 1 },
      withoutWaiting(),
    )
    await counter.increment()
    for (fault of ['rolled back', 'done'] as const) {
      const failed = counter.increment(10)
      await assert.rejects(failed, {
        name: 'OutcomeUnknownError',
        code: 'COUNTER_OUTCOME_UNKNOWN',
        message: /"test".*may or may not/,
      })
    }
    fault = 'none'
    await counter.increment(100)
    assert.equal(await counter.get({ exact: true }), 111)
  })

  it('a database that was never reached has counted nothing, and says so', async (site) => {
    let fault: DatabaseFault = 'not begun'
    const counter = new ShardedCounterIn(
      {
        name: 'test',
        database: new FaultyDatabase(site.database(), () => fault),
        cache: site.cache(),
      },
      withoutWaiting(),
    )
    await assert.rejects(counter.increment(), DatabaseError)
    await assert.rejects(counter.get({ exact: true }), DatabaseError)
    fault = 'none'
    await counter.increment()
    assert.equal(await counter.get({ exact: true }), 1)
  })

  it('an increment that got no connection was not counted, and its error says so', async (site) => {
    let fault: DatabaseFault = 'none'
    const counter = new ShardedCounterIn(
      {
        name: 'test',
        database: new FaultyDatabase(site.database(), () => fault),
        cache: site.cache(),
      },
      withoutWaiting(),
    )
    await counter.increment()
    fault = 'refused'
    await assert.rejects(counter.increment(), { name: 'DatabaseError', code: 'ECONNREFUSED' })
    fault = 'none'
    await counter.increment()
    assert.equal(await counter.get({ exact: true }), 2)
  })

  it('increaseShards never shrinks; the next increment elsewhere follows it', async (site) => {
    const [one, other] = [open(site, { shards: 2 }), open(site, { shards: 2 })]
    for (let n = 0; n < 20; n++) await one.increment()
    assert.deepEqual(
      (await shardsOf(site)).map(([shard]) => shard),
      [0, 1],
    )
    await other.increaseShards(30)
    await other.increaseShards(3)
    for (let n = 0; n < 30; n++) await one.increment()
    assert((await shardsOf(site)).length > 8, 'the other process uses the new shards')
    assert.equal(await one.get({ exact: true }), 50)
    for (const [shards, use] of [
      [40, (counter: ShardedCounter) => counter.increment()],
      [50, (counter: ShardedCounter) => counter.increaseShards(3)],
    ] as const) {
      await use(open(site, { shards }))
      const { rows } = await site.database().query('SELECT shards FROM sharded_counters')
      assert.equal(rows[0]?.['shards'], shards, 'the option grows it too')
    }
  })

  it('a counter that is almost full and grows takes what fits, exactly', async (site) => {
    // Always the last shard: one that is new after growing, while the old ones hold all.
    const counter = new ShardedCounterIn(
      { name: 'test', database: site.database(), cache: site.cache(), shards: 2 },
      { ...systemEnvironment, random: () => 0.99 },
    )
    await counter.increment(MAX - 60)
    await counter.increaseShards(4)
    let accepted = 0
    for (let n = 0; n < 100; n++) {
      await counter.increment().then(
        () => accepted++,
        (error: unknown) => assert(error instanceof RangeError),
      )
    }
    assert.equal(accepted, 60)
    assert.equal(await counter.get({ exact: true }), MAX)
  })

  it('processes that begin, increment and grow at once lose nothing', async (site) => {
    const counters = Array.from({ length: 6 }, () => open(site, { shards: 3 }))
    await Promise.all(
      counters.map(async (counter, i) => {
        for (let n = 0; n < 25; n++) {
          await counter.increment(n % 5 === 0 ? Math.floor(MAX / 1000) : 1)
          if (n % 8 === i) await counter.increaseShards(3 + n)
        }
      }),
    )
    assert.equal(await counters[0]!.get({ exact: true }), 6 * (20 + 5 * Math.floor(MAX / 1000)))
  })

  it('a total in the cache follows the increments of all processes, without SQL', async (site) => {
    const database = new FaultyDatabase(site.database())
    const [reader, other] = [
      new ShardedCounter({ name: 'test', database, cache: site.cache() }),
      open(site),
    ]
    await other.increment(5)
    assert.equal(await reader.get(), 5)
    database.statements.length = 0
    for (const delta of [5, -12, 1]) {
      await other.increment(delta)
      assert.equal(await reader.get(), await other.get({ exact: true }))
    }
    await Promise.all(Array.from({ length: 50 }, () => reader.get()))
    assert.equal(database.statements.length, 0, 'without SQL')
    await reader.increment(10)
    assert.deepEqual([await reader.get(), await other.get()], [9, 9])
  })

  it('with a cache that may go back, totals come from SQL alone', async (site) => {
    const counter = open({ ...site, cache: () => withoutPromise(site) })
    await counter.increment(7)
    assert.equal(await counter.get(), 7)
    await site
      .database()
      .query('UPDATE sharded_counter_shards SET value = value - 2 WHERE value > 0')
    assert.equal(await counter.get(), 5, 'no cache says 7')
    await counter.increment(-1)
    assert.equal(await counter.get(), 4)
    await counter.close()
  })

  it('a total is read anew after cacheSeconds', async (site) => {
    const reader = open(site, { cacheSeconds: 1 })
    await reader.increment(5)
    assert.equal(await reader.get(), 5)
    await site.database().query('UPDATE sharded_counter_shards SET value = value + 1')
    await delay(2_100)
    assert((await reader.get()) > 5)
  })

  it('an increment during a reading has it read again, whether included or not', async (site) => {
    for (const late of [true, false]) {
      const name = `meets${late}`
      const other = open(site, { name })
      await other.increment(1)
      let pass = (): void => undefined
      let begun = (): void => undefined
      const gate = new Promise<void>((resolve) => {
        pass = resolve
      })
      const reads = new Promise<void>((resolve) => {
        begun = resolve
      })
      const inner = site.database()
      const held = new FaultyDatabase(inner)
      held.query = async (sql, values) => {
        if (!sql.includes('SUM(value)')) return inner.query(sql, values)
        if (late) {
          begun()
          await gate
        }
        const result = await inner.query(sql, values)
        begun()
        await gate
        return result
      }
      const reader = new ShardedCounter({ name, database: held, cache: site.cache() })
      const reading = reader.get()
      await reads
      await other.increment(1)
      pass()
      assert.equal(await reading, late ? 2 : 1)
      assert.deepEqual([await reader.get(), await other.get()], [2, 2])
    }
  })

  it('a reader that never returns does not make others ask SQL on every call', async (site) => {
    const environment = withoutWaiting()
    const broken = new FaultyCache(site.cache(), (operation) =>
      operation === 'append' ? 'down' : 'none',
    )
    const database = new FaultyDatabase(site.database())
    const reader = new ShardedCounterIn(
      { name: 'test', database, cache: site.cache() },
      environment,
    )
    await reader.increment(3)
    assert.equal(
      await new ShardedCounter({ name: 'test', database: site.database(), cache: broken }).get(),
      3,
    )
    assert.equal(await reader.get(), 3)
    environment.pass(1_001)
    assert.equal(await reader.get(), 3)
    database.statements.length = 0
    for (let n = 0; n < 20; n++) assert.equal(await reader.get(), 3)
    assert.equal(database.statements.length, 0)
  })

  it('a total stays right over thousands of increments with few queries', async (site) => {
    const database = new FaultyDatabase(site.database())
    const [reader, writer] = [
      new ShardedCounter({ name: 'test', database, cache: site.cache() }),
      open(site),
    ]
    await writer.increment()
    for (let n = 2; n <= 300; n++) {
      await writer.increment()
      assert.equal(await reader.get(), n)
    }
    const reads = database.statements.filter((sql) => sql.includes('SUM(value)')).length
    assert(reads <= 300 / 40, `${reads} readings`)
  })

  it('a total that its reader brings too late is ignored', async (site) => {
    for (const others of [true, false]) {
      const name = `late${others}`
      let pass = (): void => undefined
      const gate = new Promise<void>((resolve) => {
        pass = resolve
      })
      const inner = site.cache()
      const cache = new FaultyCache(inner)
      const passed = (key: string): unknown => key.includes(`:${name}:`) && gate
      cache.append = async (key, value) => (await passed(key), inner.append(key, value))
      cache.set = async (key, value, ttl) => (await passed(key), inner.set(key, value, ttl))
      const late = new ShardedCounter({ name, database: site.database(), cache, cacheSeconds: 1 })
      const other = open(site, { name, cacheSeconds: 1 })
      await late.increment(1)
      const hanging = late.get()
      await delay(2_100)
      await site
        .database()
        .query('UPDATE sharded_counter_shards SET value = value + 1 WHERE name = ?', [name])
      if (others) assert((await other.get()) >= 2)
      pass()
      assert.equal(await hanging, 1)
      assert.equal(await other.get(), 2)
      assert.equal(await open(site, { name, cacheSeconds: 1 }).get(), 2)
    }
  })

  it('law: a cached total is at most the committed one, at least its old value', async (site) => {
    const counters = Array.from({ length: 3 }, () => open(site, { cacheSeconds: 1 }))
    const acknowledged: number[] = []
    let running = true
    const writing = Promise.all(
      counters.map(async (counter) => {
        while (running) {
          await counter.increment()
          acknowledged.push(performance.now())
          await delay(3)
        }
      }),
    )
    const reader = open(site, { cacheSeconds: 1 })
    const end = performance.now() + 3_000
    let reads = 0
    while (performance.now() < end || reads < 4) {
      const asked = performance.now()
      const total = await counters[reads++ % 3]!.get()
      assert(total <= (await reader.get({ exact: true })), 'above what is committed')
      assert(
        total >= acknowledged.filter((at) => at < asked - 2_000).length,
        'older than cacheSeconds and a tick of memcached',
      )
      await delay(5)
    }
    running = false
    await writing
  })

  it('with the cache down totals are read from SQL, and increments do not care', async (site) => {
    for (const fault of ['down', 'timeout', 'done'] as const) {
      const counter = new ShardedCounter({
        name: fault,
        database: site.database(),
        cache: new FaultyCache(site.cache(), () => fault),
      })
      await counter.increment(3)
      assert.equal(await counter.get(), 3)
      await counter.increment(3)
      assert.equal(await counter.get(), 6)
    }
  })

  it('with the database down the cache has totals; with both down get() rejects', async (site) => {
    let [sql, cached] = [true, true]
    const counter = new ShardedCounterIn(
      {
        name: 'test',
        database: new FaultyDatabase(site.database(), () => (sql ? 'none' : 'not begun')),
        cache: new FaultyCache(site.cache(), () => (cached ? 'none' : 'down')),
      },
      withoutWaiting(),
    )
    await counter.increment(3)
    assert.equal(await counter.get(), 3)
    sql = false
    assert.equal(await counter.get(), 3)
    await assert.rejects(counter.get({ exact: true }), DatabaseError)
    cached = false
    await assert.rejects(counter.get(), DatabaseError)
  })

  it('the rows of lanes go after 30 days, a hundred at a time', async (site) => {
    const database = site.database()
    await database.migrate()
    const now = await database.now()
    const day = 24 * 3600 * 1000
    for (let i = 0; i < 150; i++) {
      await database.query(
        'INSERT INTO sharded_counter_lanes (lane, sequence, created_at) VALUES (?, 1, ?)',
        [Buffer.alloc(16, i), now - (i < 130 ? 31 : 29) * day],
      )
    }
    const environment = withoutWaiting()
    const counter = new ShardedCounterIn(
      { name: 'test', database, cache: site.cache() },
      environment,
    )
    const lanes = async (): Promise<number> =>
      Number(
        (await database.query('SELECT COUNT(*) AS n FROM sharded_counter_lanes')).rows[0]?.['n'],
      )
    await counter.increment()
    assert.equal(await lanes(), 51)
    await counter.increment()
    assert.equal(await lanes(), 51)
    environment.pass(day)
    await counter.increment()
    assert.equal(await lanes(), 22)
    assert.equal(await counter.get({ exact: true }), 3)
  })

  it('a silent database: each call rejects after 10 s, an increment as unknown', async (site) => {
    let fault: DatabaseFault = 'none'
    const environment = withoutWaiting()
    const database = new FaultyDatabase(site.database(), () => fault)
    const counter = new ShardedCounterIn(
      {
        name: 'test',
        database,
        cache: new FaultyCache(site.cache(), (operation) =>
          operation === 'get' && fault !== 'none' ? 'down' : 'none',
        ),
      },
      environment,
    )
    await counter.increment()
    fault = 'silent'
    await rejectsAfterTenSeconds(counter, database, environment)
    fault = 'none'
    environment.pass(1_001)
    await counter.increment()
  })

  it('close() waits for running calls, is idempotent, and closes only its own', async (site) => {
    const [database, cache] = [site.database(), site.cache()]
    const counter = new ShardedCounter({ name: 'test', database, cache })
    const increments = Promise.all(Array.from({ length: 20 }, () => counter.increment()))
    await Promise.all([counter.close(), counter.close()])
    await increments
    await assert.rejects(counter.increment(), ClosedError)
    await assert.rejects(counter.get(), ClosedError)
    assert.equal(await new ShardedCounter({ name: 'test', database, cache }).get(), 20)
  })
}
