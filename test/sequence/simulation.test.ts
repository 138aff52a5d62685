import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fewOrMany } from '../scale.js'
import { withReplaced } from '../simulation/plant.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { load, type Loaded, type Outcome, simulate } from './simulate.js'

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const SEEDS = fewOrMany(60, 600)
/** How many seeds may pass before a planted bug is found. */
const SEEDS_A_BUG = 300
/** Worlds take turns at the event loop, whose own turns cost as much as an event. */
const LANES = 8

/** Runs seeds until one breaks a promise, which it returns. */
async function run(
  loaded: Loaded,
  seeds: number,
): Promise<{ outcomes: Outcome[]; broken: string | undefined }> {
  const outcomes: Outcome[] = []
  let broken: string | undefined
  let next = 0
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      while (next < seeds && broken === undefined) {
        const seed = next++
        try {
          outcomes[seed] = await simulate(loaded, seed)
        } catch (error) {
          broken ??=
            `seed ${seed}: ${String(error)}; again: node --import tsx ` +
            `test/sequence/seeds.ts ${seed} 1`
        }
      }
    }),
  )
  return { outcomes, broken }
}

test(`${SEEDS} seeds of faults: numbers are unique and grow; few are skipped`, async () => {
  const { outcomes, broken } = await run(await load(SOURCE), SEEDS)
  assert.equal(broken, undefined)
  const numbers = outcomes.reduce((sum, outcome) => sum + outcome.numbers, 0)
  assert(numbers > 500 * SEEDS, `only ${numbers} numbers`)
})

test('same seed, same trace', async () => {
  const loaded = await load(SOURCE)
  const seeds = [1, 2, 3, 4, 5]
  const alone = []
  for (const seed of seeds) alone.push(await simulate(loaded, seed))
  assert.deepEqual(await Promise.all(seeds.map((seed) => simulate(loaded, seed))), alone)
})

for (const bug of PLANTED_BUGS) {
  test(`the simulation finds it when ${bug.name}`, () =>
    withReplaced([bug], async (source) => {
      const { broken } = await run(await load(source), SEEDS_A_BUG)
      assert.match(broken ?? `${SEEDS_A_BUG} seeds pass`, bug.told)
    }))
}
