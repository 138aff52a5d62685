import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frameBatches, byWriter } from './frame-batches.js'

const frames = (...rowCounts: readonly number[]): { rowCount: number }[] =>
  rowCounts.map((rowCount) => ({ rowCount }))
const rows = (batches: readonly { rowCount: number }[][]): number[][] =>
  batches.map((batch) => batch.map(({ rowCount }) => rowCount))

test('a batch is filled with frames up to its row limit; a larger frame is alone', () => {
  assert.deepEqual(frameBatches([], 10), [])
  assert.deepEqual(rows(frameBatches(frames(4, 6, 1, 9, 10, 11, 1), 10)), [
    [4, 6],
    [1, 9],
    [10],
    [11],
    [1],
  ])
  assert.deepEqual(rows(frameBatches(frames(11, 1, 9, 1), 10)), [[11], [1, 9], [1]])
})

test('a batch has 2,000 frames at most', () => {
  assert.deepEqual(
    frameBatches(frames(...Array<number>(4_001).fill(1)), 1e9).map(({ length }) => length),
    [2_000, 2_000, 1],
  )
})

test('frames are sorted so that those of one writer are together and ascending', () => {
  const mixed = [
    ['a', 10],
    ['b', 2],
    ['a', 9],
    ['b', 1],
    ['c', 5],
    ['a', 11],
  ].map(([writer, sequence]) => ({ writer: String(writer), sequence: Number(sequence) }))
  assert.deepEqual(
    byWriter(mixed).map(({ writer, sequence }) => `${writer}${sequence}`),
    ['a9', 'a10', 'a11', 'b1', 'b2', 'c5'],
  )
})
