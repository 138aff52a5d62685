import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { mysql } from '../database/mysql/mysql.js'
import { postgres } from '../database/postgres/postgres.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { enterName } from './ledger/name-settings.js'
import { WriteProof } from './write-proof.js'

const NOW = 1_800_000_000_000
const SECOND = 1_000
const DIRECT_MS = 75 * SECOND

/** Processes of a name whose writers commit directly after 75 s. */
async function site(open = async () => sqlite(':memory:')) {
  const inner = await open()
  after(() => inner.close())
  await inner.migrate(['wide-cache'])
  const name = `proof-${process.pid}-${Math.floor(performance.now() * 1_000)}`
  const seconds = { cellTtlSeconds: 75, directSeconds: 75, vanishedSeconds: 75 }
  const own = { kind: 'rows', ...seconds, nameSettings: {} }
  await enterName(inner, { ...own, name })
  // Another measure, of the same grid.
  await enterName(inner, { ...own, name: `${name}.seen` }, name)
  const clock = new ManualClock(NOW)
  const world = { takesWrites: true, stepMs: 0 }
  const database = new FaultyDatabase(inner, () => (world.takesWrites ? 'none' : 'not begun'))
  let answered = 0
  const query = database.query.bind(database)
  database.query = (sql, values) => query(sql, values).finally(() => answered++)
  const settled = async () => {
    do await setImmediate()
    while (database.statements.length > answered)
  }
  return {
    clock,
    world,
    database,
    process: (behindMs = 0) =>
      new WriteProof({
        settings: { name },
        clock,
        database,
        watch: { recent: async () => clock.now() + world.stepMs - behindMs },
      }),
    /** Time of `ms`, in which each write is answered at once. */
    pass: async (ms: number) => {
      await settled()
      for (let passed = 0; passed < ms; passed += SECOND) {
        await clock.advance(SECOND)
        await settled()
      }
    },
    /** For how many seconds before now nothing is proven; `undefined`: nothing ever was. */
    unproven: async () => {
      const { rows } = await inner.query(
        'SELECT direct_to FROM wide_cache_names WHERE grid_name = ?',
        [name],
      )
      const [directTo = 0, ofOther] = rows.map((row) => Number(row['direct_to']))
      assert.equal(directTo, ofOther, 'of all measures')
      return directTo === 0 ? undefined : (clock.now() + world.stepMs - directTo) / SECOND
    },
  }
}

const databases = [
  ['SQLite', undefined],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
] as const

for (const [where, open] of databases) {
  test(`${where}: rows are proven to be in SQL after it has taken writes for long`, async () => {
    const { process, pass, unproven } = await site(open)
    const proof = process()
    proof.keep()
    await pass(DIRECT_MS - 5 * SECOND)
    assert.equal(await unproven(), undefined)
    await pass(5 * SECOND)
    assert.equal(await unproven(), 75)
    await pass(4 * SECOND)
    assert.equal(await unproven(), 79)
    await pass(SECOND)
    assert.equal(await unproven(), 75)
    proof.stop()
  })
}

test('a write that fails proves nothing, and all begins again', async () => {
  const { process, world, pass, unproven } = await site()
  const proof = process()
  proof.keep()
  await pass(100 * SECOND)
  assert.equal(await unproven(), 75)
  world.takesWrites = false
  await pass(5 * SECOND)
  world.takesWrites = true
  await pass(75 * SECOND)
  assert.equal(await unproven(), 155, 'what was proven before stays')
  await pass(5 * SECOND)
  assert.equal(await unproven(), 75)
  proof.stop()
})

test('processes prove it together, though one ends, and one reads the clock later', async () => {
  const { process, pass, unproven } = await site()
  const [one, two] = [process(), process(40)]
  one.keep()
  await pass(30 * SECOND)
  two.keep()
  await pass(10 * SECOND)
  one.stop()
  await pass(40 * SECOND)
  assert.equal(await unproven(), 75.04)
  two.stop()
})

test('a step of the clock proves nothing', async () => {
  for (const stepMs of [-3_600_000, 3_600_000]) {
    const { process, world, pass, unproven } = await site()
    const proof = process()
    proof.keep()
    await pass(40 * SECOND)
    world.stepMs = stepMs
    await pass(75 * SECOND)
    assert.equal(await unproven(), undefined)
    await pass(5 * SECOND)
    assert.equal(await unproven(), 75)
    proof.stop()
  }
})

test('it goes on for ten minutes after the last figures that needed it', async () => {
  const { process, clock, database, pass } = await site()
  const proof = process()
  proof.keep()
  await pass(300 * SECOND)
  proof.keep()
  await pass(595 * SECOND)
  assert.equal(clock.pending, 1)
  await pass(5 * SECOND)
  assert.equal(clock.pending, 0)
  const { length } = database.statements
  assert.equal(length, 1 + 180)
  proof.keep()
  await pass(SECOND)
  assert.equal(database.statements.length, length + 1, 'and begins again')
  proof.stop()
  assert.equal(clock.pending, 0)
  await pass(10 * SECOND)
  assert.equal(database.statements.length, length + 1)
})
