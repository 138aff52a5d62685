/**
 * Tests that every adapter of the Database port must pass: one suite for all of them, also for
 * those of other packages. It needs only `node:assert`.
 */
import assert from 'node:assert/strict'
import type { Database } from '../database/database.js'
import { testDialect } from './database-dialect.js'
import { testTransactions } from './database-transactions.js'
import { testValues } from './database-values.js'
import { column, counters, type DatabaseTest, elsewhere } from './on-database.js'
import { assertCategory, rejects } from './rejects.js'
import type { RegisterTest } from './runner.js'

/** Abilities and limits of a database that the port leaves open. */
export interface DatabaseCapabilities {
  /** The type of a column for text of up to 1,024 characters. @default 'VARCHAR(1024)' */
  readonly textType?: string | undefined
  /** Text keeps a NUL character; otherwise it has U+FFFD in its place. @default true */
  readonly keepsNul?: boolean | undefined
  /**
   * Refuses statements with `DATABASE_QUEUE_FULL` while 1,000 others wait. @default true
   */
  readonly boundsQueue?: boolean | undefined
}

/** A database to test. */
export interface DatabaseUnderTest {
  /** Registers a test: `test` of `node:test`, or of any other runner. */
  readonly test: RegisterTest
  /** The names of the tests begin with it. @default 'database' */
  readonly name?: string | undefined
  /**
   * Makes a new, empty database, and resolves with a function that opens it. Each call of that
   * function is a use of its own, as another process would have it. The suite closes them all.
   */
  readonly create: () => Promise<() => Database>
  /** Abilities and limits of the adapter. @default none beyond the port */
  readonly capabilities?: DatabaseCapabilities | undefined
}

/**
 * Registers the tests that every adapter of {@link Database} passes.
 *
 * @example
 * import { test } from 'node:test'
 * const create = async () => {
 *   const url = await makeAnEmptyDatabase()
 *   return () => myDatabase(url)
 * }
 * testDatabase({ test, name: 'my database', create })
 */
export function testDatabase({
  test,
  name = 'database',
  create,
  capabilities: { textType = 'VARCHAR(1024)', keepsNul = true, boundsQueue = true } = {},
}: DatabaseUnderTest): void {
  const it: DatabaseTest = (sentence, body) =>
    void test(`${name}: ${sentence}`, async () => {
      const open = await create()
      const database = open()
      try {
        await body(database, open)
      } finally {
        await database.close()
      }
    })

  testValues(it, { textType, keepsNul })
  testTransactions(it)
  testDialect(it)

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

  it('close() waits for running calls, and refuses later ones', async (database, open) => {
    await counters(database, 1)
    const underWay = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      await new Promise((resolve) => setTimeout(resolve, 100))
      await tx.query('UPDATE counters SET n = n + 1')
    })
    await Promise.all([database.close(), database.close()])
    await underWay
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

  it('several uses that migrate at once make the tables once', async (database, open) => {
    const others = Array.from({ length: 4 }, open)
    await Promise.all([database, ...others].map((one) => one.migrate(['sequence', 'counters'])))
    await Promise.all(others.map((one) => one.close()))
    const { rows } = await database.query(
      'SELECT part, COUNT(*) AS n, MAX(version) AS newest FROM wide_cache_migrations GROUP BY part',
    )
    assert.deepEqual(rows.map(({ part }) => part).sort(), ['counters', 'sequence'])
    for (const { n, newest } of rows) assert.equal(n, newest, 'each migration is recorded once')
    await database.query('SELECT name FROM sequence_generations')
    await database.migrate(['sequence'])
  })

  it('only the tables that are asked for are made', async (database) => {
    await database.migrate(['sequence'])
    await database.query('SELECT name FROM sequence_generations')
    await rejects(database.query('SELECT name FROM wide_cache_grids'), 'usage')
    await database.migrate()
    await database.query('SELECT name FROM wide_cache_grids')
  })

  it('a foreign table with one of our names is refused; nothing is written', async (database) => {
    await database.query('CREATE TABLE activities (id INTEGER NOT NULL, title VARCHAR(20))')
    const error = await rejects(database.migrate(), 'usage', 'DATABASE_FOREIGN_TABLE')
    assert.match(
      error.message,
      /table "activities" .* columns are id, title.*database \(schema\) of its own/,
    )
    await rejects(database.query('SELECT name FROM wide_cache_grids'), 'usage')
    await rejects(database.query('SELECT version FROM wide_cache_migrations'), 'usage')
    await database.migrate(['wide-cache'])
    await database.query('SELECT name FROM wide_cache_grids')
  })
}
