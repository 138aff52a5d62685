import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { character } from '../../test/fast-check.js'
import { pageOf } from './page.js'
import { VISITOR_BYTES } from '../visitors/visitor.js'
import { fitText } from './text.js'
import { MAX_DIMENSIONS, MAX_VALUE_BYTES, packDimensions } from './packed-dimensions.js'
import { MAX_TIME, type Visit, visitCodec } from './visit.js'

const value = fc
  .string({ unit: character, minLength: 1, maxLength: 300 })
  .map((text) => fitText(text, MAX_VALUE_BYTES))

const visits = fc.record(
  {
    time: fc.integer({ min: 0, max: MAX_TIME }),
    visitor: fc.option(
      fc
        .uint8Array({ minLength: VISITOR_BYTES, maxLength: VISITOR_BYTES })
        .map((bytes) => Buffer.from(bytes)),
    ),
    page: fc.string({ unit: character, maxLength: 1200 }).map(pageOf),
    dimensions: fc.option(
      fc
        .array(fc.tuple(fc.stringMatching(/^[A-Za-z0-9_.-]{1,32}$/), value), {
          minLength: 1,
          maxLength: MAX_DIMENSIONS,
        })
        .map((pairs) => packDimensions(pairs.flat())),
      { nil: undefined },
    ),
  },
  { noNullPrototype: true },
)

test('a visit comes back from its bytes as it was', () => {
  fc.assert(
    fc.property(visits, fc.integer({ min: 0, max: 100 }), (visit: Visit, offset) => {
      const target = Buffer.alloc(8000, 0xaa)
      const end = visitCodec.encode(visit, target, offset)
      assert.deepEqual(visitCodec.decode(target.subarray(offset, end)), visit)
      assert(
        target.subarray(0, offset).every((byte) => byte === 0xaa) &&
          target.subarray(end).every((byte) => byte === 0xaa),
      )
    }),
  )
})

test('a visit takes exactly the room it needs, and says when there is less', () => {
  fc.assert(
    fc.property(visits, (visit: Visit) => {
      const needed = visitCodec.encode(visit, Buffer.alloc(8000), 0)
      assert.equal(visitCodec.encode(visit, Buffer.alloc(needed), 0), needed)
      for (const room of [needed - 1, Math.floor(needed / 2), 3, 0]) {
        assert.equal(visitCodec.encode(visit, Buffer.alloc(room), 0), -1)
      }
    }),
  )
})

test('a short visit costs few bytes', () => {
  const bytes = visitCodec.encode(
    { time: Date.now(), visitor: Buffer.alloc(VISITOR_BYTES), page: '/threads/1' },
    Buffer.alloc(100),
    0,
  )
  assert.equal(bytes, 1 + 6 + 12 + 10)
})

test('bytes that are no visit are refused', () => {
  for (const bytes of [
    [],
    [0],
    [0, 1, 2, 3, 4, 5],
    [1, 0, 0, 0, 0, 0, 0, 9, 9],
    [2, 0, 0, 0, 0, 0, 0],
    // Dimensions: none, an empty name, a name alone, longer than they say, longer than the visit.
    [2, 0, 0, 0, 0, 0, 0, 0, 0],
    [2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 97],
    [2, 0, 0, 0, 0, 0, 0, 0, 2, 1, 97],
    [2, 0, 0, 0, 0, 0, 0, 0, 4, 1, 97, 2, 97],
    [2, 0, 0, 0, 0, 0, 0, 0, 5, 1, 97, 1, 97],
    [123, 34, 97, 34, 58, 49, 125],
  ]) {
    assert.throws(() => visitCodec.decode(Buffer.from(bytes)), /no visit/)
  }
})
