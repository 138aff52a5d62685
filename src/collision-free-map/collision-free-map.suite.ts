/** Tests of a CollisionFreeMap, on any database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { type Database, DatabaseError, type Transaction } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import {
  type Change,
  CollisionFreeMap,
  type CollisionFreeMapOptions,
} from './collision-free-map.js'
import { UPDATES_A_PORTION } from './combining.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { failingAnywhere } from '../../test/simulated-world/faulty-database.js'

export interface MapUnderTest {
  readonly name: string
  /** The URL of a new, empty database. */
  fresh(): Promise<string>
}

type Sums = CollisionFreeMap<string, number>
type SumOptions = Partial<CollisionFreeMapOptions<string, number>>

/** Sums; a key whose sum is 0 is deleted. */
const add = (
  _: string,
  current: number | undefined,
  updates: readonly number[],
): number | undefined => updates.reduce((sum, update) => sum + update, current ?? 0) || undefined

/** Follows all changes: each begins where the one before has ended. */
class Follower {
  readonly values = new Map<string, number>()
  readonly all: Change<string, number>[] = []

  readonly onUpdate = (changes: readonly Change<string, number>[]): void => {
    assert(changes.length > 0, 'it is told of something')
    for (const { key, oldValue, newValue } of changes) {
      assert.equal(oldValue, this.values.get(key), `old value of ${key}`)
      assert.notEqual(newValue, oldValue, `value of ${key}`)
      if (newValue === undefined) this.values.delete(key)
      else this.values.set(key, newValue)
    }
    this.all.push(...changes)
  }
}

export function mapSuite(under: MapUnderTest): void {
  const it = (
    name: string,
    body: (
      database: Database,
      map: (options?: SumOptions, on?: Database) => Sums,
      url: string,
    ) => Promise<void>,
  ): void => {
    test(`${under.name}: ${name}`, async () => {
      const url = await under.fresh()
      const { database } = openDatabase(url)
      try {
        await database.migrate()
        await body(
          database,
          (options, on = database) =>
            new CollisionFreeMap({
              name: 'sums',
              combine: add,
              logger: keptLog(),
              every: false,
              ...options,
              database: on,
            }),
          url,
        )
      } finally {
        await database.close()
      }
    })
  }
  const stored = async (database: Database): Promise<[string, number][]> => {
    const { rows } = await database.query(
      'SELECT map_key, map_value FROM collision_free_map_values ORDER BY map_key',
    )
    return rows.map((row) => [
      JSON.parse(String(row['map_key'])) as string,
      JSON.parse(String(row['map_value'])) as number,
    ])
  }
  const queued = async (database: Database): Promise<number> =>
    Number(
      (await database.query('SELECT COUNT(*) AS n FROM collision_free_map_queue')).rows[0]?.['n'],
    )

  it('updates of one row by two transactions come in commit order', async (database, sums) => {
    // SQLite has one transaction at a time.
    if (database.dialect === 'sqlite') return
    await database.query('CREATE TABLE rows_of_ours (id INT PRIMARY KEY, v INT)')
    await database.query('INSERT INTO rows_of_ours VALUES (1, 0)')
    const change = async (tx: Transaction, value: number): Promise<void> => {
      await tx.query('UPDATE rows_of_ours SET v = ? WHERE id = 1', [value])
    }
    const last = sums({ combine: (_, current, updates) => updates.at(-1) ?? current })
    await database.transaction(async (a) => {
      await last.update([['x', 5]], a)
      await database.transaction(async (b) => {
        await last.update([['x', 7]], b)
        await change(b, 7)
      })
      await change(a, 5)
    })
    const { rows } = await database.query('SELECT v FROM rows_of_ours')
    assert.equal(rows[0]?.['v'], 5)
    assert.equal(await last.get('x'), 5)
    await last.process()
    assert.equal(await last.get('x'), 5)
  })

  it("get(key, tx) counts its own transaction's updates, in SQLite too", async (database, sums) => {
    const map = sums()
    await map.update([
      ['a', 1],
      ['b', 1],
    ])
    await map.process()
    await map.update([['a', 2]])
    await database.transaction(async (tx) => {
      assert.equal(await map.get('a', tx), 3)
      await map.update(
        [
          ['a', 4],
          ['c', 1],
        ],
        tx,
      )
      await map.update([['a', 8]], tx)
      assert.deepEqual(
        [await map.get('a', tx), await map.get('b', tx), await map.get('c', tx)],
        [15, 1, 1],
      )
    })
    assert.equal(await map.get('a'), 15)
    await assert.rejects(
      database.transaction(async (tx) => {
        await map.update([['a', 1]], tx)
        throw new Error('rolled back')
      }),
      { message: 'rolled back' },
    )
    assert.equal(await map.get('a'), 15)
    await assert.rejects(map.get('a', database as unknown as Transaction), {
      name: 'TypeError',
      message: /option "tx"/,
    })
    await assert.rejects(map.update([['a', 1]], database as unknown as Transaction), {
      name: 'TypeError',
      message: /option "tx"/,
    })
  })

  it('get() sees an update at once, onUpdate once it is processed', async (database, sums) => {
    const follower = new Follower()
    const map = sums({ onUpdate: follower.onUpdate })
    assert.equal(await map.get('a'), undefined)
    await map.update([
      ['a', 2],
      ['b', 5],
      ['a', 3],
    ])
    assert.deepEqual(
      [await map.get('a'), await map.get('b'), await map.get('c')],
      [5, 5, undefined],
    )
    assert.deepEqual(await stored(database), [])
    assert.equal(await map.process(), 3)
    assert.deepEqual(await stored(database), [
      ['a', 5],
      ['b', 5],
    ])
    assert.deepEqual(
      follower.all.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
      [
        { key: 'a', oldValue: undefined, newValue: 5 },
        { key: 'b', oldValue: undefined, newValue: 5 },
      ],
    )
    await map.update([['a', -1]])
    assert.equal(await map.get('a'), 4)
    assert.equal(await map.process(), 1)
    assert.deepEqual([await map.get('a'), await map.process()], [4, 0])
    await map.update([])
  })

  it('a map goes by new buckets, by none of a change that failed', async (database, sums) => {
    await sums({ buckets: 2 }).migrate()
    let fails = true
    const failing = wrapped(database, {
      transaction: async (work) => {
        if (fails) throw new DatabaseError('ER_DISK_FULL', 'usage', 'no room')
        return database.transaction(work)
      },
    })
    const map = sums({ buckets: 3 }, failing)
    await assert.rejects(map.changeBuckets(5), /no room/)
    await assert.rejects(map.process(), { name: 'BucketsDifferError' })
    fails = false
    await map.changeBuckets(5)
    await map.update([['a', 1]])
    assert.equal(await map.process(), 1)
    const { rows } = await database.query('SELECT buckets FROM collision_free_maps')
    assert.deepEqual(rows, [{ buckets: 5 }])
  })

  it('undefined deletes its key, and unchanged values are not reported', async (database, sums) => {
    const follower = new Follower()
    const map = sums({ onUpdate: follower.onUpdate })
    await map.update([
      ['a', 2],
      ['b', 2],
    ])
    await map.process()
    await map.update([
      ['a', -2],
      ['b', 1],
      ['b', -1],
      ['c', 1],
      ['c', -1],
    ])
    assert.equal(await map.process(), 5)
    assert.deepEqual(await stored(database), [['b', 2]])
    assert.deepEqual(follower.all.slice(2), [{ key: 'a', oldValue: 2, newValue: undefined }])
  })

  it('onUpdate finds in its transaction what it is told of', async (_, sums) => {
    const found: [number | undefined, number | undefined][] = []
    const map: Sums = sums({
      onUpdate: async (changes, tx) => {
        for (const { key, newValue } of changes) found.push([newValue, await map.get(key, tx)])
      },
    })
    for (const n of [2, 1, -3]) {
      await map.update([['a', n]])
      await map.process()
    }
    assert.deepEqual(found, [
      [2, 2],
      [3, 3],
      [undefined, undefined],
    ])
  })

  it('a key with over a portion takes nothing of other keys or maps', async (database, sums) => {
    const combined: string[] = []
    const follow = (key: string, current: number | undefined, updates: readonly number[]) => {
      combined.push(key)
      return add(key, current, updates)
    }
    const [map, other] = [
      sums({ buckets: 1, combine: follow }),
      sums({ name: 'other', buckets: 1 }),
    ]
    const hot = UPDATES_A_PORTION + 100
    await other.update([['hot', 1]])
    await map.update([['cold', 1]])
    await map.update(Array.from({ length: hot }, (): [string, number] => ['hot', 1]))
    assert.equal(await map.process(), hot + 1)
    assert.deepEqual(combined.filter((key) => key === 'cold').length, 1)
    assert.deepEqual([await map.get('hot'), await map.get('cold')], [hot, 1])
    assert.equal(await queued(database), 1)
    assert.equal(await other.process(), 1)
  })

  it('process() ends though onUpdate adds as many updates as were taken', async (_, sums) => {
    const updates = Array.from({ length: UPDATES_A_PORTION }, (): [string, number] => ['a', 1])
    let calls = 0
    const map: Sums = sums({
      buckets: 1,
      onUpdate: async (_changes, tx) => {
        if (calls++ < 5) await map.update(updates, tx)
      },
    })
    await map.update(updates)
    assert.equal(await map.process(), updates.length)
    assert.equal(calls, 1)
    assert.equal(await map.get('a'), 2 * updates.length)
  })

  it('in any order, values match all updates, and changes are a chain', async (database, sums) => {
    const key = fc.constantFrom('a', 'b', 'c', 'ü', '', '"')
    const step = fc.oneof(
      fc.record({
        update: fc.array(fc.tuple(key, fc.integer({ min: -2, max: 2 })), { maxLength: 8 }),
      }),
      fc.record({ process: fc.constantFrom(1, 7, 40) }),
      fc.record({ get: key }),
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const follower = new Follower()
        const open = (): Sums => sums({ name: `run-${run}`, onUpdate: follower.onUpdate })
        run++
        let map = open()
        const model = new Map<string, number>()
        for (const step of steps) {
          if ('update' in step) {
            await map.update(step.update)
            for (const [key, n] of step.update) model.set(key, (model.get(key) ?? 0) + n)
          } else if ('process' in step) {
            map = open()
            await map.changeBuckets(step.process)
            await map.process()
          } else assert.equal(await map.get(step.get), model.get(step.get) || undefined)
        }
        await map.process()
        assert.deepEqual(
          new Map([...follower.values].sort()),
          new Map([...model].filter(([, n]) => n !== 0).sort()),
        )
      }),
      { numRuns: fewOrMany(10, 25) },
    )
    assert.equal(await queued(database), 0)
  })

  it("updates are part of the caller's transaction", async (database, sums) => {
    const map = sums()
    await database.transaction((tx) => map.update([['a', 1]], tx))
    const failed = database.transaction(async (tx) => {
      await map.update([['a', 10]], tx)
      throw new Error('no')
    })
    await assert.rejects(failed, /no/)
    assert.equal(await map.process(), 1)
    assert.deepEqual(await stored(database), [['a', 1]])
  })

  it('a bucket too big for a processor has portions, without partial sums', async (_, sums) => {
    const follower = new Follower()
    const map = sums({ buckets: 1, onUpdate: follower.onUpdate })
    const hot = UPDATES_A_PORTION * 2 + 500
    const others = UPDATES_A_PORTION + 100
    const updates = [
      ...Array.from({ length: hot }, (): [string, number] => ['hot', 1]),
      ...Array.from({ length: others }, (_, i): [string, number] => [`key ${i}`, 1]),
      ...Array.from({ length: others }, (_, i): [string, number] => [`key ${i}`, 2]),
    ]
    await map.update(updates)
    assert.equal(await map.get('hot'), hot)
    assert.equal(await map.process(), updates.length)
    assert.equal(follower.all.length, 1 + others, 'each key was told of once')
    assert.equal(follower.values.get('hot'), hot)
    assert([...follower.values].every(([key, n]) => key === 'hot' || n === 3))
  })

  it('combine gets updates in an order writers could see, in portions too', async (_, sums) => {
    // Without the order, or with gaps in it, some value would be below zero.
    const never = (
      key: string,
      current: number | undefined,
      updates: readonly number[],
    ): number | undefined => {
      let sum = current ?? 0
      for (const update of updates) {
        sum += update
        assert(sum >= 0, `${key} is ${sum}`)
      }
      return sum
    }
    const map = sums({ buckets: 1, combine: never })
    const pairs = (UPDATES_A_PORTION * 3) / 4
    const updates = Array.from({ length: pairs }, (): [string, number][] => [
      ['k', 1],
      ['k', -1],
    ]).flat()
    await map.update(updates)
    await map.process()
    assert.deepEqual([await map.get('k'), await map.parked()], [0, 0])
  })

  it('concurrent work never shows a +1 and then a -1 as a -1', async (database, sums, url) => {
    const { database: second } = openDatabase(url)
    const seen: (number | undefined)[] = []
    const onUpdate = (changes: readonly Change<string, number>[]): void => {
      seen.push(...changes.map(({ newValue }) => newValue))
    }
    const [one, two] = [sums({ onUpdate, buckets: 5 }), sums({ onUpdate, buckets: 5 }, second)]
    try {
      await one.process()
      let writing = true
      const processing = [one, two].map(async (map) => {
        while (writing) await map.process()
      })
      await Promise.all(
        Array.from({ length: 4 }, async (_, writer) => {
          for (let i = 0; i < 25; i++) {
            await (i % 2 ? one : two).update([[`k${i % 3}`, 1]])
            await (i % 2 ? two : one).update([[`k${i % 3}`, -1]])
          }
          return writer
        }),
      )
      writing = false
      await Promise.all(processing)
      await one.process()
      assert(
        seen.every((value) => value === undefined || value > 0),
        `seen: ${seen}`,
      )
      assert.deepEqual([await stored(database), await queued(database)], [[], 0])
    } finally {
      await second.close()
    }
  })

  it('many concurrent processors: each update counts once', async (database, sums, url) => {
    const { database: second } = openDatabase(url)
    await database.query(
      `CREATE TABLE followed (name VARCHAR(50) NOT NULL PRIMARY KEY, n BIGINT NOT NULL)`,
    )
    /** Writes changes to `followed`, which must agree with the map in the same transaction. */
    const onUpdate = async (
      changes: readonly Change<string, number>[],
      tx: Transaction,
    ): Promise<void> => {
      for (const { key, oldValue, newValue } of changes) {
        const {
          rows: [row],
        } = await tx.query('SELECT n FROM followed WHERE name = ?', [key])
        assert.equal(row?.['n'], oldValue)
        if (oldValue === undefined) {
          await tx.query('INSERT INTO followed (name, n) VALUES (?, ?)', [key, newValue ?? null])
        } else await tx.query('UPDATE followed SET n = ? WHERE name = ?', [newValue ?? null, key])
      }
    }
    const maps = [sums({ onUpdate, buckets: 11 }), sums({ onUpdate, buckets: 11 }, second)] as const
    try {
      await maps[0].process()
      let writing = true
      const processing = [...maps, ...maps].map(async (map) => {
        let taken = 0
        while (writing) taken += await map.process()
        return taken
      })
      await Promise.all(
        Array.from({ length: 6 }, async (_, writer) => {
          for (let i = 0; i < 40; i++) {
            await maps[writer % 2]!.update([
              ['hot', 1],
              [`k${i}`, 2],
              ['hot', 1],
            ])
          }
        }),
      )
      writing = false
      const taken =
        (await Promise.all(processing)).reduce((a, b) => a + b) + (await maps[0].process())
      assert.equal(taken, 6 * 40 * 3)
      const expected = [['hot', 480], ...Array.from({ length: 40 }, (_, i) => [`k${i}`, 12])].sort(
        (a, b) => (a[0]! < b[0]! ? -1 : 1),
      )
      assert.deepEqual(
        (await stored(database)).sort((a, b) => (a[0] < b[0] ? -1 : 1)),
        expected,
      )
      const { rows } = await database.query('SELECT name, n FROM followed')
      assert.deepEqual(
        rows.map(({ name, n }) => [name, n]).sort((a, b) => (a[0]! < b[0]! ? -1 : 1)),
        expected,
      )
    } finally {
      await second.close()
    }
  })

  it('each update counts once though statements and commits fail', async (database, sums) => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.integer({ min: 0, max: 24 })),
        fc.uuid(),
        async (chances, id) => {
          const name = id.slice(0, 32)
          const faulty = failingAnywhere(database, () => chances.next().value === 0)
          const writer = sums({ name: name, buckets: 3 })
          const changes: Change<string, number>[] = []
          const processor = sums(
            {
              name: name,
              buckets: 3,
              onUpdate: (found) => {
                changes.push(...found)
              },
            },
            faulty,
          )
          for (let round = 0; round < 6; round++) {
            await writer.update([
              ['a', 1],
              ['b', 1],
              [`c${round}`, 1],
            ])
            await processor
              .process()
              .catch((error: unknown) => assert(error instanceof DatabaseError))
          }
          // The server may still hold a bucket for a connection that has been cut: it is passed by
          // until then.
          const last = sums({ name: name, buckets: 3 })
          const queued = async () =>
            (await database.query('SELECT id FROM collision_free_map_queue WHERE map = ?', [name]))
              .rows.length
          for (let tries = 0; tries < 100 && (await queued()) > 0; tries++) {
            if ((await last.process()) === 0) await delay(20)
          }
          assert.deepEqual(
            [await writer.get('a'), await writer.get('b'), await writer.get('c0')],
            [6, 6, 1],
          )
          const { rows } = await database.query(
            'SELECT map_value FROM collision_free_map_values WHERE map = ?',
            [name],
          )
          assert.equal(
            rows.reduce((sum, row) => sum + Number(row['map_value']), 0),
            18,
          )
        },
      ),
      { numRuns: fewOrMany(8, 20) },
    )
  })

  it('a combine that throws parks only its updates, with their error', async (database, sums) => {
    const logger = keptLog()
    const map = sums({
      buckets: 1,
      logger,
      combine: (key, current, updates) => {
        if (updates.includes(13)) throw new RangeError('13 is not liked')
        return add(key, current, updates)
      },
    })
    await map.update([
      ['good', 1],
      ['bad', 1],
    ])
    await map.process()
    await map.update([
      ['bad', 13],
      ['good', 1],
      ['bad', 5],
    ])
    await assert.rejects(map.get('bad'), /13 is not liked/)
    assert.equal(await map.process(), 3)
    assert.deepEqual([await map.get('good'), await map.get('bad'), await map.parked()], [2, 1, 2])
    const { rows } = await database.query(
      'SELECT map_value, reason, parked_at FROM collision_free_map_parked ORDER BY id',
    )
    assert.deepEqual(
      rows.map((row) => [String(row['map_value']), row['reason']]),
      [
        ['13', 'RangeError: 13 is not liked'],
        ['5', 'RangeError: 13 is not liked'],
      ],
    )
    assert.deepEqual(logger.lines, [
      'wide-cache: map "sums" has parked 2 updates, because combine threw; run ' +
        'wide-cache parked list --name sums',
    ])
    await map.update([['bad', 2]])
    await map.process()
    assert.equal(await map.get('bad'), 3)
  })

  it('combine that returns promises, NaN, unsafe or long is parked', async (database, sums) => {
    const wrong: [string, unknown][] = [
      [
        'promise',
        async () => {
          throw new Error('async')
        },
      ],
      ['thenable', { then: () => undefined }],
      ['NaN', NaN],
      ['past', 2 ** 53],
      ['nested', { a: [Infinity] }],
      ['long', 'x'.repeat(70_000)],
      ['function', () => 1],
      ['bigint', 1n],
    ]
    const map = sums({
      combine: (key) => {
        const value = wrong.find(([name]) => name === key)?.[1]
        return (key === 'promise' && typeof value === 'function' ? value() : value) as number
      },
    })
    await map.update(wrong.map(([name]) => [name, 1]))
    await map.update([['gone', 1]])
    assert.equal(await map.process(), wrong.length + 1)
    assert.equal(await map.parked(), wrong.length)
    assert.equal(await map.get('promise'), undefined)
    const { rows } = await database.query(
      "SELECT reason FROM collision_free_map_parked WHERE reason LIKE '%synchronous%'",
    )
    assert.equal(rows.length, 2)
  })

  it('a transaction of another database is refused', async (database, sums) => {
    const map = sums()
    await map.migrate()
    const { database: other } = openDatabase(await under.fresh())
    const refused = {
      name: 'TypeError',
      code: 'ERR_WIDE_CACHE_OPTION',
      message:
        'wide-cache: option "tx" is a transaction of another database than that of the map ' +
        '"sums"; allowed: the transaction that database.transaction(async (tx) => …) gives its ' +
        'function',
    }
    try {
      // With the tables of the package, and before it has any.
      for (const migrate of [async () => undefined, () => other.migrate()]) {
        await migrate()
        await assert.rejects(
          other.transaction((tx) => map.update([['a', 1]], tx)),
          refused,
        )
        await assert.rejects(
          other.transaction((tx) => map.get('a', tx)),
          refused,
        )
      }
      const { rows } = await other.query('SELECT * FROM collision_free_map_queue')
      assert.deepEqual(rows, [])
      await database.transaction((tx) => map.update([['a', 1]], tx))
      assert.equal(await queued(database), 1)
    } finally {
      await other.close()
    }
  })

  it('a transaction of another object of the same database is taken', async (_, sums, url) => {
    const map = sums()
    await map.migrate()
    const { database: second } = openDatabase(url)
    const asked: string[] = []
    const watched = new CollisionFreeMap({
      name: 'sums',
      database: url,
      combine: add,
      every: false,
    })
    try {
      for (let i = 0; i < 3; i++) {
        await second.transaction(async (tx) => {
          const { query } = tx
          tx.query = (sql, values) => (asked.push(sql), query.call(tx, sql, values))
          await map.update([['a', 1]], tx)
          await watched.update([['a', 1]], tx)
          if (i > 0) assert.equal(await map.get('a', tx), 2 * i + 1)
        })
      }
      assert.equal(await map.get('a'), 6)
      const comparing = asked.filter((sql) => sql.includes('wide_cache_identity'))
      assert.equal(comparing.length, 2, 'each has compared the two objects once')
    } finally {
      await Promise.all([watched.close(), second.close()])
    }
  })

  it('updates that cannot be stored reject, and none is queued', async (database, sums) => {
    const map = sums()
    const cases: [unknown, unknown, RegExp][] = [
      ['a', 2 ** 53, /9007199254740992; allowed: whole numbers/],
      ['a', -(2 ** 53), /allowed: whole numbers/],
      ['a', NaN, /NaN; allowed: finite/],
      ['a', undefined, /option "value" is undefined; allowed: .* \(updates\[1\]\)$/],
      ['a', 'x'.repeat(65_534), /a value of more than 65535 bytes/],
      ['x'.repeat(699), 1, /a key of more than 700 bytes/],
      [Infinity, 1, /option "key" is Infinity; allowed: finite numbers \(updates\[1\]\)$/],
      [undefined, 1, /option "key" is undefined; allowed: what JSON can hold/],
    ]
    for (const [key, value, message] of cases) {
      await assert.rejects(
        map.update([
          ['fine', 1],
          [key as string, value as number],
        ]),
        message,
      )
    }
    for (const [updates, message] of [
      [
        undefined,
        /option "updates" is undefined; allowed: an array, or another iterable, of pairs/,
      ],
      [{ a: 1 }, /option "updates" is an object; allowed: an array/],
      ['ab', /option "updates" is "ab"; allowed: an array/],
      [[['a', 1], ['b']], /option "updates\[1\]" is an array; allowed: a pair \[key, update\]/],
      [['ab'], /option "updates\[0\]" is "ab"; allowed: a pair/],
    ] as const) {
      const rejected = map.update(updates as unknown as [string, number][])
      await assert.rejects(rejected, { code: 'ERR_WIDE_CACHE_OPTION', message })
    }
    await assert.rejects(
      map.get(undefined as unknown as string),
      /option "key" is undefined; allow/,
    )
    let given = 0
    function* endless(): Generator<[string, number]> {
      for (;;) yield ['a', ++given]
    }
    await assert.rejects(map.update(endless()), {
      name: 'RangeError',
      message: /more than 100000 updates in one call/,
    })
    assert.equal(given, 100_001)
    assert.equal(await queued(database), 0)
    await map.update([['x'.repeat(698), 2 ** 53 - 1]])
    await map.process()
    assert.equal(await map.get('x'.repeat(698)), 2 ** 53 - 1)
  })

  it('a rejecting onUpdate rolls back its own transaction only', async (database, sums) => {
    let refused = 'k3'
    const told: string[] = []
    const map = sums({
      buckets: 1000,
      onUpdate: (changes) => {
        if (changes.some(({ key }) => key === refused)) throw new Error('not now')
        told.push(...changes.map(({ key }) => key))
      },
    })
    await map.update(Array.from({ length: 10 }, (_, i) => [`k${i}`, 1]))
    await assert.rejects(map.process(), /not now/)
    const after = (await stored(database)).map(([key]) => key)
    assert.deepEqual(after, ['k0', 'k1', 'k2', 'k4', 'k5', 'k6', 'k7', 'k8', 'k9'])
    refused = ''
    await map.process()
    assert.deepEqual((await stored(database)).length, 10)
    assert.deepEqual(
      told.sort(),
      Array.from({ length: 10 }, (_, i) => `k${i}`),
    )
    assert.equal(await map.get('k3'), 1)
  })

  it('an onUpdate that never settles is given up, and told so', async (database, sums) => {
    const told: unknown[] = []
    let hangs = true
    const options: SumOptions = {
      buckets: 1000,
      timeoutMs: 100,
      onUpdate: async (changes, _, { signal }) => {
        if (!hangs || changes.every(({ key }) => key !== 'k3')) return
        signal.addEventListener('abort', () => told.push(signal.reason))
        await new Promise(() => undefined)
      },
    }
    const toldBefore: number[] = []
    const on = wrapped(database, {
      transaction: (work) =>
        database.transaction((tx) =>
          work(tx).catch((error: unknown) => {
            // A rollback may take long, where the server is gone.
            toldBefore.push(told.length)
            throw error
          }),
        ),
    })
    const map = sums(options, on)
    await map.update(Array.from({ length: 10 }, (_, i) => [`k${i}`, 1]))
    const reason = { code: 'ERR_WIDE_CACHE_TIMEOUT', message: /onUpdate of the map "sums"/ }
    await assert.rejects(map.process(), reason)
    assert.throws(() => {
      throw told[0]
    }, reason)
    assert.deepEqual(toldBefore, [1])
    assert.deepEqual([(await stored(database)).length, await queued(database)], [9, 1])
    hangs = false
    // The server may still be rolling back.
    await eventually('it is processed', async () => (await map.process()) === 1)
    assert.deepEqual([(await stored(database)).length, await queued(database)], [10, 0])
  })

  it('an onUpdate whose transaction is rolled back under it is told so', async (database, sums) => {
    const gone = new Error('rolled back')
    let [cut, reason] = [(): void => undefined, undefined as unknown]
    const cutting = new Promise<never>((_, reject) => (cut = () => reject(gone)))
    const map = sums(
      {
        onUpdate: async (_, __, { signal }) => {
          cut()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          reason = signal.reason
        },
      },
      wrapped(database, {
        transaction: (work) => database.transaction((tx) => Promise.race([work(tx), cutting])),
      }),
    )
    await sums().update([['a', 1]])
    await assert.rejects(map.process(), gone)
    await eventually('it is told', () => reason === gone)
    assert.equal(await queued(database), 1)
  })

  it('a process with another number of buckets is refused by name', async (database, sums) => {
    await sums({ buckets: 3 }).migrate()
    const other = sums({ buckets: 7 })
    const expected = {
      name: 'BucketsDifferError',
      code: 'ERR_WIDE_CACHE_BUCKETS',
      message:
        'wide-cache: option "buckets" is 7, but the map "sums" has 3 in this database; give ' +
        'all processes 3, or nothing. To change the number, call changeBuckets(7) once',
    }
    for (const call of [() => other.migrate(), () => other.process(), () => other.process()]) {
      await assert.rejects(call, expected)
    }
    await assert.rejects(other.changeBuckets(0), { name: 'RangeError', message: /option "n" is 0/ })
    await other.changeBuckets(7)
    assert.equal(await other.process(), 0)
    await assert.rejects(sums({ buckets: 3 }).process(), { name: 'BucketsDifferError' })
    await sums({ name: 'another', buckets: 3 }).migrate()
    assert.deepEqual(
      (await database.query('SELECT map, buckets FROM collision_free_maps ORDER BY map')).rows.map(
        (row) => [row['map'], row['buckets']],
      ),
      [
        ['another', 3],
        ['sums', 7],
      ],
    )
  })

  it('one process at a time processes, another if it closes or dies', async (database, sums) => {
    const told: string[] = []
    const open = (name: string, every: number | string = 20): Sums =>
      sums({
        every,
        onUpdate: (changes) => void told.push(...changes.map(({ key }) => `${name} ${key}`)),
      })
    const until = (count: number) => eventually(`${count} updates`, () => told.length >= count)
    const writer = sums()
    const first = open('first')
    await writer.update([['a', 1]])
    await until(1)
    const second = open('second')
    for (let i = 0; i < 5; i++) {
      await writer.update([[`b${i}`, 1]])
      await until(2 + i)
    }
    assert(
      told.every((line) => line.startsWith('first')),
      told.join(),
    )
    await Promise.all([first.close(), first.close()])
    await writer.update([['c', 1]])
    await until(7)
    assert.equal(told.at(-1), 'second c')
    // The second dies: its lease is not given back, and runs out.
    await second.close()
    await database.query('UPDATE collision_free_maps SET lease_owner = ?, lease_until = ?', [
      Buffer.alloc(16),
      (await database.now()) + 9_000,
    ])
    const third = open('third', '* * * * * *')
    await writer.update([['d', 1]])
    await delay(1_200)
    assert.equal(told.length, 7)
    await database.query('UPDATE collision_free_maps SET lease_until = ?', [
      (await database.now()) - 1,
    ])
    await until(8)
    assert.equal(told.at(-1), 'third d')
    await third.close()
    await writer.update([['e', 1]])
    await delay(1_100)
    assert.equal(told.length, 8, 'none runs after close()')
  })

  it('a run that fails is logged once, and tried again', async (database, sums) => {
    const logger = keptLog()
    let fails = true
    let runs = 0
    const map = sums({
      every: 10,
      logger,
      onUpdate() {
        runs++
        if (fails) throw new Error('not now')
      },
    })
    await map.update([['a', 1]])
    await eventually('three runs', () => runs >= 3)
    fails = false
    await eventually('a last line', () => logger.lines.at(-1)?.endsWith('again'))
    await eventually('no entry', async () => (await queued(database)) === 0)
    await map.close()
    // A run that finds all locked by the one before, whose connection was cut, does not fail.
    const pair = [
      'wide-cache: processing the map "sums" failed and will be retried: not now',
      'wide-cache: the map "sums" is processed again',
    ]
    assert.deepEqual(
      logger.lines,
      Array(logger.lines.length / 2)
        .fill(pair)
        .flat(),
    )
    assert(logger.lines.length < runs)
    assert.equal(await queued(database), 0)
  })

  it('changing the number of buckets strands no update', async (database, sums, url) => {
    const { database: second } = openDatabase(url)
    try {
      await sums({ buckets: 3 }).process()
      assert.equal(await sums().process(), 0, 'who gives no number takes what is stored')
      let writing = true
      const processing = [1, 119, 3, 40].map(async (buckets, i) => {
        let taken = 0
        const map = sums({}, i % 2 ? database : second)
        while (writing) {
          await map.changeBuckets(buckets)
          taken += await map.process()
        }
        return taken
      })
      for (let i = 0; i < 40; i++) {
        await sums({}, i % 2 ? database : second).update(
          Array.from({ length: 20 }, (_, k) => [`k${k}`, 1]),
        )
      }
      writing = false
      const taken = (await Promise.all(processing)).reduce((a, b) => a + b)
      await sums().changeBuckets(600)
      assert.equal(taken + (await sums({ buckets: 600 }).process()), 800)
      assert((await stored(database)).every(([, n]) => n === 40))
      const { rows } = await database.query(
        'SELECT first_hash, last_hash FROM collision_free_map_buckets ORDER BY bucket',
      )
      assert.equal(rows.length, 600)
      assert.equal(
        rows.reduce(
          (next, row) => (assert.equal(row['first_hash'], next), Number(row['last_hash']) + 1),
          0,
        ),
        2 ** 32,
      )
    } finally {
      await second.close()
    }
  })

  it('maps of other names are left alone', async (_, sums) => {
    const [one, other] = [sums({ name: 'one' }), sums({ name: 'other' })]
    await one.update([['a', 1]])
    await other.update([['a', 10]])
    assert.equal(await one.process(), 1)
    assert.deepEqual([await one.get('a'), await other.get('a')], [1, 10])
    assert.equal(await other.process(), 1)
  })

  it('codecs decide what keys and values are; combine may change arguments', async (database) => {
    const changes: unknown[] = []
    const map = new CollisionFreeMap<[string, number], { seen: string[] }>({
      database,
      name: 'objects',
      combine(key, current, updates) {
        key[0] = 'spoilt'
        const into = current ?? { seen: [] }
        for (const { seen } of updates) into.seen.push(...seen)
        return into
      },
      onUpdate: (found) => {
        changes.push(...found)
      },
    })
    await map.update([[['a', 1], { seen: ['x'] }]])
    await map.process()
    await map.update([[['a', 1], { seen: ['y'] }]])
    await map.process()
    assert.deepEqual(changes, [
      { key: ['a', 1], oldValue: undefined, newValue: { seen: ['x'] } },
      { key: ['a', 1], oldValue: { seen: ['x'] }, newValue: { seen: ['x', 'y'] } },
    ])
    const bytes = new CollisionFreeMap<Buffer, Buffer>({
      database,
      name: 'bytes',
      combine: (_, current, updates) => Buffer.concat([current ?? Buffer.alloc(0), ...updates]),
      keyCodec: rawBytes,
      valueCodec: rawBytes,
    })
    await bytes.update([
      [Buffer.from([0, 255]), Buffer.from([39, 0])],
      [Buffer.from([0, 255]), Buffer.from([92])],
    ])
    await bytes.process()
    assert.deepEqual(await bytes.get(Buffer.from([0, 255])), Buffer.from([39, 0, 92]))
  })

  it('an absent database rejects all calls, and a later call works', async (database, sums) => {
    let gone = true
    const map = sums(
      {},
      failingAnywhere(database, () => gone),
    )
    for (const call of [
      () => map.update([['a', 1]]),
      () => map.process(),
      () => map.get('a'),
      () => map.parked(),
    ]) {
      await assert.rejects(
        call(),
        (error) => error instanceof DatabaseError && error.category === 'unreachable',
      )
    }
    gone = false
    await map.update([['a', 1]])
    assert.equal(await map.process(), 1)
  })
}

const rawBytes = {
  encode: (value: Buffer, target: Buffer, offset: number): number =>
    value.length > target.length - offset ? -1 : offset + value.copy(target, offset),
  decode: (bytes: Buffer): Buffer => Buffer.from(bytes),
}
