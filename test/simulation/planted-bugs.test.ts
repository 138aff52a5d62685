import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadHeart } from './heart.js'
import { withReplaced } from './plant.js'
import { PLANTED_BUGS } from './planted-bugs.js'
import { simulate } from './simulate.js'

/** How many seeds may pass before a bug is found. */
const SEEDS = 500

for (const bug of PLANTED_BUGS) {
  test(`the simulation finds it when ${bug.name}`, () =>
    withReplaced([bug, ...(bug.with ? [bug.with] : [])], async (source) => {
      const heart = await loadHeart(source)
      for (let seed = 0; seed < SEEDS; seed++) {
        const broken = await simulate(heart, seed).then(
          () => undefined,
          (error: unknown) => String(error),
        )
        if (broken === undefined) continue
        assert.match(broken, bug.told, `seed ${seed}`)
        return
      }
      assert.fail(`${SEEDS} seeds pass`)
    }))
}
