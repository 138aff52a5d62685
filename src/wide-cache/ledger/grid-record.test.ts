import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { namespaceOf } from '../../database/identity.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { GridRecord } from './grid-record.js'
import { removeOldEntries } from './retention.js'

const DAY_MS = 24 * 3600 * 1000
const newId = (): Buffer => randomBytes(16)

async function records() {
  const database = sqlite(':memory:')
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
  const raise = { grid, namespace, from, to: from + 1, mark: undefined, used: false }
  await other.raise(database, raise, DAY_MS)
  assert(!(await other.lease(database, DAY_MS + 1_000, 1)))
  await database.close()
})
