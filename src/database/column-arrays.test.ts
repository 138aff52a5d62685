/** PostgreSQL reads from the arrays of columns what was written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedPostgresUrl } from '../../test/servers/shared.js'
import { arraysStatement } from './column-arrays.js'
import type { SqlValue } from './database.js'
import { PostgresDatabase } from './postgres/postgres.js'

const database = new PostgresDatabase(await sharedPostgresUrl())
test.after(() => database.close())

const COLUMNS: readonly (readonly [what: string, cells: readonly SqlValue[]])[] = [
  ['texts', ['a', '', 'NULL', 'null', '"', '\\', '\\"', '{a,b}', ' ä🦊 ', null]],
  ['texts that look like escapes', ['\\n', '\\u0041', '\\\\t']],
  // Apart: a column is written in one way or the other.
  ...[...'\b\f\n\r\t\u0001'].map(
    (character) => [`texts with ${JSON.stringify(character)}`, [character, 'a"\\', null]] as const,
  ),
  ['whole numbers', [1, 0, -1, Number.MAX_SAFE_INTEGER, null]],
  ['bigints', [2n ** 63n - 1n, 1, null]],
  ['fractions', [0.1, 1e-7, null]],
  ['bytes', [Buffer.from('00ff5c22', 'hex'), Buffer.alloc(0), Buffer.from('"\\')]],
  ['bytes and null', [null, Buffer.from([0]), null]],
  ['nulls', [null, null]],
]

for (const [what, cells] of COLUMNS) {
  test(`${what} are read as they were written`, async () => {
    // Numbered, because PostgreSQL promises no order.
    const rows = cells.flatMap((cell, at) => [at, cell])
    const { sql, values } = arraysStatement('SELECT * FROM (', rows, 2, ') AS rows (at, cell)')
    const read = await database.query(`${sql} ORDER BY at`, values)
    assert.deepEqual(
      read.rows.map((row) => row['cell']),
      cells,
    )
  })
}
