import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { systemClock } from '../support/clock.js'
import { jsonCodec } from '../support/exact-json.js'
import { FIRST_HEADER } from './frame.fixture.js'
import { HEADER_BYTES, ROW_LENGTH_BYTES, sealFrame } from './frame.js'
import { Grid } from './grid.js'
import { readLive } from './live.js'

const MIB = 1024 * 1024
const STAMP = 7

/** A frame of one row. */
function frameOf(row: unknown, sequence: number, measure = 0): Buffer {
  const text = Buffer.from(JSON.stringify(row))
  const bytes = Buffer.alloc(HEADER_BYTES + ROW_LENGTH_BYTES + text.length)
  bytes.writeUInt32BE(text.length, HEADER_BYTES)
  text.copy(bytes, HEADER_BYTES + ROW_LENGTH_BYTES)
  const header = { ...FIRST_HEADER, sequence, issued: sequence, measure }
  sealFrame(bytes, header, Buffer.alloc(16, 1), STAMP)
  return bytes
}

/** A grid of three columns and layers of a second, at 100 s. */
function bench(cells: Readonly<Record<string, Buffer>>) {
  const grid = new Grid(Buffer.alloc(16, 2), { width: 3, layerSeconds: 1 })
  const cache: Cache = memory({ maxBytes: 100 * MIB, maxItemBytes: 20 * MIB })
  const asked: string[] = []
  const listening: Cache = Object.assign(Object.create(cache) as Cache, {
    getMany: (keys: readonly string[]) => {
      asked.push(...keys)
      return cache.getMany(keys)
    },
  })
  const rows: unknown[] = []
  return {
    rows,
    asked,
    read: async (since: number) => {
      for (const [place, bytes] of Object.entries(cells)) {
        const [layer, column] = place.split(':').map(Number)
        await cache.set(grid.keys.cell(layer!, column!), bytes, 60)
      }
      const parts = {
        cache: listening,
        grid,
        stamp: STAMP,
        measure: 0,
        codec: jsonCodec<unknown>(),
        clock: systemClock,
      }
      return readLive(parts, { since, now: 100_500 }, (row) => rows.push(row))
    },
  }
}

test('the layers from since on are read, each frame once, and noise is left', async () => {
  const twice = frameOf('twice', 1)
  const broken = frameOf('broken', 2)
  broken.writeUInt8(broken.at(-1)! ^ 1, broken.length - 1)
  const { read, rows } = bench({
    '97:0': frameOf('too old', 0),
    '98:2': twice,
    '100:0': Buffer.concat([twice, Buffer.from('noise'), broken, frameOf('new', 3)]),
    '100:1': frameOf('other', 0, 1),
    '101:1': frameOf('a clock is ahead', 4),
  })
  const { layers, sampled } = await read(98_000)
  assert.deepEqual(rows, ['twice', 'new', 'a clock is ahead'], 'the other measure is passed by')
  assert.deepEqual(
    layers.map(({ start, rows }) => [start, rows]),
    [
      [98_000, 1],
      [99_000, 0],
      [100_000, 1],
      [101_000, 1],
    ],
  )
  assert.deepEqual(
    layers[2]!.cells.map(({ frames }) => frames),
    [2, 1, 0],
  )
  assert.equal(sampled, false)
})

test('no more than the 20 newest layers are read', async () => {
  const { read, asked } = bench({})
  assert.equal((await read(0)).layers.length, 20)
  assert.equal(asked.length, 60)
})

test('past 1 MiB only some columns are read, and the answer says so', async () => {
  const { read, asked } = bench({ '100:0': Buffer.alloc(5 * MIB), '100:2': frameOf('unread', 0) })
  const { layers, sampled } = await read(100_000)
  assert.equal(sampled, true)
  assert.deepEqual(
    layers.map(({ cells }) => cells.length),
    [1, 1],
  )
  assert.equal(asked.length, 2)
})
