import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../../src/support/clock.js'
import { schedule } from '../../src/support/schedule.js'
import { explore } from '../simulated-world/explorer.js'

test('work begins anew as soon as it ends, if a moment has come meanwhile', async () => {
  await explore(async (orders) => {
    const { clock } = orders.actor('process').environment
    const begun: number[] = []
    const scheduled = schedule(
      '* * * * * *',
      async () => {
        begun.push(clock.elapsed())
        await sleep(clock, begun.length === 1 ? 2_300 : 100)
      },
      clock,
    )
    await orders.pass(5_500)
    scheduled.stop()
    const [first = NaN, ...others] = begun
    // The two moments that it has missed count as one.
    assert.deepEqual(
      others.slice(0, 3).map((at) => at - first),
      [2_300, 3_000, 4_000],
    )
  })
})
