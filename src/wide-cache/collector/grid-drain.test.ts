import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../../cache/memory.js'
import { keptLog, ManualClock } from '../../support/fixtures.suite.js'
import { BurstLogger } from '../../support/logger.js'
import { Grid } from '../grid.js'
import { GridDrain } from './grid-drain.js'

const DAY_MS = 86_400_000
const report = {
  layers: 0,
  cells: 0,
  frames: 0,
  committed: 0,
  duplicate: 0,
  quarantined: 0,
  unanswered: 0,
  watermark: 0,
}

test("no clock that leaps has a drain look at a month's cells", async () => {
  const grid = new Grid(Buffer.alloc(16, 1), { width: 1, layerSeconds: 1 })
  const clock = new ManualClock(1_700_000_000_000)
  const asked: string[] = []
  const cache = Object.assign(memory(), {
    getMany: async (keys: readonly string[]) => {
      asked.push(...keys)
      return new Map()
    },
  })
  const drain = new GridDrain(
    {
      cache,
      database: {} as never,
      ledger: {} as never,
      watch: { now: async () => clock.now() + 31 * DAY_MS } as never,
      clock,
      logger: new BurstLogger(keptLog(), clock.elapsed),
      drainAfterLayers: 2,
      cellTtlSeconds: 3_600,
      maxCommitRows: 1_000,
      stamp: 7,
    },
    grid,
  )
  await drain.commitYounger(grid.layerAt(clock.now()) - 2, report)
  assert(asked.length >= 3_600 && asked.length < 3_700, `${asked.length} cells`)
  await cache.close()
})
