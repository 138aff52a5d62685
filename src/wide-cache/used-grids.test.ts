import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { postgres } from '../database/postgres/postgres.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { table } from '../database/table.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { SHARED } from './ledger/grid-record.js'
import { enterName } from './ledger/name-settings.js'
import { readUsedGrids } from './used-grids.js'

const NOW = 1_800_000_000_000
const SECOND = 1_000
const TWO_RANGES = [
  [3, 3],
  [8, 8],
] as const

const GRIDS = table(
  'wide_cache_grids',
  ['id'],
  'name',
  'width',
  'layer_seconds',
  'private_to',
  'watermark',
  'complete_to',
  'flush_ms',
  'moved_at',
  'used_at',
)
const WRITERS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  'prefix',
  'floor',
  'floor_at',
  'last_seen',
)
const RANGES = table(
  'wide_cache_ranges',
  ['name', 'writer', 'first_sequence'],
  'last_sequence',
  'issued',
  'row_count',
)

/** A database with a name whose processes commit directly after 75 s. */
async function site(open: () => Promise<Database>) {
  const database = await open()
  after(() => database.close())
  await database.migrate(['wide-cache'])
  const name = `used-${process.pid}-${Math.floor(performance.now() * 1_000)}`
  let grids = 0
  for (const directSeconds of [75, 60]) {
    const settings = { cellTtlSeconds: 60, directSeconds, vanishedSeconds: 75, nameSettings: {} }
    await enterName(database, { name, kind: 'rows', ...settings })
  }
  return {
    database,
    name,
    grid: async (usedAt: number, watermark: number, privateTo = SHARED) => {
      const id = Buffer.alloc(16, `${name} ${++grids}`.padStart(16).slice(-16))
      await GRIDS.insert(database, [[id, name, grids, 3, privateTo, watermark, 0, 50, NOW, usedAt]])
    },
    read: () => readUsedGrids(database, name, NOW),
    /** SQL has taken writes all the time. */
    prove: (to = NOW - 75 * SECOND) =>
      database.query('UPDATE wide_cache_names SET direct_to = ? WHERE name = ?', [to, name]),
    /** A collector has come until just now. */
    drain: () =>
      database.query('UPDATE wide_cache_grids SET watermark = ? WHERE name = ?', [
        NOW / (3 * SECOND) - 1,
        name,
      ]),
  }
}

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

for (const [where, open] of databases) {
  test(`${where}: grids count for as long as a frame of theirs may be on its way`, async () => {
    const { database, name, grid, read, prove } = await site(open)
    const nothing = { grids: [], missingSince: undefined, directMs: 0, directTo: 0 }
    assert.deepEqual(await read(), nothing)
    const watermarks = async () => (await read()).grids.map(({ watermark }) => watermark).sort()
    await grid(NOW - 3_600 * SECOND, 1)
    assert.deepEqual(await watermarks(), [1], 'the last one, however long ago')
    assert.equal((await read()).directMs, 75 * SECOND, 'the longest that a process has given')
    await grid(NOW - 165 * SECOND, 2)
    assert.deepEqual(await watermarks(), [1, 2], 'while SQL may not take what tells of uses')
    await prove()
    assert.deepEqual(await watermarks(), [2])
    await prove(NOW + 3_600 * SECOND)
    assert.deepEqual(await watermarks(), [1, 2], 'nothing is proven by a clock that was ahead')
    assert.equal((await read()).directTo, 0)
    await prove()
    await grid(NOW, 3, Buffer.alloc(16, 7))
    await grid(NOW - 166 * SECOND, 4, Buffer.alloc(16, 8))
    assert.deepEqual(await watermarks(), [2, 3], 'those in the memory of processes too')
    await database.query(
      'UPDATE wide_cache_grids SET period_seconds = 30, drain_after_layers = 4 ' +
        'WHERE name = ? AND watermark = 3',
      [name],
    )
    const timings = (await read()).grids.map(({ periodSeconds, drainAfterLayers }) =>
      [periodSeconds, drainAfterLayers].join(),
    )
    assert.deepEqual(timings.sort(), ['10,2', '30,4'], 'each has that of its own collectors')
  })

  test(`${where}: where collectors come, grids count until they have been unused`, async () => {
    const { grid, read, drain } = await site(open)
    for (const usedAgo of [0, 165, 166]) await grid(NOW - usedAgo * SECOND, 1)
    assert.equal((await read()).grids.length, 3)
    await drain()
    assert.equal((await read()).grids.length, 2)
  })

  test(`${where}: a frame is missing if a later one has come from its writer`, async () => {
    const { database, name, grid, read, drain } = await site(open)
    await grid(NOW, 1)
    const seen = [
      // Nothing is missing.
      { id: 1, floor: 4, floorAt: 100, lastSeen: NOW, ranges: [] },
      // What is missing is below the floor, so its writer has let go of it.
      { id: 2, floor: 9, floorAt: 200, lastSeen: NOW, ranges: [[9, 12]] },
      // It has not been heard of for 75 s.
      { id: 3, floor: 3, floorAt: 300, lastSeen: NOW - 75 * SECOND - 1, ranges: [[5, 6]] },
      { id: 4, floor: 3, floorAt: 900, lastSeen: NOW - 75 * SECOND, ranges: [[4, 4]] },
      { id: 5, floor: 3, floorAt: 500, lastSeen: NOW, ranges: TWO_RANGES },
    ] as const
    for (const { id, floor, floorAt, lastSeen, ranges } of seen) {
      const writer = Buffer.alloc(16, id)
      await WRITERS.insert(database, [[name, writer, 1, floor, floorAt, lastSeen]])
      for (const [first, last] of ranges) {
        await RANGES.insert(database, [[name, writer, first, last, 0, 1]])
      }
    }
    assert.equal((await read()).missingSince, 300, 'while SQL may not take what it would tell')
    await drain()
    assert.equal((await read()).missingSince, 500)
    const settle = (id: number) =>
      database.query('DELETE FROM wide_cache_ranges WHERE name = ? AND writer = ?', [
        name,
        Buffer.alloc(16, id),
      ])
    await settle(5)
    assert.equal((await read()).missingSince, 900)
    await settle(4)
    assert.equal((await read()).missingSince, undefined)
  })

  test(`${where}: after a leap of the watermark, what counted before it still counts`, async () => {
    const { database, name, grid, read, drain } = await site(open)
    const outage = 600 * SECOND
    for (const usedAgo of [0, 165 * SECOND]) await grid(NOW - outage - usedAgo, 1)
    const writer = Buffer.alloc(16, 1)
    const lastSeen = NOW - outage - 75 * SECOND
    await WRITERS.insert(database, [[name, writer, 1, 3, 300, lastSeen]])
    await RANGES.insert(database, [[name, writer, 5, 6, 0, 1]])
    await drain()
    const leap = async (at: number): Promise<unknown[]> => {
      await database.query(
        'UPDATE wide_cache_grids SET leapt_from = ?, leapt_at = ? WHERE name = ?',
        [NOW - outage, at, name],
      )
      const { grids, missingSince } = await read()
      return [...grids.map(({ leaptFrom }) => leaptFrom), missingSince]
    }
    const counts = [NOW - outage, NOW - outage, 300]
    assert.deepEqual(await leap(NOW - 15 * SECOND), counts)
    assert.deepEqual(await leap(NOW - 15 * SECOND - 1), [undefined, undefined])
    assert.deepEqual(await leap(NOW + SECOND), counts, 'it has leapt while this was asked')
    assert.deepEqual(await leap(NOW + 3_600 * SECOND), [undefined, undefined], 'a clock was ahead')
  })
}
