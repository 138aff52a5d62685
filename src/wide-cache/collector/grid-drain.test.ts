import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, CacheError } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { readHint } from '../drain-hint.js'
import { FIRST_HEADER } from '../frame.fixture.js'
import { type Frame, HEADER_BYTES, ROW_LENGTH_BYTES, sealFrame } from '../frame.js'
import { Grid } from '../grid.js'
import type { CommitOptions } from '../ledger/ledger.js'
import { newReport } from './drain-report.js'
import { type DrainParts, GridDrain } from './grid-drain.js'

const DAY_MS = 86_400_000
const STAMP = 7

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
      settings: {
        drainAfterLayers: 2,
        cellTtlSeconds: 3_600,
        directSeconds: 75,
        maxCommitRows: 1_000,
      },
      stamp: STAMP,
      ...parts,
    },
    grid,
  )
  return { cache, drain, asked, silent, done, clock, close: () => cache.close() }
}

const LEAPT = NOW + 31 * DAY_MS
const YOUNG = {
  'commits all': ({ young }: GridDrain) => young.commitAll(PRESENT - 2, newReport()),
  'commits early': ({ young }: GridDrain) => young.commitEarly(PRESENT - 2, LEAPT, newReport()),
}
for (const [how, commit] of Object.entries(YOUNG)) {
  test(`no clock that leaps in a drain that ${how} has it look at a month's cells`, async () => {
    const { drain, asked, close } = bench({ watch: { now: async () => LEAPT } as never })
    await commit(drain)
    assert(asked.size >= 3_600 && asked.size < 3_700, `${asked.size} cells`)
    await close()
  })
}

test('the watermark is published before a cell is read, and again in a long drain', async () => {
  const { drain, done, close } = bench()
  assert.deepEqual(
    await drain.drain(NOW, { watermark: PRESENT - 1_000, isNew: false }, undefined, newReport()),
    {
      newest: PRESENT - 2,
      isWhole: true,
    },
  )
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

/** A drain of cells that each hold a frame of their own writer. */
function benchOfFrames() {
  const cells = new Map<string, Buffer>()
  const commits: string[] = []
  const bed = bench({
    ledger: {
      commit: async (frames: readonly Frame[], { raise }: CommitOptions) => {
        // Before this ends, nothing says so.
        commits.push(`hint ${(await readHint(bed.cache, grid))?.to ?? 'none'}`)
        if (raise) commits.push(`raises to ${raise.to}`)
        const prefixes = new Map(frames.map(({ writer, sequence }) => [writer, sequence]))
        return { committed: frames.length, duplicate: 0, quarantined: 0, prefixes }
      },
      raise: async () => undefined,
    } as never,
  })
  const { getMany } = bed.cache
  bed.cache.getMany = async (keys, onUnanswered) => {
    await getMany(keys, onUnanswered)
    const found = keys.flatMap((key) => {
      const value = cells.get(key)
      return value ? [[key, value] as const] : []
    })
    return new Map(found)
  }
  const put = (layer: number, writer: number): void => {
    const id = Buffer.alloc(16, writer)
    const bytes = Buffer.alloc(HEADER_BYTES + ROW_LENGTH_BYTES)
    const header = { ...FIRST_HEADER, writer: id.toString('hex'), sequence: 4, rowCount: 1 }
    sealFrame(bytes, header, id, STAMP)
    cells.set(grid.keys.cell(layer, 0), bytes)
  }
  const hint = async () => {
    const { after, to, prefixes } = (await readHint(bed.cache, grid))!
    return [after, to, [...prefixes].map(([writer, prefix]) => [writer.slice(0, 2), prefix])]
  }
  return { ...bed, put, hint, commits }
}

test('after its commit a drain tells whose frames it has found, and in which layers', async () => {
  const { drain, put, hint, commits, silent, close } = benchOfFrames()
  const newest = PRESENT - 2
  put(newest - 1, 0xaa)
  put(newest, 0xbb)
  silent.add(grid.keys.cell(newest, 0))
  await drain.drain(NOW, { watermark: newest - 2, isNew: false }, undefined, newReport())
  assert.deepEqual(commits, ['hint none', `raises to ${newest - 1}`])
  const found = [
    ['aa', 4],
    ['bb', 4],
  ]
  // Its layer is not drained: what it holds beside is not known.
  assert.deepEqual(await hint(), [newest - 2, newest - 1, found])
  silent.clear()
  await drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport())
  assert.deepEqual(await hint(), [newest - 2, newest, found])
  put(newest + 8, 0xcc)
  await drain.drain(NOW + 8_000, { watermark: newest + 5, isNew: false }, undefined, newReport())
  assert.deepEqual(await hint(), [newest + 5, newest + 8, [['cc', 4]]], 'others have drained')
  await close()
})

test('a process that drains a grid for the first time looks back five minutes', async () => {
  const { drain, asked, close } = bench()
  const newest = PRESENT - 2
  await drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport())
  assert.deepEqual(
    [asked.size, asked.has(grid.keys.cell(newest - 300, 0)), asked.has(grid.keys.cell(newest, 0))],
    [301, true, true],
  )
  asked.clear()
  await drain.drain(NOW + 1_000, { watermark: newest, isNew: false }, undefined, newReport())
  assert.deepEqual([...asked], [grid.keys.cell(newest + 1, 0)])
  await close()
})

test('where the watermark had expired, a drain looks back again', async () => {
  const { drain, asked, clock, close } = bench()
  const newest = PRESENT - 2
  await drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport())
  for (const [pause, layers] of [
    [19_999, 1],
    [20_000, 301],
    [1, 1],
  ] as const) {
    asked.clear()
    await clock.advance(pause)
    await drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport())
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
  await assert.rejects(
    drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport()),
    /away/,
  )
  fails = false
  asked.clear()
  await drain.drain(NOW, { watermark: newest - 1, isNew: false }, undefined, newReport())
  assert.equal(asked.size, 301)
  await close()
})

test('cells below a watermark that was too high are read until all have answered', async () => {
  const { drain, asked, silent, close } = bench()
  const oldest = grid.keys.cell(PRESENT - 2 - 3_600, 0)
  silent.add(oldest)
  const drained = async () => {
    asked.clear()
    const { isWhole } = await drain.drain(
      NOW,
      { watermark: PRESENT, isNew: false },
      undefined,
      newReport(),
    )
    return { isWhole, isRead: asked.has(oldest) }
  }
  assert.deepEqual(await drained(), { isWhole: false, isRead: true })
  silent.clear()
  assert.deepEqual(await drained(), { isWhole: true, isRead: true })
  assert.deepEqual(await drained(), { isWhole: true, isRead: false })
  await close()
})

test('a watermark ahead of the clock falls with the last of all living cells', async () => {
  const moves: { from: number; to: number; read: number }[] = []
  const { drain, asked, cache, silent, close } = bench({
    ledger: {
      async raise({ from, to }: { from: number; to: number }) {
        moves.push({ from: from - PRESENT, to: to - PRESENT, read: asked.size })
      },
    } as never,
  })
  silent.add(grid.keys.cell(PRESENT - 1_000, 0))
  const report = newReport()
  const drained = async (): Promise<boolean> =>
    (await drain.drain(NOW, { watermark: PRESENT + 100, isNew: false }, undefined, report)).isWhole
  assert(!(await drained()))
  assert.deepEqual([moves, report.watermark], [[], PRESENT + 100], 'it waits for all answers')
  assert.equal(await readHint(cache, grid), undefined)
  silent.clear()
  assert(await drained())
  assert.deepEqual(moves, [{ from: 100, to: -2, read: 3_601 }])
  assert.deepEqual([report.watermark, report.layers], [PRESENT - 2, 0])
  const hint = await readHint(cache, grid)
  assert.equal(hint!.to, PRESENT - 2)
  assert(hint!.after < PRESENT - 1_000 && hint!.after > PRESENT - 1_100, 'what this drain has read')
  await close()
})

test('a watermark falls on a machine that boots in 1970, where no layer is below 0', async () => {
  const { drain, cache, close } = bench()
  for (const seconds of [0, 5, 10_000]) {
    const { newest } = await drain.drain(
      seconds * 1_000,
      { watermark: PRESENT, isNew: false },
      undefined,
      newReport(),
    )
    assert.equal(newest, seconds - 2)
    const { after, to } = (await readHint(cache, grid))!
    assert.deepEqual([after, to], [Math.max(0, newest - 3_601), Math.max(0, newest)])
  }
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
