import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PlainProcess } from '../simulated-world/plain-process.js'
import { ALL, ALL_VARIABLE, fewOrMany } from '../scale.js'
import { withReplaced } from './plant.js'
import { type PlantedBug, replacementsOf } from './planted-bug.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import type { Broken } from './search.js'
import { firstSeeds } from './seeds.js'

/** Number of seeds that may pass before a bug is found. */
const SEEDS = 1_500
/**
 * In `npm test` one bug of so many is searched for. The text that the others replace must still be
 * there; the compiler looks for the methods.
 */
const SEARCHED = fewOrMany(4, 1)
const SEARCH = new URL('./search.ts', import.meta.url)

const simulation = new PlainProcess()
after(() => simulation.end())

/**
 * The seed that is known to find the bug: to search for another takes minutes. In `npm run
 * test:all` the first ones, so that each bug is known to be found within them.
 */
function seedsOf({ seed }: PlantedBug): number[] {
  return seed === undefined || ALL ? firstSeeds(SEEDS) : [seed]
}

for (const [index, bug] of PLANTED_BUGS.entries()) {
  const replaced = replacementsOf(bug)
  if (index % SEARCHED > 0) {
    if (replaced.length > 0) {
      test(`this can be planted: ${bug.name}`, () =>
        assert.doesNotReject(withReplaced(replaced, async () => undefined)))
    }
    continue
  }
  test(`the simulation finds it when ${bug.name}`, (t) =>
    withReplaced(replaced, async (source) => {
      const seeds = seedsOf(bug)
      const broken = await simulation.call<Broken | undefined>(
        SEARCH,
        'firstBroken',
        source,
        seeds,
        bug.name,
      )
      assert(broken, `${seeds.length} seeds pass; ${ALL_VARIABLE}=1 searches ${SEEDS}`)
      assert.match(broken.told, bug.message, `seed ${broken.seed}`)
      t.diagnostic(`found by seed ${broken.seed}`)
    }))
}
