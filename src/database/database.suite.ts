/**
 * What every adapter of the Database port promises, as tests: `databaseSuite(test, { … })`. The
 * test function is handed in, so that authors of further adapters can run it under their own
 * runner.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import {
  DatabaseError,
  type Database,
  type DatabaseErrorKind,
  type Transaction,
} from './database.js'
import { type RowUpdate, update, updateBoth, updateByIds, upsert } from './dialect.js'

/** An adapter that can be told where its migrations are. */
export type MigratableDatabase = Database & {
  migrate(parts?: readonly string[], folder?: URL): Promise<void>
}

export interface DatabaseUnderTest {
  readonly name: string
  /** The URL of a new, empty database. */
  fresh(): Promise<string>
  /** A further, independent use of the database at `url`. */
  open(url: string): MigratableDatabase
  /** The type of a column for text of up to 1,024 characters. */
  readonly textType: string
  /** Whether text keeps a NUL, or has U+FFFD in its place. */
  readonly keepsNul: boolean
  /** Processes that migrate at once. */
  readonly migratingProcesses: number
}

type TestFunction = (name: string, fn: () => Promise<void>) => unknown

const SECRET = `s3cret'"value`

export function databaseSuite(test: TestFunction, under: DatabaseUnderTest): void {
  const it = (name: string, fn: (database: MigratableDatabase, url: string) => Promise<void>) =>
    test(`${under.name}: ${name}`, async () => {
      const url = await under.fresh()
      const database = under.open(url)
      try {
        await fn(database, url)
      } finally {
        await database.close()
      }
    })

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

  it('text comes back unchanged: quotes, backslashes, line ends, emoji', async (database) => {
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, s ${under.textType})`)
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
    await database.query(`CREATE TABLE t (s ${under.textType})`)
    await database.query('INSERT INTO t VALUES (?)', ['a\0b\ud800c'])
    const { rows } = await database.query('SELECT s FROM t')
    assert.equal(rows[0]?.['s'], `a${under.keepsNul ? '\0' : '\ufffd'}b\ufffdc`)
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
    await database.query(`CREATE TABLE t (id INTEGER PRIMARY KEY, s ${under.textType})`)
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

  it('a transaction commits all and returns what its work returns', async (database, url) => {
    await counters(database, 2)
    const returned = await database.transaction(async (tx) => {
      assert.equal(tx.dialect, database.dialect)
      await tx.query('UPDATE counters SET n = 1 WHERE id = 1')
      await tx.query('UPDATE counters SET n = 2 WHERE id = 2')
      return 'done'
    })
    assert.equal(returned, 'done')
    assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters ORDER BY id'), [1, 2])
  })

  it('work that rejects rolls its transaction back and passes its error', async (database, url) => {
    await counters(database, 1)
    const reason = new Error('changed my mind')
    const failed = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      throw reason
    })
    await assert.rejects(failed, (error) => error === reason)
    assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters'), [0])
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

  it('a transaction refuses what would end it, unsent, and rolls back', async (database, url) => {
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
    for (const sql of refused) {
      const failed = database.transaction(async (tx) => {
        await tx.query('UPDATE counters SET n = 1')
        await tx.query(sql).catch(() => undefined)
        await tx.query('UPDATE counters SET n = 2').catch(() => undefined)
      })
      const error = await rejects(failed, 'usage', 'DATABASE_STATEMENT_REFUSED')
      assert.match(error.message, /would end the transaction.*allowed: SELECT/, sql)
      assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters'), [0], sql)
    }
  })

  it('a transaction takes each statement on rows, whatever its comments', async (database) => {
    await counters(database, 1)
    await database.transaction(async (tx) => {
      await tx.query('-- COMMIT;\n  /* CREATE */ select n FROM counters')
      await tx.query(
        `SELECT '/*! quoted */' AS "it's /*M! too */", '\`' AS \`/*!\` -- /*! not this one\n`,
      )
      await tx.query(
        'WITH some AS (SELECT 1 AS id) SELECT n FROM counters WHERE id IN (SELECT id FROM some)',
      )
      await tx.query('REPLACE INTO counters (id, n) VALUES (2, ?)', [5])
      await tx.query('INSERT INTO counters (id, n) VALUES (3, 6)')
      await tx.query('DELETE FROM counters WHERE id = 3')
      await tx.query('\n\tUPDATE counters SET n = n + 1 WHERE id = 2')
    })
    assert.deepEqual(await column(database, 'SELECT n FROM counters ORDER BY id'), [0, 6])
  })

  it('nobody sees what is not committed', async (database, url) => {
    await counters(database, 1)
    await database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 7')
      assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters'), [0])
    })
    assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters'), [7])
  })

  it('transactions that add to one row at the same time lose nothing', async (database, url) => {
    await counters(database, 1)
    const other = under.open(url)
    const lock = database.dialect === 'mysql' ? ' FOR UPDATE' : ''
    const add = (on: Database) =>
      on.transaction(async (tx) => {
        const { rows } = await tx.query(`SELECT n FROM counters WHERE id = 1${lock}`)
        await tx.query('UPDATE counters SET n = ? WHERE id = 1', [Number(rows[0]?.['n']) + 1])
      })
    await Promise.all(Array.from({ length: 60 }, (_, index) => add(index % 2 ? database : other)))
    await other.close()
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [60])
  })

  it('errors say of what kind they are, and show no value', async (database) => {
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

  it('upsert makes of each column what its table says', async (database) => {
    await database.query(
      'CREATE TABLE t (a INTEGER, b VARCHAR(20), most BIGINT, total BIGINT, latest BIGINT, ' +
        'first BIGINT, PRIMARY KEY (a, b))',
    )
    const put = (rows: (number | string)[][]) =>
      database.query(
        upsert(
          database.dialect,
          't',
          ['a', 'b'],
          ['a', 'b', 'most', 'total', 'latest', 'first'],
          { most: 'greatest', total: 'add', latest: 'replace', first: 'keep' },
          rows.length,
        ),
        rows.flat(),
      )
    await put([
      [1, 'x', 5, 5, 5, 5],
      [2, 'x', 1, 1, 1, 1],
    ])
    await put([
      [1, 'x', 3, 3, 3, 3],
      [2, 'x', 9, 9, 9, 9],
      [1, 'y', 2, 2, 2, 2],
    ])
    const { rows } = await database.query('SELECT * FROM t ORDER BY a, b')
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        [1, 'x', 5, 8, 3, 5],
        [1, 'y', 2, 2, 2, 2],
        [2, 'x', 9, 10, 9, 1],
      ],
    )
    const nothing = upsert(database.dialect, 't', ['a', 'b'], ['a', 'b', 'most'], {}, 1)
    await database.query(nothing, [1, 'x', 1000])
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
      set: 'x = ?',
      setValues: [7],
      where: 'k = ?',
      whereValues: [k],
    })
    const b = (id: number): RowUpdate => ({
      table: 'b',
      set: 'y = y + ?',
      setValues: [5],
      where: 'id = ? AND y + ? < ?',
      whereValues: [id, 5, 10],
    })
    const statement = updateBoth(database.dialect, a(1), b(1))
    assert.equal(statement === undefined, database.dialect === 'sqlite')
    const run = async (one: RowUpdate, other: RowUpdate): Promise<boolean> => {
      const both = updateBoth(database.dialect, one, other)
      if (both) return (await database.query(both.sql, both.values)).affectedRows > 0
      return database
        .transaction(async (tx) => {
          for (const { sql, values } of [update(one), update(other)]) {
            if ((await tx.query(sql, values)).affectedRows === 0) throw new Error('none')
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

  it("statements over the queue's bound are refused; the others are done", async (database) => {
    await counters(database, 1)
    const results = await Promise.allSettled(
      Array.from({ length: 1_200 }, () => database.query('SELECT n FROM counters')),
    )
    const refused = results.filter(({ status }) => status === 'rejected')
    assert.ok(refused.length >= 150 && refused.length <= 200, `${refused.length} refused`)
    for (const { reason } of refused as PromiseRejectedResult[]) {
      assertKind(reason, 'capacity', 'DATABASE_QUEUE_FULL')
    }
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [0], 'and all is well again')
  })

  it('close() waits for running calls, and refuses later ones', async (database, url) => {
    await counters(database, 1)
    const underWay = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      await new Promise((resolve) => setTimeout(resolve, 100))
      await tx.query('UPDATE counters SET n = n + 1')
    })
    await Promise.all([database.close(), database.close()])
    await underWay
    await database.close()
    assert.deepEqual(await elsewhere(under, url, 'SELECT n FROM counters'), [2])
    for (const late of [
      () => database.query('SELECT 1'),
      () => database.now(),
      () => database.migrate(),
      () => database.transaction(async () => 1),
    ]) {
      await rejects(late(), 'usage', 'DATABASE_CLOSED')
    }
  })

  it(`${under.migratingProcesses} processes apply each migration once`, async (database, url) => {
    await withMigrations(FILES, async (folder) => {
      await Promise.all(await migratingProcesses(under.migratingProcesses, url, folder))
      const { rows } = await database.query(
        'SELECT part, version, name, applied_at FROM wide_cache_migrations ORDER BY version',
      )
      assert.deepEqual(
        rows.map(({ part, version, name }) => [part, version, name]),
        [
          ['part', 1, 'first'],
          ['part', 2, 'second'],
        ],
      )
      assert.ok(Math.abs(Number(rows[0]?.['applied_at']) - Date.now()) < 120_000)
      assert.deepEqual(await column(database, 'SELECT b FROM migrated'), ['once; only\n'])
      await database.migrate(['part'], folder)
      assert.deepEqual(await column(database, 'SELECT b FROM migrated'), ['once; only\n'])
    })
  })

  it('a database newer than the package is refused, naming both versions', async (database) => {
    await withMigrations(FILES, (folder) => database.migrate(['part'], folder))
    await withMigrations(FILES.slice(0, 1), async (folder) => {
      const error = await rejects(database.migrate(['part'], folder), 'usage', 'DATABASE_NEWER')
      assert.match(error.message, /at version 2, .* up to version 1.*Update the package/)
    })
  })

  it('a failed migration is not recorded, and is done when its cause is gone', async (database) => {
    const half = [
      '0001_first.sql',
      'CREATE TABLE IF NOT EXISTS migrated (a INTEGER, b VARCHAR(20));\nINSERT INTO missing ' +
        'VALUES (1);\n',
    ] as const
    await withMigrations([half], (folder) => rejects(database.migrate(['part'], folder), 'usage'))
    await withMigrations(FILES, (folder) => database.migrate(['part'], folder))
    assert.deepEqual(
      await column(database, 'SELECT version FROM wide_cache_migrations ORDER BY version'),
      [1, 2],
    )
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

  it('a gap, a repeated number or a wrong name of a migration file is a bug', async (database) => {
    for (const wrong of ['0003_gap.sql', '0001_again.sql', '2_short.sql', '0002_Name.sql']) {
      await withMigrations([FILES[0]!, [wrong, 'SELECT 1;']], (folder) =>
        assert.rejects(database.migrate(['part'], folder), { code: 'ERR_ASSERTION' }),
      )
    }
  })
}

const FILES: readonly (readonly [string, string])[] = [
  [
    '0001_first.sql',
    '-- a comment; with a semicolon\nCREATE TABLE IF NOT EXISTS migrated (\n  a INTEGER, -- ' +
      'the key\n  b VARCHAR(20)\n);\n',
  ],
  [
    '0002_second.sql',
    `INSERT INTO migrated (a, b) VALUES (1, 'once; only\n');\nCREATE INDEX migrated_a ON ` +
      'migrated (a); -- the end\n',
  ],
]

async function withMigrations(
  files: readonly (readonly [string, string])[],
  use: (folder: URL) => Promise<unknown>,
): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'wide-cache-sql-'))
  try {
    await mkdir(join(path, 'part'))
    for (const [name, text] of files) await writeFile(join(path, 'part', name), text)
    await use(pathToFileURL(`${path}/`))
  } finally {
    await rm(path, { recursive: true })
  }
}

/** Starts the processes, has them begin together, and returns their ends. */
async function migratingProcesses(
  count: number,
  url: string,
  folder: URL,
): Promise<Promise<void>[]> {
  const program = fileURLToPath(new URL('../../test/servers/migrating-process.ts', import.meta.url))
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--import', 'tsx', program, url, folder.href], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(
    children.map((child) => Promise.race([once(child.stdout, 'data'), once(child, 'exit')])),
  )
  return children.map(async (child) => {
    const exit = once(child, 'exit')
    child.stdin.write('go\n')
    const [code] = await exit
    assert.equal(code, 0, 'a migrating process ends well')
  })
}

async function counters(database: Database, count: number): Promise<void> {
  await database.query('CREATE TABLE counters (id INTEGER PRIMARY KEY, n BIGINT NOT NULL)')
  for (let id = 1; id <= count; id++) {
    await database.query('INSERT INTO counters (id, n) VALUES (?, 0)', [id])
  }
}

async function column(database: Database, sql: string): Promise<unknown[]> {
  const { rows } = await database.query(sql)
  return rows.map((row) => Object.values(row)[0])
}

async function elsewhere(under: DatabaseUnderTest, url: string, sql: string): Promise<unknown[]> {
  const other = under.open(url)
  try {
    return await column(other, sql)
  } finally {
    await other.close()
  }
}

/**
 * Rejects with a DatabaseError of this kind that shows no secret, neither in its message nor
 * anywhere in it.
 */
export async function rejects(
  promise: Promise<unknown>,
  kind: DatabaseErrorKind,
  code?: string,
): Promise<DatabaseError> {
  const error: unknown = await promise.then(
    () => assert.fail('should have rejected'),
    (reason: unknown) => reason,
  )
  return assertKind(error, kind, code)
}

function assertKind(error: unknown, kind: DatabaseErrorKind, code?: string): DatabaseError {
  assert.ok(error instanceof DatabaseError, inspect(error))
  assert.equal(error.kind, kind, error.message)
  if (code !== undefined) assert.equal(error.code, code)
  assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /s3cret|cache-password/)
  return error
}
