/** Helpers of the tests of a database: a table of counters, and functions that read it. */
import type { Database, Queryable } from '../database/database.js'

/** Opens the database of a test once more, as another process would. */
export type Open = () => Database

/** Registers a test of a new, empty database. */
export type DatabaseTest = (
  name: string,
  body: (database: Database, open: Open) => Promise<void>,
) => void

/** Ways to run one statement, and what the name of a test says of it. */
export const WAYS: readonly [says: string, query: (database: Database) => Queryable['query']][] = [
  ['', (database) => (sql, values) => database.query(sql, values)],
  [
    ', in a transaction',
    (database) => (sql, values) => database.transaction((tx) => tx.query(sql, values)),
  ],
]

/** A value that no error may show. */
export const SECRET = `s3cret'"value`

export async function counters(database: Database, count: number): Promise<void> {
  await database.query('CREATE TABLE counters (id INTEGER PRIMARY KEY, n BIGINT NOT NULL)')
  for (let id = 1; id <= count; id++) {
    await database.query('INSERT INTO counters (id, n) VALUES (?, 0)', [id])
  }
}

export async function column(database: Database, sql: string): Promise<unknown[]> {
  const { rows } = await database.query(sql)
  return rows.map((row) => Object.values(row)[0])
}

export async function elsewhere(open: Open, sql: string): Promise<unknown[]> {
  const other = open()
  try {
    return await column(other, sql)
  } finally {
    await other.close()
  }
}
