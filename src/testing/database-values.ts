/** Tests of values: those that go into a database come out again, and others are refused. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { counters, type DatabaseTest, SECRET } from './on-database.js'
import { rejects } from './rejects.js'

export function testValues(
  it: DatabaseTest,
  { textType, keepsNul }: { textType: string; keepsNul: boolean },
): void {
  it('text comes back unchanged: quotes, backslashes, line ends, emoji', async (database) => {
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
      await database.query('INSERT INTO t (id, s) VALUES (?, ?)', [id, text])
    }
    const { rows } = await database.query('SELECT s FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ s }) => s),
      texts,
    )
    for (const [id, text] of texts.entries()) {
      const found = await database.query(
        `SELECT id FROM t WHERE id = ? AND s = ? AND s <> 'a ? in quotes'`,
        [id, text],
      )
      assert.equal(found.rows.length, 1, `found by ${text}`)
    }
  })

  it('text that is no UTF-8 is replaced, never refused; NUL does not cut it', async (database) => {
    await database.query(`CREATE TABLE t (s ${textType})`)
    await database.query('INSERT INTO t VALUES (?)', ['a\0b\ud800c'])
    const { rows } = await database.query('SELECT s FROM t')
    assert.equal(rows[0]?.['s'], `a${keepsNul ? '\0' : '\ufffd'}b\ufffdc`)
  })

  it('Buffers come back byte for byte', async (database) => {
    await database.query('CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)')
    const buffers = [
      Buffer.alloc(0),
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      Buffer.alloc(60_000, `'\\\0`),
    ]
    for (const [id, buffer] of buffers.entries()) {
      await database.query('INSERT INTO t VALUES (?, ?)', [id, buffer])
    }
    const { rows } = await database.query('SELECT b FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ b }) => b),
      buffers,
    )
    assert.ok(rows.every(({ b }) => Buffer.isBuffer(b)))
  })

  it('integers are exact: numbers while safe, bigints beyond, sums too', async (database) => {
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
      await database.query('INSERT INTO t VALUES (?, ?)', [id, number])
    }
    const { rows } = await database.query('SELECT n FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ n }) => n),
      numbers,
    )
    const sums = await database.query(
      'SELECT SUM(n) AS big, COUNT(*) AS count FROM t WHERE id IN (2, 4)',
    )
    assert.deepEqual({ ...sums.rows[0] }, { big: 2n ** 54n - 1n, count: 2 })
    const small = await database.query(
      'SELECT SUM(n) AS small, MAX(n) AS most FROM t WHERE id IN (0, 1)',
    )
    assert.deepEqual({ ...small.rows[0] }, { small: -1, most: 0 })
  })

  it('whole numbers are bound as integers, others as they are', async (database) => {
    const { rows } = await database.query('SELECT 7 % ? AS rest, 0.5 + ? AS half', [4, 0.25])
    assert.equal(rows[0]?.['rest'], 3)
    assert.equal(Number(rows[0]?.['half']), 0.75)
  })

  it('an integer too big for its column is refused as data, not cut', async (database) => {
    await database.query('CREATE TABLE t (n BIGINT)')
    await rejects(database.query('INSERT INTO t VALUES (?)', [2n ** 64n]), 'data')
  })

  it('wrong, missing or extra values are a TypeError that does not show them', async (database) => {
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
      await assert.rejects(
        database.query('SELECT ?', [value as number]),
        (error) => error instanceof TypeError && /Value 1 of the statement/.test(error.message),
      )
    }
    await assert.rejects(
      database.query(`SELECT ?, '?' -- ?\n, ? /* ? */`, [1]),
      /TypeError: The statement has 2 placeholders and got 1 values/,
    )
    await assert.rejects(
      database.query('SELECT ?', [1, SECRET]),
      (error) => error instanceof TypeError && !inspect(error).includes('s3cret'),
    )
  })

  it('takes 1,000 rows of 1 KB in one statement, and gives them back', async (database) => {
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, s ${textType})`)
    const values = Array.from({ length: 1000 }, (_, id) => [
      id,
      `${id}-${"'\\é".repeat(300)}`.slice(0, 1024),
    ]).flat()
    const { affectedRows } = await database.query(
      `INSERT INTO t VALUES ${Array(1000).fill('(?, ?)').join(', ')}`,
      values,
    )
    assert.equal(affectedRows, 1000)
    const { rows } = await database.query('SELECT id, s FROM t ORDER BY id')
    assert.deepEqual(
      rows.flatMap(({ id, s }) => [id, s]),
      values,
    )
  })

  it('says how many rows a change has matched', async (database) => {
    await counters(database, 5)
    assert.equal(
      (await database.query('UPDATE counters SET n = n WHERE id < ?', [4])).affectedRows,
      3,
    )
    assert.equal((await database.query('DELETE FROM counters WHERE id > ?', [3])).affectedRows, 2)
    assert.equal((await database.query('DELETE FROM counters WHERE id > ?', [3])).affectedRows, 0)
    assert.deepEqual(await database.query('SELECT n FROM counters WHERE id = 99'), {
      rows: [],
      affectedRows: 0,
    })
  })

  it('errors have a category, and show no value', async (database) => {
    await database.query(
      'CREATE TABLE t (s VARCHAR(50) NOT NULL UNIQUE, n INTEGER NOT NULL, CHECK (n < 100))',
    )
    await database.query('INSERT INTO t VALUES (?, 1)', [SECRET])
    await rejects(database.query('INSERT INTO t VALUES (?, 1)', [SECRET]), 'data')
    await rejects(database.query('INSERT INTO t VALUES (?, NULL)', [SECRET]), 'data')
    await rejects(database.query('INSERT INTO t VALUES (?, 100)', [SECRET]), 'data')
    await rejects(database.query('INSERT INTO missing VALUES (?, 100)', [SECRET]), 'usage')
    await rejects(database.query('INSERT INTO t (missing) VALUES (?)', [SECRET]), 'usage')
    await rejects(database.query('INSERT INTO t VALUES (? nonsense', [SECRET]), 'usage')
  })
}
