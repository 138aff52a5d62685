import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../../support/logger.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { Chores } from './chores.js'

const NOW = 1_700_000_000_000

/** Chores on SQL that may be away. */
function bench(isMore = false) {
  const clock = new ManualClock(NOW)
  const world = { isAway: false, statements: 0 }
  const chores = new Chores({
    settings: {
      name: 'test',
      periodSeconds: 1,
      removeOld: async () => isMore,
      afterDrain: undefined,
      afterRun: undefined,
    },
    clock,
    database: {
      async query() {
        world.statements++
        if (world.isAway) throw new Error('away')
        return { rows: [], affectedRows: 0 }
      },
    } as never,
    watch: { now: async () => clock.now() } as never,
    logger: new BurstLogger(SILENT, clock.elapsed),
  })
  return { clock, world, chores }
}

test('a removal that fails is due again a minute later, and not at each run', async () => {
  const { clock, world, chores } = bench()
  world.isAway = true
  await assert.rejects(chores.run(NOW, 0), /away/)
  await clock.advance(59_999)
  assert(!chores.isDue(0))
  world.isAway = false
  await clock.advance(1)
  assert(chores.isDue(0))
  await chores.run(NOW, 0)
  assert(!chores.isDue(0))
})

test('where there is more to remove than one call removes, the next is due at once', async () => {
  const { chores } = bench(true)
  await chores.run(NOW, 0)
  assert(chores.isDue(0))
})
