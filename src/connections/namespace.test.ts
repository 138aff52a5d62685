import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from '../../test/servers/wrapped.js'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { enterMark, namespaceOf, secretOf } from '../database/identity.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { keyStartOf, marksKey } from './namespace.js'
import { namespaced } from './namespaced-cache.js'

const ID = Buffer.alloc(16, 7)
const LIST = marksKey(ID)
const RENEW_MS = 10_000

/** A cache that processes share, with some methods replaced. */
function sharedCache(replaced: Partial<Cache> = {}): Cache {
  return wrapped<Cache>(memory(), { scope: 'shared', ...replaced })
}

/** A database in the namespace that all of these tests begin with. */
async function database() {
  const opened = sqlite(':memory:')
  await opened.migrate()
  await opened.query('UPDATE wide_cache_identity SET namespace = ?', [ID])
  return opened
}

/** A process. */
async function bench(cache: Cache, given?: Awaited<ReturnType<typeof database>>) {
  const opened = given ?? (await database())
  const [clock, log] = [new ManualClock(0), keptLog()]
  const own = namespaced(cache, {
    database: {
      dialect: opened.dialect,
      maxStatementBytes: opened.maxStatementBytes,
      query: (sql, values) => opened.query(sql, values),
      now: () => opened.now(),
    },
    environment: { ...systemEnvironment, clock },
    logger: log,
  })
  return {
    clock,
    log,
    database: opened,
    cache: own,
    /** Runs `work`, whose waits take no time; returns how long it has waited. */
    async waits(work: () => Promise<unknown>): Promise<number> {
      const since = clock.elapsed()
      let ended = false
      const working = work().finally(() => {
        ended = true
      })
      while (!ended) {
        if (clock.pending > 0) await clock.advance(500)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await working
      return clock.elapsed() - since
    },
    marks: async () => {
      const { rows } = await opened.query('SELECT COUNT(*) AS marks FROM wide_cache_marks')
      return Number(rows[0]!['marks'])
    },
  }
}

test('keys begin with the namespace of the database, in every operation', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  const start = keyStartOf(ID)
  assert.equal(await one.cache.set('a', Buffer.from('1'), 60), true)
  assert.equal(String(await shared.get(`${start}a`)), '1')
  assert.equal(await one.cache.add('a', Buffer.from('2'), 60), false)
  assert.equal(await one.cache.increment('a', 2), 3)
  assert.equal(await one.cache.append('a', Buffer.from('4')), true)
  assert.equal(String(await one.cache.get('a')), '34')
  await shared.set('a', Buffer.from('foreign'), 60)
  assert.deepEqual(await one.cache.getMany(['a', 'b']), new Map([['a', Buffer.from('34')]]))
  assert.equal(await one.cache.delete('a'), true)
  assert.equal(String(await shared.get('a')), 'foreign')
  assert.equal(one.cache.scope, 'shared')
  assert.equal(one.cache.neverGoesBack, true)
  const mayGoBack = await bench(sharedCache({ neverGoesBack: false }), one.database)
  assert.equal(mayGoBack.cache.neverGoesBack, false)
  await one.database.close()
})

test('a key that is unanswered for is named as it was asked for', async () => {
  const error = new CacheError('CACHE_TIMEOUT', 'silent')
  const one = await bench(
    sharedCache({
      async getMany(keys, onUnanswered) {
        for (const key of keys) onUnanswered?.(key, error)
        return new Map()
      },
    }),
  )
  const unanswered: string[] = []
  await one.cache.getMany(['a'], (key) => unanswered.push(key))
  assert.deepEqual(unanswered, ['a'])
  await one.database.close()
})

test('processes of one database put and find marks without a wait', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  const other = await bench(shared, one.database)
  for (let i = 0; i < 80; i++) {
    const { cache, clock, waits } = i % 2 ? one : other
    assert.equal(await waits(() => cache.namespace.look({ always: true })), 0, `look ${i}`)
    await Promise.all([clock.advance(RENEW_MS), (i % 2 ? other : one).clock.advance(RENEW_MS)])
    await shared.delete(`${keyStartOf(ID)}marked`)
  }
  assert.deepEqual([one.log.lines, other.log.lines], [[], []])
  assert((await one.marks()) >= 80)
  const list = await shared.get(LIST)
  assert(list!.length <= 2 * 60 * 16, `${list!.length} bytes of marks`)
  assert(one.cache.namespace.shows(one.cache.namespace.newest!.toString('hex')))
  await one.database.close()
})

test('of processes in use one puts a mark in ten seconds, and none more often', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  const other = await bench(shared, one.database)
  await Promise.all([one.cache.namespace.enter(), other.cache.namespace.enter()])
  const before = await one.marks()
  for (let seconds = 0; seconds < 9; seconds++) {
    for (const { cache, clock } of [one, other]) {
      await clock.advance(1_000)
      await cache.get('key')
    }
  }
  assert.equal(await one.marks(), before)
  for (const { cache, clock } of [one, other]) {
    await clock.advance(1_000)
    await cache.get('key')
  }
  await eventually('one has put a mark', async () => (await one.marks()) === before + 1)
  await one.database.close()
})

test('a copy that is first used takes new keys after five seconds, and logs it', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  await one.cache.namespace.enter()
  const copy = await bench(shared)
  assert((await copy.waits(() => copy.cache.namespace.enter())) >= 5_000)
  assert(!(await namespaceOf(copy.database)).equals(ID))
  assert.equal(copy.log.lines.length, 1)
  assert.match(copy.log.lines[0]!, /another database uses the cache keys of this one/)
  assert.equal(await one.waits(() => one.cache.namespace.look({ always: true })), 0)
  assert((await namespaceOf(one.database)).equals(ID))
  assert.deepEqual(one.log.lines, [])
  await one.database.close()
  await copy.database.close()
})

test('at a foreign mark processes in use take the same new keys, and one says so', async () => {
  const shared = sharedCache()
  const opened = await database()
  let arrived = 0
  const atOnce = wrapped(opened, {
    async query(sql, values) {
      if (sql.startsWith('UPDATE wide_cache_identity')) {
        arrived++
        await eventually('both have seen it', () => arrived === 2)
      }
      return opened.query(sql, values)
    },
  })
  const one = await bench(shared, atOnce)
  const two = await bench(shared, atOnce)
  await one.cache.namespace.enter()
  await two.cache.namespace.enter()
  await shared.append(LIST, systemEnvironment.newId())
  const waited = await Promise.all(
    [one, two].map(({ cache, waits }) => waits(() => cache.namespace.look({ always: true }))),
  )
  const namespace = await namespaceOf(opened)
  assert(!namespace.equals(ID))
  for (const { cache } of [one, two]) assert.deepEqual(cache.namespace.id, namespace)
  for (const ms of waited) assert(ms >= 5_000 && ms < 10_000, `${ms} ms`)
  assert.equal([...one.log.lines, ...two.log.lines].length, 1)
  await opened.close()
})

test('keys in use stay usable while the list of marks is away', async () => {
  const kept = memory()
  const world = { isAway: false }
  const one = await bench(
    sharedCache({
      get: (key) =>
        world.isAway && key === LIST
          ? Promise.reject(new CacheError('CACHE_UNREACHABLE', 'away'))
          : kept.get(key),
    }),
  )
  await one.cache.namespace.enter()
  world.isAway = true
  const { namespace, cache } = await one.cache.looked({ always: true })
  assert.deepEqual(namespace, ID)
  await kept.set(`${keyStartOf(ID)}a`, Buffer.from('own'), 60)
  for (const own of [one.cache, cache]) assert.equal(String(await own.get('a')), 'own')
  await one.database.close()
})

test('a mark that reaches this database node some seconds later is not foreign', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  const mark = systemEnvironment.newId()
  await shared.set(LIST, mark, 1_000)
  const entering = one.cache.namespace.enter()
  for (let looked = 0; looked < 3; looked++) {
    await eventually('it waits', () => one.clock.pending > 0)
    if (looked === 2) await enterMark(one.database, mark)
    await one.clock.advance(1_000)
  }
  assert.equal(await entering, keyStartOf(ID))
  await one.database.close()
})

test('a private cache needs no marks', async () => {
  const one = await bench(memory())
  await one.cache.set('a', Buffer.from('1'), 60)
  await one.clock.advance(10 * RENEW_MS)
  await one.cache.namespace.look({ always: true })
  assert.equal(String(await one.cache.get('a')), '1')
  assert.equal(await one.marks(), 0)
  assert.equal(one.cache.namespace.newest, undefined)
  await one.database.close()
})

test('a process with a private cache learns that others have taken new keys', async () => {
  const one = await bench(memory())
  await one.cache.namespace.enter()
  const other = Buffer.alloc(16, 9)
  await one.database.query('UPDATE wide_cache_identity SET namespace = ?', [other])
  await one.cache.namespace.look({ always: true })
  assert.deepEqual(one.cache.namespace.id, other)
  await one.database.close()
})

test('an emptied table gets an identity again, which all processes follow', async () => {
  const one = await bench(sharedCache())
  await one.cache.namespace.enter()
  await one.database.query('DELETE FROM wide_cache_identity')
  await one.cache.namespace.look({ always: true })
  const id = await namespaceOf(one.database)
  assert.notDeepEqual(id, ID)
  assert.deepEqual(one.cache.namespace.id, id)
  assert.equal((await secretOf(one.database)).length, 32)
  await one.database.close()
})

test('a list that takes no more marks begins anew with the newest', async () => {
  const full = Buffer.alloc(3 * 16, 7)
  const shared = sharedCache({ append: async () => false })
  await shared.set(LIST, full, 60)
  const one = await bench(shared)
  await one.database.query('INSERT INTO wide_cache_marks (mark) VALUES (?)', [full.subarray(0, 16)])
  await one.cache.namespace.enter()
  assert.equal((await shared.get(LIST))!.length, 16)
  assert.notDeepEqual(await shared.get(LIST), full.subarray(0, 16))
  await one.database.close()
})

test('a list that has answered meanwhile is waited for anew', async () => {
  const world = { isAway: true }
  const one = await bench(
    sharedCache({
      get: (key: string) =>
        world.isAway && key.endsWith(':marks')
          ? Promise.reject(new CacheError('CACHE_UNREACHABLE', 'away'))
          : Promise.resolve(undefined),
    }),
  )
  await assert.rejects(one.cache.namespace.enter(), { code: 'CACHE_UNREACHABLE' })
  world.isAway = false
  await one.cache.namespace.enter()
  await one.clock.advance(60_000)
  world.isAway = true
  await one.database.query('UPDATE wide_cache_identity SET namespace = ?', [Buffer.alloc(16, 9)])
  await assert.rejects(one.cache.namespace.look(), { code: 'CACHE_UNREACHABLE' })
  await one.database.close()
})

test('a cache whose list does not answer is used after twenty seconds all the same', async () => {
  const one = await bench(
    sharedCache({
      get: (key: string) =>
        key === LIST
          ? Promise.reject(new CacheError('CACHE_UNREACHABLE', 'away'))
          : Promise.resolve(undefined),
    }),
  )
  for (let seconds = 0; seconds < 20; seconds++) {
    await assert.rejects(one.cache.get('a'), { code: 'CACHE_UNREACHABLE' }, `after ${seconds} s`)
    await one.clock.advance(1_000)
  }
  assert.equal(await one.cache.get('a'), undefined)
  await one.database.close()
})

test('while SQL does not say which keys are its own, the cache is not asked', async () => {
  const one = await bench(sharedCache())
  await one.database.close()
  await assert.rejects(one.cache.get('a'), {
    code: 'CACHE_UNREACHABLE',
    message: /the database has not answered yet, so the keys of its cache are not known/,
  })
})

test('a mark that cannot be put is tried once in ten seconds, and harms no use', async () => {
  const shared = memory()
  let tried = 0
  let fails = false
  const cache = sharedCache({
    add(key, ...given) {
      if (!key.endsWith('marked')) return shared.add(key, ...given)
      tried++
      return fails
        ? Promise.reject(new CacheError('CACHE_TIMEOUT', 'silent'))
        : shared.add(key, ...given)
    },
  })
  const one = await bench(cache)
  await one.cache.get('a')
  tried = 0
  fails = true
  for (let second = 1; second <= 40; second++) {
    await one.clock.advance(1_000)
    // A rejection that nobody handles would fail the test.
    await one.cache.get('a')
  }
  assert.equal(tried, 4)
  await one.database.close()
})

test('a process looks again once a minute', async () => {
  const shared = sharedCache()
  const one = await bench(shared)
  await one.cache.namespace.enter()
  const other = Buffer.alloc(16, 9)
  /** Another process of the database has taken new keys; after how long does this one know? */
  const follows = async (): Promise<number> => {
    const since = one.clock.elapsed()
    const to = (await namespaceOf(one.database)).equals(other) ? ID : other
    await one.database.query('UPDATE wide_cache_identity SET namespace = ?', [to])
    // Somebody else puts the marks.
    await shared.set(`${one.cache.namespace.start}marked`, Buffer.from('1'), 1_000)
    while (!one.cache.namespace.id!.equals(to)) {
      await one.clock.advance(1_000)
      await one.cache.get('key').catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, 5))
      assert(one.clock.elapsed() - since < 100_000)
    }
    return one.clock.elapsed() - since
  }
  for (let times = 0; times < 2; times++) {
    const ms = await follows()
    assert(ms > 50_000 && ms <= 72_000, `${ms} ms`)
  }
  await one.database.close()
})

test('old marks are removed, those that a cache may show are not', async () => {
  const one = await bench(sharedCache())
  await one.database.query('INSERT INTO wide_cache_marks (number, mark) VALUES (?, ?), (?, ?)', [
    1,
    Buffer.alloc(16, 1),
    100_000,
    Buffer.alloc(16, 2),
  ])
  await one.cache.namespace.enter()
  const { rows } = await one.database.query('SELECT number FROM wide_cache_marks ORDER BY number')
  assert.deepEqual(
    rows.map(({ number }) => Number(number)),
    [100_000, 100_001],
  )
  await one.database.close()
})
