/** Values on their way to PostgreSQL and back, and the traps that their types are. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../../test/fast-check.js'
import { sharedPostgresUrl } from '../../../test/servers/shared.js'
import { rejects } from '../../testing/rejects.js'
import type { SqlValue } from '../database.js'
import { table } from '../table.js'
import { PostgresDatabase } from './postgres.js'
import { numbered } from './values.js'

const database = new PostgresDatabase(await sharedPostgresUrl())
after(() => database.close())

async function one(sql: string, values: readonly SqlValue[] = []): Promise<unknown> {
  const { rows } = await database.query(sql, values)
  return Object.values(rows[0]!)[0]
}

test('each ? becomes a number with the type of its value; quotes and comments stay', () => {
  const sql = `SELECT ?, '?', "?", $$ ? $$, $a$ ? $a$, E'\\'?', 'back\\', ? -- ?\n, ? /* ? */, ?, ?`
  const { text, values } = numbered(sql, ['a\0', 1, 2.5, Buffer.from('b'), null])
  assert.equal(
    text,
    `SELECT $1::text, '?', "?", $$ ? $$, $a$ ? $a$, E'\\'?', 'back\\', $2::bigint -- ?\n, ` +
      '$3::float8 /* ? */, $4::bytea, $5',
  )
  assert.deepEqual(values, ['a\ufffd', '1', '2.5', Buffer.from('b'), null])
})

test('numbers of each type come back as numbers, exactly', async () => {
  const types = ['smallint', 'integer', 'bigint', 'numeric', 'oid', 'real', 'double precision']
  for (const type of types) assert.equal(await one(`SELECT 7::${type}`), 7, type)
  assert.equal(await one('SELECT 9007199254740993'), 9007199254740993n)
  assert.equal(await one('SELECT 9007199254740993::numeric'), 9007199254740993n)
  assert.deepEqual([await one('SELECT true'), await one('SELECT false')], [1, 0])
})

test('a parameter has the type of its value where nothing else says one', async () => {
  assert.equal(await one('SELECT ?', [5]), 5)
  assert.equal(await one('SELECT ? + ?', [2 ** 40, 1]), 2 ** 40 + 1)
  assert.equal(await one('SELECT ?', ['text']), 'text')
  assert.deepEqual(await one('SELECT ?', [Buffer.from([0, 255])]), Buffer.from([0, 255]))
  assert.equal(await one('SELECT ?', [null]), null)
  assert.equal(await one('SELECT ? < ?', [1, 2]), 1, 'a truth value is a number')
})

test('too many values are refused as data, and so is a statement that is too long', async () => {
  const many = (count: number) => {
    const marks = Array<string>(count).fill('?').join(', ')
    return database.query(
      `SELECT COUNT(*) AS n FROM (VALUES (${marks})) AS v`,
      Array(count).fill(1),
    )
  }
  await rejects(many(65_536), 'data', 'DATABASE_TOO_MANY_VALUES')
  const long = 'x'.repeat(100 * 1024 * 1024)
  await rejects(
    database.query('SELECT LENGTH(?), LENGTH(?), LENGTH(?)', [long, long, long]),
    'data',
    'DATABASE_STATEMENT_TOO_LONG',
  )
})

test('bytes come back in either format of bytea_output', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  for (const format of ['hex', 'escape']) {
    const found = await database.transaction(async (tx) => {
      await tx.query(`SELECT set_config('bytea_output', '${format}', true)`)
      return (await tx.query('SELECT ? AS bytes', [bytes])).rows[0]?.['bytes']
    })
    assert.deepEqual(found, bytes, format)
  }
})

test('rows of any values come back as they were, by one array a column', async () => {
  await database.query(
    'CREATE TABLE any_rows (id BIGINT PRIMARY KEY, s TEXT, b BYTEA, n BIGINT, f FLOAT8)',
  )
  const rowsOf = table('any_rows', ['id'], 's', 'b', 'n', 'f')
  const text = fc.string({
    unit: fc.constantFrom('\\', '"', "'", '{', '}', ',', 'ä', '😀', '\n', 'N'),
  })
  const nullable = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null })
  const row = fc.tuple(
    nullable(fc.oneof(text, fc.constantFrom('NULL', '', ' '))),
    nullable(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))),
    nullable(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    nullable(fc.integer().map((n) => n / 8)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (given) => {
      await database.query('DELETE FROM any_rows')
      const rows = given.map((values, id) => [id, ...values] as const)
      await rowsOf.insert(database, rows)
      const { rows: found } = await database.query('SELECT * FROM any_rows ORDER BY id')
      assert.deepEqual(
        found.map(({ s, b, n, f }) => [s, b, n === null ? null : BigInt(n as number), f]),
        given.map(([s, b, n, f]) => [s, b, n, f]),
      )
    }),
    { numRuns: 100 },
  )
})

test('a key twice in one upsert is an error, and nothing is stored', async () => {
  await database.query('CREATE TABLE keyed (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)')
  const keyed = table('keyed', ['id'], ['n', 'add'])
  const twice = keyed.upsert(database, [
    [1, 1],
    [1, 1],
  ])
  await rejects(twice, 'usage', '21000')
  assert.equal(await one('SELECT COUNT(*) FROM keyed'), 0)
})
