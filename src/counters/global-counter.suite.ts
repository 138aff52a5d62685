/** Tests of a global counter, on any pair of a cache and a database. */
import assert from 'node:assert/strict'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { memory } from '../cache/memory.js'
import { DatabaseError } from '../database/database.js'
import { ClosedError } from '../support/closed-error.js'
import { GlobalCounter, GlobalCounterIn } from './global-counter.js'
import {
  PATIENT_WORLD,
  withoutWaiting,
  type Pair,
  randomFrom,
  rejectsAfterTenSeconds,
  type Site,
} from './pairs.fixture.js'
import { type CacheFault, FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { type DatabaseFault, FaultyDatabase } from '../../test/simulated-world/faulty-database.js'

const MAX = Number.MAX_SAFE_INTEGER
const PROPERTY_RUNS = fewOrMany(12, 30)
const STORM = 10_000
const SEEDS = [1, 2, 3]

export function globalCounterSuite(
  test: (name: string, body: () => Promise<void>) => unknown,
  pair: Pair,
): void {
  const it = (name: string, body: (site: Site) => Promise<void>): void => {
    test(`${pair.name}: ${name}`, async () => {
      const site = await pair.open()
      try {
        await body(site)
      } finally {
        await site.close()
      }
    })
  }
  const open = (
    site: Site,
    options: { name?: string; shards?: number; chanceToWrite?: number } = {},
  ) =>
    new GlobalCounterIn(
      { name: 'test', database: site.database(), cache: site.cache(), ...options },
      PATIENT_WORLD,
    )
  const generationOf = async (site: Site): Promise<number> =>
    Number(
      (await site.database().query('SELECT MAX(generation) AS n FROM global_counters')).rows[0]?.[
        'n'
      ],
    )

  it('a counter that never was incremented is 0, and begins with 1', async (site) => {
    const counter = open(site)
    await counter.migrate()
    assert.equal(await counter.get(), 0)
    assert.equal(await counter.increment(), 1)
    assert.equal(await counter.increment(10), 11)
    assert.equal(await counter.get(), 11)
    assert.equal(await open(site).get(), 11)
    assert.equal(await open(site, { name: 'other' }).get(), 0)
  })

  it('migrate() makes the tables', async (site) => {
    const database = site.database()
    await new GlobalCounter({ name: 'test', database, cache: site.cache() }).migrate()
    assert.deepEqual((await database.query('SELECT * FROM global_counters')).rows, [])
  })

  it('several processes get each value once, and none is skipped', async (site) => {
    const counters = Array.from({ length: 4 }, () => open(site))
    const values = (await Promise.all(counters.map((counter) => manyOf(counter, 5, 40)))).flat()
    assert.deepEqual(
      values.sort((a, b) => a - b),
      Array.from({ length: 800 }, (_, i) => i + 1),
    )
    assert.equal(await counters[0]!.get(), 800)
  })

  it('all calls of a storm are answered, each with its own value', async (site) => {
    const counter = open(site)
    await counter.increment()
    // More than a memcached server has in flight.
    const calls = await Promise.all(
      Array.from({ length: STORM }, async (_, i) => {
        const delta = 1 + (i % 3)
        return { delta, value: await counter.increment(delta) }
      }),
    )
    let expected = 1
    for (const { delta, value } of calls.sort((a, b) => a.value - b.value)) {
      assert.equal(value, (expected += delta))
    }
    assert.equal(await counter.get(), expected)
  })

  it('law: cache losses repeat no value, and the number is the acknowledged sum', async (site) => {
    for (const seed of SEEDS) {
      const random = randomFrom(seed)
      const counters = Array.from(
        { length: 4 },
        () =>
          new GlobalCounterIn(
            {
              name: `loss${seed}`,
              database: site.database(),
              cache: new FaultyCache(site.cache(), () => (random() < 0.05 ? 'lost' : 'none')),
            },
            PATIENT_WORLD,
          ),
      )
      const values = (await Promise.all(counters.map((counter) => manyOf(counter, 4, 15)))).flat()
      assert.equal(new Set(values).size, 240)
      assert.equal(Math.max(...values), 240)
      assert.equal(await open(site, { name: `loss${seed}` }).get(), 240)
    }
    assert((await generationOf(site)) > 3)
  })

  it('law: nor do lost replies of commits and statements, done or not done', async (site) => {
    for (const seed of SEEDS) {
      const random = randomFrom(seed)
      const faults: DatabaseFault[] = [
        'none',
        'none',
        'none',
        'none',
        'not begun',
        'rolled back',
        'done',
      ]
      const faulty = (sql: string): DatabaseFault =>
        /^(transaction|UPDATE)/.test(sql) ? faults[Math.floor(random() * faults.length)]! : 'none'
      const counters = Array.from({ length: 3 }, (_, index) => {
        const cache = new FaultyCache(site.cache(), () => (random() < 0.03 ? 'lost' : 'none'))
        // One counts in SQL alone.
        cache.neverGoesBack = index > 0
        return new GlobalCounterIn(
          {
            name: `unsure${seed}`,
            database: new FaultyDatabase(site.database(), faulty),
            cache,
          },
          withoutWaiting(),
        )
      })
      const values = (await Promise.all(counters.map((counter) => manyOf(counter, 3, 10)))).flat()
      assert.equal(new Set(values).size, 90)
      assert.equal(await open(site, { name: `unsure${seed}` }).get(), 90)
    }
  })

  it('law: with a silent cache values are unique; only unknown ones may count', async (site) => {
    for (const seed of SEEDS) {
      const random = randomFrom(seed)
      const faults: CacheFault[] = ['down', 'timeout', 'done', 'lost']
      const counters = Array.from(
        { length: 3 },
        () =>
          new GlobalCounterIn(
            {
              name: `silent${seed}`,
              database: site.database(),
              cache: new FaultyCache(site.cache(), () =>
                random() < 0.1 ? faults[Math.floor(random() * faults.length)]! : 'none',
              ),
            },
            PATIENT_WORLD,
          ),
      )
      const values: number[] = []
      let unknown = 0
      await Promise.all(
        counters.flatMap((counter) =>
          Array.from({ length: 3 }, async () => {
            for (let n = 0; n < 25; n++) {
              try {
                values.push(await counter.increment())
              } catch (error) {
                if ((error as { code?: string }).code === 'COUNTER_OUTCOME_UNKNOWN') unknown++
              }
            }
          }),
        ),
      )
      assert(values.length > 100 && unknown > 0)
      assert.equal(new Set(values).size, values.length)
      const total = await open(site, { name: `silent${seed}` }).get()
      assert(
        total >= Math.max(...values) && total >= values.length && total <= values.length + unknown,
        `${values.length} + ${unknown} came to ${total}`,
      )
    }
  })

  for (const declared of [false, undefined]) {
    it(`a cache that declares ${declared} of never going back repeats no value`, async (site) => {
      const cache = new FaultyCache(site.cache())
      Object.assign(cache, { neverGoesBack: declared })
      const counters = [0, 1].map(() => open({ ...site, cache: () => cache }))
      const values: number[] = []
      for (let i = 0; i < 20; i++) {
        const snapshot = await cache.snapshot()
        for (const counter of counters) values.push(...(await manyOf(counter, 3, 1)))
        await cache.restore(snapshot)
        assert.equal(await counters[1]!.get(), 6 * (i + 1))
      }
      assert.deepEqual(
        values,
        values.map((_, index) => index + 1),
      )
      assert.equal(cache.operations, 0, 'it is not asked')
    })
  }

  it('in SQL alone, calls that come at one time share a transaction', async (site) => {
    const cache = new FaultyCache(site.cache())
    cache.neverGoesBack = false
    const database = new FaultyDatabase(site.database())
    const counter = new GlobalCounter({ name: 'test', database, cache })
    assert.equal(await counter.increment(5), 5)
    const before = database.transactions
    const values = await Promise.all(
      Array.from({ length: STORM }, (_, i) => counter.increment(1 + (i % 3))),
    )
    let expected = 5
    for (const [i, value] of values.entries()) assert.equal(value, (expected += 1 + (i % 3)))
    assert.equal(await counter.get(), expected)
    assert.equal(database.transactions - before, 1)
    // What does not fit together may fit alone.
    const [small, large] = await Promise.allSettled([counter.increment(), counter.increment(MAX)])
    assert.deepEqual(small, { status: 'fulfilled', value: expected + 1 })
    assert(large.status === 'rejected' && large.reason instanceof RangeError)
  })

  it('only a loss opens a new generation; silence does not', async (site) => {
    let fault: CacheFault = 'none'
    const counter = new GlobalCounter({
      name: 'test',
      database: site.database(),
      cache: new FaultyCache(site.cache(), (operation) =>
        operation === 'increment' ? fault : 'none',
      ),
    })
    await counter.increment()
    for (fault of ['timeout', 'done', 'closed', 'down'] as const) {
      const expected =
        fault === 'down'
          ? { name: 'CacheError' }
          : { name: 'OutcomeUnknownError', message: /may or may not have been counted/ }
      await assert.rejects(counter.increment(), expected)
    }
    assert.equal(await generationOf(site), 1)
    fault = 'none'
    assert.equal(await counter.increment(), 3)
    assert.equal(await generationOf(site), 1)
    fault = 'lost'
    assert.equal(await counter.increment(), 4)
    assert.equal(await generationOf(site), 2)
  })

  it('a generation begins with its key: a lost reply to add opens none', async (site) => {
    let fault: CacheFault = 'none'
    const cache = new FaultyCache(site.cache(), (operation) =>
      operation === 'add' ? fault : 'none',
    )
    const counter = new GlobalCounter({ name: 'test', database: site.database(), cache })
    assert.equal(await counter.increment(), 1)
    await cache.flush()
    for (fault of ['timeout', 'done', 'down'] as const) {
      await assert.rejects(counter.increment(), { name: 'CacheError' })
    }
    assert.equal(await generationOf(site), 1)
    assert.equal(await counter.get(), 1)
    fault = 'none'
    assert.equal(await counter.increment(), 2)
  })

  it('a cache loss before persisting counts no increment twice and loses none', async (site) => {
    let hold: Promise<void> | undefined
    const held = new FaultyDatabase(site.database(), async (sql): Promise<DatabaseFault> => {
      if (sql.startsWith('UPDATE global_counter_shards')) await hold
      return 'none'
    })
    const cache = new FaultyCache(site.cache())
    const [slow, quick] = [
      new GlobalCounter({ name: 'test', database: held, cache }),
      new GlobalCounter({ name: 'test', database: site.database(), cache }),
    ]
    assert.equal(await slow.increment(), 1)
    let release = (): void => undefined
    const holding = (): void => {
      hold = new Promise((resolve) => {
        release = resolve
      })
    }
    const inCache = async (value: number): Promise<void> => {
      while ((await quick.get()) < value) await new Promise(setImmediate)
    }

    holding()
    const contained = slow.increment()
    await inCache(2)
    assert.equal(await quick.increment(), 3)
    await cache.flush()
    assert.equal(await quick.increment(), 4)
    release()
    assert.equal(await contained, 2)

    assert.equal(await slow.increment(), 5)
    holding()
    const lost = slow.increment()
    await inCache(6)
    await cache.flush()
    assert.equal(await quick.increment(), 6)
    release()
    assert.equal(await lost, 7)
    assert.equal(await quick.get(), 7)
  })

  it('an old cache with its old key and private memories do no harm', async (site) => {
    const [old, recent] = [memory(), memory()]
    const counters = [old, recent, memory()].map(
      (cache) => new GlobalCounter({ name: 'test', database: site.database(), cache }),
    )
    const values: number[] = []
    for (let n = 0; n < 5; n++) {
      for (const counter of counters) {
        values.push(await counter.increment(), await counter.increment())
      }
    }
    assert.deepEqual(
      values,
      Array.from({ length: 30 }, (_, i) => i + 1),
    )
    const more = (await Promise.all(counters.map((counter) => manyOf(counter, 3, 10)))).flat()
    assert.deepEqual(
      more.sort((a, b) => a - b),
      Array.from({ length: 90 }, (_, i) => 31 + i),
    )
    for (const counter of counters) {
      assert.equal(await open({ ...site, cache: () => memory() }).get(), 120, String(counter))
    }
  })

  it('get() believes a generation that is over for a second at most', async (site) => {
    const environment = withoutWaiting()
    const stale = new GlobalCounterIn(
      { name: 'test', database: site.database(), cache: memory() },
      environment,
    )
    assert.equal(await stale.increment(), 1)
    assert.equal(await stale.get(), 1)
    assert.equal(await open(site).increment(10), 11)
    environment.pass(1_001)
    assert.equal(await stale.get(), 11)
  })

  it('numbers past 2^32 are right', async (site) => {
    const counter = open(site)
    assert.equal(await counter.increment(2 ** 32 - 1), 2 ** 32 - 1)
    assert.equal(await counter.increment(), 2 ** 32)
    assert.equal(await counter.increment(2 ** 40), 2 ** 32 + 2 ** 40)
    assert.equal(await open(site).increment(), 2 ** 32 + 2 ** 40 + 1)
  })

  it('law: what would pass 2^53-1 is refused and changes nothing', async (site) => {
    const [database, cache] = [site.database(), site.cache()]
    const delta = fc.oneof(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: MAX }),
      fc.constantFrom(MAX, MAX - 1, MAX - 5),
    )
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(delta, { maxLength: 10 }), async (deltas) => {
        const name = `law${runs++}`
        const counters = [0, 1].map(() => new GlobalCounter({ name, shards: 3, database, cache }))
        let total = 0
        for (const [i, by] of deltas.entries()) {
          const counter = counters[i % 2]!
          if (Number.isSafeInteger(total + by)) {
            assert.equal(await counter.increment(by), (total += by))
          } else await assert.rejects(counter.increment(by), RangeError)
          assert.equal(await counter.get(), total)
        }
      }),
      { numRuns: PROPERTY_RUNS },
    )
  })

  it('concurrent callers of one process share the statement that persists', async (site) => {
    const database = new FaultyDatabase(site.database())
    const counter = new GlobalCounter({ name: 'test', database, cache: site.cache() })
    await counter.increment()
    database.statements.length = 0
    await manyOf(counter, 64, 5)
    const updates = database.statements.filter((sql) => sql.startsWith('UPDATE')).length
    assert(updates <= 40, `${updates} statements for 320 increments`)
  })

  it('many that meet a loss at once open one generation', async (site) => {
    const cache = new FaultyCache(site.cache())
    const counter = new GlobalCounter({ name: 'test', database: site.database(), cache })
    await manyOf(counter, 50, 1)
    assert.equal(await generationOf(site), 1)
    await cache.flush()
    const values = await manyOf(counter, 50, 1)
    assert.deepEqual(
      values.sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, i) => 51 + i),
    )
    assert.equal(await generationOf(site), 2)
  })

  it('of processes that meet a loss one opens a generation, the others join it', async (site) => {
    const cache = new FaultyCache(site.cache())
    const counters = Array.from(
      { length: 4 },
      () => new GlobalCounter({ name: 'test', database: site.database(), cache }),
    )
    for (const counter of counters) await counter.increment()
    await cache.flush()
    assert.deepEqual(
      (await Promise.all(counters.map((counter) => counter.increment()))).sort(),
      [5, 6, 7, 8],
    )
    assert.equal(await generationOf(site), 2)
  })

  it('concurrent huge deltas are refused, and the cached number does not wrap', async (site) => {
    for (const oversize of fewOrMany([2_049], [2_048, 2_049])) {
      const counter = open(site, { name: `wrap${oversize}` })
      await counter.increment(20)
      const generation = await generationOf(site)
      const refused = Array.from({ length: oversize }, () =>
        assert.rejects(counter.increment(MAX), RangeError),
      )
      const accepted = [
        counter.increment(2_035),
        ...Array.from({ length: 10 }, () => counter.increment()),
      ]
      assert.deepEqual(
        (await Promise.all(accepted)).sort((a, b) => a - b),
        Array.from({ length: 11 }, (_, i) => 2_055 + i),
      )
      await Promise.all(refused)
      assert.equal(await counter.get(), 2_065)
      assert.equal(await generationOf(site), generation, 'no generation opened')
    }
  })

  it('a large delta counts what the cache has, whether that is persisted or not', async (site) => {
    const [one, other] = [open(site, { chanceToWrite: 0.01 }), open(site, { chanceToWrite: 0.01 })]
    for (let n = 1; n <= 7; n++) assert.equal(await one.increment(), n)
    assert.equal(await other.increment(2 ** 40), 2 ** 40 + 7)
    assert.equal(await one.increment(), 2 ** 40 + 8)
    const values = await Promise.all(
      Array.from({ length: 150 }, (_, i) => (i % 2 ? one : other).increment(2 ** 33)),
    )
    assert.equal(new Set(values).size, 150)
    assert.equal(await one.get(), 2 ** 40 + 8 + 150 * 2 ** 33)
  })

  it('while the cache has no number, get() asks SQL once a second', async (site) => {
    const [database, cache, environment] = [
      new FaultyDatabase(site.database()),
      new FaultyCache(site.cache()),
      withoutWaiting(),
    ]
    const [reader, writer] = [
      new GlobalCounterIn({ name: 'test', database, cache }, environment),
      open(site),
    ]
    assert.equal(await writer.increment(3), 3)
    assert.equal(await reader.get(), 3)
    await cache.flush()
    database.statements.length = 0
    for (let n = 0; n < 50; n++) assert.equal(await reader.get(), 3)
    assert(database.statements.length <= 2, `${database.statements.length} statements`)
    await writer.increment()
    environment.pass(1_001)
    assert.equal(await reader.get(), 4)
    await cache.flush()
    assert.equal(await reader.get(), 4, 'what SQL said before is forgotten')
  })

  it('a refused increment leaves nothing in the cache that could pass 2^64 later', async (site) => {
    const inner = site.cache()
    const cache = new FaultyCache(inner)
    const counter = new GlobalCounter({ name: 'test', database: site.database(), cache })
    await counter.increment(MAX - 1)
    const other = new GlobalCounter({ name: 'test', database: site.database(), cache })
    for (const refused of [counter.increment(MAX), counter.increment(2), other.increment(2)]) {
      await assert.rejects(refused, RangeError)
    }
    const counters = [...cache.keys].filter((key) => key.includes(':global-counter:'))
    assert(counters.length > 0)
    for (const key of counters) assert(Number((await inner.get(key))?.toString() ?? 0) < MAX)
    assert.equal(await counter.get(), MAX - 1)
    assert.equal(await counter.increment(), MAX)
  })

  it('the option shards grows the rows with the next generation', async (site) => {
    const cache = new FaultyCache(site.cache())
    await new GlobalCounter({
      name: 'test',
      database: site.database(),
      cache,
      shards: 2,
    }).increment()
    const wide = new GlobalCounter({ name: 'test', database: site.database(), cache, shards: 600 })
    await wide.increment()
    await cache.flush()
    assert.equal(await wide.increment(), 3)
    const { rows } = await site
      .database()
      .query('SELECT COUNT(*) AS n, MAX(value) AS value FROM global_counter_shards')
    assert.deepEqual({ ...rows[0] }, { n: 600, value: 3 })
    assert.equal(
      await new GlobalCounter({
        name: 'test',
        database: site.database(),
        cache,
        shards: 1,
      }).increment(),
      4,
    )
  })

  it('with chanceToWrite 0 no value is persisted, and a loss undoes all', async (site) => {
    const cache = new FaultyCache(site.cache())
    const database = new FaultyDatabase(site.database())
    const counter = new GlobalCounter({ name: 'none', database, cache, chanceToWrite: 0 })
    for (let n = 1; n <= 20; n++) assert.equal(await counter.increment(), n)
    assert(!database.statements.some((sql) => sql.startsWith('UPDATE')))
    await cache.flush()
    cache.keys.clear()
    assert.equal(await counter.increment(), 2)
  })

  it('with chanceToWrite 1/k one in k is persisted; a loss undoes at most k - 1', async (site) => {
    for (const [chanceToWrite, k] of [
      [0.1, 10],
      [0.01, 100],
      [0.3, 4],
    ] as const) {
      const cache = new FaultyCache(site.cache())
      const database = new FaultyDatabase(site.database())
      const counter = new GlobalCounter({ name: `k${k}`, database, cache, chanceToWrite })
      const random = randomFrom(k)
      let [last, worst, increments, losses] = [0, 0, 0, 0]
      while (increments < 1_000) {
        if (random() < 0.03) {
          await cache.flush()
          cache.keys.clear()
          const value = await counter.increment()
          worst = Math.max(worst, last + 1 - value)
          losses++
          last = value
        } else last = await counter.increment()
        increments++
      }
      assert(losses > 10 && worst > 0, 'a loss costs something')
      assert(worst <= k - 1, `a loss took back ${worst}`)
      const updates = database.statements.filter((sql) => sql.startsWith('UPDATE')).length
      assert(
        updates <= increments * chanceToWrite + 1,
        `${updates} of ${increments} were persisted`,
      )
      assert(last >= increments - losses * (k - 1))
    }
  })

  it('with only the cache down get() reads SQL; with SQL down all calls reject', async (site) => {
    let [sql, cached] = [true, true]
    const environment = withoutWaiting()
    const counter = new GlobalCounterIn(
      {
        name: 'test',
        database: new FaultyDatabase(site.database(), () => (sql ? 'none' : 'not begun')),
        cache: new FaultyCache(site.cache(), () => (cached ? 'none' : 'down')),
      },
      environment,
    )
    assert.equal(await counter.increment(3), 3)
    cached = false
    await assert.rejects(counter.increment(), { name: 'CacheError' })
    assert.equal(await counter.get(), 3)
    sql = false
    assert.equal(await counter.get(), 3, 'what SQL has said within a second')
    cached = true
    assert.equal(await counter.get(), 3)
    await assert.rejects(counter.increment(), { code: 'COUNTER_OUTCOME_UNKNOWN' })
    environment.pass(1_001)
    await assert.rejects(counter.increment(), DatabaseError)
    await assert.rejects(counter.get(), DatabaseError)
    sql = true
    assert.equal(await counter.increment(), 5)
  })

  it('a silent database: each call rejects after 10 s, an increment as unknown', async (site) => {
    let fault: DatabaseFault = 'none'
    const environment = withoutWaiting()
    const database = new FaultyDatabase(site.database(), () => fault)
    const counter = new GlobalCounterIn(
      {
        name: 'test',
        database,
        cache: new FaultyCache(site.cache(), (operation) =>
          operation === 'get' && fault !== 'none' ? 'down' : 'none',
        ),
      },
      environment,
    )
    for (let n = 1; n <= 2; n++) assert.equal(await counter.increment(), n)
    fault = 'silent'
    await rejectsAfterTenSeconds(counter, database, environment)
    fault = 'none'
    environment.pass(1_001)
    await counter.increment()
  })

  it('close() waits for running calls, is idempotent, and closes only its own', async (site) => {
    const [database, cache] = [site.database(), site.cache()]
    const counter = new GlobalCounter({ name: 'test', database, cache })
    const values = manyOf(counter, 20, 1)
    await Promise.all([counter.close(), counter.close()])
    assert.equal((await values).length, 20)
    await assert.rejects(counter.increment(), ClosedError)
    assert.equal(await new GlobalCounter({ name: 'test', database, cache }).get(), 20)
  })
}

/**
 * The values that `callers` get who each increment `times` times, one after the other; checked to
 * rise for each.
 */
async function manyOf(counter: GlobalCounter, callers: number, times: number): Promise<number[]> {
  const all = await Promise.all(
    Array.from({ length: callers }, async () => {
      const values: number[] = []
      for (let n = 0; n < times; n++) values.push(await counter.increment())
      assert(
        values.every((value, i) => i === 0 || value > values[i - 1]!),
        'growing for each caller',
      )
      return values
    }),
  )
  return all.flat()
}
