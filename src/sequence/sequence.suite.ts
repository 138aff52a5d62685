/**
 * Tests of a sequence, one suite for all pairs of a cache and a database. `cached` says that the
 * pair's cache counts; without, numbers come from SQL alone.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cache } from '../cache/cache.js'
import { keyStartOf } from '../connections/namespace.js'
import type { Database } from '../database/database.js'
import { namespaceOf } from '../database/identity.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { faster } from './faster.fixture.js'
import { Sequence, SequenceIn, type SequenceOptions } from './sequence.js'

/** A cache and a database of a test's own, or shared under names of its own. */
export interface Pair {
  readonly database: Database
  readonly cache: Cache
  close(): Promise<void>
}

export interface SequenceSuite {
  /** Registers a test: `test` of node:test, or any other runner's. */
  test: (name: string, body: () => Promise<void>) => unknown
  open: () => Promise<Pair>
  /** Whether the cache counts. */
  cached: boolean
}

const LAST = Number.MAX_SAFE_INTEGER
let names = 0

/** Tools of a test: sequences of one name, as several processes would have them. */
export interface Bench extends Pair {
  readonly name: string
  sequence(options?: Partial<SequenceOptions>): Sequence
  row(): Promise<{ generation: number; token: Buffer | null; reserved: number }>
  /** Has the cache forget the counter. */
  lose(): Promise<void>
  /** Takes numbers until the cache counts, if it does. */
  counting(sequence: Sequence): Promise<number[]>
}

/** The cache's key of the counter of a generation. */
async function keyOf(database: Database, name: string, token: Buffer): Promise<string> {
  return `${keyStartOf(await namespaceOf(database))}sequence:${name}:${token.toString('hex')}`
}

export async function withBench(pair: Pair, body: (bench: Bench) => Promise<void>): Promise<void> {
  const { database, cache } = pair
  const name = `suite-${process.pid}-${names++}`
  const opened: Sequence[] = []
  const bench: Bench = {
    ...pair,
    name,
    sequence(options = {}) {
      const sequence = new Sequence({ name, cache, database, ...options })
      opened.push(sequence)
      return sequence
    },
    async row() {
      const { rows } = await database.query(
        'SELECT generation, token, reserved FROM sequence_generations WHERE name = ?',
        [name],
      )
      const { generation, token, reserved } = rows[0]!
      return {
        generation: Number(generation),
        token: token as Buffer | null,
        reserved: Number(reserved),
      }
    },
    async lose() {
      const { token } = await bench.row()
      if (token) {
        assert.equal(await cache.delete(await keyOf(database, name, token)), true)
      }
    },
    async counting(sequence) {
      const numbers = [await sequence.next()]
      while (cache.scope === 'shared' && !(await bench.row()).token) {
        numbers.push(await sequence.next())
      }
      return numbers
    },
  }
  try {
    await database.migrate()
    await body(bench)
  } finally {
    for (const sequence of opened) await sequence.close()
    await pair.close()
  }
}

/** Registers the suite's tests, their names beginning with `name`. */
export function sequenceSuite(name: string, { test, open, cached }: SequenceSuite): void {
  const check = (sentence: string, body: (bench: Bench) => Promise<void>) =>
    test(`${name}: ${sentence}`, async () => withBench(await open(), body))

  check(
    'the numbers are 1, 2, 3, and so on, none skipped, in the order of the calls',
    async (bench) => {
      const sequence = bench.sequence()
      const numbers = [await sequence.next(), await sequence.next()]
      for (const size of [1, 5, 99, 100, 101, 1, 2_500]) {
        numbers.push(...(await Promise.all(Array.from({ length: size }, () => sequence.next()))))
      }
      assert.deepEqual(
        numbers,
        numbers.map((_, i) => i + 1),
      )
      assert.equal((await bench.row()).token !== null, cached)
    },
  )

  check(
    'two processes that start at once share no number, and who calls after an answer gets a ' +
      'greater one',
    async (bench) => {
      const both = [bench.sequence(), bench.sequence()]
      const numbers = await Promise.all(Array.from({ length: 300 }, (_, i) => both[i % 2]!.next()))
      for (let i = 0; i < 60; i++) {
        const number = await both[i % 2]!.next()
        assert(number > Math.max(...numbers))
        numbers.push(number)
      }
      assert.equal(new Set(numbers).size, numbers.length)
      assert.equal(Math.max(...numbers), numbers.length, 'none is skipped')
    },
  )

  check(
    'the first number is `start`, and later ones go on from where the name is',
    async (bench) => {
      const first = bench.sequence({ start: 48_212 })
      const numbers = [await first.next(), ...(await bench.counting(first))]
      for (const start of [48_212, 1, undefined, 1_000_000]) {
        numbers.push(await bench.sequence({ start }).next())
      }
      assert.equal(numbers[0], 48_212)
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      )
      assert(numbers.at(-1)! < 1_000_000 && new Set(numbers).size === numbers.length)
    },
  )

  check('the last number may be the first', async (bench) => {
    const sequence = bench.sequence({ start: LAST })
    assert.equal(await sequence.next(), LAST)
    await assert.rejects(sequence.next(), RangeError)
  })

  check('no more than a block is reserved ahead', async (bench) => {
    const sequence = bench.sequence({ block: 10 })
    for (let i = 0; i < 100; i++) {
      const number = await sequence.next()
      const { reserved } = await bench.row()
      assert(reserved >= number && reserved - number <= 10, `${reserved} at ${number}`)
    }
  })

  check('a new process goes on behind the last number', async (bench) => {
    const first = bench.sequence()
    const numbers = await bench.counting(first)
    await first.close()
    assert.equal(await bench.sequence().next(), numbers.length + 1)
  })

  check('sequences of two names know nothing of each other', async (bench) => {
    const other = bench.sequence({ name: `${bench.name}-b` })
    assert.deepEqual(
      await Promise.all([bench.sequence().next(), other.next(), other.next()]),
      [1, 1, 2],
    )
  })

  check(
    'past 2^53-1 a call rejects with a RangeError, and what is left is handed out',
    async (bench) => {
      const before = bench.sequence()
      await before.next()
      await before.close()
      await bench.database.query(
        'UPDATE sequence_generations ' +
          'SET generation = 0, token = NULL, base = ?, reserved = ? WHERE name = ?',
        [LAST - 20, LAST - 20, bench.name],
      )
      const sequence = bench.sequence()
      const numbers = await bench.counting(sequence)
      const rest = await Promise.allSettled(Array.from({ length: 30 }, () => sequence.next()))
      for (const outcome of rest) {
        if (outcome.status === 'fulfilled') numbers.push(outcome.value)
        else {
          assert(
            outcome.reason instanceof RangeError &&
              /has reached its last number/.test(outcome.reason.message),
            String(outcome.reason),
          )
        }
      }
      assert.deepEqual(
        numbers,
        Array.from({ length: 20 }, (_, i) => LAST - 19 + i),
      )
      await assert.rejects(sequence.next(), RangeError)
      await bench.lose()
      await assert.rejects(sequence.next(), RangeError)
      assert.equal((await bench.row()).reserved, LAST)
    },
  )

  check(
    'close rejects those who wait, is idempotent, and leaves the cache and the database it ' +
      'was given open',
    async (bench) => {
      const sequence = bench.sequence()
      const waiting = assert.rejects(sequence.next(), { name: 'ClosedError', code: 'CLOSED' })
      await Promise.all([sequence.close(), sequence.close(), waiting])
      await assert.rejects(sequence.next(), { name: 'ClosedError', code: 'CLOSED' })
      await bench.database.now()
      await bench.cache.get('suite:any')
    },
  )

  if (!cached) return

  check(
    'a lost counter skips at most a block, and nobody gets a number twice or a smaller one',
    async (bench) => {
      const BLOCK = 10
      const both = [bench.sequence({ block: BLOCK }), bench.sequence({ block: BLOCK })]
      const numbers = await bench.counting(both[0]!)
      numbers.push(
        ...(await Promise.all(Array.from({ length: 25 }, (_, i) => both[i % 2]!.next()))),
      )
      const generation = (await bench.row()).generation
      for (let loss = 1; loss <= 3; loss++) {
        await bench.lose()
        const last = Math.max(...numbers)
        const more = await Promise.all(Array.from({ length: 25 }, (_, i) => both[i % 2]!.next()))
        assert(more.every((number) => number > last))
        numbers.push(...more)
        assert.equal(
          (await bench.row()).generation,
          generation + loss,
          'one generation for a loss, whoever missed it',
        )
      }
      assert.equal(new Set(numbers).size, numbers.length)
      assert(
        Math.max(...numbers) - numbers.length <= 3 * BLOCK,
        `${Math.max(...numbers) - numbers.length} skipped`,
      )
    },
  )

  check('an old counter that comes back hands out nothing', async (bench) => {
    const sequence = bench.sequence()
    await bench.counting(sequence)
    const { token } = await bench.row()
    await bench.lose()
    const last = await sequence.next()
    await bench.cache.set(await keyOf(bench.database, bench.name, token!), Buffer.from('1'), 60)
    assert.equal(await bench.sequence().next(), last + 1)
    assert.equal(await sequence.next(), last + 2)
  })

  check(
    'a process without the cache takes its numbers from SQL, greater than all before, and ' +
      'they stay unique',
    async (bench) => {
      const withCache = bench.sequence()
      const numbers = await bench.counting(withCache)
      const without = bench.sequence({ cache: 'memory:' })
      for (let i = 0; i < 10; i++) numbers.push(await without.next(), await withCache.next())
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      )
      assert.equal(new Set(numbers).size, numbers.length)
    },
  )

  check(
    'a process acts on what SQL has said, and does not ask anew for every call',
    async (bench) => {
      const database = new FaultyDatabase(bench.database)
      const sequence = bench.sequence({ database, block: 100_000 })
      await bench.counting(sequence)
      const before = database.asked
      const end = performance.now() + 1_000
      let calls = 0
      for (; performance.now() < end; calls++) await sequence.next()
      const asked = database.asked - before
      assert(asked <= 12 && calls > 10 * asked, `${asked} statements for ${calls} calls`)
    },
  )

  check('calls that wait at one time share one operation of the cache', async (bench) => {
    const cache = new FaultyCache(bench.cache, () => 'none', 'shared')
    const sequence = bench.sequence({ cache })
    await bench.counting(sequence)
    cache.operations = 0
    await Promise.all(Array.from({ length: 100 }, () => sequence.next()))
    assert.equal(cache.operations, 1)
  })

  check(
    'what was on its way when the cache fell silent is skipped, and no generation is opened',
    async (bench) => {
      const cache = new FaultyCache(bench.cache, () => 'none', 'shared')
      const sequence = bench.sequence({ cache })
      const numbers = await bench.counting(sequence)
      cache.fault = () => 'done'
      const answers = Promise.all(Array.from({ length: 10 }, () => sequence.next()))
      await delay(500)
      cache.fault = () => 'none'
      numbers.push(...(await answers))
      assert.equal(
        Math.max(...numbers) - numbers.length,
        10,
        'skipped once, though it was tried again and again',
      )
      assert.equal((await bench.row()).generation, 1)
    },
  )

  check(
    'a cache that stays silent is replaced by SQL, and used again when it is back',
    async (bench) => {
      const cache = new FaultyCache(bench.cache, () => 'none', 'shared')
      const log = keptLog()
      const sequence = new SequenceIn(
        {
          name: bench.name,
          cache,
          database: bench.database,
          logger: log,
        },
        faster(5),
      )
      try {
        const numbers = await bench.counting(sequence)
        cache.fault = () => 'timeout'
        numbers.push(await sequence.next())
        assert.equal((await bench.row()).token, null)
        cache.fault = () => 'none'
        numbers.push(...(await bench.counting(sequence)), await sequence.next())
        assert.deepEqual(
          numbers,
          numbers.toSorted((a, b) => a - b),
        )
        assert.match(
          log.lines.join('\n'),
          /come from SQL alone until the cache is back[^\n]*\n[^\n]*come from the cache again/,
        )
      } finally {
        await sequence.close()
      }
    },
  )

  check(
    'a cache that loses its counter again and again is replaced by SQL, and used again when ' +
      'it keeps one',
    async (bench) => {
      const SPEED = 3
      const log = keptLog()
      const sequence = new SequenceIn(
        {
          name: bench.name,
          cache: bench.cache,
          database: bench.database,
          logger: log,
        },
        faster(SPEED),
      )
      const { cache } = bench
      const { increment } = cache
      let isStorm = false
      let [lost, probes] = [0, 0]
      // In the storm each counter is lost before it is asked for.
      cache.increment = async (key, by) => {
        if (!isStorm) return increment.call(cache, key, by)
        if (by === 0) probes++
        else lost++
        await cache.delete(key)
        return undefined
      }
      try {
        const numbers = await bench.counting(sequence)
        isStorm = true
        numbers.push(await sequence.next())
        assert.equal(lost, 3, 'SQL serves from the third loss on')
        while (probes === 0) {
          numbers.push(await sequence.next())
          await delay(1)
        }
        assert.equal((await bench.row()).token, null, 'a counter that was lost is not used')
        assert.equal(lost, 3)
        isStorm = false
        numbers.push(...(await bench.counting(sequence)), await sequence.next())
        assert.deepEqual(
          numbers,
          numbers.toSorted((a, b) => a - b),
        )
        assert.match(
          log.lines.join('\n'),
          new RegExp(
            'SQL alone until the cache keeps a counter: ' +
              'the cache has lost the counter 3 times ' +
              String.raw`within 10 s[^\n]*\n[^\n]*come from the cache again`,
          ),
        )
        assert.equal(log.lines.length, 2)
      } finally {
        await sequence.close()
      }
    },
  )

  check(
    'while the database is away numbers go on for half a second, then calls wait until it is back',
    async (bench) => {
      let down = false
      const database = new FaultyDatabase(bench.database, () => (down ? 'refused' : 'none'))
      const sequence = bench.sequence({ database, block: 100_000 })
      const numbers = await bench.counting(sequence)
      numbers.push(await sequence.next())
      down = true
      const start = performance.now()
      let longest = 0
      setTimeout(() => (down = false), 1_500)
      for (let before = start; performance.now() - start < 2_000; before = performance.now()) {
        numbers.push(await sequence.next())
        longest = Math.max(longest, performance.now() - before)
      }
      assert(longest > 500, `the longest call took ${longest} ms`)
      assert.deepEqual(
        numbers,
        numbers.map((_, i) => i + 1),
        'none is skipped',
      )
    },
  )

  check(
    'cache and database both away: a call rejects when its patience is over, and the next ' +
      'one is answered when they are back',
    async (bench) => {
      const cache = new FaultyCache(bench.cache, () => 'none', 'shared')
      let down = false
      const database = new FaultyDatabase(bench.database, () => (down ? 'refused' : 'none'))
      const sequence = new SequenceIn({ name: bench.name, cache, database }, faster(5))
      try {
        const numbers = await bench.counting(sequence)
        cache.fault = () => 'timeout'
        down = true
        await assert.rejects(sequence.next(), {
          name: 'SequenceError',
          code: 'SEQUENCE_UNANSWERED',
          message: /no number within 10 s: .*, says the test/,
        })
        cache.fault = () => 'none'
        down = false
        assert((await sequence.next()) > Math.max(...numbers))
      } finally {
        await sequence.close()
      }
    },
  )

  for (const declared of [false, undefined]) {
    check(
      `a cache that declares ${declared} of never going back gives no number, and repeats none`,
      async (bench) => {
        const cache = new FaultyCache(bench.cache, undefined, 'shared')
        Object.assign(cache, { neverGoesBack: declared })
        const sequences = [bench.sequence({ cache }), bench.sequence({ cache })]
        const numbers: number[] = []
        for (let i = 0; i < 20; i++) {
          const snapshot = await cache.snapshot()
          for (const sequence of sequences) numbers.push(await sequence.next())
          await cache.restore(snapshot)
        }
        assert.deepEqual(
          numbers,
          numbers.map((_, index) => index + 1),
        )
        assert.equal((await bench.row()).token, null)
        assert.equal(cache.operations, 0, 'it is not asked')
      },
    )
  }

  check('a database that refuses for good is told at once', async (bench) => {
    const sequence = bench.sequence()
    await sequence.next()
    await bench.database.query(
      'ALTER TABLE sequence_generations RENAME TO sequence_generations_gone',
    )
    try {
      await delay(600)
      await assert.rejects(sequence.next(), { name: 'DatabaseError', category: 'usage' })
    } finally {
      await bench.database.query(
        'ALTER TABLE sequence_generations_gone RENAME TO sequence_generations',
      )
    }
  })
}
