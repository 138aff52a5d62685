import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from '../../test/servers/wrapped.js'
import { BucketsDifferError, CollisionFreeMap } from '../collision-free-map/collision-free-map.js'
import { DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'

test('a change of the number of buckets that has failed is not taken for one', async () => {
  const database = sqlite(':memory:')
  let fails = false
  const failing = wrapped(database, {
    transaction: async (work) => {
      if (fails) throw new DatabaseError('DISK_FULL', 'usage', 'no room')
      return database.transaction(work)
    },
  })
  const options = { name: 'map', every: false, combine: () => 1 } as const
  await new CollisionFreeMap({ ...options, database, buckets: 2 }).migrate()
  const map = new CollisionFreeMap({ ...options, database: failing, buckets: 3 })
  fails = true
  await assert.rejects(map.changeBuckets(3), { code: 'DISK_FULL' })
  await assert.rejects(map.process(), BucketsDifferError)
  fails = false
  await map.changeBuckets(3)
  assert.equal(await map.process(), 0)
  await database.close()
})
