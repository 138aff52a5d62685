import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from '../../test/fast-check.js'
import { FIRST_HEADER } from './frame.fixture.js'
import { HEADER_BYTES, readCell, ROW_LENGTH_BYTES, rowsOf, sealFrame, stampOf } from './frame.js'

const STAMP = stampOf('rows')

const count = fc.nat({ max: 2 ** 47 })
const frames = fc
  .record({
    writer: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    sequence: count,
    issued: count,
    floorDistance: fc.nat({ max: 1000 }),
    floorAt: count,
    dropped: count,
    measure: fc.nat({ max: 255 }),
    rows: fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 5 }),
  })
  .map(({ writer, sequence, issued, floorDistance, floorAt, dropped, measure, rows }) => {
    const floor = Math.max(0, sequence - floorDistance)
    const header = {
      sequence,
      issued,
      floor,
      floorIssued: Math.max(0, issued - floorDistance),
      floorAt,
      dropped,
      rowCount: rows.length,
      measure,
    }
    const parts = rows.flatMap((row) => {
      const length = Buffer.alloc(ROW_LENGTH_BYTES)
      length.writeUInt32BE(row.length)
      return [length, Buffer.from(row)]
    })
    const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts])
    sealFrame(bytes, header, Buffer.from(writer), STAMP)
    return {
      header: { writer: Buffer.from(writer).toString('hex'), ...header },
      rows: rows.map((row) => Buffer.from(row)),
      bytes,
    }
  })

test('a cell gives back the frames that were appended, in order and with all rows', () => {
  fc.assert(
    fc.property(fc.array(frames), (appended) => {
      const { frames: read, unreadable } = readCell(
        Buffer.concat(appended.map(({ bytes }) => bytes)),
        STAMP,
      )
      assert.deepEqual(unreadable, [])
      assert.deepEqual(
        read.map(({ bytes: _, ...header }) => header),
        appended.map(({ header }) => header),
      )
      assert.deepEqual(
        read.map(rowsOf),
        appended.map(({ rows }) => rows),
      )
    }),
  )
})

test('unreadable pieces of any size are told apart, and cost no whole neighbour', () => {
  const unreadablePiece = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.tuple(frames, fc.nat({ max: 1000 })).map(([{ bytes }, cut]) => {
      let end = 1 + (cut % (bytes.length - 1))
      // Or else the next frame's first byte could be the very one that is missing.
      while (end > 1 && bytes[end] === 'W'.charCodeAt(0)) end--
      return bytes.subarray(0, end)
    }),
    fc.tuple(frames, fc.nat({ max: 1000 })).map(([{ bytes }, at]) => {
      const damaged = Buffer.from(bytes)
      damaged[at % damaged.length]! ^= 0x40
      return damaged
    }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.tuple(unreadablePiece, frames), { minLength: 1 }),
      unreadablePiece,
      (pairs, last) => {
        const cell = Buffer.concat([...pairs.flatMap(([piece, { bytes }]) => [piece, bytes]), last])
        const { frames: read, unreadable } = readCell(cell, STAMP)
        assert.deepEqual(
          read.map(({ bytes }) => bytes),
          pairs.map(([, { bytes }]) => bytes),
        )
        const unreadableBytes = pairs.reduce((sum, [piece]) => sum + piece.length, last.length)
        assert.equal(
          unreadable.reduce((sum, piece) => sum + piece.length, 0),
          unreadableBytes,
        )
      },
    ),
  )
})

test('what no writer can have sealed is no frame, though its checksum is right', () => {
  const CHECKSUM_AT = HEADER_BYTES - 4
  const forged = (change: (bytes: Buffer) => void): number => {
    const bytes = Buffer.alloc(HEADER_BYTES + 2 * (ROW_LENGTH_BYTES + 1))
    for (const row of [0, 1]) bytes.writeUInt32BE(1, HEADER_BYTES + row * (ROW_LENGTH_BYTES + 1))
    const header = { ...FIRST_HEADER, sequence: 7, issued: 20, rowCount: 2 }
    sealFrame(bytes, { ...header, floor: 5, floorIssued: 12 }, Buffer.alloc(16, 1), STAMP)
    change(bytes)
    const start = crc32(bytes.subarray(0, CHECKSUM_AT), STAMP)
    bytes.writeUInt32BE(crc32(bytes.subarray(HEADER_BYTES), start), CHECKSUM_AT)
    return readCell(bytes, STAMP).frames.length
  }
  const found = {
    'as it was': forged(() => undefined),
    'a floor at the frame': forged((bytes) => bytes.writeUIntBE(7, 32, 6)),
    'a floor above the frame': forged((bytes) => bytes.writeUIntBE(8, 32, 6)),
    'as many rows before the floor': forged((bytes) => bytes.writeUIntBE(20, 38, 6)),
    'more rows before the floor than before the frame': forged((bytes) =>
      bytes.writeUIntBE(21, 38, 6),
    ),
    'no rows': forged((bytes) => bytes.writeUInt32BE(0, 56)),
    'more rows than bytes': forged((bytes) => bytes.writeUInt32BE(3, 56)),
  }
  assert.deepEqual(Object.values(found), [1, 1, 0, 1, 0, 0, 0], JSON.stringify(found))
})

test('no bytes at all make reading throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      const { frames: read, unreadable } = readCell(Buffer.from(bytes), STAMP)
      assert.equal(read.length, 0)
      assert.equal(Buffer.concat(unreadable).length, bytes.length)
    }),
  )
})

test('any damaged bit makes a frame unreadable', () => {
  fc.assert(
    fc.property(frames, fc.nat(), ({ bytes }, bit) => {
      const damaged = Buffer.from(bytes)
      damaged[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7)
      assert.equal(readCell(damaged, STAMP).frames.length, 0)
    }),
  )
})

test('a frame of another kind is unreadable, whole as it is', () => {
  fc.assert(
    fc.property(frames, fc.string(), ({ bytes }, kind) => {
      fc.pre(kind !== 'rows')
      const { frames: read, unreadable } = readCell(bytes, stampOf(kind))
      assert.equal(read.length, 0)
      assert.deepEqual(Buffer.concat(unreadable), bytes)
    }),
  )
})

test('a frame whose rows do not add up is an error, not fewer rows', () => {
  fc.assert(
    fc.property(
      frames,
      fc.constantFrom('one row more', 'one row less', 'a byte left over'),
      ({ header, rows, bytes }, how) => {
        fc.pre(rows.length > 0)
        const wrong = {
          ...header,
          bytes: how === 'a byte left over' ? Buffer.concat([bytes, Buffer.alloc(1)]) : bytes,
          rowCount:
            header.rowCount + (how === 'one row more' ? 1 : how === 'one row less' ? -1 : 0),
        }
        assert.throws(() => rowsOf(wrong), RangeError)
      },
    ),
  )
})
