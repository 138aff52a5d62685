import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { Completeness } from './completeness.js'

const NOW = 1_700_000_000_000

test('rows of a grid that is entered while SQL is asked are not claimed to be there', async () => {
  const clock = new ManualClock(NOW)
  const completeness = new Completeness({
    settings: {
      name: 'test',
      readTtlSeconds: 2,
      collectorRemedy: '',
    },
    clock,
    logger: new BurstLogger(SILENT, clock.elapsed),
    database: {
      async query() {
        // The grid is entered after this answer, and takes rows while the answer is on its way.
        await clock.advance(10_000)
        return { rows: [] }
      },
    } as never,
    watch: { now: async () => clock.now() } as never,
  })
  assert((await completeness.read()).asOf <= NOW)
})
