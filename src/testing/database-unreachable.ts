/** A database that cannot be reached says so, and that nothing was sent to it. */
import assert from 'node:assert/strict'
import type { Database } from '../database/database.js'
import type { DatabaseTest } from './on-database.js'
import { rejects } from './rejects.js'

export function testUnreachable(it: DatabaseTest, createUnreachable: () => Database): void {
  it('a database that cannot be reached says so, and runs no work', async () => {
    const database = createUnreachable()
    let runs = 0
    try {
      for (const call of [
        () => database.query('SELECT 1'),
        () => database.now(),
        () => database.migrate(),
        () => database.transaction(async () => runs++),
      ]) {
        const error = await rejects(call(), 'unreachable')
        assert.equal(error.unsent, true, 'nothing was sent')
      }
    } finally {
      await database.close()
    }
    assert.equal(runs, 0)
  })
}
