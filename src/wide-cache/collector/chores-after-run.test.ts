import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { Chores } from './chores.js'

const NOW = 1_700_000_000_000

/** Chores that remove and recount, unless the latter fails. Notes the order. */
function bench() {
  const clock = new ManualClock(NOW)
  const done: string[] = []
  const world = { fails: false, agreedMs: Infinity }
  const chores = new Chores({
    settings: {
      name: 'test',
      removeOld: async () => void done.push('removes'),
      async afterRun() {
        done.push('recounts')
        if (world.fails) throw new Error('away')
      },
    },
    clock,
    database: { query: async () => ({ rows: [], affectedRows: 0 }) } as never,
    watch: world as never,
  })
  return { clock, done, world, chores }
}

test('a recount comes after a removal, so that it counts nothing that is gone', async () => {
  const { done, chores } = bench()
  await chores.run(NOW)
  assert.deepEqual(done, ['removes', 'recounts'])
})

test('a recount that fails is due again ten seconds later, and not at each run', async () => {
  const { clock, done, world, chores } = bench()
  world.agreedMs = 0
  world.fails = true
  await assert.rejects(chores.run(NOW), /away/)
  await clock.advance(9_999)
  assert(!chores.due)
  await clock.advance(1)
  assert(chores.due)
  world.fails = false
  await chores.run(NOW)
  assert.deepEqual(done, ['recounts', 'recounts'])
})
