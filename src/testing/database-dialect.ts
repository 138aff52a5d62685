/** The statements that the package writes in the database's dialect do what they should. */
import assert from 'node:assert/strict'
import { type RowUpdate, update, updateBoth, updateByIds } from '../database/dialect.js'
import { execute, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import { column, type DatabaseTest } from './on-database.js'

export function testDialect(it: DatabaseTest): void {
  it('upsert makes of each column what its table says', async (database) => {
    await database.query(
      'CREATE TABLE t (a INTEGER, b VARCHAR(20), most BIGINT, fewest BIGINT, total BIGINT, ' +
        'latest BIGINT, dated BIGINT, first BIGINT, PRIMARY KEY (a, b))',
    )
    const merged = table(
      't',
      ['a', 'b'],
      ['most', 'greatest'],
      ['fewest', 'least'],
      ['total', 'add'],
      ['latest', 'replace'],
      ['dated', { unlessBelow: 'most' }],
      'first',
    )
    await merged.upsert(database, [
      [1, 'x', 5, 5, 5, 5, 5, 5],
      [2, 'x', 1, 1, 1, 1, 1, 1],
    ])
    await merged.upsert(database, [
      [1, 'x', 3, 3, 3, 3, 3, 3],
      [2, 'x', 9, 9, 9, 9, 9, 9],
      [1, 'y', 2, 2, 2, 2, 2, 2],
    ])
    const { rows } = await database.query('SELECT * FROM t ORDER BY a, b')
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        [1, 'x', 5, 3, 8, 3, 5, 5],
        [1, 'y', 2, 2, 2, 2, 2, 2],
        [2, 'x', 9, 1, 10, 9, 9, 1],
      ],
    )
    await merged.upsert(database, [
      [2, 'x', 9, 9, 0, 0, 4, 0],
      [3, 'x', null, null, null, null, null, null],
    ])
    await merged.upsert(database, [[3, 'x', 1, 1, 1, 1, 1, 1]])
    assert.deepEqual(await column(database, 'SELECT dated FROM t WHERE a = 2'), [4], 'as great')
    assert.deepEqual(
      Object.values((await database.query('SELECT * FROM t WHERE a = 3')).rows[0]!),
      [3, 'x', null, null, null, 1, 1, null],
      'what meets NULL is NULL',
    )
    await table('t', ['a', 'b'], 'most').upsert(database, [[1, 'x', 1000]])
    assert.deepEqual(await column(database, `SELECT most FROM t WHERE a = 1 AND b = 'x'`), [5])
  })

  it('rows get numbers by id, up to the greatest id; no other row changes', async (database) => {
    await database.query('CREATE TABLE t (id INTEGER PRIMARY KEY, n BIGINT, kept BIGINT DEFAULT 5)')
    await database.query('INSERT INTO t (id, n) VALUES (1, 0), (2, 0), (3, 0), (4, 0)')
    const given = [
      [3, 7],
      [1, Number.MAX_SAFE_INTEGER - 1],
      [9, 9],
    ]
    assert.equal(
      (await database.query(updateByIds(database.dialect, 't', 'n'), [JSON.stringify(given)]))
        .affectedRows,
      2,
    )
    assert.deepEqual(await column(database, 'SELECT n FROM t ORDER BY id'), [
      Number.MAX_SAFE_INTEGER - 1,
      0,
      7,
      0,
    ])
    assert.deepEqual(await column(database, 'SELECT DISTINCT kept FROM t'), [5])
  })

  it('two rows are updated together or not at all, with one statement if so', async (database) => {
    await database.query('CREATE TABLE a (k INTEGER PRIMARY KEY, x BIGINT)')
    await database.query('CREATE TABLE b (id INTEGER PRIMARY KEY, y BIGINT)')
    await database.query('INSERT INTO a VALUES (1, 0), (2, 0)')
    await database.query('INSERT INTO b VALUES (1, 0), (2, 0)')
    const a = (k: number): RowUpdate => ({
      table: 'a',
      set: sql`x = ${7}`,
      where: sql`k = ${k}`,
    })
    const b = (id: number): RowUpdate => ({
      table: 'b',
      set: sql`y = y + ${5}`,
      where: sql`id = ${id} AND y + ${5} < ${10}`,
    })
    const statement = updateBoth(database.dialect, a(1), b(1))
    assert.equal(statement !== undefined, database.dialect === 'mysql')
    const run = async (one: RowUpdate, other: RowUpdate): Promise<boolean> => {
      const both = updateBoth(database.dialect, one, other)
      if (both) return (await execute(database)`${both}`).affectedRows > 0
      return database
        .transaction(async (tx) => {
          for (const statement of [update(one), update(other)]) {
            if ((await execute(tx)`${statement}`).affectedRows === 0) throw new Error('none')
          }
          return true
        })
        .catch(() => false)
    }
    assert.deepEqual(
      [await run(a(1), b(1)), await run(a(3), b(2)), await run(a(2), b(1)), await run(a(2), b(3))],
      [true, false, false, false],
    )
    assert.equal(await run(a(1), b(2)), true, 'one of the two rows stays as it is')
    assert.deepEqual(await column(database, 'SELECT x FROM a ORDER BY k'), [7, 0])
    assert.deepEqual(await column(database, 'SELECT y FROM b ORDER BY id'), [5, 5])
  })
}
