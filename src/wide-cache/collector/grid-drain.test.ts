import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { Grid } from '../grid.js'
import { newReport } from './drain-report.js'
import { type DrainParts, GridDrain } from './grid-drain.js'

const DAY_MS = 86_400_000

const NOW = 1_700_000_000_000
const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 1 })
const PRESENT = grid.layers.at(NOW)

/**
 * A drain of empty cells, which notes what it asks for, and in which order it works. Cells in
 * `silent` have no answer.
 */
function bench(parts: Partial<DrainParts> = {}) {
  const clock = new ManualClock(NOW)
  const done: string[] = []
  const asked = new Set<string>()
  const silent = new Set<string>()
  const cache = Object.assign(memory(), {
    async getMany(keys: readonly string[], onUnanswered: (key: string, error: CacheError) => void) {
      done.push('reads')
      for (const key of keys) {
        asked.add(key)
        if (silent.has(key)) onUnanswered(key, new CacheError('CACHE_TIMEOUT', 'no answer'))
      }
      return new Map()
    },
  })
  const drain = new GridDrain(
    {
      cache,
      namespace: Buffer.alloc(16, 2),
      database: {} as never,
      ledger: { raise: async () => void done.push('raises') } as never,
      published: {
        ttlMs: 20_000,
        async publish(_cache: Cache, _grid: Grid, watermark: number) {
          await new Promise(setImmediate)
          done.push(`published ${PRESENT - watermark} layers ago`)
        },
      },
      watch: { wentBackAt: -Infinity } as never,
      clock,
      logger: new BurstLogger(keptLog(), clock.elapsed),
      settings: { drainAfterLayers: 2, cellTtlSeconds: 3_600, maxCommitRows: 1_000 },
      stamp: 7,
      ...parts,
    },
    grid,
  )
  return { drain, asked, silent, done, clock, close: () => cache.close() }
}

test("no clock that leaps has a drain look at a month's cells", async () => {
  const { drain, asked, close } = bench({
    watch: { now: async () => NOW + 31 * DAY_MS } as never,
  })
  await drain.young.commitAll(PRESENT - 2, newReport())
  assert(asked.size >= 3_600 && asked.size < 3_700, `${asked.size} cells`)
  await close()
})

test('the watermark is published before a cell is read, and again in a long drain', async () => {
  const { drain, done, close } = bench()
  assert.deepEqual(await drain.drain(NOW, PRESENT - 1_000, undefined, newReport()), {
    newest: PRESENT - 2,
    isWhole: true,
  })
  assert.deepEqual(done.slice(0, 5), [
    'published 2 layers ago',
    'reads',
    'raises',
    'published 2 layers ago',
    'reads',
  ])
  assert.equal(done.at(-1), 'raises')
  await close()
})

test('a process that drains a grid for the first time looks back five minutes', async () => {
  const { drain, asked, close } = bench()
  const newest = PRESENT - 2
  await drain.drain(NOW, newest - 1, undefined, newReport())
  assert.deepEqual(
    [asked.size, asked.has(grid.keys.cell(newest - 300, 0)), asked.has(grid.keys.cell(newest, 0))],
    [301, true, true],
  )
  asked.clear()
  await drain.drain(NOW + 1_000, newest, undefined, newReport())
  assert.deepEqual([...asked], [grid.keys.cell(newest + 1, 0)])
  await close()
})

test('where the watermark had expired, a drain looks back again', async () => {
  const { drain, asked, clock, close } = bench()
  const newest = PRESENT - 2
  await drain.drain(NOW, newest - 1, undefined, newReport())
  for (const [pause, layers] of [
    [19_999, 1],
    [20_000, 301],
    [1, 1],
  ] as const) {
    asked.clear()
    await clock.advance(pause)
    await drain.drain(NOW, newest - 1, undefined, newReport())
    assert.equal(asked.size, layers, `after ${pause} ms`)
  }
  await close()
})

test('a process whose first drain fails looks back in the next one', async () => {
  let fails = true
  const { drain, asked, close } = bench({
    ledger: {
      async raise() {
        if (fails) throw new Error('away')
      },
    } as never,
  })
  const newest = PRESENT - 2
  await assert.rejects(drain.drain(NOW, newest - 1, undefined, newReport()), /away/)
  fails = false
  asked.clear()
  await drain.drain(NOW, newest - 1, undefined, newReport())
  assert.equal(asked.size, 301)
  await close()
})

test('cells below a watermark that was too high are read until all have answered', async () => {
  const { drain, asked, silent, close } = bench()
  const oldest = grid.keys.cell(PRESENT - 2 - 3_600, 0)
  silent.add(oldest)
  const drained = async () => {
    asked.clear()
    const { isWhole } = await drain.drain(NOW, PRESENT + 10, undefined, newReport())
    return { isWhole, isRead: asked.has(oldest) }
  }
  assert.deepEqual(await drained(), { isWhole: false, isRead: true })
  silent.clear()
  assert.deepEqual(await drained(), { isWhole: true, isRead: true })
  assert.deepEqual(await drained(), { isWhole: true, isRead: false })
  await close()
})

test('young layers of which a cell has no answer are not all in SQL', async () => {
  for (const layer of [PRESENT - 39, PRESENT - 20, PRESENT + 2]) {
    const { drain, silent, close } = bench()
    silent.add(grid.keys.cell(layer, 0))
    assert(!(await drain.young.commitEarly(PRESENT - 40, NOW, newReport())))
    silent.clear()
    assert(await drain.young.commitEarly(PRESENT - 40, NOW, newReport()))
    await close()
  }
})
