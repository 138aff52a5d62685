/** Limits of a database: how long a statement may be, and how many may wait. */
import assert from 'node:assert/strict'
import type { Queryable } from '../database/database.js'
import { column, counters, type DatabaseTest } from './on-database.js'
import { assertCategory, rejects } from './rejects.js'

/** What SQL text, quotes and the packet's header take of a statement, at most. */
const STATEMENT_MARGIN_BYTES = 200
/** Where the limit is higher, a statement of it would take too much memory for a test. */
const LONGEST_TRIED_BYTES = 64 * 1024 * 1024
/** Length that is tried in its place. */
const LONG_BYTES = 4 * 1024 * 1024

export function testLimits(it: DatabaseTest, { boundsQueue }: { boundsQueue: boolean }): void {
  it('a statement of maxStatementBytes is taken, and a longer one is data', async (database) => {
    await takesAsMuchAsItSays(database)
    const { maxStatementBytes } = await database.transaction(async (tx) => {
      await takesAsMuchAsItSays(tx)
      return tx
    })
    if (maxStatementBytes > LONGEST_TRIED_BYTES) return
    const tooLong = database.transaction((tx) => selectLength(tx, maxStatementBytes + 1))
    await rejects(tooLong, 'data')
  })

  if (boundsQueue) {
    it("statements over the queue's bound are refused; the others are done", async (database) => {
      await counters(database, 1)
      const results = await Promise.allSettled(
        Array.from({ length: 1_200 }, () => database.query('SELECT n FROM counters')),
      )
      const refused = results.filter(({ status }) => status === 'rejected')
      assert.ok(refused.length >= 150 && refused.length <= 200, `${refused.length} refused`)
      for (const { reason } of refused as PromiseRejectedResult[]) {
        assertCategory(reason, 'capacity', 'DATABASE_QUEUE_FULL')
      }
      assert.deepEqual(
        await column(database, 'SELECT n FROM counters'),
        [0],
        'and all is well again',
      )
    })
  }
}

async function takesAsMuchAsItSays(queryable: Queryable): Promise<void> {
  const { maxStatementBytes } = queryable
  assert.ok(Number.isSafeInteger(maxStatementBytes), `maxStatementBytes is ${maxStatementBytes}`)
  const longest = maxStatementBytes > LONGEST_TRIED_BYTES ? LONG_BYTES : maxStatementBytes
  const bytes = longest - STATEMENT_MARGIN_BYTES
  assert.equal(await selectLength(queryable, bytes), bytes)
}

async function selectLength(queryable: Queryable, bytes: number): Promise<unknown> {
  const { rows } = await queryable.query('SELECT LENGTH(?) AS bytes', ['x'.repeat(bytes)])
  return rows[0]?.['bytes']
}
