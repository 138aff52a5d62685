/** Copies a MySQL schema with its rows of one moment, as a dump that is played back would. */
import { createConnection } from 'mysql2/promise'

const ROWS_A_STATEMENT = 500

/**
 * Makes all tables of the schema at `from` in the empty schema at `to`, which may be on another
 * server.
 */
export async function copySchema(from: string, to: string): Promise<void> {
  const options = { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true }
  const [source, target] = [
    await createConnection({ uri: from, ...options }),
    await createConnection({ uri: to, ...options }),
  ]
  try {
    await source.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await source.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
    const [tables] = await source.query({ sql: 'SHOW TABLES', rowsAsArray: true })
    for (const [table] of tables as string[][]) {
      const [made] = await source.query({
        sql: `SHOW CREATE TABLE \`${table}\``,
        rowsAsArray: true,
      })
      await target.query((made as string[][])[0]![1]!)
      const [rows] = await source.query({ sql: `SELECT * FROM \`${table}\``, rowsAsArray: true })
      const all = rows as unknown[][]
      for (let at = 0; at < all.length; at += ROWS_A_STATEMENT) {
        await target.query(`INSERT INTO \`${table}\` VALUES ?`, [
          all.slice(at, at + ROWS_A_STATEMENT),
        ])
      }
    }
  } finally {
    await Promise.all([source.end(), target.end()])
  }
}
