import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedDatabase } from '../connections/prepared-database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { Leases } from './leases.js'

const LEASE_MS = 10_000

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

test('a lease is over at the moment at which it ends', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  let now = 1_000_000
  const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
  const leases = new Leases(migrated, 'out', systemEnvironment)
  const take = () =>
    database.transaction((tx) =>
      leases.take(wrapped(tx, { now: async () => now }), { first: 0, last: 9 }),
    )
  assert(await take())
  now += LEASE_MS - 1
  assert.equal(await take(), undefined)
  now += 1
  assert(await take())
  await database.close()
})

test('a lease, or a rest, that was taken while the clock was ahead is over', async () => {
  for (const failures of [0, 3]) {
    const database = sqlite(':memory:')
    await database.migrate()
    let now = 1_000_000
    const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
    const leases = new Leases(migrated, 'out', systemEnvironment)
    const take = () =>
      database.transaction((tx) =>
        leases.take(wrapped(tx, { now: async () => now }), { first: 0, last: 9 }),
      )
    assert(await take())
    await database.query('UPDATE export_queue_leases SET failures = ?', [failures])
    // A renewal may come after the clock was read.
    now -= LEASE_MS
    assert.equal(await take(), undefined)
    now -= 7_200_000
    assert(await take(), `${failures} failures`)
    await database.close()
  }
})
