import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { startMariadb } from '../../../test/servers/mariadb.js'
import { DatabaseError, type DatabaseErrorCategory, type SqlValue } from '../database.js'
import { chunksOf, loadedRows, watched } from './load-data.js'
import { MysqlDatabase } from './mysql.js'

const COLUMNS = ['n', 'text', 'bytes']
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

const isNotLoaded = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  error.code === 'DATABASE_NOT_LOADED' &&
  error.category === 'data'

test('LOAD DATA stores rows as they are, or none, and then INSERTs are sent', async () => {
  const server = await startMariadb(['--local-infile=1'])
  const connection = await createConnection(server.url())
  await connection.query(
    'CREATE TABLE loaded (n BIGINT PRIMARY KEY, text VARCHAR(1100) CHARACTER SET utf8mb4 ' +
      'COLLATE utf8mb4_bin NULL, bytes VARBINARY(300) NULL) ENGINE=InnoDB',
  )
  const rows: SqlValue[][] = [
    [-1, '', Buffer.alloc(0)],
    [0, '\\N', EVERY_BYTE],
    [1, 'a\tb\nc\\d\0e\r"\'', Buffer.from('\\N')],
    [2, '日本 😀 é', null],
    [3, null, Buffer.from('\t\n\\')],
    [2n ** 63n - 1n, '\u007f\u0080', Buffer.from([0x5c])],
    [2 ** 53 - 1, '😀'.repeat(500), EVERY_BYTE],
    ...Array.from({ length: 5_000 }, (_, i): SqlValue[] => [10 + i, `/${i}`, EVERY_BYTE]),
  ]
  const load = async (database: MysqlDatabase, given: readonly SqlValue[][]): Promise<void> => {
    await database.transaction(async (tx) => {
      assert(tx.load, 'the server takes LOAD DATA')
      await tx.load('loaded', COLUMNS, given, given.length)
    })
  }
  const stored = async (database: MysqlDatabase): Promise<readonly SqlValue[][]> => {
    const found = await database.query('SELECT n, text, bytes FROM loaded ORDER BY n')
    return found.rows.map((row) => COLUMNS.map((column) => row[column] ?? null))
  }
  const mayLoad = (database: MysqlDatabase): Promise<boolean> =>
    database.transaction(async (tx) => tx.load !== undefined)

  let database = new MysqlDatabase(server.url())
  await load(database, rows)
  const ascending = rows.sort(([a], [b]) => (BigInt(a as number) < BigInt(b as number) ? -1 : 1))
  assert.deepEqual(await stored(database), ascending)

  // Even in strict mode the server only warns of these, and skips or cuts.
  for (const [what, row] of [
    ['a key that exists', [1, '', null]],
    ['text that is too long', [100_000, 'x'.repeat(1_101), null]],
  ] as const) {
    await assert.rejects(load(database, [[99_999, '', null], [...row]]), isNotLoaded, what)
    assert.deepEqual(await stored(database), ascending, what)
    assert.equal(await mayLoad(database), false, `INSERTs are sent after ${what}`)
    await database.close()
    database = new MysqlDatabase(server.url())
  }
  await assert.rejects(
    database.transaction((tx) => tx.load!('none', COLUMNS, [[1, '', null]], 1)),
    isNotLoaded,
  )
  await database.close()

  await connection.query('SET GLOBAL max_allowed_packet = 1024')
  database = new MysqlDatabase(server.url())
  await database.query('DELETE FROM loaded')
  await load(database, rows)
  assert.deepEqual(await stored(database), ascending, 'in packets of 1,024 bytes')
  await database.close()

  await connection.query('SET GLOBAL local_infile = 0')
  database = new MysqlDatabase(server.url())
  assert.equal(await mayLoad(database), false, 'the server does not allow it')
  await database.close()
  await connection.end()
  await server.stop()
})

test('no byte is lost of a row that is longer than a chunk, however it is written', () => {
  for (const value of ['\\', '\n', '漢', '😀', '漢\n', 'x'.repeat(9) + '漢']) {
    for (const length of [1_000, 65_000, 200_000]) {
      const text = value.repeat(length)
      const written = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
      for (const row of [[text], [Buffer.from(text)], [1, text, null]] as SqlValue[][]) {
        const expected = row.length === 1 ? written : `1\t${written}\t\\N`
        const found = Buffer.concat([...chunksOf([row, row])])
        assert(found.equals(Buffer.from(`${expected}\n${expected}\n`)), `${value} ${length}`)
      }
    }
  }
})

test('LOAD DATA is left for good, but not after a lock or a lack of room', async () => {
  const works: [DatabaseErrorCategory, boolean][] = []
  for (const category of ['lock', 'capacity', 'data', 'usage', 'unreachable'] as const) {
    const loading = { works: true }
    const error = new DatabaseError('TEST', category, 'test')
    await assert.rejects(watched(loading, () => Promise.reject(error))(), error)
    works.push([category, loading.works])
  }
  assert.deepEqual(works, [
    ['lock', true],
    ['capacity', true],
    ['data', false],
    ['usage', false],
    ['unreachable', false],
  ])
})

test('rows are made a chunk at a time, and read only then', () => {
  let read = 0
  const chunks = chunksOf(
    (function* () {
      for (; read < 10_000; read++) yield [read, 'x'.repeat(100)]
    })(),
  )
  assert(chunks.next().value!.length >= 64 * 1024)
  assert(read < 2_000, `${read} rows were read for the first chunk`)
})

for (const [what, thrown] of [
  ['an error', new Error('no row')],
  ['what is no error', 'no row'],
] as const) {
  test(`rows that throw ${what} end the stream with it`, async () => {
    const rows = (function* () {
      yield [1]
      throw thrown
    })()
    await assert.rejects(loadedRows(rows, 1_000).toArray(), { name: 'Error', message: 'no row' })
  })
}
