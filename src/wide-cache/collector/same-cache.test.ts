import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { systemEnvironment } from '../../support/environment.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { SameCache } from './same-cache.js'

/** A process, and what the marks of its cache show. */
function bench(scope: 'shared' | 'private' = 'shared') {
  const log = keptLog()
  const world = {
    newest: undefined as Buffer | undefined,
    /** The marks of the cache's list. */
    list: [] as string[],
    looks: 0,
    answers: true,
  }
  const namespace = {
    shows: (mark: string) => world.list.includes(mark),
    get newest() {
      const mark = world.list.at(-1)
      return mark === undefined ? undefined : Buffer.from(mark, 'hex')
    },
    async look() {
      world.looks++
      if (!world.answers) throw new CacheError('CACHE_UNREACHABLE', 'away')
    },
  }
  const sameCache = new SameCache({
    settings: { name: 'test' },
    cache: { scope, namespace: namespace as never },
    database: {} as never,
    record: { refresh: async () => world.newest } as never,
    logger: new BurstLogger(log, new ManualClock(0).elapsed),
  })
  return {
    log,
    world,
    sameCache,
    /** Collectors put a mark, which this process's cache shows or not. */
    async see(shown: boolean): Promise<boolean> {
      world.newest = systemEnvironment.newId()
      if (shown) world.list.push(world.newest.toString('hex'))
      await sameCache.compare()
      await sameCache.compare()
      return sameCache.differs
    },
  }
}

test('a process differs while three of six marks are missing, and the log says so', async () => {
  const { log, sameCache, see } = bench()
  await sameCache.compare()
  assert.deepEqual(
    [await see(false), await see(false), await see(true), await see(false)],
    [false, false, false, true],
  )
  assert.equal(log.lines.length, 1)
  assert.match(
    log.lines[0]!,
    new RegExp(
      'the collectors of "test" use another cache than this process' +
        '.*the same list of cache servers.*a name per machine',
    ),
  )
  assert.deepEqual([await see(true), await see(true), await see(true)], [true, true, false])
  assert.equal(log.lines.length, 2)
  assert.match(log.lines[1]!, /use this process's cache again/)
})

test('a mark that the cache did not show yet is looked for once more', async () => {
  const { world, see } = bench()
  await see(true)
  const before = world.looks
  await see(false)
  assert.equal(world.looks - before, 3, 'once for each question, and once more')
})

test('a cache that is flushed again and again is the same one all the time', async () => {
  const { world, see, log } = bench()
  await see(true)
  for (let i = 0; i < 12; i++) {
    // The collectors' newest mark was in it, and since then the first of a new list.
    world.list = [systemEnvironment.newId().toString('hex')]
    assert.equal(await see(false), false)
  }
  assert.deepEqual(log.lines, [])
})

test('a cache that does not answer, or is private, tells nothing', async () => {
  const silent = bench()
  silent.world.answers = false
  for (let i = 0; i < 6; i++) assert.equal(await silent.see(false), false)
  const own = bench('private')
  for (let i = 0; i < 6; i++) assert.equal(await own.see(false), false)
})
