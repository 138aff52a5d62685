/**
 * Cells with anything that a client of the cache may put there: no cell stops the collector, or
 * takes a visit from those beside it.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { FIRST_HEADER } from '../wide-cache/frame.fixture.js'
import {
  HEADER_BYTES,
  readCell,
  ROW_LENGTH_BYTES,
  sealFrame,
  stampOf,
} from '../wide-cache/frame.js'
import { Grid } from '../wide-cache/grid.js'
import { createActivity } from './site-activity.js'
import { visitCodec } from './visit.js'

const STAMP = stampOf('activity')
const WIDTH = 3
const LAYER_SECONDS = 3
const MEASURE_AT = 64
const CHECKSUM_AT = 65

/** Any header with any rows under a checksum that is right. */
const forged = fc
  .record({
    writer: fc.constantFrom(1, 2).map((byte) => Buffer.alloc(16, byte)),
    header: fc.uint8Array({ minLength: CHECKSUM_AT - 20, maxLength: CHECKSUM_AT - 20 }),
    /** Offsets in the header of numbers that are small, as those of a frame are. */
    small: fc.uniqueArray(fc.constantFrom(0, 6, 12, 18, 24, 30)),
    measure: fc.constantFrom(0, 0, 0, 1, 255),
    rowCount: fc.option(fc.constantFrom(0, 2, 2 ** 31, 2 ** 32 - 1)),
    rows: fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 4 }),
  })
  .map(({ writer, header, small, measure, rowCount, rows }) => {
    const parts = rows.flatMap((row) => {
      const length = Buffer.alloc(ROW_LENGTH_BYTES)
      length.writeUInt32BE(row.length)
      return [length, row]
    })
    const bytes = Buffer.concat([Buffer.from('WCF\x01'), writer, header, Buffer.alloc(4), ...parts])
    for (const at of small) bytes.writeUIntBE(bytes[20 + at]! % 8, 20 + at, 6)
    bytes.writeUInt32BE(rowCount ?? rows.length, 56)
    bytes.writeUInt32BE(bytes.length - HEADER_BYTES, 60)
    bytes.writeUInt8(measure, MEASURE_AT)
    const start = crc32(bytes.subarray(0, CHECKSUM_AT), STAMP)
    bytes.writeUInt32BE(crc32(bytes.subarray(HEADER_BYTES), start), CHECKSUM_AT)
    return bytes
  })

/** A frame of one visit, as a writer makes it, with some bytes changed afterwards. */
const mutated = fc
  .array(fc.tuple(fc.nat({ max: 100 }), fc.nat({ max: 255 })), { maxLength: 3 })
  .map((changes) => {
    const row = Buffer.alloc(100)
    const visit = { time: Date.now(), visitor: null, page: '/forged' }
    const end = visitCodec.encode(visit, row, ROW_LENGTH_BYTES)
    row.writeUInt32BE(end - ROW_LENGTH_BYTES)
    const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), row.subarray(0, end)])
    sealFrame(bytes, FIRST_HEADER, randomBytes(16), STAMP)
    for (const [at, value] of changes) bytes[at % bytes.length] = value
    return bytes
  })

const hostile = fc
  .array(fc.oneof(forged, mutated, fc.uint8Array({ maxLength: 200 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => Buffer.concat(pieces))

test('frames are forged that are read as frames, and some that are not', () => {
  const isRead = fc.sample(forged, { numRuns: 1_000 }).map((bytes) => {
    const { frames, unreadable } = readCell(bytes, STAMP)
    assert.equal(frames.length + unreadable.length, 1)
    return frames.length === 1
  })
  for (const way of [true, false]) assert(isRead.filter((one) => one === way).length > 20)
})

const databases: Database[] = []
after(() => Promise.all(databases.map((database) => database.close())))

for (const [dialect, open] of [
  ['SQLite', () => openDatabase('sqlite::memory:').database],
  ['MySQL', async () => openDatabase(await sharedMysqlUrl()).database],
  ['PostgreSQL', async () => openDatabase(await sharedPostgresUrl()).database],
] as const) {
  describe(dialect, () => {
    test('whatever cells hold, the collector brings all visits beside it to SQL', async () => {
      const database = await open()
      databases.push(database)
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: WIDTH }), async (cells) => {
          const name = `hostile-${process.pid}-${run++}`
          const cache = memory()
          const activity = createActivity({
            name,
            cache,
            database,
            width: WIDTH,
            layerSeconds: LAYER_SECONDS,
            collect: false,
            logger: keptLog(),
          })
          await activity.migrate()
          const { rows } = await database.query('SELECT id FROM wide_cache_grids WHERE name = ?', [
            name,
          ])
          const grid = new Grid(rows[0]!['id'] as Buffer, {
            width: WIDTH,
            layerSeconds: LAYER_SECONDS,
          })
          const layer = grid.layers.at(Date.now())
          for (const [column, cell] of cells.entries()) {
            await cache.set(grid.keys.cell(layer, column), cell, 60)
          }
          for (let i = 0; i < 5; i++) activity.record({ visitor: `v${i}`, page: '/real' })
          await activity.flush()
          // The second one finds what the first has left.
          await activity.drain({ all: true })
          await activity.drain({ all: true })
          const ledger = await activity.ledger()
          await activity.close()
          await cache.close()
          const { rows: counted } = await database.query(
            'SELECT COUNT(*) AS n FROM activities WHERE name = ? AND page = ?',
            [name, '/real'],
          )
          assert.equal(Number(counted[0]!['n']), 5)
          assert(ledger.committed >= 5)
        }),
        { numRuns: dialect === 'SQLite' ? fewOrMany(60, 150) : fewOrMany(20, 50) },
      )
    })
  })
}
