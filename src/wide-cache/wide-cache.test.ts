import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { type Database, DatabaseError } from '../database/database.js'
import { shifted } from '../database/shifted.fixture.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { SILENT } from '../support/logger.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { jsonCodec } from '../support/exact-json.js'
import type { WideCacheOptions } from './options.js'
import { START_COMMAND } from '../support/package-kinds.js'
import { readNameState } from './operations/name-state.js'
import { openRows } from './row-recorder.fixture.js'
import { type RowRecorder, WideCache } from './wide-cache.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'

/** A port all of whose methods fail while `broken()`. */
function breakable<P extends object>(port: P, broken: () => boolean, error: () => Error): P {
  return new Proxy(port, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown =>
        broken() && property !== 'close'
          ? Promise.reject(error())
          : Reflect.apply(value, target, args)
    },
  })
}

/** A cache that several processes may share. */
function shared(cache: Cache): Cache {
  return new Proxy(cache, {
    get: (target, property) =>
      property === 'scope' ? 'shared' : Reflect.get(target, property).bind(target),
  })
}

/** A wide cache of strings on `memory:` and SQLite, both of which a test can break. */
async function bench(options: Partial<WideCacheOptions<unknown>> = {}) {
  const broken = { cache: false, database: false }
  const cache: Cache = breakable(
    memory(),
    () => broken.cache,
    () => new CacheError('CACHE_UNREACHABLE', 'broken'),
  )
  const real = sqlite(':memory:')
  const database: Database = breakable(
    real,
    () => broken.database,
    () => new DatabaseError('ECONNREFUSED', 'unreachable', 'broken'),
  )
  await real.query('CREATE TABLE taken (place INTEGER PRIMARY KEY, row TEXT NOT NULL)')
  const open = ({
    environment,
    ...more
  }: Partial<WideCacheOptions<unknown>> & { environment?: Environment } = {}) =>
    openRows<unknown>(
      {
        name: 'test',
        cache,
        database,
        collect: false,
        logger: SILENT,
        // Longer than any commit here takes on a busy machine.
        closeTimeoutMs: 60_000,
        async commit(rows, tx) {
          await tx.query(
            `INSERT INTO taken (row) VALUES ${rows.map(() => '(?)').join(', ')}`,
            rows.map((row) => JSON.stringify(row)),
          )
        },
        ...options,
        ...more,
      },
      environment,
    )
  const taken = async (): Promise<unknown[]> =>
    (await real.query('SELECT row FROM taken ORDER BY place')).rows.map(({ row }) =>
      JSON.parse(String(row)),
    )
  return { wide: open(), open, taken, broken, cache, real }
}

const NOTHING = {
  issued: 0,
  committed: 0,
  duplicate: 0,
  quarantined: 0,
  dropped: 0,
  outstanding: 0,
  owed: 0,
  lost: 0,
}

test('what is appended comes to SQL by flush and drain, once', async () => {
  const { wide, taken } = await bench()
  assert.deepEqual(await wide.ledger(), NOTHING)
  wide.append('a')
  wide.append('b')
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 2, outstanding: 2 })
  await wide.flush()
  assert.deepEqual(await taken(), [], 'flush has brought it to the cache')
  const first = await wide.drain({ all: true })
  assert.deepEqual([first.committed, first.duplicate], [2, 0])
  assert.deepEqual(await taken(), ['a', 'b'])
  const second = await wide.drain({ all: true })
  assert.equal(second.committed, 0)
  assert.deepEqual(await wide.close(), { committed: 0, quarantined: 0, inCache: 0, lost: 0 })
  assert.deepEqual(await taken(), ['a', 'b'])
})

test('a drain leaves young layers alone; all: true commits them without passing them', async () => {
  const { wide, taken } = await bench()
  wide.append('young')
  await wide.flush()
  assert.equal((await wide.drain()).committed, 0)
  const all = await wide.drain({ all: true })
  assert.deepEqual([all.committed, all.cells], [1, 1])
  const again = await wide.drain({ all: true })
  assert.deepEqual(
    [again.committed, again.duplicate, again.cells],
    [0, 0, 1],
    'the cell is still there, and to read it again is no second delivery',
  )
  assert.deepEqual(await taken(), ['young'])
  await wide.close()
})

test('a row that is too large or cannot be encoded is dropped and counted alone', async () => {
  const { wide, open, taken } = await bench({ maxFrameBytes: 1024 })
  const cycle: unknown[] = []
  cycle.push(cycle)
  for (const row of ['before', 'x'.repeat(2000), cycle, undefined, 10n, 'after']) wide.append(row)
  await wide.flush()
  await wide.drain({ all: true })
  assert.deepEqual((await taken()).sort(), ['after', 'before'])
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 6, committed: 2, dropped: 4 })
  await wide.close()
  assert.deepEqual(await open().ledger(), { ...NOTHING, issued: 6, committed: 2, dropped: 4 })
})

test('rows of many frames keep their order in a frame and all arrive', async () => {
  const { wide, taken } = await bench({ maxFrameBytes: 1024 })
  const rows = Array.from({ length: 500 }, (_, i) => `row ${i}`)
  for (const row of rows) wide.append(row)
  await wide.flush()
  assert((await wide.drain({ all: true })).frames > 5)
  assert.deepEqual(new Set(await taken()), new Set(rows))
  assert.equal((await taken()).length, 500)
  await wide.close()
})

test('flush with nothing recorded since the last one asks neither cache nor database', async () => {
  const { wide, open, broken } = await bench()
  wide.append('row')
  await wide.flush()
  const fresh = open()
  broken.cache = broken.database = true
  for (const one of [wide, fresh]) await assert.doesNotReject(one.flush())
  broken.cache = broken.database = false
  await Promise.all([wide.close(), fresh.close()])
})

test('a collector says when it fails, and when it collects again', async () => {
  const log = keptLog()
  const { broken, open, real } = await bench({ logger: log })
  const wide = open({ collect: '* * * * * *' })
  await wide.migrate()
  const heard = (what: RegExp) => eventually(String(what), () => log.matching(what).length > 0)
  broken.database = true
  await heard(/collecting "test" failed/)
  broken.database = false
  await heard(/collecting "test" again/)
  // SQL learns of the last run when the lease is renewed or given back.
  await wide.close()
  const [grid] = (await readNameState(real, 'test', await real.now()))!.grids
  assert(grid?.run && grid.run.ms >= 0 && grid.run.at <= (await real.now()) + 1_000)
  assert.equal(grid.run.rows, 0)
})

test('with the cache down, flush commits the rows directly', async () => {
  const { wide, taken, broken } = await bench()
  broken.cache = true
  wide.append('a')
  await wide.flush()
  assert.deepEqual(await taken(), ['a'])
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 1, committed: 1 })
  await wide.close()
})

test('with both down append never throws, flush says why, and the rows come later', async () => {
  const { wide, taken, broken } = await bench()
  broken.cache = broken.database = true
  wide.append('a')
  await assert.rejects(
    wide.flush(),
    (error) => error instanceof DatabaseError && error.category === 'unreachable',
  )
  wide.append('b')
  broken.database = false
  await wide.flush()
  assert.deepEqual(await taken(), ['a', 'b'])
  await wide.close()
})

test('close brings rows and sums to SQL; later rows are dropped, and close repeats', async () => {
  const { wide, open, taken } = await bench()
  wide.append('a')
  const report = await wide.close()
  assert.deepEqual(report, { committed: 1, quarantined: 0, inCache: 0, lost: 0 })
  assert.deepEqual(await taken(), ['a'])
  wide.append('late')
  assert.deepEqual(await wide.close(), report)
  assert.deepEqual(await open().ledger(), { ...NOTHING, issued: 1, committed: 1 })
})

test('close with SQL down leaves the rows in the cache for another collector', async () => {
  const cache = memory()
  const { wide, open, taken, broken } = await bench({ cache: shared(cache), closeTimeoutMs: 500 })
  const other = open()
  await wide.migrate()
  broken.database = true
  wide.append('a')
  assert.deepEqual(await wide.close(), { committed: 0, quarantined: 0, inCache: 1, lost: 0 })
  broken.database = false
  assert.equal((await other.drain({ all: true })).committed, 1)
  assert.deepEqual(await taken(), ['a'])
  await other.close()
})

test('close with SQL down loses the rows of a private cache, and says so', async () => {
  const log = keptLog()
  const { wide, broken } = await bench({ logger: log, closeTimeoutMs: 500 })
  wide.append('a')
  await wide.flush()
  broken.database = true
  assert.deepEqual(await wide.close(), { committed: 0, quarantined: 0, inCache: 0, lost: 1 })
  assert.equal(log.matching(/1 row .*lost/).length, 1, log.lines.join('\n'))
})

test('close with a database that hangs takes its time, and not the time of each part', async () => {
  const hanging = breakable(
    sqlite(':memory:'),
    () => true,
    () => new Error(),
  )
  const silentDatabase: Database = new Proxy(hanging, {
    get: (target, property) =>
      typeof Reflect.get(target, property) === 'function'
        ? () => new Promise(() => undefined)
        : Reflect.get(target, property),
  })
  const clock = new ManualClock(Date.now())
  const { open } = await bench({ database: silentDatabase, closeTimeoutMs: 1000 })
  const wide = open({ environment: { ...systemEnvironment, clock } })
  wide.append('a')
  let lost: number | undefined
  void wide.close().then((report) => (lost = report.lost))
  await clock.advance(999)
  assert.equal(lost, undefined)
  // Connections that do not end have half a second more.
  await clock.advance(501)
  assert.equal(lost, 1)
})

test('close with both down counts what is lost, and says so', async () => {
  const log = keptLog()
  const { wide, broken } = await bench({ logger: log, closeTimeoutMs: 500 })
  broken.cache = broken.database = true
  wide.append('a')
  wide.append('b')
  assert.deepEqual(await wide.close(), { committed: 0, quarantined: 0, inCache: 0, lost: 2 })
  assert.equal(log.matching(/2 rows.*lost/).length, 1, log.lines.join('\n'))
})

test('rows that commit refuses go to quarantine with their frame, and are said', async () => {
  const { wide, taken } = await bench({
    commit: async () => {
      throw new Error('no')
    },
  })
  wide.append('a')
  await wide.flush()
  assert.equal((await wide.drain({ all: true })).quarantined, 1)
  assert.deepEqual(await taken(), [])
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 1, quarantined: 1 })
  await wide.close()
})

test('a failed statement says whether rows are to blame, whatever commit throws', async () => {
  const { wide } = await bench({
    async commit(_rows, tx) {
      try {
        await tx.query('INSERT INTO missing (row) VALUES (1)')
      } catch {
        throw new Error('my commit has failed')
      }
    },
  })
  wide.append('a')
  await wide.flush()
  await assert.rejects(
    wide.drain({ all: true }),
    (error) => error instanceof DatabaseError && error.category === 'usage',
  )
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 1, outstanding: 1 })
})

test('a commit of many columns gets rows that fit a statement, for any backlog', async () => {
  const columns = 16
  const { wide, real } = await bench({
    async commit(rows, tx) {
      const one = `(${Array(columns).fill('?').join(', ')})`
      await tx.query(
        `INSERT INTO wide VALUES ${rows.map(() => one).join(', ')}`,
        rows.flatMap((row) => Array<string>(columns).fill(String(row))),
      )
    },
  })
  await real.query(
    `CREATE TABLE wide (${Array.from({ length: columns }, (_, i) => `c${i} TEXT`).join(', ')})`,
  )
  for (let i = 0; i < 7_000; i++) wide.append(i)
  await wide.flush()
  const { committed, quarantined } = await wide.drain({ all: true })
  assert.deepEqual([committed, quarantined], [7_000, 0])
  await wide.close()
})

test('a codec that returns an invalid end fails its row, not the request', async () => {
  const json = jsonCodec<unknown>()
  const ends: unknown[] = [NaN, 1.5, undefined, 1e9, 0, -2, 'end']
  const codec = {
    ...json,
    encode: (row: unknown, target: Buffer, offset: number) =>
      row === 'good' ? json.encode(row, target, offset) : (ends[Number(row)] as number),
  }
  const { wide, taken } = await bench({ codec })
  for (const row of [0, 1, 'good', 2, 3, 4, 5, 6]) wide.append(row)
  await wide.flush()
  await wide.drain({ all: true })
  assert.deepEqual(await taken(), ['good'])
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 8, committed: 1, dropped: 7 })
  await wide.close()
})

test('a codec that throws on reading sends its frame to quarantine, and stops nobody', async () => {
  const codec = {
    ...jsonCodec<unknown>(),
    decode: () => {
      throw new Error('unreadable')
    },
  }
  const { wide } = await bench({ codec })
  wide.append('a')
  await wide.flush()
  assert.equal((await wide.drain({ all: true })).quarantined, 1)
  await wide.close()
})

test('grids of another width or layer length share a name, and one collector', async () => {
  const cache = memory()
  const { wide, open, taken } = await bench({ cache: shared(cache) })
  const other = open({ width: 8, layerSeconds: 2 })
  wide.append('a')
  other.append('b')
  await Promise.all([wide.flush(), other.flush()])
  assert.equal((await wide.drain({ all: true })).committed, 2)
  assert.deepEqual((await taken()).sort(), ['a', 'b'])
  assert.deepEqual(await other.ledger(), { ...NOTHING, issued: 2, committed: 2 })
  await Promise.all([wide.close(), other.close()])
})

test('figures of a private grid begin with its process, not with an earlier one', async () => {
  const { open } = await bench({ read: async (_, { asOf }) => asOf })
  const wide = open()
  const drainedUntil = (await wide.read()) as number
  const now = Date.now()
  assert(drainedUntil <= now && drainedUntil > now - 60_000, `${now - drainedUntil} ms ago`)
  await wide.close()
})

test('two processes with private caches have a watermark each in one database', async () => {
  const { wide, open, taken } = await bench({ cache: 'memory:' })
  const other = open()
  wide.append('mine')
  other.append('yours')
  await Promise.all([wide.flush(), other.flush()])
  assert.equal((await wide.drain({ all: true })).committed, 1)
  assert.deepEqual(await taken(), ['mine'])
  assert.equal((await other.drain({ all: true })).committed, 1)
  assert.deepEqual(await wide.ledger(), { ...NOTHING, issued: 2, committed: 2 })
  await Promise.all([wide.close(), other.close()])
})

test('close lets the ports live that it was given', async () => {
  const { wide, cache, real } = await bench()
  await wide.close()
  await cache.set('key', Buffer.from('value'), 10)
  assert.equal((await real.query('SELECT 1 AS one')).rows[0]?.['one'], 1)
})

test('read returns what its procedure reads; without one it rejects with the option', async () => {
  const { wide } = await bench()
  await assert.rejects(wide.read(), { name: 'TypeError', message: /option "read"/ })
  const { wide: reading } = await bench({
    read: async (_, { name, asOf }) => ({ name, whole: asOf % 1_000 }),
  })
  assert.deepEqual(await reading.read(), { name: 'test', whole: 0 })
  await Promise.all([wide.close(), reading.close()])
})

for (const [kind, remedy] of [
  [
    'rows',
    'leave out collect: false in one of its processes, or start "wide-cache collect --module"',
  ],
  ['activity', 'start "node_modules/.bin/wide-cache collect" beside the web processes'],
] as const) {
  test(`${kind}: without a collector figures are stale, and the log says so once`, async () => {
    const log = keptLog()
    const { real } = await bench()
    const clock = new ManualClock(Date.now())
    const now = { now: async () => clock.now() }
    const wide = openRows<unknown, { asOf: number; stale: boolean }>(
      {
        name: 'uncollected',
        cache: shared(memory({ now: clock.now })),
        database: wrappedDatabase(real, now, () => now),
        collect: false,
        logger: log,
        commit: async () => {},
        read: async (_, { asOf, stale }) => ({ asOf, stale }),
        readTtlSeconds: 1,
      },
      { ...systemEnvironment, clock },
      kind === 'activity' ? { kind, collectorRemedy: START_COMMAND } : { kind },
    )
    await clock.advance(3_600_000)
    const first = await wide.read()
    assert.deepEqual([clock.now() - first.asOf < 6_000, first.stale], [true, false], 'a new grid')
    await clock.advance(3_600_000)
    assert.deepEqual(await wide.read(), { asOf: first.asOf, stale: true }, 'nothing is proven')
    const writing = async (seconds: number) => {
      for (let passed = 0; passed < seconds; passed++) {
        wide.append('a row')
        await clock.advance(1_000)
        // Each commit is answered before the next one is due.
        for (let statements = 0; statements < 20; statements++) {
          await real.query('SELECT 1')
          await flushPromises()
        }
      }
    }
    await writing(60 + 60)
    assert.deepEqual(await wide.read(), { asOf: first.asOf, stale: true }, 'nor soon')
    await writing(25)
    // Living writers have committed what is older than confirmSeconds and a little.
    const { asOf, stale } = await wide.read()
    assert.deepEqual([Math.floor((clock.now() - asOf) / 10_000), stale], [7, true])
    assert.equal(
      log
        .matching(/no collector has committed rows of "uncollected" for 75 s/)
        .filter((line) => line.includes(remedy)).length,
      1,
    )
    await wide.drain()
    await clock.advance(1_000)
    assert.equal((await wide.read()).stale, true, 'writers may still have what SQL did not take')
    await clock.advance(15_000)
    await wide.drain()
    await clock.advance(1_000)
    assert.equal((await wide.read()).stale, false)
    await wide.close()
  })
}

test('a first reading before any collecting run does not warn of a missing collector', async () => {
  const log = keptLog()
  const { real } = await bench()
  const wide = new WideCache({
    name: 'new',
    cache: shared(memory()),
    database: real,
    logger: log,
    commit: async () => {},
    read: async (_, { asOf }) => asOf,
  })
  await wide.read()
  assert.deepEqual(log.lines, [])
  await wide.close()
})

test('a collector removes old rows, and goes on while there are more', async () => {
  let calls = 0
  const { real } = await bench()
  const wide = new WideCache<unknown>({
    name: 'old',
    cache: 'memory:',
    database: real,
    collect: '* * * * * *',
    logger: SILENT,
    commit: async () => {},
    removeOld: async () => ++calls < 3,
  })
  await wide.migrate()
  await eventually('it goes on while there are more', () => calls === 3)
  await wide.close()
})

/** A wide cache whose database has a clock that is `wrong`, and time that has `passed`. */
async function benchOfClocks() {
  const { cache, real, open, taken } = await bench()
  const off = { wrong: 0, passed: 0 }
  const clock = {
    ...systemEnvironment.clock,
    now: () => Date.now() + off.passed,
    elapsed: () => performance.now() + off.passed,
  }
  const begin = (): RowRecorder<unknown> =>
    open({
      cache: shared(cache),
      database: shifted(real, () => off.passed + off.wrong),
      environment: { ...systemEnvironment, clock },
    })
  return { off, begin, taken }
}

test('layers below a watermark from a clock ahead are drained by new collectors', async () => {
  const { off, begin, taken } = await benchOfClocks()
  off.wrong = 200_000
  const first = begin()
  const { watermark } = await first.drain()
  off.wrong = 0
  first.append('written now')
  await first.flush()
  off.passed = 250_000
  const later = begin()
  assert((await later.drain()).watermark! > watermark!, 'time has caught up with it')
  assert.deepEqual(await taken(), ['written now'])
  await Promise.all([first.close(), later.close()])
})

for (const [where, enteredBefore] of [
  ['raised', true],
  ['entered', false],
] as const) {
  test(`a watermark that a clock ahead has ${where} is soon at the present again`, async () => {
    const { off, begin, taken } = await benchOfClocks()
    if (!enteredBefore) off.wrong = 1_200_000
    const wide = begin()
    const before = (await wide.drain()).watermark! - (enteredBefore ? 0 : 400)
    off.wrong = 1_200_000
    await wide.drain()
    off.wrong = 0
    const { watermark: after } = await wide.drain()
    assert(after! >= before && after! <= before + 10, `from ${before} to ${after}`)
    wide.append('written now')
    await wide.flush()
    await wide.drain({ all: true })
    assert.deepEqual(await taken(), ['written now'])
    await wide.close()
  })
}

test('frames come to SQL in writer order, so no range is left between batches', async () => {
  const entries: unknown[] = []
  const seen: unknown[] = []
  const { wide } = await bench({
    width: 64,
    async commit(rows, tx) {
      seen.push(...rows)
      entries.push((await tx.query('SELECT COUNT(*) AS n FROM wide_cache_ranges')).rows[0]?.['n'])
    },
  })
  for (let i = 0; i < 6_000; i++) {
    wide.append(i)
    if (i % 150 === 149) await wide.flush()
  }
  await wide.drain({ all: true })
  assert.deepEqual(
    seen,
    Array.from({ length: 6_000 }, (_, i) => i),
  )
  assert(
    entries.length >= 4 && entries.every((n) => n === 0),
    `entries before each batch: ${entries.join()}`,
  )
  await wide.close()
})
