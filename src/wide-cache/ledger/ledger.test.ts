import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Database, DatabaseError, type Transaction } from '../../database/database.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { shifted } from '../../database/shifted.fixture.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { systemClock } from '../../support/clock.js'
import { BurstLogger, SILENT } from '../../support/logger.js'
import { ClockWatch } from '../clock-watch.js'
import type { CommitContext } from '../contexts.js'
import { jsonCodec } from '../../support/exact-json.js'
import { GridRecord } from './grid-record.js'
import { Ledger } from './ledger.js'
import { removeOldEntries } from './retention.js'
import { enterName } from './name-settings.js'
import { ledgerReport } from './report.js'
import { namespaceOf } from '../../database/identity.js'
import { Sender } from './sender.fixture.js'
import { settle } from './settle.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { wrapped, wrappedDatabase } from '../../../test/servers/wrapped.js'

const TTL_SECONDS = 100
const PERIOD_SECONDS = 3
interface Bench {
  readonly database: Database
  readonly ledger: Ledger<string>
  readonly parts: ConstructorParameters<typeof Ledger<string>>[0]
  readonly record: GridRecord
  readonly logger: BurstLogger
  committed(): Promise<string[]>
  report(): ReturnType<typeof ledgerReport>
}

function recordOf({
  name = 'test',
  width = 15,
  layerSeconds = 3,
  owner = randomBytes(16),
} = {}): GridRecord {
  return new GridRecord({
    name,
    geometry: { width, layerSeconds },
    drainAfterLayers: 2,
    flushMs: 50,
    owner,
    scope: 'shared',
    newId: () => randomBytes(16),
  })
}

async function bench(database: Database, name = 'test'): Promise<Bench> {
  await database.migrate()
  await database.query(
    'CREATE TABLE IF NOT EXISTS taken (id ' +
      `${database.dialect === 'sqlite' ? 'TEXT' : 'VARCHAR(60)'} NOT NULL PRIMARY KEY)`,
  )
  await enterName(database, {
    name,
    kind: 'rows',
    cellTtlSeconds: TTL_SECONDS,
    directSeconds: 75,
    vanishedSeconds: TTL_SECONDS,
    nameSettings: {},
  })
  const record = recordOf({ name })
  await record.enter(database, await database.now(), TTL_SECONDS)
  const watch = new ClockWatch(systemClock, new BurstLogger(SILENT, () => 0))
  const commit = async (rows: string[], tx: Transaction): Promise<void> => {
    if (rows.some((row) => row.startsWith('throws'))) throw new Error('commit does not like it')
    await tx.query(`INSERT INTO taken (id) VALUES ${rows.map(() => '(?)').join(', ')}`, rows)
  }
  const parts = {
    clock: systemClock,
    database,
    measures: [{ name, commit }],
    record,
    watch,
    cellTtlSeconds: TTL_SECONDS,
    periodSeconds: PERIOD_SECONDS,
    codec: jsonCodec<string>(),
  }
  return {
    database,
    parts,
    ledger: new Ledger<string>(parts),
    record,
    logger: new BurstLogger(SILENT, () => 0),
    async committed() {
      const { rows } = await database.query('SELECT id FROM taken ORDER BY id')
      return rows.map(({ id }) => String(id))
    },
    report: () => ledgerReport(database, name, () => undefined),
  }
}

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

for (const [where, open] of databases) {
  /** A test with a database of its own. */
  const ledgerTest = (name: string, body: (bench: Bench) => Promise<void>): void => {
    test(`${where}: ${name}`, async () => {
      const database = await open()
      try {
        await body(await bench(database))
      } finally {
        await database.close()
      }
    })
  }
  const entries = async ({ database }: Bench): Promise<number> =>
    Number((await database.query('SELECT COUNT(*) AS n FROM wide_cache_ranges')).rows[0]?.['n'])

  ledgerTest('frames of several measures are settled in one transaction', async (b) => {
    const committed: [name: string, rows: unknown[]][] = []
    const measure = (name: string) => ({
      name,
      commit: async (rows: string[], _: Transaction, context: CommitContext) => {
        committed.push([context.name, rows])
        if (rows.includes('fails')) throw new DatabaseError('ER_TEST', 'unreachable', 'away')
      },
    })
    const ledger = new Ledger<string>({ ...b.parts, measures: ['test', 'other'].map(measure) })
    const [one, other, strange] = [0, 1, 2].map((at) => new Sender(undefined, at))
    const early = other!.frame(0, { rows: ['b'] })
    const both = [early, one!.frame(0, { rows: ['a'] })]
    const { committed: rows, prefixes } = await ledger.commit(both)
    assert.equal(rows, 2)
    assert.deepEqual(committed, [
      ['test', ['a']],
      ['other', ['b']],
    ])
    assert.deepEqual(
      both.map(({ writer }) => prefixes.get(writer)),
      [0, 0],
    )
    await assert.rejects(
      ledger.commit([other!.frame(1, { rows: ['fails'] }), one!.frame(1)]),
      /away/,
    )
    const sums = (name: string) => ledgerReport(b.database, name, () => undefined)
    for (const name of ['test', 'other']) assert.equal((await sums(name)).committed, 1, name)
    assert.equal(await ledger.prefixOf('other', early.writer), 0)
    assert.equal(await ledger.prefixOf('test', early.writer), -1)
    await settle(ledger, [strange!.frame(0)], b.logger)
    assert.equal((await sums('test')).quarantined, 1, 'a measure that is not known here')
  })

  ledgerTest('a frame is taken once, in whatever order and however often it comes', async (b) => {
    const sender = new Sender()
    const frames = [0, 1, 2, 3, 4].map((sequence) => sender.frame(sequence))
    const first = await b.ledger.commit([frames[3]!, frames[1]!, frames[3]!])
    assert.deepEqual(
      [first.committed, first.duplicate, first.prefixes.get(frames[0]!.writer)],
      [2, 1, -1],
    )
    assert.equal(await entries(b), 2)
    const second = await b.ledger.commit([frames[0]!, frames[1]!, frames[2]!])
    assert.deepEqual(
      [second.committed, second.duplicate, second.prefixes.get(frames[0]!.writer)],
      [2, 1, 3],
    )
    assert.equal(await entries(b), 0, 'the prefix has passed all ranges')
    const third = await b.ledger.commit(frames)
    assert.deepEqual(
      [third.committed, third.duplicate, third.prefixes.get(frames[0]!.writer)],
      [1, 4, 4],
    )
    assert.equal((await b.committed()).length, 5)
    assert.deepEqual(await b.report(), {
      issued: 5,
      committed: 5,
      duplicate: 6,
      quarantined: 0,
      dropped: 0,
      outstanding: 0,
      owed: 0,
      lost: 0,
    })
  })

  ledgerTest(
    'what is missing is outstanding, until a floor above it has aged by four cell TTLs and ' +
      'eight minutes: then it is lost, exactly',
    async (b) => {
      const sender = new Sender()
      sender.frame(0)
      sender.frame(1, { rows: ['a', 'b', 'c'] })
      sender.frame(2)
      sender.frame(3, { floor: 2 })
      const pass = (ms: number) =>
        b.database.query('UPDATE wide_cache_names SET safe_at = safe_at + ?', [ms])
      // So that it never passes the database's clock.
      await pass(-10 * TTL_SECONDS * 1000)
      await b.ledger.commit([sender.frame(0)])
      await b.ledger.commit([sender.frame(3)])
      assert.deepEqual(await b.report(), {
        issued: 6,
        committed: 2,
        duplicate: 0,
        quarantined: 0,
        dropped: 0,
        outstanding: 4,
        owed: 0,
        lost: 0,
      })
      await pass((4 * TTL_SECONDS + 8 * 60) * 1000)
      await b.ledger.commit([sender.frame(3)])
      assert.equal((await b.report()).lost, 0)
      await pass(1)
      const { prefixes } = await b.ledger.commit([sender.frame(3)])
      assert.equal([...prefixes.values()][0], 1)
      assert.deepEqual(await b.report(), {
        issued: 6,
        committed: 2,
        duplicate: 2,
        quarantined: 0,
        dropped: 0,
        outstanding: 1,
        owed: 0,
        lost: 3,
      })
      const { rows } = await b.database.query('SELECT gone FROM wide_cache_writers')
      assert.deepEqual(rows, [{ gone: 3 }], 'the loss is dated')
      // Too late: it has been given up.
      assert.equal((await b.ledger.commit([sender.frame(1)])).committed, 0)
      assert.equal((await b.ledger.commit([sender.frame(2)])).committed, 1)
      assert.deepEqual(await b.report(), {
        issued: 6,
        committed: 3,
        duplicate: 5,
        quarantined: 0,
        dropped: 0,
        outstanding: 0,
        owed: 0,
        lost: 3,
      })
    },
  )

  ledgerTest(
    'of a writer unseen for a cell TTL, what is missing is owed, and is never called lost',
    async (b) => {
      const sender = new Sender()
      sender.frame(0)
      await b.ledger.commit([sender.frame(1)])
      assert.equal((await b.report()).outstanding, 1)
      await b.database.query('UPDATE wide_cache_writers SET last_seen = last_seen - ?', [
        (TTL_SECONDS + 1) * 1000,
      ])
      const { outstanding, owed, lost } = await b.report()
      assert.deepEqual([outstanding, owed, lost], [0, 1, 0])
      await b.ledger.commit([sender.frame(0)])
      const after = await b.report()
      assert.deepEqual([after.committed, after.owed, after.lost], [2, 0, 0])
    },
  )

  ledgerTest('the watermark rises by compare-and-set, with its frames or not at all', async (b) => {
    const sender = new Sender()
    const watermark = async (): Promise<number> => (await b.record.states(b.database))[0]!.watermark
    const from = await watermark()
    const namespace = await namespaceOf(b.database)
    const raise = {
      grid: b.record.grid!,
      namespace,
      from,
      mark: undefined,
      used: true,
      leapAfterMs: 75_000,
    }
    await b.ledger.commit([sender.frame(0)], { raise: { ...raise, to: from + 3 } })
    assert.equal(await watermark(), from + 3)
    await assert.rejects(
      b.ledger.commit([sender.frame(1)], { raise: { ...raise, to: from + 5 } }),
      { name: 'WatermarkMoved' },
    )
    // Another database would use these keys: its cells were not read.
    const other = { ...raise, namespace: Buffer.alloc(16, 9), from: from + 3, to: from + 5 }
    await assert.rejects(b.ledger.commit([sender.frame(1)], { raise: other }), {
      name: 'WatermarkMoved',
    })
    assert.equal(await watermark(), from + 3)
    assert.equal((await b.committed()).length, 1)
  })

  ledgerTest('an older frame lowers no floor that a newer one has raised', async (b) => {
    const sender = new Sender()
    const frames = [0, 1, 2].map((sequence) => sender.frame(sequence, { floor: sequence }))
    await b.ledger.commit([frames[2]!])
    await b.ledger.commit([frames[1]!])
    const { rows } = await b.database.query('SELECT floor, floor_issued FROM wide_cache_writers')
    assert.deepEqual(rows, [{ floor: 2, floor_issued: 2 }])
  })

  ledgerTest('the time of the floor is that of the newest floor, or earlier', async (b) => {
    const sender = new Sender()
    const at = async () => {
      const { rows } = await b.database.query('SELECT floor_at FROM wide_cache_writers')
      return Number(rows[0]?.['floor_at'])
    }
    // The clock by which the second one was made had been ahead.
    const first = sender.frame(0, { floor: 0, floorAt: 9_000 })
    const others = [
      sender.frame(1, { floor: 1, floorAt: 4_000 }),
      sender.frame(2, { floor: 1, floorAt: 3_000 }),
    ]
    await b.ledger.commit([first, ...others])
    assert.equal(await at(), 3_000)
    await b.ledger.commit([sender.frame(3, { floor: 3, floorAt: 7_000 })])
    assert.equal(await at(), 7_000)
    sender.frame(4, { floor: 2, floorAt: 2_000 })
    await b.ledger.commit([sender.frame(4)])
    assert.equal(await at(), 7_000, 'an older floor changes nothing')
  })

  ledgerTest(
    'frames that are refused for their rows go to quarantine, settled, and never stop the others',
    async (b) => {
      const sender = new Sender()
      const twice = sender.frame(0, { rows: ['twice', 'twice'] })
      const long = sender.frame(1, { rows: ['x'.repeat(100)] })
      const thrown = sender.frame(2, { rows: ['throws'] })
      const good = Array.from({ length: 20 }, (_, i) => sender.frame(3 + i))
      const settled = await settle(
        b.ledger,
        [...good.slice(0, 7), twice, ...good.slice(7, 9), long, thrown, ...good.slice(9)],
        b.logger,
      )
      // SQLite takes any length.
      const quarantined = where === 'SQLite' ? 3 : 4
      assert.deepEqual([settled.committed, settled.quarantined], [24 - quarantined, quarantined])
      const report = await b.report()
      assert.deepEqual(
        [report.issued, report.committed, report.quarantined, report.outstanding],
        [24, 24 - quarantined, quarantined, 0],
      )
      const { rows } = await b.database.query(
        'SELECT sequence, row_count, reason, bytes FROM wide_cache_quarantine ORDER BY sequence',
      )
      assert.deepEqual(
        rows.map(({ sequence }) => Number(sequence)),
        where === 'SQLite' ? [0, 2] : [0, 1, 2],
      )
      assert.deepEqual(rows[0]?.['bytes'], twice.bytes)
      assert(
        rows.every(
          ({ reason }) =>
            !String(reason).includes('twice') && !String(reason).includes('does not like'),
        ),
        'a reason quotes no row',
      )
      assert.equal((await settle(b.ledger, [twice], b.logger)).duplicate, 2)
    },
  )

  ledgerTest(
    'a transaction that fails for another reason commits nothing and sends nothing to quarantine',
    async (b) => {
      const sender = new Sender()
      const frame = sender.frame(0)
      await b.database.query('DROP TABLE taken')
      await assert.rejects(
        settle(b.ledger, [frame], b.logger),
        (error) => error instanceof DatabaseError && error.category === 'usage',
      )
      assert.deepEqual(await b.report(), {
        issued: 0,
        committed: 0,
        duplicate: 0,
        quarantined: 0,
        dropped: 0,
        outstanding: 0,
        owed: 0,
        lost: 0,
      })
    },
  )

  ledgerTest(
    'processes of one geometry have one grid, those of another have another of the same name',
    async (b) => {
      const now = await b.database.now()
      const [same, other] = [recordOf(), recordOf({ width: 8, layerSeconds: 2 })]
      await same.enter(b.database, now, TTL_SECONDS)
      await other.enter(b.database, now, TTL_SECONDS)
      assert.deepEqual(same.grid?.id, b.record.grid?.id)
      assert.notDeepEqual(other.grid?.id, b.record.grid?.id)
      assert.deepEqual(
        (await b.record.states(b.database))
          .map(({ grid }) => [grid.width, grid.layerSeconds])
          .sort(),
        [
          [15, 3],
          [8, 2],
        ],
      )
    },
  )

  ledgerTest('the frames of a writer in quarantine are its own, each once', async (b) => {
    const hex = (byte: number): string => `0${byte}`.repeat(16)
    for (const [name, writer, sequence, piece] of [
      ['test', 1, 4, 0],
      ['test', 1, 4, 1],
      ['test', 1, 7, 0],
      ['test', 2, 5, 0],
      ['other', 1, 6, 0],
    ] as const) {
      await b.database.query(
        'INSERT INTO wide_cache_quarantine ' +
          '(name, writer, sequence, piece, row_count, reason, bytes, created_at) ' +
          'VALUES (?, ?, ?, ?, 1, ?, ?, 0)',
        [name, Buffer.from(hex(writer), 'hex'), sequence, piece, 'x', Buffer.alloc(1)],
      )
    }
    assert.deepEqual(await b.ledger.quarantinedOf('test', hex(1)), new Set([4, 7]))
    assert.deepEqual(await b.ledger.quarantinedOf('test', hex(3)), new Set())
  })

  ledgerTest('many frames above a gap are one range, whatever order they come in', async (b) => {
    const sender = new Sender()
    const frames = Array.from({ length: 200 }, (_, sequence) => sender.frame(sequence))
    const above = frames.slice(1).sort(() => Math.random() - 0.5)
    for (let at = 0; at < above.length; at += 30) await b.ledger.commit(above.slice(at, at + 30))
    assert.equal(await entries(b), 1)
    assert.deepEqual((await b.ledger.commit(above)).duplicate, 199)
    await b.ledger.commit([frames[0]!])
    assert.equal(await entries(b), 0)
    assert.deepEqual((await b.report()).committed, 200)
  })

  ledgerTest(
    'what is forgotten of a writer stays in the totals, and what is missing of it is lost',
    async (b) => {
      const [gone, here] = [new Sender(), new Sender()]
      gone.frame(0)
      await b.ledger.commit([gone.frame(1, { dropped: 2 })])
      await b.ledger.commit([gone.frame(1)])
      await b.ledger.commit([here.frame(0)])
      const now = await b.database.now()
      await b.database.query('UPDATE wide_cache_writers SET last_seen = 0 WHERE writer = ?', [
        gone.id,
      ])
      const before = await b.report()
      await removeOldEntries(b.database, 'test', now)
      assert.equal(await entries(b), 0)
      const forgotten = { ...before, owed: 0, lost: 1 }
      assert.deepEqual(await b.report(), forgotten)
      assert.deepEqual(before, {
        issued: 5,
        committed: 2,
        duplicate: 1,
        quarantined: 0,
        dropped: 2,
        outstanding: 0,
        owed: 1,
        lost: 0,
      })
      await removeOldEntries(b.database, 'test', now + 100 * 24 * 3600 * 1000)
      assert.deepEqual(await b.report(), forgotten)
    },
  )

  ledgerTest(
    'a writer that is seen while the clock is behind is not forgotten for it',
    async (b) => {
      const behind = new Ledger<string>({
        ...b.parts,
        database: shifted(b.database, () => -40 * 24 * 3600 * 1000),
      })
      const sender = new Sender()
      assert.equal((await behind.commit([sender.frame(0)])).committed, 1)
      await behind.quarantine([sender.frame(1)], 'refused')
      await behind.keepUnreadable([Buffer.from('no frame')])
      await behind.enterTotals('test', { writer: randomBytes(16), issued: 3, dropped: 2 })
      const now = await b.database.now()
      await removeOldEntries(b.database, 'test', now)
      assert.deepEqual((await behind.commit([sender.frame(0)])).duplicate, 1)
      const { rows } = await b.database.query(
        'SELECT COALESCE(sequence, -1) AS sequence FROM wide_cache_quarantine ORDER BY 1',
      )
      assert.deepEqual(
        rows.map(({ sequence }) => sequence),
        [-1, 1],
      )
      const { lost, dropped } = await b.report()
      assert.deepEqual([lost, dropped], [0, 2])
    },
  )

  ledgerTest(
    'one collector holds the lease, until it gives it back or its time is over',
    async (b) => {
      const [one, other] = [1, 2].map((byte) => recordOf({ owner: Buffer.alloc(16, byte) }))
      assert(one && other)
      const now = await b.database.now()
      assert.equal(await one.lease(b.database, now, 10), true)
      assert.equal(await other.lease(b.database, now, 10), false)
      assert.equal(await one.lease(b.database, now + 1000, 10), true)
      await other.release(b.database)
      assert.equal(await other.lease(b.database, now + 2000, 10), false)
      await one.release(b.database)
      assert.equal(await other.lease(b.database, now + 3000, 10), true)
      assert.equal(await one.lease(b.database, now + 30_000, 10), true)
      // The clock was ahead when it was taken.
      assert.equal(await other.lease(b.database, now - 3_600_000, 10), true)
    },
  )

  ledgerTest('grids of one name have one collector, also one that has just come', async (b) => {
    const [one, other] = [15, 8].map((width) => recordOf({ width }))
    assert(one && other)
    const now = await b.database.now()
    await one.enter(b.database, now, 300)
    assert.equal(await one.lease(b.database, now, 10), true)
    await other.enter(b.database, now, 300)
    assert.equal(await other.lease(b.database, now, 10), false)
    assert.equal(await one.lease(b.database, now + 1000, 10), true)
    await one.release(b.database)
    assert.equal(await other.lease(b.database, now + 2000, 10), true)
  })
}

test('a transaction locks writers, then what its rows lock, then the watermark', async () => {
  const written: string[] = []
  const database = sqlite(':memory:')
  const watched = wrappedDatabase(database, {}, (tx) => ({
    query: (sql, values) => {
      const [, table] = /^(?:INSERT INTO|UPDATE) \W?(\w+)/.exec(sql) ?? []
      if (table !== undefined) written.push(table)
      return tx.query(sql, values)
    },
  }))
  const { ledger, record } = await bench(watched)
  const [state] = await record.states(database)
  const { grid, watermark: from } = state!
  await ledger.commit([new Sender().frame(0)], {
    raise: {
      grid,
      namespace: await namespaceOf(database),
      from,
      to: from + 1,
      mark: undefined,
      used: true,
      leapAfterMs: 75_000,
    },
  })
  assert.deepEqual([...new Set(written)], ['wide_cache_writers', 'taken', 'wide_cache_grids'])
  await database.close()
})

test('the time of a transaction is read in it, however long it waits to begin', async () => {
  const WAIT_MS = 5_000
  let ahead = 0
  const database = sqlite(':memory:')
  const busy = wrapped(database, {
    now: async () => (await database.now()) + ahead,
    transaction: (work) => {
      ahead = WAIT_MS
      return database.transaction((tx) =>
        work(wrapped(tx, { now: async () => (await tx.now()) + ahead })),
      )
    },
  })
  const { ledger } = await bench(busy)
  const before = await database.now()
  await ledger.commit([new Sender().frame(0)])
  const { rows } = await database.query('SELECT last_seen FROM wide_cache_writers')
  assert(Number(rows[0]?.['last_seen']) >= before + WAIT_MS)
  await database.close()
})

test('after a transaction that committed by itself no watermark rises any more', async () => {
  const database = sqlite(':memory:')
  const lost = new DatabaseError('DATABASE_TRANSACTION_LOST', 'usage', 'a procedure has committed')
  const { ledger, record } = await bench(
    wrapped(database, { transaction: () => Promise.reject(lost) }),
  )
  const [state] = await record.states(database)
  const { grid, watermark: from } = state!
  const namespace = await namespaceOf(database)
  const raise = {
    grid,
    namespace,
    from,
    to: from + 1,
    mark: undefined,
    used: false,
    leapAfterMs: 75_000,
  }
  await ledger.raise(raise)
  await assert.rejects(ledger.commit([new Sender().frame(0)]), lost)
  await assert.rejects(ledger.raise({ ...raise, from: from + 1, to: from + 2 }), lost)
  assert.equal((await record.states(database))[0]!.watermark, from + 1)
  await database.close()
})

test('MariaDB: eight connections commit overlapping frames, and each row once', async () => {
  const WRITERS = 6
  const FRAMES = 120
  const url = await sharedMysqlUrl()
  const connections = Array.from({ length: 8 }, () => mysql(url))
  const benches = []
  for (const database of connections) benches.push(await bench(database))
  try {
    const senders = Array.from({ length: WRITERS }, () => new Sender())
    const all = senders.flatMap((sender) =>
      Array.from({ length: FRAMES }, (_, sequence) => sender.frame(sequence)),
    )
    let retried = 0
    await Promise.all(
      benches.map(async (b, connection) => {
        // Each brings two thirds of all frames, its own two thirds, in its own order, in batches of
        // its own size.
        const mine = all
          .filter((_, i) => (i + connection) % 3 !== 0)
          .sort(() => Math.random() - 0.5)
        while (mine.length > 0) {
          const batch = mine.splice(0, 1 + Math.floor(Math.random() * 40))
          for (;;) {
            try {
              await settle(b.ledger, batch, b.logger)
              break
            } catch (error) {
              if (!(error instanceof DatabaseError) || error.category !== 'lock') throw error
              retried++
            }
          }
        }
      }),
    )
    const [first] = benches
    assert(first)
    assert.equal((await first.committed()).length, all.length)
    const report = await first.report()
    assert.deepEqual(
      [report.issued, report.committed, report.quarantined, report.outstanding, report.owed],
      [all.length, all.length, 0, 0, 0],
    )
    assert.equal(
      Number(
        (await first.database.query('SELECT COUNT(*) AS n FROM wide_cache_ranges')).rows[0]?.['n'],
      ),
      0,
    )
    assert(retried < all.length, `${retried} deadlocks`)
  } finally {
    await Promise.all(connections.map((database) => database.close()))
  }
})
