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
      async query(sql: string) {
        world.statements++
        if (world.isAway) throw new Error('away')
        const isOfClock = sql.startsWith('SELECT safe_at')
        return { rows: isOfClock ? [{ safe_at: clock.now() }] : [], affectedRows: 0 }
      },
    } as never,
    watch: { recent: async () => clock.now() } as never,
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

test('old entries are looked for every ten minutes, and after a failure', async () => {
  const { clock, world, chores } = bench()
  const asked: number[] = []
  for (let minute = 0; minute < 12; minute++) {
    world.statements = 0
    world.isAway = minute === 0
    await chores.run(NOW, 0).catch(() => undefined)
    asked.push(world.statements)
    await clock.advance(60_000)
  }
  assert.deepEqual(asked, [1, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 6])
})

test('where there is more to remove than one call removes, the next is due at once', async () => {
  const { chores } = bench(true)
  await chores.run(NOW, 0)
  assert(chores.isDue(0))
})
