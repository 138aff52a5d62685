import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { systemEnvironment } from '../../support/environment.js'
import { eventually } from '../../support/eventually.fixture.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { Grid } from '../grid.js'
import { Marks } from './marks.js'

const grid = new Grid(Buffer.alloc(16, 7), { width: 2, layerSeconds: 10 })

/** A cache that processes share, with some methods replaced. */
function sharedCache(replaced: Partial<Cache> = {}): Cache {
  return new Proxy<Cache>(memory(), {
    get: (target, property) =>
      property === 'scope'
        ? 'shared'
        : Reflect.get(property in replaced ? replaced : target, property).bind(target),
  })
}

/** A process with a database of its own, whose grid has the same id as all others'. */
async function bench(cache: Cache, database = sqlite(':memory:')) {
  await database.migrate()
  const [clock, log] = [new ManualClock(0), keptLog()]
  const record = {
    grid,
    newest: undefined as Buffer | undefined,
    refresh: async () => record.newest,
  }
  const marks = new Marks({
    cache,
    database,
    record: record as never,
    clock,
    logger: new BurstLogger(log, clock.elapsed),
    name: 'test',
    newId: () => systemEnvironment.newId(),
  })
  return {
    clock,
    log,
    database,
    record,
    marks,
    /** A collecting run whose waits take no time: its mark, and how long it has waited at least. */
    async put() {
      const since = clock.elapsed()
      let settled = false
      const putting = marks.put(grid.keys, 0).finally(() => {
        settled = true
      })
      while (!settled) {
        if (clock.pending > 0) await clock.advance(500)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      return { mark: await putting, waited: clock.elapsed() - since }
    },
    knows: (mark: Buffer) =>
      database.query('INSERT INTO wide_cache_marks (grid_id, mark, made_at) VALUES (?, ?, 0)', [
        grid.id,
        mark,
      ]),
  }
}

test('collecting runs of one database put and find marks without a wait', async () => {
  const cache = sharedCache()
  const one = await bench(cache)
  const other = await bench(cache, one.database)
  for (let i = 0; i < 80; i++) {
    const { mark, waited } = await (i % 2 ? one : other).put()
    assert(Buffer.isBuffer(mark) && waited === 0, `run ${i}`)
  }
  assert.deepEqual(one.log.lines, [])
  const list = await cache.get(grid.keys.marks)
  assert(list!.length <= 2 * 60 * 16, `${list!.length} bytes of marks`)
  await one.database.close()
})

test('a mark that stays unknown for five seconds shows that another database exists', async () => {
  const cache = sharedCache()
  const one = await bench(cache)
  assert(Buffer.isBuffer((await one.put()).mark))
  const clone = await bench(cache)
  const { mark, waited } = await clone.put()
  assert.deepEqual([mark, waited >= 5_000], ['foreign', true])
  assert.equal((await one.put()).mark, 'foreign', 'and so it does to the other')
  await one.database.close()
  await clone.database.close()
})

test('a mark that reaches this database node some seconds later is not foreign', async () => {
  const cache = sharedCache()
  const one = await bench(cache)
  const mark = systemEnvironment.newId()
  await cache.set(grid.keys.marks, mark, 1_000)
  const putting = one.marks.put(grid.keys, 0)
  for (let looked = 0; looked < 3; looked++) {
    await eventually('it waits', () => one.clock.pending > 0)
    if (looked === 2) await one.knows(mark)
    await one.clock.advance(1_000)
  }
  assert(Buffer.isBuffer(await putting))
  await one.database.close()
})

test('a private cache needs no marks, and one that is full or away shows none', async () => {
  const one = await bench(memory())
  assert.equal((await one.put()).mark, undefined)
  assert.deepEqual((await one.database.query('SELECT * FROM wide_cache_marks')).rows, [])
  await one.database.close()
  const away = () => Promise.reject(new CacheError('CACHE_UNREACHABLE', 'away'))
  for (const cache of [
    sharedCache({ append: async () => false, add: async () => false }),
    sharedCache({ append: away }),
    sharedCache({ get: away }),
  ]) {
    const process = await bench(cache)
    assert.equal((await process.put()).mark, undefined)
    await process.database.close()
  }
})

test('a process is apart while three of six marks are missing, and the log says so', async () => {
  const cache = sharedCache()
  const one = await bench(cache)
  const see = async (shown: boolean): Promise<boolean> => {
    one.record.newest = systemEnvironment.newId()
    if (shown) await cache.set(grid.keys.marks, one.record.newest, 1_000)
    await one.marks.compare()
    await one.marks.compare()
    return one.marks.apart
  }
  await one.marks.compare()
  assert.deepEqual(
    [await see(false), await see(false), await see(true), await see(false)],
    [false, false, false, true],
  )
  assert.equal(one.log.lines.length, 1)
  assert.match(
    one.log.lines[0]!,
    new RegExp(
      'the collectors of "test" use another cache than this process' +
        '.*the same list of cache servers.*a name per machine',
    ),
  )
  assert.deepEqual([await see(true), await see(true), await see(true)], [true, true, false])
  assert.equal(one.log.lines.length, 2)
  assert.match(one.log.lines[1]!, /use this process's cache again/)
  await one.database.close()
})
