import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { Completeness } from './completeness.js'

const NOW = 1_700_000_000_000

test('rows recorded while SQL is asked are not claimed to be there', async () => {
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
        // What is drained while this is asked may be newer than the question.
        await clock.advance(10_000)
        const row = { layer_seconds: 1, watermark: NOW / 1_000 + 5, complete_to: 0 }
        return { rows: [{ ...row, direct_seconds: 75, direct_to: 0, missing_since: null }] }
      },
    } as never,
    watch: {
      now: async () => clock.now(),
      get estimate() {
        return clock.now()
      },
    } as never,
    writeProof: { keep: () => assert.fail('figures are young') },
  })
  assert.equal((await completeness.read()).asOf, NOW)
})
