import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../cache/cache.js'
import { DatabaseError } from '../../database/database.js'
import { systemEnvironment } from '../../support/environment.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { flushPromises, ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { jsonCodec } from '../../support/exact-json.js'
import type { Frame } from '../frame.js'
import { Grid } from '../grid.js'
import type { Settled, Totals } from '../ledger/ledger.js'
import { Writer } from './writer.js'

const DAY_MS = 24 * 3600 * 1000

/** A writer on a cache and a ledger that a test may break; frames have up to five rows. */
function bench(
  options: {
    closeTimeoutMs?: number
    confirmSeconds?: number
    maxCommitRows?: number
    maxFrameBytes?: number
    maxOutboxBytes?: number
    scope?: Cache['scope']
  } = {},
) {
  const [clock, log] = [new ManualClock(0), keptLog()]
  const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 10 })
  const world = {
    cache: 'up' as 'up' | 'down' | 'full' | 'silent',
    /** The collectors use another cache. */
    differs: false,
    /** The answer of a cache that is silent. */
    silence: new Promise<boolean>(() => undefined),
    database: true,
    /** Milliseconds that a commit takes. */
    commitMs: 0,
    /** SQL answers once it resolves. */
    answering: Promise.resolve(),
    prefix: -1,
    quarantined: new Set<number>(),
    stoodStill: 0,
    takesSums: true,
    /** Number of times the grid was entered, for which the tables are migrated. */
    entered: 0,
    /** Frames that were handed to the cache. */
    sent: 0,
  }
  const placed: number[] = []
  /** Moments whose layers frames were given. */
  const moments: number[] = []
  const committed: { writer: string; sequence: number }[] = []
  /** Times of the direct commits that were tried, done or not. */
  const tried: number[] = []
  const said: Totals[] = []
  const asked: string[] = []
  let ids = 0
  const sql = async <T>(answer: () => T): Promise<T> => {
    await world.answering
    if (!world.database) throw new DatabaseError('ECONNREFUSED', 'unreachable', 'no database')
    return answer()
  }
  const cached = (bytes: Buffer): Promise<boolean> => {
    world.sent++
    if (world.cache === 'down') {
      return Promise.reject(new CacheError('CACHE_UNREACHABLE', 'no cache'))
    }
    if (world.cache === 'silent') return world.silence
    if (world.cache === 'up') placed.push(bytes.length)
    return Promise.resolve(world.cache === 'up')
  }
  const commit = async (frames: readonly Frame[]): Promise<Settled> => {
    tried.push(clock.elapsed())
    const { commitMs } = world
    if (commitMs > 0) await new Promise<void>((resolve) => void clock.after(commitMs, resolve))
    return sql(() => {
      committed.push(...frames.map(({ writer, sequence }) => ({ writer, sequence })))
      return { committed: 0, duplicate: 0, quarantined: 0, prefixes: new Map<string, number>() }
    })
  }
  const writer = new Writer<string>({
    cache: {
      scope: options.scope ?? 'shared',
      append: (_: string, bytes: Buffer) => cached(bytes),
      add: (_: string, bytes: Buffer) => cached(bytes),
      get: async () => undefined,
    } as never,
    published: {
      layerOf: (its, moment) => {
        moments.push(moment)
        return its.layers.at(moment)
      },
      refresh: async () => undefined,
      hasPassed: () => false,
    },
    record: { grid },
    measure: 0,
    sameCache: world,
    ledger: {
      nameOf: () => 'test',
      commit,
      quarantine: commit,
      enterTotals: (_name, totals) =>
        world.takesSums
          ? sql(() => {
              said.push(totals)
            })
          : new Promise(() => undefined),
      prefixOf: (_name, id) => {
        asked.push(id)
        return sql(() => world.prefix)
      },
      quarantinedOf: () => sql(() => world.quarantined),
    },
    database: {
      migrate: () =>
        sql(() => {
          world.entered++
        }),
    },
    heartbeat: () => sql(() => undefined),
    stamp: 0,
    environment: {
      ...systemEnvironment,
      clock: {
        ...clock,
        elapsed: () => clock.elapsed() + world.stoodStill,
        after: (ms, callback) => clock.after(ms, callback),
      },
      random: () => 0.5,
      newId: () => Buffer.alloc(16, ++ids),
    },
    logger: new BurstLogger(log, clock.elapsed),
    settings: {
      name: 'test',
      codec: jsonCodec<string>(),
      flushMs: 500,
      confirmSeconds: options.confirmSeconds ?? 60,
      drainAfterLayers: 2,
      layerSeconds: 10,
      cellTtlSeconds: 90,
      maxFrameBytes: options.maxFrameBytes ?? 207,
      maxOutboxBytes: options.maxOutboxBytes ?? 100_000,
      closeTimeoutMs: options.closeTimeoutMs ?? 3_000,
      maxCommitRows: options.maxCommitRows ?? 1_000,
    },
  })
  return {
    clock,
    log,
    world,
    writer,
    placed,
    moments,
    committed,
    tried,
    said,
    asked,
    /** Appends a row and lets its frame close and be placed. */
    visit: async () => {
      writer.append('x')
      await clock.advance(500)
    },
    close: async () => {
      const closing = writer.close()
      await clock.advance(4_000)
      return closing
    },
  }
}

const idOf = (number: number): string => Buffer.alloc(16, number).toString('hex')

test('reading the sums of a writer enters nothing in SQL; its first frame does', async () => {
  const { visit, world, writer } = bench()
  writer.append('x')
  assert.equal(writer.totals()?.issued, 1)
  assert.equal(world.entered, 0)
  await visit()
  assert(world.entered > 0)
})

test('after a silent day a writer whose frames are all in the ledger takes a new id', async () => {
  const { visit, world, clock, writer, said } = bench()
  assert.equal(writer.totals(), undefined)
  await visit()
  world.prefix = 0
  await clock.advance(DAY_MS - 500)
  await visit()
  assert.deepEqual(writer.totals()?.writer.toString('hex'), idOf(1), 'not before')
  world.prefix = 1
  await clock.advance(DAY_MS)
  await visit()
  assert.deepEqual(writer.totals(), { writer: Buffer.alloc(16, 2), issued: 1, dropped: 0 })
  assert.deepEqual(said, [{ writer: Buffer.alloc(16, 1), issued: 2, dropped: 0 }])
})

test('the last sums of an id that SQL does not take harm nobody', async () => {
  const { visit, world, clock, writer } = bench()
  await visit()
  world.prefix = 0
  await clock.advance(DAY_MS)
  await clock.advance(500)
  world.database = false
  // A rejection that nobody handles would fail the test.
  await visit()
  assert.deepEqual(writer.totals()?.writer, Buffer.alloc(16, 2))
})

test('a writer that the ledger may have forgotten is not entered again', async () => {
  const rested = async () => {
    const found = bench()
    await found.visit()
    found.world.prefix = 0
    await found.clock.advance(20_000)
    found.world.stoodStill = 31 * DAY_MS
    return found
  }
  const closed = await rested()
  assert.equal(closed.writer.totals(), undefined)
  await closed.close()
  assert.deepEqual(closed.said, [])

  const visited = await rested()
  await visited.visit()
  assert.deepEqual(visited.writer.totals()?.writer, Buffer.alloc(16, 2))
  assert.deepEqual(visited.said, [])

  const dropped = await rested()
  dropped.writer.append('x'.repeat(500))
  await dropped.close()
  assert.deepEqual(dropped.said, [{ writer: Buffer.alloc(16, 2), issued: 0, dropped: 1 }])
})

test('a resting writer keeps its id while it holds unconfirmed frames', async () => {
  const { visit, world, clock, writer, committed } = bench()
  await visit()
  world.database = false
  world.stoodStill = 3 * DAY_MS
  await visit()
  assert.deepEqual(writer.totals(), { writer: Buffer.alloc(16, 1), issued: 2, dropped: 0 })
  world.database = true
  await clock.advance(120_000)
  assert.deepEqual(committed, [
    { writer: idOf(1), sequence: 0 },
    { writer: idOf(1), sequence: 1 },
  ])
})

test('a resting writer keeps its id while the ledger misses its dropped rows', async () => {
  const { visit, world, clock, writer, said } = bench()
  await visit()
  world.prefix = 0
  await clock.advance(20_000)
  world.database = false
  writer.append('x'.repeat(500))
  world.stoodStill = 2 * DAY_MS
  await visit()
  assert.deepEqual(writer.totals(), { writer: Buffer.alloc(16, 1), issued: 2, dropped: 1 })
  assert.deepEqual(said, [])
})

test('a frame closes when it is half a second old, full, or flushed, and is placed', async () => {
  const { writer, placed, clock } = bench()
  writer.append('x')
  await clock.advance(499)
  assert.equal(placed.length, 0)
  await clock.advance(1)
  assert.equal(placed.length, 1)
  for (let i = 0; i < 12; i++) writer.append('y'.repeat(40))
  await clock.advance(0)
  assert.equal(placed.length, 4, 'three rows a frame, and the last three wait')
  await writer.flush()
  assert.equal(placed.length, 5)
  await clock.advance(500)
  assert.equal(placed.length, 5)
  assert.equal(writer.totals()?.issued, 13)
})

test('a frame has a thousand rows at most, which a statement takes', async () => {
  const { writer, placed, clock } = bench({ maxFrameBytes: 64 * 1024 })
  for (let i = 0; i < 2_001; i++) writer.append('')
  await clock.advance(0)
  assert.equal(placed.length, 2)
  await writer.flush()
  assert.equal(placed.length, 3)
})

test('with its 16th row a frame closes, but not before it is 50 ms old', async () => {
  const { writer, placed, clock } = bench()
  const append = (rows: number) => {
    for (let i = 0; i < rows; i++) writer.append('')
  }
  append(15)
  await clock.advance(49)
  append(5)
  await clock.advance(0)
  assert.equal(placed.length, 0, 'a burst waits for what comes with it')
  await clock.advance(1)
  assert.equal(placed.length, 1)
  append(15)
  await clock.advance(200)
  assert.equal(placed.length, 1, 'a few rows wait longer')
  append(1)
  assert.equal(placed.length, 1, 'nothing is sent on the tick of a request')
  await clock.advance(0)
  assert.equal(placed.length, 2)
  append(15)
  await clock.advance(500)
  assert.equal(placed.length, 3)
  await clock.advance(1_000)
  assert.equal(placed.length, 3)
  assert.equal(writer.totals()?.issued, 51)
})

test('a frame goes to the layer of its oldest row, though the row has waited before', async () => {
  const { writer, moments, clock } = bench()
  await clock.advance(20_000)
  writer.append('now', 20_000)
  writer.append('waited', 17_000)
  writer.append('now, too')
  await clock.advance(500)
  writer.append('waited', 18_000)
  await clock.advance(500)
  writer.append('now')
  await clock.advance(500)
  assert.deepEqual(moments, [17_000, 18_000, 21_000])
})

test('a full frame that a flush has placed is not placed again by its timer', async () => {
  const { writer, placed, clock } = bench()
  for (let i = 0; i < 12; i++) writer.append('y'.repeat(40))
  await writer.flush()
  assert.equal(placed.length, 4)
  await clock.advance(0)
  assert.equal(placed.length, 4)
})

test('frames that SQL confirms are let go of, and nothing more is asked', async () => {
  const { visit, world, clock, asked, committed } = bench()
  await visit()
  await clock.advance(8_999)
  assert.equal(asked.length, 0)
  world.prefix = 0
  await clock.advance(4_001)
  assert.equal(asked.length, 1)
  await clock.advance(600_000)
  assert.deepEqual([asked.length, committed.length, clock.pending], [1, 0, 0])
})

test('SQL that is slow to answer is asked one question at a time', async () => {
  const { visit, world, clock, asked } = bench()
  await visit()
  world.answering = new Promise(() => undefined)
  await clock.advance(31_000)
  assert.equal(asked.length, 1)
})

/** Makes SQL silent. Returns a function that has it answer again. */
function silenced(world: { answering: Promise<void> }): () => void {
  let answer = (): void => undefined
  world.answering = new Promise((resolve) => (answer = resolve))
  return answer
}

test('an answer for the id that a writer had confirms no frame of its new id', async () => {
  const { visit, writer, world, clock, asked } = bench()
  // SQL has not been asked for ten seconds when the frame is due.
  await clock.advance(20_000)
  world.cache = 'full'
  await visit()
  const answer = silenced(world)
  await clock.advance(6_000)
  assert.deepEqual(asked, [idOf(1)])
  world.answering = Promise.resolve()
  await writer.flush()
  assert.equal(writer.figures.outboxFrames, 0)
  world.stoodStill = 2 * DAY_MS
  world.cache = 'up'
  await visit()
  assert.equal(writer.totals()?.writer.toString('hex'), idOf(2))
  world.prefix = 0
  answer()
  await flushPromises()
  assert.equal(writer.figures.outboxFrames, 1)
})

test('a placed, unconfirmed frame is committed directly after confirmSeconds', async () => {
  const { visit, clock, committed, log } = bench()
  await visit()
  await clock.advance(59_000)
  assert.equal(committed.length, 0)
  await clock.advance(2_500)
  assert.deepEqual(committed, [{ writer: idOf(1), sequence: 0 }])
  assert.match(log.lines.join('\n'), /directly: they were in the cache for 60 s/)
})

test('frames that collectors have brought just before are not committed directly', async () => {
  // Five seconds after SQL was asked last.
  const { visit, world, clock, tried, log } = bench({ confirmSeconds: 65 })
  await visit()
  await clock.advance(62_000)
  world.prefix = 0
  await clock.advance(10_000)
  assert.deepEqual([tried, log.lines], [[], []])
})

test('of frames committed directly, one that was not placed gives the reason', async () => {
  const { visit, writer, world, clock, committed, log } = bench()
  await visit()
  world.cache = 'full'
  await clock.advance(54_500)
  writer.append('y')
  await clock.advance(7_000)
  assert.equal(committed.length, 2)
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /directly: the cache does not store frames/)
})

test('with the cache down frames are committed directly in seconds, and it is logged', async () => {
  const { visit, world, clock, committed, log } = bench()
  world.cache = 'down'
  await visit()
  await clock.advance(1_000)
  assert.equal(committed.length, 1)
  assert.match(log.lines.join('\n'), /directly: no cache server answers/)
})

test('with a cache that never answers, frames are committed directly for that reason', async () => {
  const { visit, world, clock, committed, log } = bench()
  world.cache = 'silent'
  await visit()
  await clock.advance(6_000)
  assert.equal(committed.length, 1)
  assert.match(log.lines.join('\n'), /directly: no cache server has answered yet;/)
})

test('a process with another cache than the collectors commits directly, and tells', async () => {
  const { visit, world, clock, committed, log } = bench()
  world.differs = true
  await visit()
  await clock.advance(1_000)
  assert.equal(committed.length, 1)
  assert.match(log.lines.join('\n'), /directly: the collectors use another cache;/)
})

test('if a cache does not store frames, they are committed directly after 5 s', async () => {
  const { visit, world, clock, committed } = bench()
  world.cache = 'full'
  await visit()
  await clock.advance(3_900)
  assert.equal(committed.length, 0)
  await clock.advance(2_100)
  assert.equal(committed.length, 1)
})

test('where frames are committed directly, SQL is asked for the grid all the same', async () => {
  const { visit, world, clock, committed, asked } = bench()
  world.cache = 'full'
  for (let frames = 0; frames < 10; frames++) {
    await visit()
    await clock.advance(7_500)
  }
  assert.equal(committed.length, 10)
  // In 80 s, every second time that frames go there.
  assert.equal(asked.length, 5)
})

test('after an outage of both, SQL has what is held eleven seconds after its return', async () => {
  const { visit, world, clock, committed } = bench()
  world.cache = 'down'
  world.database = false
  await visit()
  // By now the waits between attempts are half a minute long.
  await clock.advance(100_000)
  world.database = true
  await clock.advance(11_000)
  assert.equal(committed.length, 1)
})

test('while SQL is away, each direct commit that fails is waited for longer', async () => {
  const { visit, world, clock, tried } = bench()
  world.cache = 'down'
  world.database = false
  await visit()
  await clock.advance(130_000)
  const waits = tried.slice(1).map((at, index) => at - tried[index]!)
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

test('where the cache comes back before SQL, it has what is held within seconds', async () => {
  const { visit, world, clock, placed, committed } = bench()
  world.cache = 'down'
  world.database = false
  for (let frames = 0; frames < 3; frames++) await visit()
  await clock.advance(100_000)
  assert.deepEqual([placed.length, committed.length], [0, 0])
  world.cache = 'up'
  await clock.advance(3_000)
  assert.deepEqual([placed.length, committed.length], [3, 0])
})

test('a frame in no cell is placed when the cache is back, after one in a cell', async () => {
  const { visit, world, clock, placed } = bench()
  world.database = false
  await visit()
  world.cache = 'down'
  await visit()
  await clock.advance(30_000)
  assert.equal(placed.length, 1)
  world.cache = 'up'
  await clock.advance(3_000)
  assert.equal(placed.length, 2)
})

test('flush() brings unplaced frames to SQL, and rejects if SQL refuses them too', async () => {
  const { writer, world, committed, clock } = bench()
  world.cache = 'down'
  writer.append('x')
  await writer.flush()
  assert.equal(committed.length, 1)
  world.database = false
  writer.append('x')
  await assert.rejects(writer.flush(), { code: 'ECONNREFUSED' })
  world.database = true
  await clock.advance(120_000)
  assert.equal(committed.length, 2)
})

test('no direct commit is told that SQL has not done', async () => {
  const { writer, world, log } = bench()
  world.cache = 'down'
  world.database = false
  writer.append('x')
  await assert.rejects(writer.flush())
  assert.deepEqual(log.matching(/commits frames/), [])
})

test('flush() tells of no frames that came to SQL while it waited for others', async () => {
  const { visit, writer, world, log, clock } = bench()
  let fail = (): void => undefined
  world.silence = new Promise((_, reject) => {
    fail = () => reject(new CacheError('CACHE_TIMEOUT', 'no answer'))
  })
  world.cache = 'silent'
  await visit()
  world.cache = 'down'
  writer.append('y')
  const flushed = writer.flush()
  await clock.advance(1_000)
  fail()
  await flushed
  await clock.advance(20_000)
  assert.match(log.lines.at(-1)!, /directly; it has committed 2 frames with 2 rows/)
})

test('rows that are invalid, too large or over the bound are dropped and logged', async () => {
  const { writer, log, world, clock, said } = bench({ maxOutboxBytes: 2_000 })
  writer.append(undefined as unknown as string)
  writer.append('x'.repeat(300))
  assert.deepEqual(writer.totals(), { writer: Buffer.alloc(16, 1), issued: 0, dropped: 2 })
  assert.deepEqual(log.lines, [
    'wide-cache: a row of "test" is dropped and counted, because its codec cannot encode it; ' +
      'check the codec, or what is appended (wide-cache: option "row" is undefined; allowed: ' +
      'what JSON can hold, or a codec of your own)',
    'wide-cache: a row of "test" is dropped and counted, because it is over the 207 bytes of a ' +
      'frame; make it smaller, or raise maxFrameBytes',
  ])
  world.cache = 'down'
  world.database = false
  for (let i = 0; i < 20; i++) writer.append('y'.repeat(90))
  assert.match(log.lines[2]!, /rows of "test" are dropped and counted .*holds maxOutboxBytes that/)
  assert.equal(log.lines.length, 3)
  const { issued, dropped } = writer.totals()!
  assert.equal(issued + dropped, 22)
  assert(dropped > 12 && issued > 1, `${issued} issued, ${dropped} dropped`)
  world.database = true
  await clock.advance(120_000)
  assert.deepEqual(said.at(-1), { writer: Buffer.alloc(16, 1), issued, dropped })
})

test('dropped rows are told to SQL once the writer holds no frame', async () => {
  const { visit, writer, world, clock, said } = bench()
  await visit()
  writer.append('x'.repeat(300))
  await clock.advance(8_000)
  assert.deepEqual(said, [])
  world.prefix = 0
  await clock.advance(4_000)
  assert.deepEqual(said, [{ writer: Buffer.alloc(16, 1), issued: 1, dropped: 1 }])
})

test('close() brings all to SQL and reports; later rows are dropped', async () => {
  const { writer, close, committed, said, world, clock } = bench()
  writer.append('x')
  await writer.flush()
  writer.append('y')
  world.quarantined = new Set([1])
  const report = await close()
  assert.deepEqual(report, { committed: 1, quarantined: 1, inCache: 0, lost: 0 })
  assert.deepEqual(committed.map(({ sequence }) => sequence).sort(), [0, 1])
  assert.deepEqual(said, [{ writer: Buffer.alloc(16, 1), issued: 2, dropped: 0 }])
  assert.deepEqual(await writer.close(), report)
  writer.append('z')
  assert.equal(writer.totals()?.dropped, 1)
  assert.equal(clock.pending, 0)
})

test('a question that is under way as the writer closes leads to no other commit', async () => {
  const { visit, writer, world, clock, asked, committed, log } = bench()
  await visit()
  await clock.advance(59_000)
  asked.length = 0
  const answer = silenced(world)
  await clock.advance(1_500)
  const closing = writer.close()
  await flushPromises()
  answer()
  assert.equal((await closing).committed, 1)
  await clock.advance(4_000)
  assert.deepEqual([asked.length, committed.length, clock.pending], [2, 1, 0])
  assert.deepEqual(log.matching(/commits frames/), [])
})

test('close() places what is in no cell at once, without asking SQL after a rest', async () => {
  const { visit, writer, world, clock, placed } = bench()
  await visit()
  await clock.advance(70_000)
  placed.length = 0
  silenced(world)
  writer.append('x')
  const closing = writer.close()
  await flushPromises()
  assert.equal(placed.length, 1)
  await clock.advance(4_000)
  assert.equal((await closing).inCache, 1)
})

test('close() knows the rows in quarantine though the last sums get no answer', async () => {
  const { visit, close, world } = bench()
  await visit()
  Object.assign(world, { prefix: 0, quarantined: new Set([0]), takesSums: false })
  assert.deepEqual(await close(), { committed: 0, quarantined: 1, inCache: 0, lost: 0 })
})

test('close() leaves rows in a shared cache if SQL fails, and reports the rest lost', async () => {
  for (const [scope, cache, expected] of [
    ['shared', 'up', { committed: 0, quarantined: 0, inCache: 1, lost: 0 }],
    ['private', 'up', { committed: 0, quarantined: 0, inCache: 0, lost: 1 }],
    ['shared', 'down', { committed: 0, quarantined: 0, inCache: 0, lost: 1 }],
  ] as const) {
    const { writer, close, world, log } = bench({ scope })
    world.database = false
    world.cache = cache
    writer.append('x')
    assert.deepEqual(await close(), expected)
    assert.equal(
      log.lines.some((line) =>
        /closed with 1 row that neither a shared cache nor the database has taken/.test(line),
      ),
      expected.lost === 1,
    )
    assert.equal(
      log.lines[0],
      'wide-cache: close() of "test" has not written everything to SQL yet: no database',
    )
  }
})

test('close() without SQL places again what the cache had taken, and may have lost', async () => {
  const { visit, close, world, placed } = bench()
  world.database = false
  await visit()
  await visit()
  const before = placed.length
  assert.deepEqual(await close(), { committed: 0, quarantined: 0, inCache: 2, lost: 0 })
  assert.equal(placed.length, before + 2)
})

test('close() places again what an attempt from before has placed meanwhile', async () => {
  for (const [closeTimeoutMs, placedAt] of [
    [3_000, 200],
    // There is time for one more try, and not for a wait before it.
    [1_000, 900],
  ] as const) {
    const { visit, writer, world, placed, clock } = bench({ closeTimeoutMs })
    let store = (_: boolean): void => undefined
    world.silence = new Promise((resolve) => (store = resolve))
    Object.assign(world, { database: false, cache: 'silent' })
    await visit()
    const closing = writer.close()
    await clock.advance(placedAt)
    world.cache = 'up'
    store(true)
    await clock.advance(4_000)
    assert.deepEqual(await closing, { committed: 0, quarantined: 0, inCache: 1, lost: 0 })
    assert.equal(placed.length, 1)
  }
})

test('close() without SQL and cache reports as lost what the cache had taken before', async () => {
  const { visit, close, world } = bench()
  world.database = false
  await visit()
  world.cache = 'down'
  assert.deepEqual(await close(), { committed: 0, quarantined: 0, inCache: 0, lost: 1 })
})

test('close() does not say of what it has not waited for that connections are closed', async () => {
  const { writer, close, world, clock, log } = bench()
  writer.append('x')
  let refuse = (_: Error): void => undefined
  world.answering = new Promise((_, reject) => (refuse = reject))
  assert.equal((await close()).inCache, 1)
  refuse(new DatabaseError('DATABASE_CLOSED', 'usage', 'The database has been closed by close()'))
  await clock.advance(1_000)
  assert.deepEqual(log.matching(/closed by close/), [])
})

test('close() counts as in the cache what it had no time to place again', async () => {
  const { visit, close, world } = bench()
  await visit()
  Object.assign(world, { database: false, cache: 'silent' })
  assert.deepEqual(await close(), { committed: 0, quarantined: 0, inCache: 1, lost: 0 })
})

test('close() commits first what is in no cell', async () => {
  const { visit, close, world, committed } = bench()
  for (let frames = 0; frames < 3; frames++) await visit()
  world.cache = 'down'
  for (let frames = 0; frames < 2; frames++) await visit()
  await close()
  assert.deepEqual(
    committed.map(({ sequence }) => sequence),
    [3, 4, 0, 1, 2],
  )
})

test('close() goes on for twice its time while SQL takes frames that would be lost', async () => {
  for (const [scope, database, wanted] of [
    ['private', true, { committed: 57, quarantined: 0, inCache: 0, lost: 23 }],
    ['private', false, { committed: 0, quarantined: 0, inCache: 0, lost: 80 }],
    ['shared', true, { committed: 19, quarantined: 0, inCache: 61, lost: 0 }],
  ] as const) {
    const { writer, world, clock, log } = bench({ scope, maxCommitRows: 10 })
    // Each transaction takes a frame of 19 rows.
    for (let row = 0; row < 80; row++) writer.append('x')
    await writer.flush()
    world.database = database
    world.commitMs = 1_900
    const began = clock.elapsed()
    let endedAt = NaN
    const closing = writer.close().finally(() => (endedAt = clock.elapsed() - began))
    await clock.advance(20_000)
    assert.deepEqual(await closing, wanted, `${scope}, ${database}`)
    assert.equal(endedAt, wanted.lost > 0 && database ? 6_000 : 3_000, log.lines.join())
  }
})

test('close() without SQL tries the cache until it is back', async () => {
  const { visit, writer, world, clock } = bench()
  world.database = false
  world.cache = 'down'
  for (let frames = 0; frames < 3; frames++) await visit()
  const closing = writer.close()
  await clock.advance(1_100)
  world.cache = 'up'
  await clock.advance(1_900)
  assert.deepEqual(await closing, { committed: 0, quarantined: 0, inCache: 3, lost: 0 })
})

test('close() places a hundred frames at a time', async () => {
  const { clock, world, writer, visit } = bench()
  Object.assign(world, { cache: 'full', database: false })
  for (let n = 0; n < 130; n++) await visit()
  await clock.advance(6_000)
  Object.assign(world, { cache: 'silent', sent: 0 })
  const closing = writer.close()
  await clock.advance(100)
  assert.equal(world.sent, 100)
  await clock.advance(4_000)
  assert.equal((await closing).lost, 130)
})

test('close() tries SQL again until it answers', async () => {
  const { writer, world, clock, committed } = bench()
  world.database = false
  writer.append('x')
  const closing = writer.close()
  await clock.advance(1_000)
  world.database = true
  await clock.advance(200)
  assert.deepEqual([(await closing).committed, committed.length], [1, 1])
})

test('end() tells SQL of rows appended during close; later ones are only logged', async () => {
  const { writer, close, said, log } = bench()
  writer.append('x')
  await close()
  writer.append('y')
  await writer.end(new Promise(() => undefined))
  assert.deepEqual(
    said.map(({ issued, dropped }) => [issued, dropped]),
    [
      [1, 0],
      [1, 1],
    ],
  )
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /rows of "test" were appended during close\(\), and are dropped/)
  writer.append('z')
  assert.match(
    log.lines.at(-1)!,
    /rows of "test" were appended after close\(\) and are in no report/,
  )
})

test('rows appended while end() tells SQL of others are told too, and reported', async () => {
  const { writer, close, said, log } = bench()
  writer.append('x')
  await close()
  writer.append('y')
  const ending = writer.end(new Promise(() => undefined))
  writer.append('z')
  await ending
  assert.deepEqual(
    said.map(({ dropped }) => dropped),
    [0, 1, 2],
  )
  assert.deepEqual(log.matching(/are in no report/), [])
})

test('end() waits for SQL as long as it is told, and no longer', async () => {
  const { writer, world, close } = bench()
  writer.append('x')
  await close()
  world.takesSums = false
  writer.append('y')
  let tell: (() => void) | undefined
  const over = new Promise<void>((resolve) => (tell = resolve))
  let ended = false
  const ending = writer.end(over).then(() => (ended = true))
  await flushPromises()
  assert(!ended, 'the sums have no answer yet')
  tell!()
  await ending
})

test('end() does not wait for SQL that answers with an error', async () => {
  const { writer, world, close, log } = bench()
  writer.append('x')
  await close()
  world.database = false
  writer.append('y')
  await writer.end(new Promise(() => undefined))
  writer.append('z')
  assert.match(log.lines.at(-1)!, /were appended after close\(\) and are in no report/)
})
