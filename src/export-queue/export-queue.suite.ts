/** Tests of an ExportQueue, on any database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { type Database, DatabaseError, type Transaction } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { systemEnvironment } from '../support/environment.js'
import type { Clock } from '../support/clock.js'
import type { MapUnderTest } from '../collision-free-map/collision-free-map.suite.js'
import { eventually } from '../support/eventually.fixture.js'
import {
  type ExportEntry,
  ExportQueue,
  ExportQueueIn,
  type ExportQueueOptions,
} from './export-queue.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { failingAnywhere } from '../../test/simulated-world/faulty-database.js'

type Entries = readonly ExportEntry<string, number>[]
type Queue = ExportQueue<string, number>

const RENEW_MS = 3_000

/** The system's clock with timers of a lease's renewal that fire when told to. Others never do. */
class ManualTimers {
  readonly #due: (() => void)[] = []
  readonly clock: Clock = {
    ...systemEnvironment.clock,
    after: (ms, callback) => {
      if (ms === RENEW_MS) this.#due.push(callback)
      return {
        cancel: () => {
          this.#due.splice(this.#due.indexOf(callback) >>> 0, 1)
        },
      }
    },
  }

  fire(): void {
    for (const callback of this.#due.splice(0)) callback()
  }
}

/** A receiver that takes an entry only if its version is new to it. */
class Receiver {
  readonly taken = new Map<string, { version: number; values: number[] }>()
  /** All that came, in order. */
  readonly came: ExportEntry<string, number>[] = []

  readonly take = (entries: Entries): void => {
    for (const { key, value, version } of entries) {
      this.came.push({ key, value, version })
      const last = this.taken.get(key) ?? { version: 0, values: [] }
      if (version > last.version) this.taken.set(key, { version, values: [...last.values, value] })
    }
    // Entries of one key are side by side.
    const keys = entries.map(({ key }) => key).filter((key, i, all) => key !== all[i - 1])
    assert.equal(new Set(keys).size, keys.length)
  }

  values(key: string): number[] {
    return this.taken.get(key)?.values ?? []
  }
}

export function exportSuite(under: MapUnderTest): void {
  interface Bench {
    readonly database: Database
    readonly url: string
    open(
      exporter: (entries: Entries, context: { signal: AbortSignal }) => void | Promise<void>,
      options?: Partial<ExportQueueOptions<string, number>>,
      environment?: typeof systemEnvironment,
    ): Queue
    add(queue: Queue, entries: readonly [string, number][]): Promise<void>
    left(): Promise<number>
    /** All holds have run out, as if time had passed. */
    expire(): Promise<unknown>
  }
  const it = (name: string, body: (bench: Bench) => Promise<void>): void => {
    test(`${under.name}: ${name}`, async () => {
      const url = await under.fresh()
      const { database } = openDatabase(url)
      try {
        await database.migrate()
        await body({
          database,
          url,
          open: (exporter, options, environment = systemEnvironment) =>
            new ExportQueueIn<string, number>(
              { database, name: 'out', exporter, every: false, ...options },
              environment,
            ),
          add: (queue, entries) =>
            database.transaction(async (tx) => {
              for (const [key, value] of entries) await queue.add(key, value, tx)
            }),
          left: async () =>
            Number(
              (await database.query('SELECT COUNT(*) AS n FROM export_queue_entries')).rows[0]?.[
                'n'
              ],
            ),
          expire: () => database.query('UPDATE export_queue_leases SET held_until = 0'),
        })
      } finally {
        await database.close()
      }
    })
  }
  const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

  it('what was added comes once, same keys together and in order, with ascending versions', async ({
    open,
    add,
    left,
  }) => {
    const receiver = new Receiver()
    const queue = open(receiver.take)
    await add(
      queue,
      numbers(50).flatMap((i): [string, number][] => [
        ['a', i],
        [`b${i % 3}`, i],
      ]),
    )
    assert.equal(await queue.process(), 100)
    assert.deepEqual(receiver.values('a'), numbers(50))
    assert.deepEqual(
      receiver.values('b1'),
      numbers(50).filter((i) => i % 3 === 1),
    )
    assert.equal(receiver.came.length, 100)
    await add(queue, [['a', 50]])
    assert.deepEqual([await queue.process(), await queue.process(), await left()], [1, 0, 0])
    assert.equal(receiver.values('a').length, 51, 'later entries have higher versions')
  })

  it('process() leaves entries that come while it exports to the next one', async ({
    open,
    add,
    left,
  }) => {
    const queue: Queue = open((entries) => add(queue, [['a', entries.length]]))
    await add(queue, [['a', 0]])
    assert.deepEqual([await queue.process(), await left()], [1, 1])
  })

  it('entries of two transactions that change a row come in the order of their commits', async ({
    open,
    database,
  }) => {
    // SQLite has one transaction at a time.
    if (database.dialect === 'sqlite') return
    await database.query('CREATE TABLE rows_of_ours (id INT PRIMARY KEY, v INT)')
    await database.query('INSERT INTO rows_of_ours VALUES (1, 0)')
    const change = async (tx: Transaction, value: number): Promise<void> => {
      await tx.query('UPDATE rows_of_ours SET v = ? WHERE id = 1', [value])
    }
    const receiver = new Receiver()
    const queue = open(receiver.take)
    await database.transaction(async (a) => {
      await queue.add('x', 5, a)
      await database.transaction(async (b) => {
        await queue.add('x', 7, b)
        await change(b, 7)
      })
      await change(a, 5)
    })
    await queue.process()
    const { rows } = await database.query('SELECT v FROM rows_of_ours')
    assert.equal(rows[0]?.['v'], 5)
    assert.deepEqual(receiver.values('x'), [7, 5])
  })

  it('entries are exported by itself, and another number of buckets is refused by name', async ({
    open,
    add,
    left,
  }) => {
    const receiver = new Receiver()
    const queue = open(receiver.take, { every: 10, buckets: 5 })
    await add(queue, [
      ['x', 1],
      ['y', 2],
    ])
    await eventually('all is exported', async () => (await left()) === 0)
    assert.deepEqual([receiver.values('x'), receiver.values('y')], [[1], [2]])
    await queue.close()
    await assert.rejects(open(receiver.take, { buckets: 6 }).process(), {
      name: 'BucketsDifferError',
      message: /the export queue "out" has 5/,
    })
  })

  it('add() without a transaction says what is missing', async ({ open, database }) => {
    const queue = open(() => undefined)
    for (const tx of [undefined, null, database, {}]) {
      await assert.rejects(queue.add('x', 1, tx as unknown as Transaction), {
        name: 'TypeError',
        message: /option "tx" is .*; allowed: the transaction that database\.transaction/,
      })
    }
  })

  it('add() refuses a transaction of another database', async ({ open }) => {
    const queue = open(() => undefined)
    await queue.migrate()
    const { database: other } = openDatabase(await under.fresh())
    await other.migrate()
    await assert.rejects(
      other.transaction((tx) => queue.add('x', 1, tx)),
      { name: 'TypeError', message: /of another database than that of the export queue "out"/ },
    )
    await other.close()
  })

  it('an entry is exported if and only if its transaction commits', async ({
    open,
    add,
    database,
  }) => {
    const receiver = new Receiver()
    const queue = open(receiver.take)
    const failed = database.transaction(async (tx) => {
      await queue.add('a', 1, tx)
      throw new Error('no')
    })
    await assert.rejects(failed, /no/)
    assert.equal(await queue.process(), 0)
    await add(queue, [['a', 2]])
    await queue.process()
    assert.deepEqual(receiver.values('a'), [2])
  })

  it('more than one batch comes in batches of at most 500, in order', async ({ open, add }) => {
    const receiver = new Receiver()
    const sizes: number[] = []
    const queue = open(
      (entries) => {
        sizes.push(entries.length)
        receiver.take(entries)
      },
      { buckets: 1 },
    )
    await add(
      queue,
      numbers(1200).map((i) => ['a', i]),
    )
    assert.equal(await queue.process(), 1200)
    assert.deepEqual(sizes, [500, 500, 200])
    assert.deepEqual(receiver.values('a'), numbers(1200))
  })

  it('a failing exporter gets the same entries and versions again; only its bucket rests', async ({
    open,
    add,
    expire,
    database,
  }) => {
    const [receiver, seen] = [new Receiver(), [] as Entries[]]
    let fails = true
    const queue = open(
      (entries) => {
        const mine = entries.filter(({ key }) => key === 'bad')
        if (mine.length > 0) seen.push(mine)
        if (fails && mine.length > 0) throw new Error('unreachable')
        receiver.take(entries)
      },
      { buckets: 1000 },
    )
    await add(queue, [
      ['bad', 1],
      ['bad', 2],
      ...numbers(20).map((i): [string, number] => [`k${i}`, i]),
    ])
    await assert.rejects(queue.process(), /unreachable/)
    assert.equal(receiver.came.length, 20, 'all others came')
    const rest = async (): Promise<number> =>
      Number(
        (await database.query('SELECT held_until FROM export_queue_leases')).rows[0]?.[
          'held_until'
        ],
      ) - (await database.now())
    const rests: number[] = []
    for (let i = 0; i < 12; i++) {
      await expire()
      await assert.rejects(queue.process(), /unreachable/)
      rests.push(await rest())
    }
    assert(
      rests.every(
        (ms, i) =>
          ms <= Math.min(1000 * 2 ** (i + 1), 300_000) &&
          ms > Math.min(1000 * 2 ** (i + 1), 300_000) - 5_000,
      ),
      `rests of ${rests}`,
    )
    await add(queue, [['bad', 3]])
    const before = seen.length
    await queue.process()
    assert.equal(seen.length, before, 'it rests')
    fails = false
    await expire()
    await queue.process()
    assert.deepEqual(receiver.values('bad'), [1, 2, 3])
    const versions = new Map(seen[0]?.map(({ value, version }) => [value, version]))
    for (const { value, version } of seen.flat()) {
      assert.equal(version, versions.get(value) ?? version, `of value ${value}`)
    }
    assert.deepEqual([seen[0]?.length, seen.at(-3)?.length], [2, 1], 'in the end one at a time')
    assert.deepEqual(
      (await database.query('SELECT * FROM export_queue_leases')).rows,
      [],
      'and is forgotten',
    )
  })

  it('a call that never settles is given up, told so, and holds up its own bucket only', async ({
    open,
    add,
    expire,
    left,
  }) => {
    const receiver = new Receiver()
    const signals: AbortSignal[] = []
    let hangs = true
    const queue = open(
      async (entries, { signal }) => {
        if (hangs && entries.some(({ key }) => key === 'bad')) {
          signals.push(signal)
          await new Promise(() => undefined)
        }
        receiver.take(entries)
      },
      { buckets: 1000, timeoutMs: 100 },
    )
    await add(queue, [['bad', 1], ...numbers(20).map((i): [string, number] => [`k${i}`, i])])
    const reason = {
      name: 'AbandonedCallError',
      code: 'ERR_WIDE_CACHE_TIMEOUT',
      message:
        'wide-cache: the exporter of the export queue "out" did not end within 0.1 s ' +
        '(option "timeoutMs"); its input is delivered again',
    }
    await assert.rejects(queue.process(), reason)
    assert.equal(receiver.came.length, 20, 'all others came')
    assert.equal(signals.length, 1)
    assert.throws(() => signals[0]?.throwIfAborted(), reason)
    assert.match(await queue.metrics(), /call_timeouts_total\{name="out"\} 1\n/)
    hangs = false
    await expire()
    assert.equal(await queue.process(), 1)
    assert.deepEqual([receiver.values('bad'), await left()], [[1], 0])
  })

  it('after a crash of the exporter the same entries come again with the same versions', async ({
    open,
    add,
    database,
    expire,
  }) => {
    const receiver = new Receiver()
    let crash = true
    // The process dies before it can say that the entries are exported: nothing works any more.
    const faulty = failingAnywhere(database, () => crash && receiver.came.length > 0)
    const dying = open(receiver.take, { database: faulty, buckets: 1 })
    await add(dying, [
      ['a', 1],
      ['a', 2],
    ])
    await assert.rejects(dying.process(), DatabaseError)
    crash = false
    await add(dying, [['a', 3]])
    const other = open(receiver.take, { buckets: 1 })
    assert.equal(await other.process(), 0, "the dead one's lease lasts a while")
    await expire()
    assert.equal(await other.process(), 3)
    assert.deepEqual(receiver.came.slice(0, 2), receiver.came.slice(2, 4))
    assert.deepEqual(receiver.values('a'), [1, 2, 3])
  })

  it('two processors never export one bucket at once while its lease is renewed', async ({
    open,
    add,
    database,
    url,
  }) => {
    const { database: second } = openDatabase(url)
    const timers = new ManualTimers()
    const receiver = new Receiver()
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let begun = (): void => undefined
    const beginning = new Promise<void>((resolve) => {
      begun = resolve
    })
    const slow = open(
      async (entries) => {
        begun()
        await released
        receiver.take(entries)
      },
      { buckets: 1 },
      { ...systemEnvironment, clock: timers.clock },
    )
    const quick = open(receiver.take, { buckets: 1, database: second })
    try {
      await add(slow, [['a', 1]])
      const processing = slow.process()
      await beginning
      await add(slow, [['a', 2]])
      const until = async (): Promise<number> =>
        Number(
          (await database.query('SELECT held_until FROM export_queue_leases')).rows[0]?.[
            'held_until'
          ],
        )
      for (let i = 0; i < 3; i++) {
        assert.equal(await quick.process(), 0)
        // Nearly over.
        await database.query('UPDATE export_queue_leases SET held_until = held_until - 9000')
        const before = await until()
        timers.fire()
        while ((await until()) <= before) await new Promise((resolve) => setImmediate(resolve))
      }
      // Neither does another number of buckets let anybody in.
      await open(receiver.take, { database: second }).changeBuckets(3)
      assert.equal(await open(receiver.take, { buckets: 3, database: second }).process(), 0)
      release()
      assert.equal(await processing, 1)
      assert.equal(await open(receiver.take, { buckets: 3, database: second }).process(), 1)
      assert.deepEqual(
        receiver.came.map(({ value }) => value),
        [1, 2],
      )
    } finally {
      release()
      await second.close()
    }
  })

  it('a processor that loses its lease leaves the entries; late repeats have old versions', async ({
    open,
    add,
    expire,
    left,
  }) => {
    const receiver = new Receiver()
    const quick = open(receiver.take)
    const overtaken = open(async (entries) => {
      // It stands still; meanwhile others go on.
      await expire()
      assert.equal(await quick.process(), 1)
      await add(quick, [['a', 2]])
      assert.equal(await quick.process(), 1)
      receiver.take(entries)
    })
    await add(quick, [['a', 1]])
    assert.equal(await overtaken.process(), 0)
    assert.deepEqual(
      [receiver.came.map(({ value }) => value), receiver.values('a'), await left()],
      [[1, 2, 1], [1, 2], 0],
    )
  })

  it('a processor that has lost its lease deletes nothing that the next one exports', async ({
    open,
    add,
    expire,
    left,
  }) => {
    let [begin, fail] = [(): void => undefined, (): void => undefined]
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const failing = new Promise<void>((_, reject) => (fail = () => reject(new Error('crash'))))
    const next = open(() => {
      begin()
      return failing
    })
    let exporting: Promise<unknown> | undefined
    const overtaken = open(async () => {
      await expire()
      exporting = assert.rejects(next.process(), /crash/)
      await begun
    })
    await add(next, [['a', 1]])
    assert.equal(await overtaken.process(), 0)
    assert.equal(await left(), 1)
    fail()
    await exporting
    assert.equal(await left(), 1)
  })

  it('entries that have their versions wait for no other bucket', async ({
    database,
    open,
    add,
    expire,
  }) => {
    let fails = true
    const asked: string[] = []
    const queue = open(
      () => {
        if (fails) throw new Error('fails')
      },
      {
        database: wrappedDatabase(database, {}, (tx) => ({
          query: (sql, values) => (asked.push(sql), tx.query(sql, values)),
        })),
      },
    )
    await add(queue, [['a', 1]])
    await assert.rejects(queue.process(), /fails/)
    fails = false
    await expire()
    asked.length = 0
    assert.equal(await queue.process(), 1)
    assert(asked.length > 0)
    assert.deepEqual(
      asked.filter((sql) => sql.includes('export_queue_versions')),
      [],
    )
  })

  it('under failures and new buckets, a receiver that compares versions has all in order', async ({
    open,
    add,
    database,
    expire,
    left,
  }) => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 0, max: 29 })), async (chances) => {
        const unlucky = (): boolean => chances.next().value === 0
        const receiver = new Receiver()
        const exporter = (entries: Entries): void => {
          if (unlucky()) throw new Error('exporter')
          receiver.take(entries)
          if (unlucky()) throw new Error('exporter')
        }
        const faulty = failingAnywhere(database, unlucky)
        for (let round = 0; round < 6; round++) {
          await add(open(exporter), [
            ['a', round * 2],
            ['b', round],
            ['a', round * 2 + 1],
          ])
          await open(exporter).changeBuckets(1 + (round % 3))
          const processors = [
            open(exporter, { database: faulty }),
            open(exporter, { database: faulty }),
          ]
          await Promise.allSettled(processors.map((queue) => queue.process()))
          await expire()
        }
        while ((await left()) > 0) {
          await open(exporter)
            .process()
            .catch(() => undefined)
          await expire()
        }
        assert.deepEqual([receiver.values('a'), receiver.values('b')], [numbers(12), numbers(6)])
      }),
      { numRuns: fewOrMany(6, 12) },
    )
  })

  it('many writers and processors: each entry once, each key in the order of its writer', async ({
    open,
    add,
    url,
  }) => {
    const { database: second } = openDatabase(url)
    const receiver = new Receiver()
    const queues = [open(receiver.take), open(receiver.take, { database: second })] as const
    try {
      let writing = true
      const processing = [...queues, ...queues].map(async (queue) => {
        while (writing) await queue.process()
      })
      await Promise.all(
        numbers(5).map(async (writer) => {
          for (let i = 0; i < 20; i++) {
            await add(queues[0], [
              [`w${writer}`, i],
              ['shared', writer],
            ])
          }
        }),
      )
      writing = false
      await Promise.all(processing)
      await queues[0].process()
      for (const writer of numbers(5)) assert.deepEqual(receiver.values(`w${writer}`), numbers(20))
      assert.equal(receiver.values('shared').length, 100)
      assert.equal(receiver.came.length, 200)
    } finally {
      await second.close()
    }
  })

  it('keys and values that cannot be stored reject, and leave the transaction as it is', async ({
    open,
    database,
    left,
  }) => {
    const queue = open(() => undefined)
    await database.transaction(async (tx) => {
      await assert.rejects(queue.add('x'.repeat(699), 1, tx), /a key of more than 700 bytes/)
      await assert.rejects(queue.add('a', 2 ** 53, tx), /allowed: whole numbers/)
      await queue.add('a', 1, tx)
    })
    assert.equal(await left(), 1)
  })
}
