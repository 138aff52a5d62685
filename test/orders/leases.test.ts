import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedDatabase } from '../../src/connections/prepared-database.js'
import { RangeLeases } from '../../src/export-queue/leases.js'
import { sleep } from '../../src/support/clock.js'
import { explore, type Orders } from '../simulated-world/explorer.js'

const LEASES = { tables: 'collision-free-map' }
const LEASE_MS = 10_000
const RENEWED_AFTER_MS = 3_000
const RANGE = { first: 0, last: 9 }

function leasesOf(orders: Orders, process: string): RangeLeases {
  const { database, environment } = orders.actor(process)
  const migrated = new PreparedDatabase(database, ['collision-free-map'], environment)
  return new RangeLeases(migrated, 'law', environment)
}

/** Takes a lease on the ports of a process. */
async function take(orders: Orders, process: string): Promise<Buffer | undefined> {
  const { database } = orders.actor(process)
  const lease = await database.transaction((tx) => leasesOf(orders, process).take(tx, RANGE))
  return lease?.holder
}

test('a lease that has run out is taken once, or renewed', async () => {
  await explore(
    async (orders) => {
      const holder = await orders.alone(() => take(orders, 'holder'))
      orders.look('UPDATE export_queue_leases SET held_until = 0')
      const { clock } = orders.actor('holder').environment
      const taken: (Buffer | undefined)[] = []
      await orders.together({
        holder: () =>
          leasesOf(orders, 'holder').during(holder!, () => sleep(clock, RENEWED_AFTER_MS)),
        one: async () => void taken.push(await take(orders, 'one')),
        other: async () => void taken.push(await take(orders, 'other')),
      })
      const winner = taken.find((found) => found !== undefined) ?? holder
      assert.deepEqual(orders.look('SELECT holder FROM export_queue_leases'), [{ holder: winner }])
      assert(taken.filter((found) => found !== undefined).length <= 1)
    },
    { ...LEASES, preemptions: 1 },
  )
})

test('a lease ends, or rests, though a renewal is under way', async () => {
  await explore(async (orders) => {
    const holder = (await orders.alone(() => take(orders, 'holder')))!
    const { clock } = orders.actor('process').environment
    const own = leasesOf(orders, 'process')
    await orders.together({
      holder: async () => {
        await own.during(holder, () => sleep(clock, RENEWED_AFTER_MS))
        await own.rest(holder, 'fails')
      },
    })
    const rested = await orders.actor('holder').database.now()
    // No renewal comes later either.
    await orders.pass(2 * RENEWED_AFTER_MS)
    const [row] = orders.look('SELECT held_until FROM export_queue_leases')
    assert(Number(row!['held_until']) <= rested + 1_000)
  }, LEASES)
})

test('a holder that has lost its lease neither renews nor ends the next one', async () => {
  await explore(async (orders) => {
    const holder = (await orders.alone(() => take(orders, 'holder')))!
    orders.look('UPDATE export_queue_leases SET held_until = 0')
    const { database, environment } = orders.actor('holder')
    const own = leasesOf(orders, 'holder')
    let [next, takenBy] = [undefined as Buffer | undefined, 0]
    let isOwn = false
    await orders.together({
      holder: async () => {
        await own.during(holder, () => sleep(environment.clock, RENEWED_AFTER_MS))
        isOwn = await database.transaction((tx) => own.end(tx, holder))
      },
      other: async () => {
        next = await take(orders, 'other')
        takenBy = await database.now()
      },
    })
    const [row] = orders.look('SELECT holder, held_until FROM export_queue_leases')
    assert.deepEqual(row?.['holder'], next)
    assert(isOwn || Number(row?.['held_until']) <= takenBy + LEASE_MS)
  }, LEASES)
})

test('a holder that has lost its lease lets no range rest', async () => {
  await explore(async (orders) => {
    const holder = (await orders.alone(() => take(orders, 'holder')))!
    orders.look('UPDATE export_queue_leases SET held_until = 0')
    let next: Buffer | undefined
    await orders.together({
      holder: () => leasesOf(orders, 'holder').rest(holder, 'fails'),
      other: async () => void (next = await take(orders, 'other')),
    })
    const [row] = orders.look('SELECT holder, failures FROM export_queue_leases')
    assert.deepEqual(row, next ? { holder: next, failures: 0 } : { holder, failures: 1 })
  }, LEASES)
})
