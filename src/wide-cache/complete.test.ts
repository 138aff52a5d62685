import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completeUpTo } from './complete.js'
import { Layers } from './layers.js'
import type { UsedGrid, UsedGrids } from './used-grids.js'

const SECOND = 1_000
const NOW = 1_800_000_000_000
/** Time that the answer about the grids has taken. */
const ANSWERED_MS = 2_000

/** A grid of three-second layers, drained up to so many seconds before now. */
function grid(drainedAgo: number, more: Partial<UsedGrid> = {}): UsedGrid {
  const layers = more.layers ?? new Layers(3)
  return {
    layers,
    watermark: layers.at(NOW - drainedAgo * SECOND) - 1,
    completeTo: 0,
    leaptFrom: undefined,
    periodSeconds: 3,
    drainAfterLayers: 2,
    ...more,
  }
}

/** How many seconds ago all is in SQL, whether that is stale, and whether no collector comes. */
function read(grids: readonly UsedGrid[], more: Partial<UsedGrids> = {}) {
  const directMs = 75 * SECOND
  const used = { grids, missingSince: undefined, directMs, directTo: NOW - directMs, ...more }
  const { asOf, overdueMs, collects } = completeUpTo(used, NOW, NOW + ANSWERED_MS)
  return [(NOW - asOf) / SECOND, overdueMs > 0, !collects]
}

test('figures end with the grid that is drained least far', () => {
  assert.deepEqual(read([grid(6)]), [6, false, false])
  assert.deepEqual(read([grid(6), grid(9), grid(3)]), [9, false, false])
})

test('they are stale if the collectors of a grid are late by more than two periods', () => {
  assert.deepEqual(read([grid(18)]), [18, false, false])
  assert.deepEqual(read([grid(21)]), [21, true, false])
  assert.deepEqual(read([grid(69, { periodSeconds: 30 })]), [69, false, false])
  assert.deepEqual(read([grid(72, { periodSeconds: 30 })]), [72, true, false])
  assert.deepEqual(read([grid(24, { drainAfterLayers: 4 })]), [24, false, false])
})

test('after a leap of the watermark they end where it leapt from, unless writers have come', () => {
  const leaptFrom = NOW - 300 * SECOND
  const unproven = { directTo: 0 }
  assert.deepEqual(read([grid(6, { leaptFrom })], unproven), [300, true, false])
  assert.deepEqual(read([grid(6), grid(9, { leaptFrom })], unproven), [300, true, false])
  const completeTo = NOW - 9 * SECOND
  assert.deepEqual(read([grid(600, { leaptFrom, completeTo })], unproven), [300, true, false])
  assert.deepEqual(read([grid(6, { leaptFrom })]), [75, true, false])
})

test('without collectors they end where living writers have committed all', () => {
  assert.deepEqual(read([grid(75)]), [75, true, false])
  assert.deepEqual(read([grid(3_600)]), [75, true, true])
  assert.deepEqual(read([grid(6), grid(3_600)]), [75, true, false], 'another grid has collectors')
  assert.deepEqual(read([grid(3_600), grid(3_600)]), [75, true, true])
})

test('where it is not proven that SQL takes writes, only what collectors brought is there', () => {
  const unproven = { directTo: 0 }
  assert.deepEqual(read([grid(3_600)], unproven), [3_600, true, true])
  assert.deepEqual(read([grid(6), grid(3_600)], unproven), [3_600, true, false])
  const missingSince = NOW - 3_600_000
  assert.deepEqual(read([grid(6)], { missingSince, ...unproven }), [3_600, true, false])
  const provenBefore = { directTo: NOW - 300 * SECOND }
  assert.deepEqual(read([grid(3_600)], provenBefore), [300, true, true])
  const proofAhead = { directTo: NOW + ANSWERED_MS + 1 }
  assert.deepEqual(read([grid(3_600)], proofAhead), [3_600, true, true], 'the clock was ahead')
})

test('without any grid nothing is known to be there', () => {
  const { asOf, overdueMs } = completeUpTo(
    { grids: [], missingSince: undefined, directMs: 0, directTo: 0 },
    NOW,
    NOW,
  )
  assert.deepEqual([asOf, overdueMs > 0], [0, true])
})

test('a layer that is drained while the grids are read is not ahead of the clock', () => {
  const layers = new Layers(1)
  const oneSecond = (ago: number) => grid(0, { layers, watermark: layers.at(NOW - ago) - 1 })
  assert.deepEqual(read([oneSecond(-2_000)]), [0, false, false])
  assert.deepEqual(read([oneSecond(-3_000)]), [75, true, false])
})

test('a row that is missing ends them, for as long as its writer may bring it', () => {
  assert.deepEqual(read([grid(6)], { missingSince: NOW - 12_345 }), [12.345, false, false])
  assert.deepEqual(read([grid(6)], { missingSince: NOW - 1_000 }), [6, false, false])
  assert.deepEqual(read([grid(6)], { missingSince: NOW - 30_000 }), [30, true, false])
  assert.deepEqual(read([grid(6)], { missingSince: NOW - 3_600_000 }), [75, true, false])
})

test('a watermark ahead of the clock says nothing, and they are stale', () => {
  assert.deepEqual(read([grid(0)]), [0, false, false])
  assert.deepEqual(read([grid(-3)]), [75, true, false])
  assert.deepEqual(read([grid(6), grid(-7_200)]), [75, true, false])
  assert.deepEqual(read([grid(6, { completeTo: NOW + ANSWERED_MS + 1 })]), [6, false, false])
})

test('without a proof, figures beside a watermark ahead of the clock stay as they were', () => {
  const used = { missingSince: undefined, directMs: 75 * SECOND, directTo: 0 }
  const asOf = (grids: readonly UsedGrid[], told: number) =>
    NOW - completeUpTo({ grids, ...used }, NOW, NOW, told).asOf
  assert.equal(asOf([grid(-7_200)], NOW - 8_000), 8_000)
  assert.equal(asOf([grid(9), grid(-7_200)], NOW - 8_000), 9_000)
  assert.equal(asOf([grid(-7_200)], NOW + 3_600_000), NOW, 'they were of a clock ahead, too')
})

test('long layers that were read early end them with the shortest ones', () => {
  const long = { layers: new Layers(600), completeTo: NOW - 9 * SECOND }
  assert.deepEqual(read([grid(6), grid(1_200, long)]), [9, false, false])
  const late = { ...long, completeTo: NOW - 21 * SECOND }
  assert.deepEqual(read([grid(6), grid(1_200, late)]), [21, true, false])
})
