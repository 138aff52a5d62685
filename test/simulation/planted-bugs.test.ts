import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL } from '../scale.js'
import { loadHeart } from './heart.js'
import { withReplaced } from './plant.js'
import type { PlantedBug } from './planted-bug.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { simulate } from './simulate.js'

/** How many seeds may pass before a bug is found. */
const SEEDS = 500

/**
 * The seed that is known to find the bug, then all. In `npm run test:all` only the latter, so that
 * each bug is known to be found within them.
 */
function seedsOf({ seed }: PlantedBug): number[] {
  const seeds = Array.from({ length: SEEDS }, (_, index) => index)
  return seed === undefined || ALL ? seeds : [seed, ...seeds]
}

for (const bug of PLANTED_BUGS) {
  test(`the simulation finds it when ${bug.name}`, (t) =>
    withReplaced([bug, ...(bug.with ? [bug.with] : [])], async (source) => {
      const heart = await loadHeart(source)
      for (const seed of seedsOf(bug)) {
        const broken = await simulate(heart, seed).then(
          () => undefined,
          (error: unknown) => String(error),
        )
        if (broken === undefined) continue
        assert.match(broken, bug.told, `seed ${seed}`)
        t.diagnostic(`found by seed ${seed}`)
        return
      }
      assert.fail(`${SEEDS} seeds pass`)
    }))
}
