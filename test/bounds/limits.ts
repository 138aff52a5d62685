/** What waits in memory is refused above its limit, and taken up to it. Run with `?bounds`. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import type { Transaction } from '../../src/database/database.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { SILENT } from '../../src/support/logger.js'

const LIMIT = 3
const EDGES = [LIMIT - 1, LIMIT, LIMIT + 1]

const database = sqlite(':memory:')
after(() => database.close())

function mapOf(id: string): CollisionFreeMap<string, number> {
  const combine = (_key: string, sum = 0, updates: readonly number[]): number =>
    updates.reduce((a, b) => a + b, sum)
  return new CollisionFreeMap({ database, name: id, combine, every: false, logger: SILENT })
}

/** Holds up to the limit, and not above it. */
async function assertLimit(many: number, error: object | RegExp, work: () => Promise<unknown>) {
  if (many > LIMIT) await assert.rejects(work, error)
  else await work()
}

for (const many of EDGES) {
  test(`${many} updates in one transaction, at once and one by one`, async () => {
    const map = mapOf(`rows-${many}`)
    await map.migrate()
    const updates = Array.from({ length: many }, (_, n) => [`key ${n}`, 1] as const)
    const error = /more than 3 updates in one transaction/
    for (const calls of [[updates], updates.map((one) => [one])]) {
      const work = async (tx: Transaction): Promise<void> => {
        for (const some of calls) await map.update(some, tx)
      }
      await assertLimit(many, error, () => database.transaction(work))
    }
    assert.equal(await map.get('key 0'), many > LIMIT ? undefined : 2)
    await map.close()
  })

  test(`${many} updates of one key that are queued`, async () => {
    const map = mapOf(`queued-${many}`)
    // The second time there is a value that they change.
    for (const before of [0, many]) {
      for (let n = 0; n < many; n++) await map.update([['key', 1]])
      await assertLimit(many, /more than 3 updates of one key/, async () => {
        assert.equal(await map.get('key'), before + many)
      })
      await map.process()
      assert.equal(await map.get('key'), before + many)
    }
    await map.close()
  })

  test(`${many} statements of one transaction that wait behind another one`, async () => {
    await assertLimit(many, { code: 'DATABASE_QUEUE_FULL' }, () =>
      database.transaction((tx) =>
        Promise.all(Array.from({ length: 1 + many }, () => tx.query('SELECT 1'))),
      ),
    )
  })
}
