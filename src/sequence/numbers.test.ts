import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'
import { DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import { systemEnvironment } from '../support/environment.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { ManualClock, flushPromises } from '../support/manual-clock.fixture.js'
import { BurstLogger } from '../support/logger.js'
import type { Generation, GenerationRecord } from './generation-record.js'
import { Numbers } from './numbers.js'

interface Options {
  readonly random?: number
  readonly token?: Buffer
  readonly generation?: number
  readonly reserved?: number
  readonly established?: boolean
  readonly cached?: boolean
}

/**
 * Numbers from a row, which may fail or be slow, and the moments at which it was read; with a token
 * they come from a cache.
 */
function bench(options: Options = {}) {
  const clock = new ManualClock(0)
  const began = clock.elapsed()
  const world = {
    /** Failure of a read. */
    fails: undefined as Error | undefined,
    /** Answers a write. */
    writes: async (): Promise<boolean> => true,
    /** Failure to open a generation without a counter. */
    keepsCache: undefined as Error | undefined,
    /** Failure to open a generation with one. */
    opensNone: undefined as Error | undefined,
    delay: 0,
    /** Milliseconds that cache and row take to count. */
    countMs: 0,
    forgets: false,
    loses: false,
    /** Failures of the cache. */
    storesNothing: undefined as Error | undefined,
    silent: undefined as Error | undefined,
    /** It reads values, and increments none. */
    refuses: undefined as Error | undefined,
    /** It refuses to make a number longer, and adds to others. */
    refusesLonger: undefined as Error | undefined,
  }
  const log = keptLog()
  const reads: number[] = []
  const raised: number[] = []
  /** Counters that are only tried. */
  const tried = new Set<string>()
  let last = 0
  const opened: [number, boolean][] = []
  let newest: Generation = {
    generation: options.generation ?? 0,
    token: options.token ?? null,
    base: 0,
    reserved: options.reserved ?? 1_000,
    established: options.established ?? true,
  }
  const record = {
    async read() {
      reads.push(clock.elapsed() - began)
      if (world.delay > 0) await sleep(clock, world.delay)
      if (world.fails) throw world.fails
      return newest
    },
    async open(old: number, token: Buffer | null) {
      if (token === null && world.keepsCache) throw world.keepsCache
      if (token !== null && world.opensNone) throw world.opensNone
      opened.push([old, Buffer.isBuffer(token)])
      return (newest = { ...newest, generation: old + 1, token, established: false })
    },
    establish: () => world.writes(),
    raise(_: number, to: number) {
      raised.push(to)
      return world.writes()
    },
    async take(_: number, count: number) {
      if (world.countMs > 0) await sleep(clock, world.countMs)
      return { first: (last += count) - count + 1, count }
    },
  }
  const numbers = new Numbers({
    name: 'test',
    block: 100,
    cache:
      options.token || options.cached
        ? ({
            increment: async (key: string, by: number) => {
              if (world.countMs > 0) await sleep(clock, world.countMs)
              const failure = world.silent ?? world.refuses
              if (failure) throw failure
              const was = tried.has(key) ? 0 : last
              const isLonger = String(was + by).length > String(was).length
              if (isLonger && world.refusesLonger) throw world.refusesLonger
              if (tried.has(key)) return by
              return world.loses || (by === 0 && world.forgets) ? undefined : (last += by)
            },
            add: async (key: string, _: Buffer, ttlSeconds: number) => {
              if (world.storesNothing) throw world.storesNothing
              if (ttlSeconds < MAX_TTL_SECONDS) tried.add(key)
              return true
            },
            get: async () => {
              if (world.silent) throw world.silent
              return world.forgets ? undefined : Buffer.from('0')
            },
          } as never)
        : undefined,
    record: record as unknown as GenerationRecord,
    logger: new BurstLogger(log, clock.elapsed),
    environment: {
      ...systemEnvironment,
      clock,
      random: () => options.random ?? 0.5,
    },
  })
  return { clock, world, reads, raised, opened, numbers, log }
}

const unreachable = new DatabaseError('ECONNREFUSED', 'unreachable', 'no database')
const unanswered = new CacheError('CACHE_TIMEOUT', 'no answer')
const TOKEN = Buffer.alloc(16)
const never = (): Promise<never> => new Promise(() => undefined)

/** Resolves with `'late'` if an answer needs more than the promises under way. */
function soon(answer: Promise<number>): Promise<number | string> {
  return Promise.race([answer, flushPromises().then(() => 'late')])
}

test('while the database answers nobody waits for a timer', async () => {
  const { numbers, reads } = bench()
  const all = Promise.all([numbers.next(), numbers.next(), numbers.next()])
  await flushPromises()
  assert.deepEqual(await Promise.race([all, 'late']), [1, 2, 3])
  assert.deepEqual(reads, [0])
  numbers.close()
})

test('a passing failure is retried after 50 to 150 ms', async () => {
  for (const [random, moments] of [
    [0, [0, 50, 100, 150]],
    [0.5, [0, 100]],
    [1, [0, 150]],
  ] as const) {
    const { numbers, world, reads, clock } = bench({ random })
    world.fails = unreachable
    const number = numbers.next()
    await clock.advance(199)
    assert.deepEqual(reads, moments)
    world.fails = undefined
    await clock.advance(200)
    assert.equal(await number, 1)
    numbers.close()
  }
})

test('a failure for good rejects all who wait, and the next call asks again', async () => {
  const { numbers, world } = bench()
  world.fails = new DatabaseError('ER_TABLEACCESS_DENIED', 'usage', 'no right')
  const results = await Promise.allSettled([numbers.next(), numbers.next()])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  world.fails = undefined
  assert.equal(await numbers.next(), 1)
  numbers.close()
})

for (const [what, fails, message] of [
  ['failure', unreachable, /within 10 s: no database\. Retry/],
  ['late answer', undefined, /within 10 s: the database takes more than 500 ms to answer/],
] as const) {
  test(`who loses patience just after a ${what} hears of it`, async () => {
    const { numbers, world, clock } = bench({ token: TOKEN })
    Object.assign(world, { delay: 9_990, fails })
    const refused = assert.rejects(numbers.next(), { message })
    await clock.advance(10_000)
    await refused
    numbers.close()
  })
}

test('a reserve that is refused for good is forgotten with its callers', async () => {
  const { numbers, world } = bench({ token: TOKEN, reserved: 0 })
  const denied = new DatabaseError('ER_TABLEACCESS_DENIED', 'usage', 'no right')
  world.writes = () => Promise.reject(denied)
  await assert.rejects(numbers.next(), { message: 'no right' })
  world.writes = async () => true
  assert.equal(await soon(numbers.next()), 2)
  numbers.close()
})

test('an answer that comes too late is asked for again, until the caller gives up', async () => {
  const { numbers, world, reads, clock } = bench({ token: TOKEN })
  world.delay = 600
  const refused = assert.rejects(numbers.next(), {
    code: 'SEQUENCE_UNANSWERED',
    message: /the database takes more than 500 ms to answer/,
  })
  await clock.advance(2_000)
  assert.deepEqual(reads, [0, 700, 1_400])
  await clock.advance(9_000)
  await refused
  numbers.close()
})

test('who loses patience while the cache loses its counter hears of that', async () => {
  const { numbers, opened, world, clock } = bench({ token: TOKEN })
  world.loses = true
  const refused = assert.rejects(numbers.next(), {
    code: 'SEQUENCE_UNANSWERED',
    message: /no number within 10 s: the cache has lost the counter 2 times within 10 s\. Retry/,
  })
  await clock.advance(699)
  assert.deepEqual(opened, [[0, true]])
  await clock.advance(1)
  assert.deepEqual(opened, [
    [0, true],
    [1, true],
  ])
  world.writes = never
  await clock.advance(10_000)
  await refused
  numbers.close()
})

test('losses that are more than ten seconds apart leave the cache in use', async () => {
  const { numbers, opened, world, clock } = bench({ token: TOKEN })
  const take = async () => {
    const number = numbers.next()
    await clock.advance(3_000)
    return number
  }
  world.loses = true
  const first = numbers.next()
  await clock.advance(1_000)
  world.loses = false
  await clock.advance(1_000)
  assert.equal(await first, 1)
  assert.deepEqual(opened.splice(0), [
    [0, true],
    [1, true],
  ])
  await clock.advance(9_000)
  world.loses = true
  const late = numbers.next()
  await clock.advance(100)
  world.loses = false
  await clock.advance(1_000)
  assert.equal(await late, 2)
  assert.deepEqual(opened.splice(0), [[2, true]])
  // A third one soon after these would be one too many.
  world.loses = true
  assert.equal(await take(), 3)
  assert.deepEqual(opened, [
    [3, true],
    [4, false],
  ])
  numbers.close()
})

test('after ten seconds of SQL alone the cache serves; a new sequence does not wait', async () => {
  const { numbers, opened, clock, world } = bench({ generation: 3, cached: true })
  assert.equal(await numbers.next(), 1)
  // A counter is tried, and must still be there three seconds later.
  for (const [forgets, expected] of [
    [true, []],
    [false, [[3, true]]],
  ] as const) {
    world.forgets = forgets
    await clock.advance(7_000)
    await numbers.next()
    await flushPromises()
    assert.deepEqual(opened, [])
    await clock.advance(3_000)
    await numbers.next()
    await flushPromises()
    assert.deepEqual(opened, expected)
  }
  numbers.close()
  const fresh = bench({ generation: 0, cached: true })
  assert.equal(await fresh.numbers.next(), 1)
  assert.deepEqual(fresh.opened, [[0, true]])
  fresh.numbers.close()
})

test('without a cache no generation is opened', async () => {
  const { numbers, opened, clock } = bench({ generation: 3 })
  for (let i = 1; i <= 5; i++) {
    assert.equal(await numbers.next(), i)
    await clock.advance(10_000)
  }
  assert.deepEqual(opened, [])
  numbers.close()
})

test('numbers of a new generation wait until its row says that it is established', async () => {
  const { numbers, world, clock } = bench({ token: TOKEN, established: false })
  world.writes = () => Promise.reject(unreachable)
  const number = numbers.next()
  await clock.advance(2_000)
  assert.equal(await soon(number), 'late')
  world.writes = async () => true
  await clock.advance(1_000)
  assert.equal(await number, 1)
  numbers.close()
})

test('half a block is reserved ahead, and nobody waits for that', async () => {
  const { numbers, world, raised } = bench({ token: TOKEN, reserved: 100 })
  let answer = (_: boolean): void => undefined
  world.writes = () => new Promise((resolve) => (answer = resolve))
  for (let i = 1; i <= 100; i++) assert.equal(await soon(numbers.next()), i)
  const behind = numbers.next()
  assert.equal(await soon(behind), 'late')
  assert.deepEqual(raised, [150])
  answer(true)
  assert.equal(await behind, 101)
  assert.deepEqual(raised, [150, 200])
  numbers.close()
})

test('operations that each take a block write to SQL once for two of them', async () => {
  const { numbers, raised } = bench({ token: TOKEN, reserved: 100 })
  for (let i = 0; i < 7; i++) {
    await Promise.all(Array.from({ length: 100 }, () => numbers.next()))
  }
  assert.deepEqual(raised, [300, 500, 700])
  numbers.close()
})

test('numbers of the cache wait for a reserve that fails, and none is skipped', async () => {
  const { numbers, world, raised, clock } = bench({ token: TOKEN, reserved: 0 })
  world.writes = () => Promise.reject(unreachable)
  const number = numbers.next()
  await clock.advance(99)
  assert.deepEqual(raised, [101])
  world.writes = async () => true
  await clock.advance(1)
  assert.equal(await number, 1)
  numbers.close()
})

test('once all callers have given up, no reserve is written for their numbers', async () => {
  const { numbers, world, raised, clock } = bench({ token: TOKEN, reserved: 0 })
  world.writes = () => Promise.reject(unreachable)
  const refused = assert.rejects(numbers.next(), { code: 'SEQUENCE_UNANSWERED' })
  await clock.advance(10_200)
  await refused
  const before = raised.length
  await clock.advance(60_000)
  assert.equal(raised.length, before)
  numbers.close()
})

test('a cache that loses its counter and stores no other one counts as silent', async () => {
  const { numbers, world, opened, clock } = bench({ token: TOKEN })
  Object.assign(world, { loses: true, forgets: true, storesNothing: unanswered })
  const number = numbers.next()
  await clock.advance(4_999)
  assert.deepEqual(opened, [])
  await clock.advance(101)
  assert.deepEqual(opened, [[0, false]])
  await clock.advance(700)
  assert.equal(await number, 1)
  numbers.close()
})

test('two short silences of the cache are not one long one, however many wait', async () => {
  const { numbers, world, opened, clock } = bench({ token: TOKEN })
  world.countMs = 100
  let isOver = false
  let given = 0
  const calling = (async () => {
    for (; !isOver; given++) await numbers.next()
  })()
  for (let times = 0; times < 3; times++) {
    await clock.advance(1_000)
    world.silent = unanswered
    await clock.advance(3_000)
    world.silent = undefined
  }
  isOver = true
  await clock.advance(1_000)
  await calling
  assert(given > 10, `${given} numbers`)
  assert.deepEqual(opened, [])
  numbers.close()
})

for (const [what, trouble] of [
  ['is silent', { silent: unanswered }],
  ['loses its counters', { loses: true }],
] as const) {
  test(`while the cache ${what} and SQL fails, calls wait for SQL`, async () => {
    const { numbers, world, opened, clock, log } = bench({ token: TOKEN })
    Object.assign(world, { keepsCache: unreachable, ...trouble })
    const number = numbers.next()
    await clock.advance(7_000)
    assert(opened.every(([, isCounted]) => isCounted))
    assert.deepEqual(log.lines, [])
    world.keepsCache = undefined
    await clock.advance(1_000)
    assert.equal(await number, 1)
    assert.match(log.lines.join(), /^wide-cache: numbers of sequence "test" come from SQL alone/)
    Object.assign(world, { silent: undefined, loses: false })
    // A counter that is tried is not yet in use.
    for (const [ms, lines] of [
      [7_000, 1],
      [3_000, 2],
    ] as const) {
      await clock.advance(ms)
      await numbers.next()
      await flushPromises()
      assert.equal(log.lines.length, lines)
    }
    assert.match(log.lines[1]!, /come from the cache again/)
    numbers.close()
  })
}

test('a lost counter that SQL does not record in time is no silence of the cache', async () => {
  const { numbers, world, opened, clock, log } = bench({ token: TOKEN })
  Object.assign(world, { loses: true, forgets: true, opensNone: unreachable })
  const number = numbers.next()
  await clock.advance(7_000)
  assert.equal(opened.length, 0)
  Object.assign(world, { loses: false, forgets: false, opensNone: undefined })
  await clock.advance(1_000)
  assert.equal(await number, 1)
  assert(opened.every(([, isCounted]) => isCounted))
  assert.deepEqual(log.lines, [])
  numbers.close()
})

test('close() ends the wait for a reserve', async () => {
  const { numbers, world, raised, clock } = bench({ token: TOKEN, reserved: 0 })
  world.writes = () => Promise.reject(unreachable)
  const refused = assert.rejects(numbers.next(), { code: 'CLOSED' })
  await clock.advance(1_000)
  numbers.close()
  await refused
  await clock.advance(150)
  const before = raised.length
  await clock.advance(10_000)
  assert.equal(raised.length, before)
})

test('the silence of a cache counts from a call that waits for it', async () => {
  const { numbers, world, opened, clock } = bench({ token: TOKEN })
  Object.assign(world, { silent: unanswered, keepsCache: unreachable })
  const refused = assert.rejects(numbers.next(), { code: 'SEQUENCE_UNANSWERED' })
  await clock.advance(10_200)
  await refused
  await clock.advance(60_000)
  world.keepsCache = undefined
  const number = numbers.next()
  await clock.advance(4_900)
  assert.deepEqual(opened, [])
  world.silent = undefined
  await clock.advance(1_000)
  assert.equal(await number, 1)
  assert.deepEqual(opened, [])
  numbers.close()
})

/** Returns the next number, which comes from SQL after five seconds. */
async function leftForSql({ numbers, opened, clock }: ReturnType<typeof bench>): Promise<number> {
  const number = numbers.next()
  await clock.advance(4_900)
  assert.deepEqual(opened, [])
  await clock.advance(300)
  assert.deepEqual(opened, [[0, false]])
  await clock.advance(1_000)
  return number
}

test('a cache that reads but increments nothing is left for SQL, until it increments', async () => {
  const one = bench({ token: TOKEN })
  const { numbers, world, opened, clock, log } = one
  world.refuses = new CacheError('CACHE_REFUSED', 'increment refused')
  assert.equal(await leftForSql(one), 1)
  assert.match(log.lines.join('\n'), /numbers of sequence "test" come from SQL alone until/)
  const on = async (expected: number): Promise<void> => {
    const next = numbers.next()
    await clock.advance(3_000)
    assert.equal(await next, expected)
  }
  for (let n = 2; n <= 11; n++) await on(n)
  assert.deepEqual(opened, [[0, false]], 'its counters are kept, and count nothing')
  world.refuses = undefined
  for (let n = 12; n <= 16; n++) await on(n)
  assert.deepEqual(opened, [
    [0, false],
    [1, true],
  ])
  numbers.close()
})

test('a cache that makes no number longer is left for SQL, until it does', async () => {
  const one = bench({ token: TOKEN })
  const { numbers, world, opened, clock, log } = one
  for (let n = 1; n <= 9; n++) assert.equal(await numbers.next(), n)
  world.refusesLonger = new CacheError('CACHE_REFUSED', 'increment refused')
  assert.equal(await leftForSql(one), 10)
  assert.match(log.lines.join(), /come from SQL alone until the cache is back: increment refused/)
  const on = async (): Promise<void> => {
    const next = numbers.next()
    await clock.advance(3_000)
    await next
  }
  for (let n = 0; n < 10; n++) await on()
  assert.deepEqual(opened, [[0, false]], 'its counters are kept, and would stop at 9')
  world.refusesLonger = undefined
  for (let n = 0; n < 5; n++) await on()
  assert.deepEqual(opened, [
    [0, false],
    [1, true],
  ])
  numbers.close()
})
