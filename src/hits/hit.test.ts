import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { character } from '../../test/fast-check.js'
import { type Hit, hitCodec, isItem, MAX_ITEM_BYTES } from './hit.js'

const TARGET = 400

function encoded(hit: Hit, offset = 0): Buffer {
  const target = Buffer.alloc(TARGET, 0xee)
  const end = hitCodec.encode(hit, target, offset)
  assert(end > offset)
  return target.subarray(offset, end)
}

test('a hit comes back as it was, whatever its item', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      fc.option(fc.uint8Array({ minLength: 12, maxLength: 12 })),
      fc.string({ unit: character }).filter(isItem),
      fc.nat(100),
      (time, viewer, item, offset) => {
        const hit: Hit = { time, viewer: viewer && Buffer.from(viewer), item }
        assert.deepEqual(hitCodec.decode(encoded(hit, offset)), hit)
      },
    ),
  )
})

test('a hit that might not fit is not written', () => {
  const hit: Hit = { time: 1, viewer: Buffer.alloc(12), item: 'x'.repeat(MAX_ITEM_BYTES) }
  assert.equal(hitCodec.encode(hit, Buffer.alloc(274), 0), 274)
  assert.equal(hitCodec.encode(hit, Buffer.alloc(273), 0), -1)
})

test('bytes that are no hit are refused, so that they go to quarantine and stop nothing', () => {
  const hit = encoded({ time: 1, viewer: Buffer.alloc(12), item: 'a' })
  const longer = Buffer.concat([hit, Buffer.alloc(MAX_ITEM_BYTES, 'x')])
  // 100 bytes that become 300 when they are read as UTF-8.
  const broken = Buffer.concat([hit, Buffer.alloc(100, 0xff)])
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from([2, ...hit.subarray(1)]),
    hit.subarray(0, 19),
    longer,
    broken,
  ]) {
    assert.throws(() => hitCodec.decode(bytes))
  }
})
