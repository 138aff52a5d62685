/** A transaction is committed with all that it did, or not at all. */
import assert from 'node:assert/strict'
import type { Database, Transaction } from '../database/database.js'
import { column, counters, type DatabaseTest, elsewhere } from './on-database.js'
import { rejects } from './rejects.js'

export function testTransactions(it: DatabaseTest): void {
  it('work before the commit runs last, in order, and its failure rolls back', async (database) => {
    await database.query('CREATE TABLE t (id INTEGER PRIMARY KEY)')
    const insert = (tx: Transaction, id: number) => tx.query('INSERT INTO t (id) VALUES (?)', [id])
    const ids = async () =>
      (await database.query('SELECT id FROM t ORDER BY id')).rows.map(({ id }) => id)
    const order: string[] = []
    let kept: Transaction | undefined
    const result = await database.transaction(async (tx) => {
      kept = tx
      tx.beforeCommit(async () => {
        order.push('first')
        await insert(tx, 2)
        tx.beforeCommit(async () => void order.push('third'))
      })
      tx.beforeCommit(async () => void order.push('second'))
      await insert(tx, 1)
      order.push('work')
      return 'result'
    })
    assert.deepEqual(
      [result, order, await ids()],
      ['result', ['work', 'first', 'second', 'third'], [1, 2]],
    )
    assert.throws(() => kept!.beforeCommit(async () => undefined), {
      code: 'DATABASE_TRANSACTION_ENDED',
    })
    const failed = database.transaction(async (tx) => {
      tx.beforeCommit(async () => {
        throw new Error('the hook fails')
      })
      await insert(tx, 3)
    })
    await assert.rejects(failed, { message: 'the hook fails' })
    await assert.rejects(
      database.transaction(async (tx) => {
        tx.beforeCommit(async () => void order.push('never'))
        await insert(tx, 4)
        throw new Error('the work fails')
      }),
      { message: 'the work fails' },
    )
    assert.deepEqual([await ids(), order.length], [[1, 2], 4])
  })

  it('a transaction commits all and returns what its work returns', async (database, open) => {
    await counters(database, 2)
    const returned = await database.transaction(async (tx) => {
      assert.equal(tx.dialect, database.dialect)
      await tx.query('UPDATE counters SET n = 1 WHERE id = 1')
      await tx.query('UPDATE counters SET n = 2 WHERE id = 2')
      return 'done'
    })
    assert.equal(returned, 'done')
    assert.deepEqual(await elsewhere(open, 'SELECT n FROM counters ORDER BY id'), [1, 2])
  })

  it('work that rejects rolls all back and passes its error', async (database, open) => {
    await counters(database, 1)
    const reason = new Error('changed my mind')
    const failed = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      throw reason
    })
    await assert.rejects(failed, (error) => error === reason)
    assert.deepEqual(await elsewhere(open, 'SELECT n FROM counters'), [0])
    assert.equal(
      (await database.query('UPDATE counters SET n = 5')).affectedRows,
      1,
      'nothing is left locked',
    )
  })

  it('a failed statement rolls back its transaction, even if it is caught', async (database) => {
    await counters(database, 2)
    const failed = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      await tx.query('INSERT INTO counters (id, n) VALUES (1, 1)').catch(() => undefined)
      return 'all is well'
    })
    await rejects(failed, 'data')
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [0, 0])
  })

  it('statements not awaited by a rejected transaction do not run later', async (database) => {
    await counters(database, 1)
    const failed = database.transaction(async (tx) => {
      for (let n = 1; n <= 20; n++) {
        tx.query('UPDATE counters SET n = ?', [n]).catch(() => undefined)
      }
      throw new Error('too soon')
    })
    await assert.rejects(failed, /too soon/)
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [0])
  })

  it('a transaction waits for unawaited statements, and takes none after', async (database) => {
    await counters(database, 1)
    const tx = await database.transaction(async (tx) => {
      void tx.query('UPDATE counters SET n = n + 1')
      void tx.query('UPDATE counters SET n = n + 1')
      return tx
    })
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [2])
    await rejects(tx.query('UPDATE counters SET n = 99'), 'usage', 'DATABASE_TRANSACTION_ENDED')
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [2])
  })

  it('a transaction refuses what would end it, unsent, and rolls back', async (database, open) => {
    await counters(database, 1)
    const refused = [
      'CREATE TABLE other (id INTEGER)',
      'ALTER TABLE counters ADD COLUMN extra INTEGER',
      'DROP TABLE counters',
      'COMMIT',
      'ROLLBACK',
      'BEGIN',
      'start transaction',
      'SAVEPOINT mine',
      'RELEASE SAVEPOINT wide_cache',
      'LOCK TABLES counters WRITE',
      'CALL something()',
      'SET autocommit = 1',
      'SET @@autocommit = 1',
      'SET @mine = 1, autocommit = 1',
      `SET @mine = 'a, @b', @@SESSION.autocommit = 1`,
      '-- a comment\nCOMMIT',
      '/* SELECT */ COMMIT',
      '# a comment\n COMMIT',
      '/*! COMMIT */',
      '/*!50000 CREATE TABLE other (id INTEGER) */',
      '/*M! COMMIT */',
      `SELECT '/* quoted' /*! , 1 */`,
      'SELECTED',
      '',
    ]
    const other = open()
    for (const sql of refused) {
      const failed = database.transaction(async (tx) => {
        await tx.query('UPDATE counters SET n = 1')
        await tx.query(sql).catch(() => undefined)
        await tx.query('UPDATE counters SET n = 2').catch(() => undefined)
      })
      await rejects(failed, 'usage', 'DATABASE_STATEMENT_REFUSED')
      assert.deepEqual(await column(other, 'SELECT n FROM counters'), [0], sql)
    }
  })

  it('a transaction takes each statement on rows, whatever its comments', async (database) => {
    await counters(database, 1)
    await database.transaction(async (tx) => {
      await tx.query('-- COMMIT;\n  /* CREATE */ select n FROM counters')
      const isPostgres = tx.dialect === 'postgres'
      const name = isPostgres ? '"/*!"' : '`/*!`'
      await tx.query(
        `SELECT '/*! quoted */' AS "it's /*M! too */", '\`' AS ${name} -- /*! not this one\n`,
      )
      await tx.query(
        'WITH one AS (SELECT 1 AS id) SELECT n FROM counters WHERE id IN (SELECT id FROM one)',
      )
      const insert = isPostgres ? 'INSERT' : 'REPLACE'
      await tx.query(`${insert} INTO counters (id, n) VALUES (2, ?)`, [5])
      await tx.query('INSERT INTO counters (id, n) VALUES (3, 6)')
      await tx.query('DELETE FROM counters WHERE id = 3')
      await tx.query('\n\tUPDATE counters SET n = n + 1 WHERE id = 2')
    })
    assert.deepEqual(await column(database, 'SELECT n FROM counters ORDER BY id'), [0, 6])
  })

  it('nobody sees what is not committed', async (database, open) => {
    await counters(database, 1)
    await database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 7')
      assert.deepEqual(await elsewhere(open, 'SELECT n FROM counters'), [0])
    })
    assert.deepEqual(await elsewhere(open, 'SELECT n FROM counters'), [7])
  })

  it('transactions that add to one row at the same time lose nothing', async (database, open) => {
    await counters(database, 1)
    const other = open()
    const lock = database.dialect === 'sqlite' ? '' : ' FOR UPDATE'
    const add = (on: Database) =>
      on.transaction(async (tx) => {
        const { rows } = await tx.query(`SELECT n FROM counters WHERE id = 1${lock}`)
        await tx.query('UPDATE counters SET n = ? WHERE id = 1', [Number(rows[0]?.['n']) + 1])
      })
    await Promise.all(Array.from({ length: 60 }, (_, index) => add(index % 2 ? database : other)))
    await other.close()
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [60])
  })

  it(`now() is the database's clock, and goes on within a transaction`, async (database) => {
    const before = Date.now()
    const now = await database.now()
    assert.ok(Number.isSafeInteger(now))
    assert.ok(now >= before - 1000 && now <= Date.now() + 1000, `${now} is now`)
    await database.transaction(async (tx) => {
      const first = await tx.now()
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.ok((await tx.now()) - first >= 50)
    })
  })
}
