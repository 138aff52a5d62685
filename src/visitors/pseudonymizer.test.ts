import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { BurstLogger } from '../support/logger.js'
import { type KeptLog, keptLog } from '../support/kept-log.fixture.js'
import { ManualClock, flushPromises } from '../support/manual-clock.fixture.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { Pseudonymizer } from './pseudonymizer.js'
import { VisitorHashes } from './visitor.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'

const NOON = Date.UTC(2026, 4, 17, 12)
const DAY = 24 * 3600 * 1000
const KEY = 'salt:activity:2026-05-17'

const SECRET = Buffer.alloc(32, 's')

interface Visit {
  readonly time: number
  readonly visitor: Buffer | null
  readonly page: string
}

interface Process {
  pseudonymizer: Pseudonymizer<string>
  visits: Visit[]
  /** When they were recorded. */
  recorded: number[]
  log: KeptLog
}

/** The calendar of a database's zone, of which a process supposes another until it reads. */
function calendarIn(zone: string, supposed = zone) {
  const [read, current] = [zone, supposed].map((name) => calendarOf(timeZoneOption(name)))
  const source = { current: current!, read: async () => (source.current = read!) }
  return source
}

function start(
  cache: Cache,
  clock: ManualClock,
  secret = async () => SECRET,
  calendar = calendarIn('UTC'),
): Process {
  const visits: Visit[] = []
  const recorded: number[] = []
  const log = keptLog()
  const logger = new BurstLogger(log, clock.elapsed)
  const pseudonymizer = new Pseudonymizer<string>({
    calendar,
    cache,
    secret,
    name: 'activity',
    clock,
    logger,
    forward: (time, visitor, page, recordedAt) => {
      visits.push({ time, visitor, page })
      recorded.push(recordedAt)
    },
  })
  return { pseudonymizer, visits, recorded, log }
}

/** The hash that a process gives an identity now. */
function hashOf({ pseudonymizer, visits }: Process, identity: string): string | undefined {
  const before = visits.length
  pseudonymizer.pseudonymize('/', identity, undefined, 0)
  assert.equal(visits.length, before + 1, 'the visit is forwarded at once')
  return visits[before]!.visitor?.toString('hex')
}

/** A cache on `clock`, as one that processes share. */
function shared(clock: ManualClock): FaultyCache {
  return new FaultyCache(memory({ now: clock.elapsed }), () => 'none', 'shared')
}

test('visits wait for the salt, and then have a hash that tells visitors apart', async () => {
  const clock = new ManualClock(NOON)
  const one = start(memory({ now: clock.elapsed }), clock)
  for (const identity of ['anna', 'berta', 'anna']) {
    one.pseudonymizer.pseudonymize('/x', identity, undefined, 7)
  }
  one.pseudonymizer.pseudonymize('/y', undefined, undefined, 8)
  assert.equal(one.visits.length, 1, 'who has no identity does not wait')
  await one.pseudonymizer.forwarded()
  const [unknown, anna, berta, again] = one.visits.map(({ visitor }) => visitor)
  assert(unknown === null && anna && berta && again)
  assert.equal(anna.length, 12)
  assert(anna.equals(again) && !anna.equals(berta))
  assert.equal(hashOf(one, 'anna'), anna.toString('hex'))
})

test('visits are known to wait until they are forwarded', async () => {
  const { pseudonymizer } = start(memory(), new ManualClock(NOON))
  assert.equal(pseudonymizer.isWaiting, false)
  pseudonymizer.pseudonymize('/', 'anna')
  assert.equal(pseudonymizer.isWaiting, true)
  await pseudonymizer.forwarded()
  assert.equal(pseudonymizer.isWaiting, false)
})

test('on the day to which the clock leaps, a visit asks for the salt at once', async () => {
  const clock = new ManualClock(NOON)
  const one = start(memory({ now: clock.elapsed }), clock)
  await flushPromises()
  const yesterday = hashOf(one, 'anna')
  const { now } = clock
  clock.now = () => now() + DAY
  one.pseudonymizer.pseudonymize('/', 'anna')
  await flushPromises()
  const today = one.visits.at(-1)!.visitor?.toString('hex')
  assert.equal(one.visits.length, 2)
  assert(today && today !== yesterday)
})

test('each visit tells when it was recorded, whatever its time, though it waited', async () => {
  const clock = new ManualClock(NOON)
  const one = start(memory({ now: clock.elapsed }), clock)
  one.pseudonymizer.pseudonymize('/', 'anna')
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 7)
  one.pseudonymizer.pseudonymize('/', undefined, undefined, 7)
  const forwarded = one.pseudonymizer.forwarded()
  await clock.advance(1)
  await forwarded
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 7)
  const times = one.visits.map(({ time }) => time)
  assert.deepEqual(times, [7, NOON, 7, 7])
  assert.deepEqual(one.recorded, [NOON, NOON, NOON, NOON + 1])
})

test('the same address with another user agent is another visitor', async () => {
  const one = start(memory(), new ManualClock(NOON))
  const pairs = [
    ['1.1.1.1', 'a'],
    ['1.1.1.1', 'b'],
    ['2.2.2.2', 'a'],
    ['1.1.1.1', ''],
    // Joined without a border, these two would be one.
    ['1.1.1.1', '1a'],
    ['1.1.1.11', 'a'],
    ['1.1.1.1', 'x'.repeat(513)],
    ['1.1.1.1', 'x'.repeat(514)],
  ] as const
  for (const [address, userAgent] of pairs) {
    one.pseudonymizer.pseudonymize('/', address, userAgent, 1)
  }
  await one.pseudonymizer.forwarded()
  for (let i = 0; i < 10_001; i++) one.pseudonymizer.pseudonymize('/', `visitor ${i}`, undefined, 1)
  for (const [address, userAgent] of pairs) {
    one.pseudonymizer.pseudonymize('/', address, userAgent, 1)
  }
  const hashes = [...one.visits.slice(0, pairs.length), ...one.visits.slice(-pairs.length)].map(
    ({ visitor }) => visitor!.toString('hex'),
  )
  assert.equal(new Set(hashes).size, pairs.length)
  assert.deepEqual(hashes.slice(pairs.length), hashes.slice(0, pairs.length))
})

test('processes give a visitor the same hash if they share a cache, and only then', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  const [one, two, other] = [
    start(cache, clock),
    start(cache, clock),
    start(memory({ now: clock.elapsed }), clock),
  ]
  await flushPromises()
  assert.equal(hashOf(one, 'anna'), hashOf(two, 'anna'))
  assert.notEqual(hashOf(one, 'anna'), hashOf(other, 'anna'))
})

test('a salt that the cache has lost is put back within two minutes', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  const one = start(cache, clock)
  await flushPromises()
  const salt = await cache.get(KEY)
  const before = hashOf(one, 'anna')
  assert.equal(salt?.length, 32)
  await cache.delete(KEY)
  await clock.advance(120_000)
  assert.deepEqual(await cache.get(KEY), salt)
  assert.equal(hashOf(one, 'anna'), before)
})

test('when the cache has another salt, all take that one', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  const one = start(cache, clock)
  await flushPromises()
  const before = hashOf(one, 'anna')
  await cache.delete(KEY)
  const two = start(cache, clock)
  await clock.advance(120_000)
  assert.notEqual(hashOf(one, 'anna'), before)
  assert.equal(hashOf(one, 'anna'), hashOf(two, 'anna'))
})

test('what is no salt is replaced', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  await cache.set(KEY, Buffer.from('foreign'), 60)
  const one = start(cache, clock)
  await flushPromises()
  assert(hashOf(one, 'anna'))
  assert.equal((await cache.get(KEY))?.length, 32)
})

test('a salt that the cache does not take serves nobody', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  await cache.set(KEY, Buffer.from('foreign'), 60)
  const one = start(Object.assign(cache, { set: async () => false }), clock)
  await flushPromises()
  assert.equal(hashOf(one, 'anna'), undefined)
  assert.equal(one.log.matching(/without a visitor .*\(the cache does not store it\)/).length, 1)
})

test('of a site in another zone only the salt of its own day is asked for, once', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  const one = start(cache, clock, undefined, calendarIn('Pacific/Kiritimati', 'UTC'))
  await flushPromises()
  assert(hashOf(one, 'anna'))
  assert.deepEqual([...cache.keys], ['salt:activity:2026-05-18'])
  assert.equal(cache.operations, 2)
})

test('the salt changes with the UTC day, and leaves the cache two days later', async () => {
  const clock = new ManualClock(NOON)
  const cache = memory({ now: clock.elapsed })
  const one = start(cache, clock)
  await flushPromises()
  const before = hashOf(one, 'anna')
  await clock.advance(DAY / 2 - 1)
  assert.equal(hashOf(one, 'anna'), before)
  await clock.advance(1)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, clock.now())
  await one.pseudonymizer.forwarded()
  const after = one.visits.at(-1)!.visitor?.toString('hex')
  assert(after)
  assert.notEqual(after, before)
  assert.notDeepEqual(await cache.get('salt:activity:2026-05-18'), await cache.get(KEY))
  await clock.advance(1.5 * DAY)
  assert.equal(await cache.get(KEY), undefined)
})

test('at midnight a process asks for the new salt and forgets the old, unvisited', async () => {
  // Midnight is not at one of the checks, which come every two minutes.
  const clock = new ManualClock(NOON + 1_000)
  const cache = memory({ now: clock.elapsed })
  const one = start(cache, clock)
  await clock.advance(DAY / 2 - 1_000)
  const salt = await cache.get('salt:activity:2026-05-18')
  assert.equal(salt?.length, 32)
  // As if the new one had never come: the old one would be put back where it was lost.
  await cache.delete(KEY)
  await clock.advance(300_000)
  assert.equal(await cache.get(KEY), undefined)
  one.pseudonymizer.close()
})

test('a salt that is asked for as the day ends is not taken for the next one', async () => {
  const clock = new ManualClock(NOON + DAY / 2 - 1)
  const inner = memory({ now: clock.elapsed })
  let answer = (): void => {}
  const slow: Cache = Object.assign(shared(clock), {
    get: (key: string) =>
      new Promise<Buffer | undefined>((resolve) => {
        answer = () => resolve(inner.get(key))
      }),
    add: inner.add.bind(inner),
  })
  const one = start(slow, clock)
  await clock.advance(1)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  answer()
  await flushPromises()
  assert.equal(one.visits.length, 0, 'it waits for the new one')
  answer()
  await flushPromises()
  assert(one.visits[0]?.visitor)
  assert.equal((await inner.get('salt:activity:2026-05-18'))?.length, 32)
  assert.notDeepEqual(await inner.get('salt:activity:2026-05-18'), await inner.get(KEY))
})

test('while the cache is silent the first visit waits five seconds, later ones none', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  cache.fault = () => 'silent'
  const one = start(cache, clock)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  await clock.advance(4_999)
  assert.equal(one.visits.length, 0)
  await clock.advance(1)
  assert.deepEqual(one.visits, [{ time: 1, visitor: null, page: '/' }])
  assert.equal(hashOf(one, 'anna'), undefined)
})

test('on a new day of which the cache says nothing, a visit waits a second', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  const one = start(cache, clock)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  await clock.advance(DAY / 2 - 1)
  assert(one.visits[0]?.visitor)
  cache.fault = () => 'silent'
  await clock.advance(1)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 2)
  await clock.advance(999)
  assert.equal(one.visits.length, 1)
  await clock.advance(1)
  assert.deepEqual(one.visits.slice(1), [{ time: 2, visitor: null, page: '/' }])
})

test('while the database is away at midnight the secret of before serves', async () => {
  const clock = new ManualClock(NOON)
  const [cache, world] = [shared(clock), { isAway: false }]
  const one = start(cache, clock, async () => {
    if (world.isAway) throw new Error('no database')
    return SECRET
  })
  await flushPromises()
  world.isAway = true
  await clock.advance(DAY / 2 + 1)
  const other = start(cache, clock)
  await flushPromises()
  assert.equal(hashOf(one, 'anna'), hashOf(other, 'anna') ?? 'none')
  assert.deepEqual(one.log.lines, [])
})

test('a visit that has waited is forwarded once, whatever comes later', async () => {
  const clock = new ManualClock(NOON)
  const one = start(shared(clock), clock)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  await one.pseudonymizer.forwarded()
  await clock.advance(2 * DAY)
  one.pseudonymizer.close()
  assert.equal(one.visits.length, 1)
})

test('while the cache is down visits have no visitor, and the log says so once', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  cache.fault = () => 'down'
  const one = start(cache, clock)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  await flushPromises()
  assert.deepEqual(one.visits, [{ time: 1, visitor: null, page: '/' }])
  await clock.advance(20_000)
  assert.equal(hashOf(one, 'anna'), undefined)
  assert.equal(cache.operations, 21, 'it is asked once a second')
  assert.equal(one.log.lines.length, 1)
  assert.match(one.log.lines[0]!, /without a visitor .*No answer, says the test/)
  cache.fault = () => 'none'
  await clock.advance(1_000)
  assert(hashOf(one, 'anna'))
  assert.match(one.log.lines[1]!, /visits count with their visitors again$/)
})

test('a cache that goes away later does not matter, and is asked every two minutes', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  const one = start(cache, clock)
  await flushPromises()
  const before = hashOf(one, 'anna')
  const operations = cache.operations
  cache.fault = () => 'down'
  await clock.advance(600_000)
  assert.equal(hashOf(one, 'anna'), before)
  assert.equal(cache.operations - operations, 5)
  assert.deepEqual(one.log.lines, [])
})

test('no more than a thousand visits wait; the others count without a visitor', async () => {
  const clock = new ManualClock(NOON)
  const one = start(memory({ now: clock.elapsed }), clock)
  for (let i = 0; i < 1_500; i++) one.pseudonymizer.pseudonymize('/', `visitor ${i}`, undefined, i)
  assert.equal(one.visits.length, 500)
  await one.pseudonymizer.forwarded()
  assert.equal(one.visits.length, 1_500)
  assert.equal(one.visits.filter(({ visitor }) => visitor).length, 1_000)
})

test('closing forwards what waits, without a visitor, and leaves no timer', async () => {
  const clock = new ManualClock(NOON)
  const cache = shared(clock)
  cache.fault = () => 'silent'
  const one = start(cache, clock)
  one.pseudonymizer.pseudonymize('/', 'anna', undefined, 1)
  const forwarded = one.pseudonymizer.forwarded()
  one.pseudonymizer.close()
  await forwarded
  assert.deepEqual(one.visits, [{ time: 1, visitor: null, page: '/' }])
  assert.equal(hashOf(one, 'anna'), undefined)
  assert.equal(clock.pending, 0)
})

test('visits after closing have no visitor, though the salt was known', async () => {
  const clock = new ManualClock(NOON)
  const one = start(shared(clock), clock)
  await flushPromises()
  assert(hashOf(one, 'anna'))
  one.pseudonymizer.close()
  assert.equal(hashOf(one, 'anna'), undefined)
})

test('closing while the salt is asked for, and then the cache, warns of nothing', async () => {
  const clock = new ManualClock(NOON)
  let closeCache = (): void => {}
  const closing: Cache = Object.assign(shared(clock), {
    get: () =>
      new Promise<undefined>((_, reject) => {
        closeCache = () => reject(new CacheError('CACHE_CLOSED', 'The cache has been closed'))
      }),
  })
  const one = start(closing, clock)
  one.pseudonymizer.close()
  closeCache()
  await flushPromises()
  assert.deepEqual(one.log.lines, [])
  assert.equal(clock.pending, 0)
})

test('hashes are remembered also when more than 10,000 visitors have come', () => {
  const hashes = new VisitorHashes(Buffer.alloc(32))
  for (let i = 0; i < 10_001; i++) hashes.of(`visitor ${i}`, '')
  const [anna, berta] = [hashes.of('anna', ''), hashes.of('berta', '')]
  assert.equal(hashes.of('anna', ''), anna, 'the same buffer, not another one with its bytes')
  assert.equal(hashes.of('berta', ''), berta)
})

test('identities of any length and any bytes have hashes of their own', async () => {
  const clock = new ManualClock(NOON)
  const one = start(memory({ now: clock.elapsed }), clock)
  const identities = [
    '',
    '\0',
    'x'.repeat(16_000),
    `${'x'.repeat(15_999)}y`,
    '😀',
    'x'.repeat(512),
    'x'.repeat(513),
  ]
  for (const identity of identities) one.pseudonymizer.pseudonymize('/', identity)
  await one.pseudonymizer.forwarded()
  const waited = one.visits.map(({ visitor }) => visitor?.toString('hex'))
  const hashes = identities.map((identity) => hashOf(one, identity))
  assert.equal(new Set(hashes).size, identities.length)
  assert.deepEqual(waited, hashes, 'those that have waited for the salt have the same')
})

test("a visit that waits over midnight has its day's hash, and later ones another", async () => {
  const clock = new ManualClock(Date.UTC(2026, 4, 17, 23, 59, 59))
  const cache = shared(clock)
  const [other, later] = [start(cache, clock), start(cache, clock)]
  await flushPromises()
  const hashes = [hashOf(other, 'anna')]
  let tell: (secret: Buffer<ArrayBuffer>) => void = () => {}
  const waiting = start(cache, clock, () => new Promise((resolve) => (tell = resolve)))
  waiting.pseudonymizer.pseudonymize('/', 'anna')
  await clock.advance(2_000)
  waiting.pseudonymizer.pseudonymize('/', 'anna')
  tell(SECRET)
  await waiting.pseudonymizer.forwarded()
  later.pseudonymizer.pseudonymize('/', 'anna')
  await later.pseudonymizer.forwarded()
  hashes.push(hashOf(later, 'anna'))
  assert.equal(new Set(hashes).size, 2)
  assert.deepEqual(
    waiting.visits.map(({ visitor }) => visitor?.toString('hex')),
    hashes,
  )
})

test('the salt turns at midnight of its time zone', async () => {
  const clock = new ManualClock(Date.UTC(2026, 4, 17, 21, 59, 59))
  const cache = shared(clock)
  const one = start(cache, clock, undefined, calendarIn('Europe/Berlin'))
  one.pseudonymizer.pseudonymize('/', 'anna')
  await one.pseudonymizer.forwarded()
  assert(await cache.get(KEY))
  await clock.advance(2_000)
  one.pseudonymizer.pseudonymize('/', 'anna')
  await one.pseudonymizer.forwarded()
  assert(await cache.get('salt:activity:2026-05-18'))
  const [before, after] = one.visits.map(({ visitor }) => visitor?.toString('hex'))
  assert(before && after && before !== after)
})
