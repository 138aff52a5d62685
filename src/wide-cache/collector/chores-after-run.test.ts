import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../../support/logger.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { Chores } from './chores.js'

const NOW = 1_700_000_000_000

/** Chores that remove, recount and fold, unless one of them fails. Notes the order. */
function bench() {
  const clock = new ManualClock(NOW)
  const done: string[] = []
  const world = { fails: false, foldsNot: false }
  const chores = new Chores({
    settings: {
      name: 'test',
      periodSeconds: 1,
      removeOld: async () => void done.push('removes'),
      async afterDrain() {
        done.push('folds')
        if (world.foldsNot) throw new Error('away')
      },
      async afterRun() {
        done.push('recounts')
        if (world.fails) throw new Error('away')
      },
    },
    clock,
    database: { query: async () => ({ rows: [], affectedRows: 0 }) } as never,
    watch: { recent: async () => clock.now() } as never,
    logger: new BurstLogger(SILENT, clock.elapsed),
  })
  return { clock, done, world, chores }
}

test('a recount comes after a removal, so that it counts nothing that is gone', async () => {
  const { done, chores } = bench()
  await chores.run(NOW, 1)
  assert.deepEqual(done, ['removes', 'recounts', 'folds'])
})

test('a recount that fails is due again ten seconds later, and not at each run', async () => {
  const { clock, done, world, chores } = bench()
  world.fails = true
  await assert.rejects(chores.run(NOW, 1), /away/)
  done.length = 0
  await clock.advance(9_999)
  await chores.run(NOW, 1)
  await clock.advance(1)
  world.fails = false
  await chores.run(NOW, 1)
  assert.deepEqual(done, ['folds', 'recounts'])
})

test('folding that fails is due again ten seconds later, and not at each run', async () => {
  const { clock, done, world, chores } = bench()
  world.foldsNot = true
  await assert.rejects(chores.run(NOW, 1), /away/)
  done.length = 0
  await clock.advance(9_999)
  await chores.run(NOW, 1)
  assert.deepEqual(done, [])
  await clock.advance(1)
  world.foldsNot = false
  await chores.run(NOW, 1)
  assert.deepEqual(done, ['recounts', 'folds'])
})

test('folding is due ten seconds later, after many rows, and once a minute', async () => {
  const { clock, done, chores } = bench()
  await chores.run(NOW, 0)
  assert.deepEqual(done, ['removes', 'recounts', 'folds'], 'after a restart')
  done.length = 0
  const folds: boolean[] = []
  for (const rows of [1, 2, 0, 3, 4, 1_000, 999]) {
    await clock.advance(5_000)
    done.length = 0
    if (chores.isDue(rows)) await chores.run(NOW, rows)
    folds.push(done.includes('folds'))
  }
  assert.deepEqual(folds, [false, true, false, true, false, true, false])
  await clock.advance(25_000)
  assert(chores.isDue(0))
  await chores.run(NOW, 0)
  assert.deepEqual(done, ['removes', 'recounts', 'folds'], 'writers commit directly, too')
})
