import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Database } from '../../database/database.js'
import { namespaceOf } from '../../database/identity.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { GridRecord } from './grid-record.js'
import { removeOldEntries } from './retention.js'

const DAY_MS = 24 * 3600 * 1000
const newId = (): Buffer => randomBytes(16)

async function records(database: Database = sqlite(':memory:')) {
  await database.migrate()
  const record = (name: string, geometry = { width: 15, layerSeconds: 3 }) =>
    new GridRecord({
      name,
      geometry,
      drainAfterLayers: 2,
      flushMs: 50,
      owner: newId(),
      scope: 'shared',
      newId,
    })
  return { database, record }
}

test('each name and each geometry has a grid and a mark of its own', async () => {
  const { database, record } = await records()
  const geometries = [
    { width: 15, layerSeconds: 3 },
    { width: 4, layerSeconds: 3 },
    { width: 15, layerSeconds: 1 },
  ]
  const all = ['one', 'other'].flatMap((name) =>
    geometries.map((geometry) => record(name, geometry)),
  )
  for (const [index, one] of all.entries()) {
    await one.enter(database, DAY_MS, 0)
    await database.query('UPDATE wide_cache_grids SET mark = ? WHERE id = ?', [
      Buffer.alloc(16, index),
      one.grid!.id,
    ])
  }
  for (const [index, one] of all.entries()) {
    assert.deepEqual(await one.refresh(database), Buffer.alloc(16, index))
  }
  assert.equal(new Set(all.map(({ grid }) => grid!.id.toString('hex'))).size, all.length)
  await database.close()
})

test('a use that was recorded while the clock was ahead is set right', async () => {
  const { database, record } = await records()
  const one = record('visits')
  await one.enter(database, DAY_MS + 3_600_000, 0)
  const renewedTo = async (now: number): Promise<number> => {
    await one.refresh(database)
    await one.renewUse(database, now)
    const { rows } = await database.query('SELECT used_at FROM wide_cache_grids')
    return Number(rows[0]?.['used_at'])
  }
  assert.equal(await renewedTo(DAY_MS), DAY_MS)
  assert.equal(await renewedTo(DAY_MS - 29_999), DAY_MS, 'another process has recorded it')
  await database.close()
})

test('a grid that a process enters again is not forgotten as one that nobody uses', async () => {
  const { database, record } = await records()
  await record('visits').enter(database, 0, 0)
  const again = record('visits')
  await again.enter(database, 29 * DAY_MS, 0)
  await removeOldEntries(database, 'visits', 40 * DAY_MS)
  assert.deepEqual(
    (await again.states(database)).map(({ grid }) => grid.id),
    [again.grid!.id],
  )
  await removeOldEntries(database, 'visits', 60 * DAY_MS)
  assert.deepEqual(await again.states(database), [])
  await database.close()
})

test('a process without the lease that raises the watermark leaves it to the holder', async () => {
  const { database, record } = await records()
  const [holder, other] = [record('visits'), record('visits')]
  await holder.enter(database, DAY_MS, 0)
  const [state] = await other.states(database)
  assert(await holder.lease(database, DAY_MS, 1))
  const { grid, watermark: from } = state!
  const namespace = await namespaceOf(database)
  const raise = {
    grid,
    namespace,
    from,
    to: from + 1,
    mark: undefined,
    used: false,
    leapAfterMs: 75_000,
  }
  await other.raise(database, raise, DAY_MS)
  assert(!(await other.lease(database, DAY_MS + 1_000, 1)))
  await database.close()
})

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

for (const [where, open] of databases) {
  test(`${where}: a watermark leaps once it has rested for long, and then not again`, async () => {
    const { database, record } = await records(await open())
    const one = record(`leap-${process.pid}`)
    await one.enter(database, DAY_MS, 0, 0)
    const { id } = one.grid!
    const namespace = await namespaceOf(database)
    let now = DAY_MS
    const first = one.grid!.layers.at(now)
    const end = (layer: number): number => one.grid!.layers.endOf(layer)
    const watermark = async (): Promise<number> =>
      (await one.states(database)).find(({ grid }) => grid.id.equals(id))!.watermark
    /** Moves the watermark. Returns the last leap: where from, how old. */
    const moveTo = async (to: number, leapAfterMs = 75_000): Promise<[number, number]> => {
      const from = await watermark()
      const rest = { mark: undefined, used: false, leapAfterMs }
      await one.raise(database, { grid: one.grid!, namespace, from, to, ...rest }, now)
      const {
        rows: [row],
      } = await database.query('SELECT leapt_from, leapt_at FROM wide_cache_grids WHERE id = ?', [
        id,
      ])
      return [Number(row!['leapt_from']), now - Number(row!['leapt_at'])]
    }
    const raise = async (ms: number, leapAfterMs?: number): Promise<[number, number]> => {
      now += ms
      return moveTo((await watermark()) + 1, leapAfterMs)
    }
    assert.deepEqual(await raise(75_000), [0, DAY_MS + 75_000], 'it has risen in time')
    assert.deepEqual(await raise(75_001), [end(first + 1), 0])
    assert.deepEqual(await raise(20), [end(first + 1), 20], 'of the same drain')
    await one.completeTo(database, one.grid!, end(first + 9))
    assert.deepEqual(await raise(80_000), [end(first + 9), 0], 'all was there up to a later moment')
    await one.completeTo(database, one.grid!, now + DAY_MS)
    assert.deepEqual(await raise(80_000), [end(first + 4), 0], 'a clock was ahead')
    const [from] = await raise(16_000, 0)
    assert.equal(from, end(first + 5), 'the cache may have lost frames')
    assert.deepEqual(await raise(14_000, 0), [from, 0], 'and again, before writers had time')
    assert.deepEqual(await raise(15_001, 0), [end(first + 7), 0])

    // The clock is a day ahead, and right again.
    const at = (): number => one.grid!.layers.at(now)
    const completeTo = async (): Promise<number> => (await one.states(database))[0]!.completeTo
    await one.completeTo(database, one.grid!, 0)
    await moveTo(at())
    const [right, rightTo] = [at(), end(at())]
    now += DAY_MS
    assert.deepEqual(await moveTo(at()), [rightTo, 0])
    await one.completeTo(database, one.grid!, now)
    now -= DAY_MS - 10_000
    assert.deepEqual(await moveTo(right + 1), [rightTo, 0], 'all was there up to the leap')
    assert.equal(await completeTo(), 0, 'what a clock that was ahead has noted')
    now += DAY_MS
    await moveTo(at())
    now += 80_000
    await moveTo(at())
    now -= DAY_MS
    await one.completeTo(database, one.grid!, now)
    assert.deepEqual(await moveTo(at()), [0, 0], 'a second leap hides the first')
    assert.equal(await completeTo(), now)
    await database.query('DELETE FROM wide_cache_grids WHERE id = ?', [id])
    await database.close()
  })
}
