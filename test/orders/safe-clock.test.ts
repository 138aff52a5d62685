import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SafeClock } from '../../src/wide-cache/ledger/safe-clock.js'
import { explore } from '../simulated-world/explorer.js'
import { enterGrid, partsOf } from './parts.js'

const HOUR_MS = 3600_000
const LOOK_MS = 60_000

/**
 * One collector finds that the database's clock has come back, and another one still has a reading
 * of before.
 */
test('a collector that looks late does not undo that the safe clock has fallen', async () => {
  const rises = new Set<number>()
  await explore(
    async (orders) => {
      const [one, two] = [partsOf(orders.actor('one')), partsOf(orders.actor('two'))]
      await enterGrid(orders, [one, two])
      const [back, ahead] = [new SafeClock(one), new SafeClock(two)]
      const now = await orders.alone(() => one.database.now())
      const start = now + HOUR_MS
      orders.look('UPDATE wide_cache_names SET safe_at = ?', [start])
      await orders.alone(() => back.follow(one.database, now))
      await orders.alone(() => ahead.follow(two.database, now + 2 * HOUR_MS))
      await orders.pass(LOOK_MS)
      const values = [start]
      const note = (): void => {
        const [row] = orders.look('SELECT safe_at FROM wide_cache_names')
        values.push(Number(row!['safe_at']))
      }
      await orders.together({
        one: async () => {
          await back.follow(one.database, now + LOOK_MS).catch(() => undefined)
          note()
        },
        two: async () => {
          await ahead.follow(two.database, now + 2 * HOUR_MS).catch(() => undefined)
          note()
        },
      })
      for (const [index, value] of values.entries()) {
        const rise = value - (values[index - 1] ?? value)
        rises.add(rise)
        assert(rise <= 4 * LOOK_MS + 1_000, `it rises by ${rise} ms within a minute`)
      }
    },
    { preemptions: 2, failures: 1 },
  )
  assert(Math.max(...rises) >= 4 * LOOK_MS)
  assert(Math.min(...rises) <= -HOUR_MS + LOOK_MS)
})
