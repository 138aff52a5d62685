import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recounts } from '../../src/activity/recount.js'
import { HOUR_MS } from '../../src/support/clock.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { BurstLogger } from '../../src/support/logger.js'
import { explore, type Ports } from '../simulated-world/explorer.js'
import { BOUNDS, commit, NAME, START, visit } from './activity.js'

test('of two collectors that find a layer unequal, one logs it', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.alone(() => commit(one, [visit(START, 1)]))
    orders.look('DELETE FROM activities')
    const log = keptLog()
    const recounts = ({ database }: Ports): Promise<void> =>
      // The first layers of a day.
      new Recounts({
        name: NAME,
        layerSeconds: 600,
        random: () => 0,
        logger: new BurstLogger(log, () => 0),
      }).run(database, START + HOUR_MS)
    await orders.together({ one: () => recounts(one), two: () => recounts(two) })
    assert.equal(log.lines.length, 1, log.lines.join())
    const found = orders.look('SELECT layers_unequal FROM activity_certificates')
    assert.deepEqual(found, [{ layers_unequal: 2 }])
  }, BOUNDS)
})
