import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SEED } from '../commit-seed.js'
import { fewOrMany } from '../scale.js'
import { PlainProcess } from '../simulated-world/plain-process.js'
import { withReplaced } from './plant.js'
import { SMALL_BATCHES } from './planted-bug.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { firstSeeds, runSeeds } from './seeds.js'
import { SEED_OF_ZONES } from './scenario.js'
import type { Outcome } from './simulate.js'

/** Seeds that have broken a promise once. */
const BROKEN_BEFORE = [724, 1019, 1168, 1230, 1367, 1643, 1705, 2447, 3108, 6007, 18_028]

/** Among them one for each planted bug that finds it. */
const SEEDS = distinct([
  ...BROKEN_BEFORE,
  SEED_OF_ZONES,
  ...firstSeeds(fewOrMany(5, 5_000), SEED),
  ...PLANTED_BUGS.flatMap(({ seed }) => seed ?? []),
])
const SEEDS_OF_SMALL_BATCHES = firstSeeds(fewOrMany(3, 1_000), SEED)
const SEEDS_OF_TRACES = firstSeeds(fewOrMany(2, 40), SEED)
const SEARCH = new URL('./search.ts', import.meta.url)
const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))

function distinct(seeds: readonly number[]): number[] {
  return [...new Set(seeds)]
}

async function keepsItsPromises(source: string, seeds: readonly number[]): Promise<void> {
  const { failures, done, rows } = await runSeeds({
    source,
    seeds,
    processes: availableParallelism(),
  })
  assert.deepEqual(
    failures.map(
      ({ seed, error }) => `seed ${seed}: ${error}; again: npm run simulate -- --seed ${seed}`,
    ),
    [],
  )
  assert.equal(done, seeds.length)
  assert.ok(rows > 50 * seeds.length, `only ${rows} rows`)
}

test('same seed, same trace', async () => {
  const outcomes = async (way: 'alone' | 'at once'): Promise<Outcome[]> => {
    const simulation = new PlainProcess()
    try {
      return await simulation.call(SEARCH, 'outcomesOf', SOURCE, SEEDS_OF_TRACES, way)
    } finally {
      simulation.end()
    }
  }
  const [alone, atOnce] = await Promise.all([outcomes('alone'), outcomes('at once')])
  assert.equal(alone.length, SEEDS_OF_TRACES.length)
  assert.deepEqual(atOnce, alone)
  assert.equal(new Set(alone.map(({ hash }) => hash)).size, alone.length)
})

test(`${SEEDS.length} seeds of faults break no promise of the design`, () =>
  keepsItsPromises(SOURCE, SEEDS))

test(`nor do ${SEEDS_OF_SMALL_BATCHES.length} with batches of two frames`, () =>
  withReplaced([SMALL_BATCHES], (source) => keepsItsPromises(source, SEEDS_OF_SMALL_BATCHES)))
