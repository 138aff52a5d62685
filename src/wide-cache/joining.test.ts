import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite } from '../database/sqlite/sqlite.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { Joining } from './joining.js'
import { readUsedGrids } from './used-grids.js'

const NOW = 1_800_000_000_000

/** A process that holds rows, and a name with a grid that is drained up to now. */
async function bench() {
  const database = sqlite(':memory:')
  await database.migrate(['wide-cache'])
  await database.query(
    'INSERT INTO wide_cache_names (name, grid_name, kind, cell_ttl_seconds, direct_seconds, ' +
      'vanished_seconds, keep_seconds, history_days, repeat_seconds) ' +
      "VALUES ('test', 'test', 'rows', 75, 75, 75, 0, 0, 0)",
  )
  await database.query(
    'INSERT INTO wide_cache_grids (id, name, width, layer_seconds, private_to, watermark, ' +
      'moved_at, used_at) VALUES (?, ?, 5, 3, ?, ?, ?, ?)',
    [Buffer.alloc(16, 1), 'test', Buffer.alloc(16), NOW / 3_000, NOW, NOW],
  )
  const clock = new ManualClock(NOW)
  const world = { heldMs: 2_500, isBrought: false, compares: 0, answered: Promise.resolve() }
  const joining = new Joining({
    settings: { name: 'test', directSeconds: 75 },
    clock,
    watch: { recent: () => world.answered.then(() => clock.now()) } as never,
    database,
    sameCache: { compare: async () => void world.compares++ },
    owner: Buffer.alloc(16, 7),
    heldMs: () => world.heldMs,
    isBrought: () => world.isBrought,
  })
  return {
    database,
    clock,
    world,
    joining,
    /** Seconds before now from which on rows are missing. */
    missing: async () => {
      const { missingSince } = await readUsedGrids(database, 'test', clock.now())
      return missingSince && (clock.now() - missingSince) / 1_000
    },
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 500) {
        await clock.advance(500)
        // Each statement is answered before the next one is due.
        for (let statements = 0; statements < 3; statements++) {
          await database.query('SELECT 1')
          await flushPromises()
        }
      }
    },
  }
}

test('figures end at the oldest row of a process until collectors bring its rows', async () => {
  const { database, world, joining, missing, pass } = await bench()
  assert.equal(await missing(), undefined)
  await joining.enter(database)
  assert.equal(await missing(), 3, 'of a whole second')
  await pass(5_500)
  assert.equal(await missing(), 2.5, 'renewed')
  world.isBrought = true
  await pass(5_000)
  assert.equal(await missing(), undefined)
  await joining.enter(database)
  assert.equal(await missing(), undefined, 'once a process')
  await joining.end()
  await database.close()
})

test('an entry ends with its process, and that of one that has died by itself', async () => {
  for (const dies of [true, false]) {
    const { database, clock, joining, missing } = await bench()
    await joining.enter(database)
    if (!dies) {
      await joining.end()
      assert.equal(await missing(), undefined)
    }
    const after15s = { now: clock.now() + 15_001 }
    assert.equal((await readUsedGrids(database, 'test', after15s.now)).missingSince, undefined)
    await joining.end()
    await database.close()
  }
})

test('a look that is under way when its process ends leaves no entry', async () => {
  const { database, clock, world, joining, missing } = await bench()
  await joining.enter(database)
  let answer = (): void => undefined
  world.answered = new Promise((resolve) => (answer = resolve))
  await clock.advance(500)
  await flushPromises()
  const ended = joining.end()
  answer()
  await ended
  assert.equal(await missing(), undefined)
  await database.close()
})

test('it ends when a writer has committed what no collector brings', async () => {
  const { database, world, joining, missing, pass } = await bench()
  await joining.enter(database)
  await joining.enter(database)
  await pass(75_000)
  assert.equal(world.compares, 15, 'one look at a time')
  await pass(5_500)
  assert.equal(await missing(), undefined)
  await database.close()
})
