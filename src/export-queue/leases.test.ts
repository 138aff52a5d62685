import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedDatabase } from '../connections/prepared-database.js'
import type { Transaction } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { RangeLeases } from './leases.js'

const LEASE_MS = 10_000

test('a lease keeps others from all of its range, from the first hash to the last', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
  const leases = new RangeLeases(migrated, 'out', systemEnvironment)
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
  const leases = new RangeLeases(migrated, 'out', systemEnvironment)
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
    const leases = new RangeLeases(migrated, 'out', systemEnvironment)
    const take = () =>
      database.transaction((tx) =>
        leases.take(wrapped(tx, { now: async () => now }), { first: 0, last: 9 }),
      )
    assert(await take())
    await database.query('UPDATE export_queue_leases SET failures = ?', [failures])
    // A small step back takes nothing away from an exporter at work.
    now -= LEASE_MS
    assert.equal(await take(), undefined)
    now -= 7_200_000
    assert(await take(), `${failures} failures`)
    await database.close()
  }
})

test('a success is one statement: it ends the lease, or forgets one of its failures', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
  const leases = new RangeLeases(migrated, 'out', systemEnvironment)
  for (const [failures, left] of [
    [0, []],
    [1, [{ failures: 1, held_until: 0 }]],
    [3, [{ failures: 2, held_until: 0 }]],
  ] as const) {
    await database.query('DELETE FROM export_queue_leases')
    const { holder } = (await database.transaction((tx) => leases.take(tx, { first: 0, last: 9 })))!
    let asked = 0
    const isOwn = await database.transaction((tx) => {
      const query: Transaction['query'] = (sql, values) => {
        asked++
        return tx.query(sql, values)
      }
      return leases.succeed(wrapped(tx, { query }), { holder, failures })
    })
    assert.deepEqual([isOwn, asked], [true, 1])
    const { rows } = await database.query('SELECT failures, held_until FROM export_queue_leases')
    assert.deepEqual(rows, left)
  }
  await database.close()
})

test('a lease that is renewed, or rests, while another process looks at it stays', async () => {
  for (const { failures, passedMs, restMs } of [
    { failures: 0, passedMs: LEASE_MS + 1_000, restMs: undefined },
    { failures: 5, passedMs: 0, restMs: 32_000 },
  ]) {
    const database = sqlite(':memory:')
    await database.migrate()
    let now = 1_000_000
    const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
    const leases = new RangeLeases(migrated, 'out', systemEnvironment)
    const take = (meanwhile: (tx: Transaction) => Promise<unknown>) =>
      database.transaction((tx) =>
        leases.take(
          wrapped(tx, {
            now: async () => now,
            async query(sql, values) {
              const result = await tx.query(sql, values)
              if (sql.startsWith('SELECT')) await meanwhile(tx)
              return result
            },
          }),
          { first: 0, last: 9 },
        ),
      )
    assert(await take(async () => undefined))
    await database.query('UPDATE export_queue_leases SET failures = ?', [failures])
    const other = await take((tx) => {
      now += passedMs
      return restMs === undefined
        ? tx.query('UPDATE export_queue_leases SET held_until = ?', [now + LEASE_MS])
        : tx.query('UPDATE export_queue_leases SET failures = failures + 1, held_until = ?', [
            now + restMs,
          ])
    })
    assert.equal(other, undefined, `${failures} failures`)
    const { rows } = await database.query('SELECT failures FROM export_queue_leases')
    assert.deepEqual(rows, [{ failures: failures + (restMs === undefined ? 0 : 1) }])
    await database.close()
  }
})

test('of leases that are over the next one has the most failures, with the reason', async () => {
  for (const order of [
    [0, 3],
    [3, 0],
  ]) {
    const database = sqlite(':memory:')
    await database.migrate()
    const migrated = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
    const leases = new RangeLeases(migrated, 'out', systemEnvironment)
    // Two buckets that became one.
    for (const [bucket, failures] of order.entries()) {
      const first = bucket * 10
      const lease = await database.transaction((tx) => leases.take(tx, { first, last: first + 9 }))
      await database.query(
        'UPDATE export_queue_leases SET failures = ?, reason = ?, held_until = 0 WHERE holder = ?',
        [failures, `after ${failures}`, lease!.holder],
      )
    }
    const lease = await database.transaction((tx) => leases.take(tx, { first: 0, last: 19 }))
    assert.equal(lease?.failures, 3)
    const { rows } = await database.query('SELECT failures, reason FROM export_queue_leases')
    assert.deepEqual(rows, [{ failures: 3, reason: 'after 3' }])
    await database.close()
  }
})
