import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SEED } from '../commit-seed.js'
import { fewOrMany } from '../scale.js'
import { PlainProcess } from '../simulated-world/plain-process.js'
import { withReplaced } from '../simulation/plant.js'
import { replacementsOf } from '../simulation/planted-bug.js'
import { firstSeeds } from '../simulation/seeds.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import type { Found } from './search.js'

const SEARCH = new URL('./search.ts', import.meta.url)
const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const SEEDS = firstSeeds(fewOrMany(25, 600), SEED)
const SEEDS_OF_TRACES = firstSeeds(5, SEED)
/** Number of seeds that may pass before a planted bug is found. */
const SEEDS_A_BUG = 300
/** Worlds take turns at the event loop, whose own turns cost as much as an event. */
const LANES = 8

const simulation = new PlainProcess()
after(() => simulation.end())

/** Runs seeds until one breaks a promise. */
function run(
  source: string,
  seeds: readonly number[],
  lanes = LANES,
  bug?: string,
): Promise<Found> {
  return simulation.call(SEARCH, 'run', source, seeds, lanes, bug)
}

test(`${SEEDS.length} seeds of faults: numbers are unique and grow; few are skipped`, async () => {
  const { outcomes, broken } = await run(SOURCE, SEEDS)
  assert.equal(broken, undefined)
  const numbers = outcomes.reduce((sum, outcome) => sum + outcome.numbers, 0)
  assert(numbers > 100 * SEEDS.length, `only ${numbers} numbers`)
})

test('same seed, same trace', async () => {
  const alone = await run(SOURCE, SEEDS_OF_TRACES, 1)
  assert.equal(alone.outcomes.length, SEEDS_OF_TRACES.length)
  assert.deepEqual(await run(SOURCE, SEEDS_OF_TRACES, SEEDS_OF_TRACES.length), alone)
})

for (const bug of PLANTED_BUGS) {
  test(`the simulation finds it when ${bug.name}`, () =>
    withReplaced(replacementsOf(bug), async (source) => {
      const { broken } = await run(source, firstSeeds(SEEDS_A_BUG), LANES, bug.name)
      assert.match(broken ?? `${SEEDS_A_BUG} seeds pass`, bug.message)
    }))
}
