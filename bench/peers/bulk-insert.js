// The limit: rows that are in memory already go to `activities` in INSERTs of 1,000, forty to a
// transaction as the collector's, and nothing else.
import mysql from 'mysql2/promise'
import { partsOf } from './pool.js'

export const ROWS_A_STATEMENT = 1_000
export const ROWS_A_TRANSACTION = 40_000

/** `beside(connection, visits, name)`: what else is done for the visits of a transaction. */
export async function open({ mysqlUrl, name }, beside = async () => {}) {
  const connection = await mysql.createConnection(mysqlUrl)
  let number = 0
  return {
    reads: 'visits',
    async bring(visits) {
      for (const chunk of partsOf(visits, ROWS_A_TRANSACTION)) {
        await connection.query('START TRANSACTION')
        for (const part of partsOf(chunk, ROWS_A_STATEMENT)) {
          const rows = part.map(({ time, visitor, page }) => [name, time, ++number, visitor, page])
          await connection.query(
            'INSERT INTO activities (name, created_at, number, visitor, page) VALUES ?',
            [rows],
          )
        }
        await beside(connection, chunk, name)
        await connection.query('COMMIT')
      }
    },
    close: () => connection.end(),
  }
}
