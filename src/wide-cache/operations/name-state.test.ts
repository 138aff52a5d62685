import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, SqlValue } from '../../database/database.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { DAY_MS } from '../../support/clock.js'
import { idText } from '../../support/id-text.js'
import { GridRecord } from '../ledger/grid-record.js'
import { removeOldEntries } from '../ledger/retention.js'
import { enterName } from '../ledger/name-settings.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { type LedgerTotals, readNameState, recordedNames } from './name-state.js'

const NOW = 1_800_000_000_000
const NAME = {
  name: 'test',
  kind: 'rows',
  cellTtlSeconds: 100,
  directSeconds: 75,
  vanishedSeconds: 100,
  nameSettings: {},
}

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

function gridOf(owner: number, scope: 'shared' | 'private' = 'shared') {
  return new GridRecord({
    name: 'test',
    geometry: { width: 15, layerSeconds: 3 },
    drainAfterLayers: 2,
    flushMs: 50,
    owner: Buffer.alloc(16, owner),
    scope,
    newId: () => Buffer.alloc(16, owner),
  })
}

/** Enters a row of a table of the ledger. */
function insert(
  database: Database,
  table: string,
  row: Readonly<Record<string, SqlValue>>,
): Promise<unknown> {
  const columns = Object.keys(row)
  return database.query(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    Object.values(row),
  )
}

for (const [where, open] of databases) {
  const stateTest = (title: string, body: (database: Database) => Promise<void>): void => {
    test(`${where}: ${title}`, async () => {
      const database = await open()
      try {
        await database.migrate(['wide-cache'])
        await body(database)
      } finally {
        await database.close()
      }
    })
  }

  stateTest('a name that nobody has used has no state', async (database) => {
    assert.equal(await readNameState(database, 'test', NOW), undefined)
    assert.deepEqual(await recordedNames(database), [])
  })

  stateTest('a name without rows has zeros, and a grid that no collector drains', async (db) => {
    await enterName(db, NAME)
    await gridOf(1).enter(db, NOW, 30)
    const state = await readNameState(db, 'test', NOW + 4_000)
    const layer = NOW / 3_000
    assert.deepEqual(state, {
      name: 'test',
      readAt: NOW + 4_000,
      settings: {
        gridName: 'test',
        kind: 'rows',
        cellTtlSeconds: 100,
        directSeconds: 75,
        vanishedSeconds: 100,
        keepSeconds: 0,
        historyDays: 0,
        repeatSeconds: 0,
        keep: '',
        givenTimeZone: '',
      },
      ledger: NOTHING,
      grids: [
        {
          width: 15,
          layerSeconds: 3,
          privateTo: null,
          watermark: layer - 10,
          drainedTo: NOW - 27_000,
          lagMs: 4_000,
          layersWaiting: 1,
          movedAt: NOW,
          usedAt: NOW,
          periodSeconds: null,
          isLeased: false,
          run: null,
        },
      ],
      quarantine: { frames: 0, rows: 0, unreadable: 0, oldestAt: null },
    })
    assert.deepEqual(JSON.parse(JSON.stringify(state)), state)
    assert.deepEqual(await recordedNames(db), ['test'])
  })

  stateTest('what vanished writers owe is apart from what is decided', async (database) => {
    await enterName(database, NAME)
    const sums = { issued: 100, committed: 60, duplicate: 3, quarantined: 5, dropped: 7, lost: 15 }
    const writer = (name: string, id: number, agoMs: number) =>
      insert(database, 'wide_cache_writers', {
        name,
        writer: Buffer.alloc(16, id),
        ...sums,
        last_seen: NOW - agoMs,
      })
    await writer('test', 1, 100_000)
    await writer('other', 1, 0)
    const { ledger: living } = (await readNameState(database, 'test', NOW))!
    assert.deepEqual(living, { ...NOTHING, ...sums, issued: 107, outstanding: 20, writersSeen: 1 })
    await writer('test', 2, 100_001)
    const { ledger } = (await readNameState(database, 'test', NOW))!
    assert.deepEqual(ledger, {
      issued: 214,
      committed: 120,
      duplicate: 6,
      dropped: 14,
      lost: 30,
      quarantined: 10,
      outstanding: 20,
      owed: 20,
      writersSeen: 1,
    })
    assert.equal(
      ledger.issued,
      ledger.committed +
        ledger.dropped +
        ledger.lost +
        ledger.quarantined +
        ledger.outstanding +
        ledger.owed,
    )
  })

  stateTest('no counter falls when a writer is forgotten; what it owed is lost', async (db) => {
    await enterName(db, NAME)
    await insert(db, 'wide_cache_writers', {
      name: 'test',
      writer: Buffer.alloc(16, 1),
      issued: 100,
      committed: 60,
      duplicate: 3,
      quarantined: 5,
      dropped: 7,
      lost: 15,
      last_seen: NOW - 31 * DAY_MS,
    })
    const totals = async () => (await readNameState(db, 'test', NOW))!.ledger
    const before = await totals()
    await removeOldEntries(db, 'test', NOW)
    assert.deepEqual(await totals(), { ...before, lost: before.lost + before.owed, owed: 0 })
  })

  stateTest(
    'the quarantine counts frames once, and each piece of what is no frame',
    async (database) => {
      await enterName(database, NAME)
      const piece = (
        writer: number | null,
        piece: number,
        rows: number,
        at: number,
        name = 'test',
      ) =>
        insert(database, 'wide_cache_quarantine', {
          name,
          writer: writer === null ? null : Buffer.alloc(16, writer),
          sequence: writer,
          piece,
          row_count: rows,
          reason: '',
          bytes: Buffer.alloc(10),
          created_at: at,
        })
      await piece(1, 0, 3, 70)
      await piece(1, 1, 0, 70)
      await piece(2, 0, 4, 50)
      await piece(null, 0, 0, 60)
      await piece(null, 1, 0, 60)
      await piece(3, 0, 9, 10, 'other')
      const { quarantine } = (await readNameState(database, 'test', NOW))!
      assert.deepEqual(quarantine, { frames: 2, rows: 7, unreadable: 2, oldestAt: 50 })
    },
  )

  stateTest('a run is known when its lease is given back, and stays so', async (database) => {
    await enterName(database, NAME)
    const [record, other] = [gridOf(1), gridOf(2, 'private')]
    for (const one of [record, other]) await one.enter(database, NOW, 30)
    const run = { at: NOW + 70, rows: 1_234, ms: 70 }
    const grids = async () => (await readNameState(database, 'test', NOW))!.grids
    assert(await record.lease(database, NOW, 10))
    assert.deepEqual(
      (await grids()).map(({ privateTo, isLeased, periodSeconds }) => [
        privateTo,
        isLeased,
        periodSeconds,
      ]),
      [
        [null, true, 10],
        [idText(Buffer.alloc(16, 2)), false, null],
      ],
    )
    await record.release(database, run)
    assert.deepEqual(
      (await grids()).map(({ isLeased, run }) => [isLeased, run]),
      [
        [false, run],
        [false, null],
      ],
    )
    assert(await record.lease(database, NOW, 10))
    await record.release(database)
    assert.deepEqual((await grids())[0]!.run, run, 'a run that failed is no run')
    assert(await record.lease(database, NOW + 3_600_000, 10))
    assert.equal((await grids())[0]!.isLeased, false, 'it was taken while the clock was ahead')
  })

  stateTest('layers that are read early are no lag', async (database) => {
    await enterName(database, NAME)
    const record = gridOf(1)
    await record.enter(database, NOW, 1_200)
    assert(await record.lease(database, NOW, 3))
    await record.release(database, { at: NOW, rows: 0, ms: 1 })
    const lagMs = async () => (await readNameState(database, 'test', NOW))!.grids[0]!.lagMs
    assert.equal(await lagMs(), 1_197_000)
    await record.completeTo(database, record.grid!, NOW - 3_000)
    assert.equal(await lagMs(), 3_000)
  })

  stateTest(
    'a watermark in the future is no lag, and leaves no layer waiting',
    async (database) => {
      await enterName(database, NAME)
      await gridOf(1).enter(database, NOW, -3_600)
      const [grid] = (await readNameState(database, 'test', NOW))!.grids
      assert.deepEqual([grid!.lagMs, grid!.layersWaiting], [0, 0])
    },
  )
}

const NOTHING: LedgerTotals = {
  issued: 0,
  committed: 0,
  duplicate: 0,
  dropped: 0,
  lost: 0,
  quarantined: 0,
  outstanding: 0,
  owed: 0,
  writersSeen: 0,
}
