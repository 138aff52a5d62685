import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { wrapped } from '../../test/servers/wrapped.js'
import { type Database, DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { VIEWINGS } from './commit.js'
import { removeOldHits } from './retention.js'

const ROWS = 5_001

test('old viewings are removed piece by piece, one statement at a time', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['hits'])
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const viewing = Buffer.alloc(16)
    viewing.writeUInt32BE(i)
    return ['threads', 1_000, viewing, 1] as const
  })
  await VIEWINGS.insert(database, rows)
  let underWay = 0
  const slow: Database = wrapped(database, {
    query: async (sql, parameters) => {
      assert.equal(++underWay, 1)
      await turn()
      const answer = await database.query(sql, parameters)
      underWay--
      return answer
    },
  })
  assert.equal(await removeOldHits(slow, 'threads', 2_000), false)
  assert.equal(underWay, 0)
  const { rows: left } = await database.query('SELECT COUNT(*) AS n FROM hits_viewings')
  assert.deepEqual(left, [{ n: 0 }])
  await database.close()
})

test('what others lock is left for the next call, and another failure is thrown', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['hits'])
  for (const category of ['lock', 'unreachable'] as const) {
    const error = new DatabaseError('ANY', category, 'no')
    const failing: Database = wrapped(database, {
      query: async (sql, parameters) => {
        if (sql.startsWith('DELETE')) throw error
        return database.query(sql, parameters)
      },
    })
    const removed = removeOldHits(failing, 'threads', 2_000)
    if (category === 'lock') assert.equal(await removed, false)
    else await assert.rejects(removed, error)
  }
  await database.close()
})
