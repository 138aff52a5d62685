import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sqlite } from '../database/sqlite/sqlite.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { ClockWatch } from './clock-watch.js'
import { entering, heldBy } from './entering.js'
import { gridSettings } from './grid-options.js'
import { GridRecord } from './ledger/grid-record.js'

const NOW = 1_800_000_000_700

test('a new grid is complete up to the oldest row that its process may hold', async () => {
  for (const [waitedMs, heldMs, ageMs] of [
    // It holds nothing, and a visit may wait for its salt.
    [3_600_000, 0, 5_700],
    [3_600_000, 40_000, 45_700],
    // It has only just begun.
    [2_000, 0, 2_700],
    [2_000, 1_500, 2_700],
  ] as const) {
    const database = sqlite(':memory:')
    await database.migrate(['wide-cache'])
    const settings = { ...gridSettings({}), name: 'test', kind: 'rows', nameSettings: {} }
    const clock = new ManualClock(0)
    const watch = new ClockWatch(clock, new BurstLogger(SILENT, clock.elapsed))
    const newId = (): Buffer => randomBytes(16)
    const record = new GridRecord({
      name: 'test',
      geometry: settings,
      drainAfterLayers: 2,
      flushMs: 50,
      owner: newId(),
      scope: 'shared',
      newId,
    })
    const made = [{ settings, writer: { figures: { heldMs }, isPlaced: true, isBrought: true } }]
    const entered = new Set<string>()
    const parts = {
      settings,
      scope: 'shared',
      clock,
      record,
      made,
      entered,
      decision: { isOpen: false },
      heldMs: heldBy(made, clock),
    } as const
    const enter = entering({ ...parts, watch: Object.assign(watch, { now: async () => NOW }) })
    await clock.advance(waitedMs)
    await enter(database)
    const { rows } = await database.query('SELECT complete_to FROM wide_cache_grids')
    assert.equal(NOW - Number(rows[0]?.['complete_to']), ageMs)
    await database.close()
  }
})
