/** Closing lets running calls end, and refuses later ones. */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { counters, type DatabaseTest, elsewhere } from './on-database.js'
import { rejects } from './rejects.js'

export function testClosing(it: DatabaseTest): void {
  it('close() waits for running calls, and refuses later ones', async (database, open) => {
    await counters(database, 1)
    const ended: string[] = []
    const transaction = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      await delay(100)
      await tx.query('UPDATE counters SET n = n + 1')
    })
    const statement = database.query('SELECT n FROM counters')
    const calls = Promise.all([
      transaction.then(() => ended.push('transaction')),
      statement.then(() => ended.push('statement')),
    ])
    calls.catch(() => undefined)
    await Promise.all([database.close(), database.close()])
    assert.deepEqual(ended.sort(), ['statement', 'transaction'], 'they ended before close() did')
    await calls
    await database.close()
    assert.deepEqual(await elsewhere(open, 'SELECT n FROM counters'), [2])
    for (const call of [
      () => database.query('SELECT 1'),
      () => database.now(),
      () => database.migrate(),
      () => database.transaction(async () => 1),
    ]) {
      await rejects(call(), 'usage', 'DATABASE_CLOSED')
    }
  })
}
