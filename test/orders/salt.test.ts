/** All processes hash visitors under one salt a day, whoever draws it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, sleep } from '../../src/support/clock.js'
import { BurstLogger } from '../../src/support/logger.js'
import { Pseudonymizer } from '../../src/visitors/pseudonymizer.js'
import { DailySalt, saltOf } from '../../src/visitors/salt.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'
import { SILENT } from '../../src/support/logger.js'
import { UTC_DAYS } from '../../src/support/utc-days.fixture.js'

const NAME = 'site'
const KEY = `salt:${NAME}:${new Date(EPOCH).toISOString().slice(0, 10)}`

const SECRET = Buffer.alloc(32, 's')
const secret = async (): Promise<Buffer> => SECRET

/** Interval at which a process looks whether the cache still has the salt. */
const CHECK_MS = 120_000

/** Time from the beginning of a law to midnight. */
const LEFT_OF_DAY_MS = DAY_MS - (EPOCH % DAY_MS)

/** Starts a process; resolves once it knows a salt. `given` has all that it has known. */
function started(orders: Orders, actor: string, given = new Set<string>()): Promise<DailySalt> {
  const { cache, environment } = orders.actor(actor)
  const { clock } = environment
  return new Promise((resolve) => {
    const salt: DailySalt = new DailySalt({
      calendar: UTC_DAYS,
      cache,
      secret,
      name: NAME,
      clock,
      logger: new BurstLogger(SILENT, clock.elapsed),
      answered(found) {
        if (!found) return
        given.add(found.toString('hex'))
        resolve(salt)
      },
    })
  })
}

test('processes that start at once never have two salts, though a request fails', async () => {
  await explore(
    async (orders) => {
      const given = new Set<string>()
      await orders.together({
        one: () => started(orders, 'one', given),
        two: () => started(orders, 'two', given),
      })
      await orders.pass(2 * CHECK_MS)
      const stored = await orders.store.get(KEY)
      assert(stored)
      assert.deepEqual(given, new Set([saltOf(SECRET, stored).toString('hex')]))
    },
    { preemptions: 1, failures: 1 },
  )
})

test('a salt that the cache loses, or is no salt, is one for all two checks later', async () => {
  for (const left of [undefined, Buffer.from('no salt')]) {
    await explore(
      async (orders) => {
        const one = await orders.alone(() => started(orders, 'one'))
        const { cache } = orders.actor('cache')
        let two: DailySalt | undefined
        await orders.together({
          cache: () => (left ? cache.set(KEY, left, 60) : cache.delete(KEY)),
          one: () => sleep(orders.actor('one').environment.clock, CHECK_MS),
          two: async () => (two = await started(orders, 'two')),
        })
        await orders.pass(2 * CHECK_MS)
        const stored = await orders.store.get(KEY)
        assert(stored)
        const salt = saltOf(SECRET, stored)
        const now = orders.actor('cache').environment.clock.now()
        assert.deepEqual([one.current(now), two?.current(now)], [salt, salt])
      },
      { preemptions: 1 },
    )
  }
})

test('after midnight all processes hash under one new salt, though a request fails', async () => {
  await explore(
    async (orders) => {
      const visits: { readonly time: number; readonly hash: string | undefined }[] = []
      const processes = ['one', 'two'].map((actor) => {
        const { cache, environment } = orders.actor(actor)
        const { clock } = environment
        const pseudonymizer = new Pseudonymizer<string>({
          calendar: UTC_DAYS,
          cache,
          secret,
          name: NAME,
          clock,
          logger: new BurstLogger(SILENT, clock.elapsed),
          forward: (time, visitor) => visits.push({ time, hash: visitor?.toString('hex') }),
        })
        return { clock, record: () => pseudonymizer.pseudonymize('/', 'anna'), pseudonymizer }
      })
      await orders.pass(LEFT_OF_DAY_MS - 500)
      for (const { record } of processes) record()
      const [today] = new Set(visits.map(({ hash }) => hash))
      assert(today)
      const cross = async ({ clock, record, pseudonymizer }: (typeof processes)[0]) => {
        await sleep(clock, 400)
        record()
        await sleep(clock, 200)
        record()
        await pseudonymizer.forwarded()
      }
      await orders.together({
        one: () => cross(processes[0]!),
        two: () => cross(processes[1]!),
      })
      await orders.pass(2_000)
      for (const { record } of processes) record()
      const midnight = EPOCH + LEFT_OF_DAY_MS
      const hashesOf = (isOf: (time: number) => boolean) =>
        new Set(visits.flatMap(({ time, hash }) => (isOf(time) && hash ? [hash] : [])))
      assert.deepEqual(
        hashesOf((time) => time < midnight),
        new Set([today]),
      )
      const tomorrow = hashesOf((time) => time >= midnight)
      assert(tomorrow.size === 1 && !tomorrow.has(today), [...tomorrow].join())
      assert.equal(visits.length, 8)
      assert(
        visits.slice(-2).every(({ hash }) => hash),
        'both know it in the end',
      )
    },
    { preemptions: 1, failures: 1 },
  )
})
