import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedDatabase } from '../connections/prepared-database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { Leases } from './leases.js'

test('a lease keeps others from all of its range, from the first hash to the last', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
  const leases = new Leases(migrated, 'out', systemEnvironment)
  const isTaken = async (first: number, last: number): Promise<boolean> =>
    (await database.transaction((tx) => leases.take(tx, { first, last }))) !== undefined
  assert(await isTaken(10, 19))
  for (const [first, last] of [
    [5, 10],
    [19, 25],
    [11, 18],
    [9, 20],
  ] as const) {
    assert.equal(await isTaken(first, last), false, `${first} to ${last}`)
  }
  assert(await isTaken(0, 9))
  assert(await isTaken(20, 25))
  await database.close()
})
