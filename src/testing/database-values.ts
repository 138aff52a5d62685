/** Tests of values: those that go into a database come out again, and others are refused. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Database, Queryable, SqlValue } from '../database/database.js'
import { counters, type DatabaseTest, SECRET, WAYS } from './on-database.js'
import { rejects } from './rejects.js'

/** Registers each test twice: its statements alone, and each in a transaction of its own. */
export function testValues(it: DatabaseTest, columns: Columns): void {
  for (const [says, queryOf] of WAYS) {
    testValuesBy((name, body) => {
      it(name + says, (database) => body(queryOf(database), database))
    }, columns)
  }

  it('load, where it is given, stores all rows as they are, or none', async (database) => {
    await database.query('CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR(8) NOT NULL)')
    const load = (rows: readonly (readonly [number, string])[]) =>
      database.transaction(async (tx) => {
        const source = onOneArray(rows)
        if (tx.load) return tx.load('t', ['id', 's'], source, rows.length)
        for (const row of source) await tx.query('INSERT INTO t VALUES (?, ?)', [...row])
        return { rows: [], affectedRows: rows.length }
      })
    const rows = [
      [1, 'a\tb'],
      [2, '\\N'],
      [3, ''],
    ] as const
    assert.equal((await load(rows)).affectedRows, 3)
    const stored = async () =>
      (await database.query('SELECT id, s FROM t ORDER BY id')).rows.map(({ id, s }) => [id, s])
    assert.deepEqual(await stored(), rows)
    await rejects(
      load([
        [4, 'fits'],
        [1, 'is there'],
      ]),
      'data',
    )
    assert.deepEqual(await stored(), rows)
  })
}

/** Each row in the same array, as a source may hand them out. */
function* onOneArray(rows: readonly (readonly SqlValue[])[]): Generator<readonly SqlValue[]> {
  const row: SqlValue[] = []
  for (const values of rows) {
    row.splice(0, row.length, ...values)
    yield row
  }
}

interface Columns {
  readonly textType: string
  readonly binaryType: string
  readonly keepsNul: boolean
}

/** Registers a test of a way to run statements on a new, empty database. */
type QueryTest = (
  name: string,
  body: (query: Queryable['query'], database: Database) => Promise<void>,
) => void

function testValuesBy(it: QueryTest, { textType, binaryType, keepsNul }: Columns): void {
  it('text comes back: quotes, backslashes, line ends, emoji', async (query, database) => {
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, s ${textType})`)
    const texts = [
      '',
      `it's "quoted" \`so\``,
      "back\\slash \\' \\0 \\n",
      'line\r\nend\t',
      '😀 ünïcödé 漢字',
      '? ?? :a @b',
      '%_',
      "'; DROP TABLE t; --",
      ' padded ',
    ]
    for (const [id, text] of texts.entries()) {
      await query('INSERT INTO t (id, s) VALUES (?, ?)', [id, text])
    }
    const { rows } = await query('SELECT s FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ s }) => s),
      texts,
    )
    for (const [id, text] of texts.entries()) {
      const found = await query(
        `SELECT id FROM t WHERE id = ? AND s = ? AND s <> 'a ? in quotes'`,
        [id, text],
      )
      assert.equal(found.rows.length, 1, `found by ${text}`)
    }
  })

  it('text that is no UTF-8 is replaced; NUL does not cut it', async (query, database) => {
    await database.query(`CREATE TABLE t (s ${textType})`)
    const { affectedRows } = await query('INSERT INTO t VALUES (?)', ['a\0b\ud800c'])
    assert.equal(affectedRows, 1)
    const { rows } = await query('SELECT s FROM t')
    assert.equal(rows[0]?.['s'], `a${keepsNul ? '\0' : '\ufffd'}b\ufffdc`)
  })

  it('Buffers come back byte for byte', async (query, database) => {
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, b ${binaryType})`)
    const buffers = [
      Buffer.alloc(0),
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.alloc(60_000, `'\\\0`),
    ]
    for (const [id, buffer] of buffers.entries()) {
      await query('INSERT INTO t VALUES (?, ?)', [id, buffer])
    }
    const { rows } = await query('SELECT b FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ b }) => b),
      buffers,
    )
    assert.ok(rows.every(({ b }) => Buffer.isBuffer(b)))
  })

  it('integers, and sums, are exact: numbers while safe, then bigints', async (query, database) => {
    await database.query('CREATE TABLE t (id INTEGER PRIMARY KEY, n BIGINT)')
    const numbers = [
      0,
      -1,
      2 ** 53 - 1,
      -(2 ** 53 - 1),
      2n ** 53n,
      2n ** 63n - 1n,
      -(2n ** 63n),
      null,
    ]
    for (const [id, number] of numbers.entries()) {
      await query('INSERT INTO t VALUES (?, ?)', [id, number])
    }
    const { rows } = await query('SELECT n FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ n }) => n),
      numbers,
    )
    const sums = await query('SELECT SUM(n) AS big, COUNT(*) AS count FROM t WHERE id IN (2, 4)')
    assert.deepEqual({ ...sums.rows[0] }, { big: 2n ** 54n - 1n, count: 2 })
    const small = await query('SELECT SUM(n) AS small, MAX(n) AS most FROM t WHERE id IN (0, 1)')
    assert.deepEqual({ ...small.rows[0] }, { small: -1, most: 0 })
  })

  it('whole numbers are bound as integers, others as they are', async (query) => {
    const { rows } = await query('SELECT 7 % ? AS rest, 0.5 + ? AS half', [4, 0.25])
    assert.equal(rows[0]?.['rest'], 3)
    assert.equal(Number(rows[0]?.['half']), 0.75)
  })

  it('an integer too big for its column is refused as data, not cut', async (query, database) => {
    await database.query('CREATE TABLE t (n BIGINT)')
    await rejects(query('INSERT INTO t VALUES (?)', [2n ** 64n]), 'data')
  })

  it('wrong, missing or extra values are a TypeError that does not show them', async (query) => {
    const wrong: unknown[] = [
      undefined,
      NaN,
      Infinity,
      true,
      [1],
      { toSqlString: () => '1' },
      new Date(),
      new Map(),
      Symbol('s'),
    ]
    for (const value of wrong) {
      await assert.rejects(query('SELECT ?', [value as number]), TypeError)
    }
    await assert.rejects(query(`SELECT ?, '?' -- ?\n, ? /* ? */`, [1]), TypeError)
    await assert.rejects(
      query('SELECT ?', [1, SECRET]),
      (error) => error instanceof TypeError && !inspect(error).includes('s3cret'),
    )
  })

  it('takes 1,000 rows of 1 KB in one statement, and gives them back', async (query, database) => {
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, s ${textType})`)
    const values = Array.from({ length: 1000 }, (_, id) => [
      id,
      `${id}-${"'\\é".repeat(300)}`.slice(0, 1024),
    ]).flat()
    const { affectedRows } = await query(
      `INSERT INTO t VALUES ${Array(1000).fill('(?, ?)').join(', ')}`,
      values,
    )
    assert.equal(affectedRows, 1000)
    const { rows } = await query('SELECT id, s FROM t ORDER BY id')
    assert.deepEqual(
      rows.flatMap(({ id, s }) => [id, s]),
      values,
    )
  })

  it('says how many rows a change has matched', async (query, database) => {
    await counters(database, 5)
    assert.equal((await query('UPDATE counters SET n = n WHERE id < ?', [4])).affectedRows, 3)
    assert.equal((await query('DELETE FROM counters WHERE id > ?', [3])).affectedRows, 2)
    assert.equal((await query('DELETE FROM counters WHERE id > ?', [3])).affectedRows, 0)
    const nothing = { rows: [], affectedRows: 0 }
    assert.deepEqual(await query('SELECT n FROM counters WHERE id = 99'), nothing)
    assert.deepEqual(await query('UPDATE counters SET n = 1 WHERE id = 99'), nothing)
  })

  it('errors have a category, and show no value', async (query, database) => {
    await database.query(
      'CREATE TABLE t (s VARCHAR(50) NOT NULL UNIQUE, n INTEGER NOT NULL, CHECK (n < 100))',
    )
    await query('INSERT INTO t VALUES (?, 1)', [SECRET])
    await rejects(query('INSERT INTO t VALUES (?, 1)', [SECRET]), 'data')
    await rejects(query('INSERT INTO t VALUES (?, NULL)', [SECRET]), 'data')
    await rejects(query('INSERT INTO t VALUES (?, 100)', [SECRET]), 'data')
    await rejects(query('INSERT INTO missing VALUES (?, 100)', [SECRET]), 'usage')
    await rejects(query('INSERT INTO t (missing) VALUES (?)', [SECRET]), 'usage')
    await rejects(query('INSERT INTO t VALUES (? nonsense', [SECRET]), 'usage')
  })
}
