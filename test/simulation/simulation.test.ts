import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fewOrMany } from '../scale.js'
import { loadHeart } from './heart.js'
import { withReplaced } from './plant.js'
import { SMALL_BATCHES } from './planted-bug.js'
import { runSeeds } from './seeds.js'
import { simulate } from './simulate.js'

const SEEDS = fewOrMany(300, 20_000)
const SEEDS_OF_SMALL_BATCHES = fewOrMany(60, 3_000)
const SEEDS_OF_TRACES = fewOrMany(20, 40)
const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))

async function keepsItsPromises(source: string, seeds: number): Promise<void> {
  const { failures, done, rows } = await runSeeds({
    source,
    from: 0,
    seeds,
    processes: availableParallelism(),
  })
  assert.deepEqual(
    failures.map(
      ({ seed, error }) => `seed ${seed}: ${error}; again: npm run simulate -- --seed ${seed}`,
    ),
    [],
  )
  assert.equal(done, seeds)
  assert.ok(rows > 50 * seeds, `only ${rows} rows`)
}

test('same seed, same trace', async () => {
  const heart = await loadHeart(SOURCE)
  const alone = []
  for (let seed = 0; seed < SEEDS_OF_TRACES; seed++) alone.push(await simulate(heart, seed))
  const atOnce = await Promise.all(alone.map((_, seed) => simulate(heart, seed)))
  assert.deepEqual(atOnce, alone)
  assert.equal(new Set(alone.map(({ hash }) => hash)).size, alone.length)
})

test(`${SEEDS} seeds of faults break no promise of the design`, () =>
  keepsItsPromises(SOURCE, SEEDS))

test(`nor do ${SEEDS_OF_SMALL_BATCHES} with batches of two frames`, () =>
  withReplaced([SMALL_BATCHES], (source) => keepsItsPromises(source, SEEDS_OF_SMALL_BATCHES)))
