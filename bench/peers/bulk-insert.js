// The limit: rows that are in memory already go to `activities` in INSERTs of 1,000, forty to a
// transaction as the collector's, and nothing else.
import mysql from 'mysql2/promise'

export const ROWS_A_STATEMENT = 1_000
const ROWS_A_TRANSACTION = 40_000

/** `beside(connection, visits, name)`: what else is done for the visits of a transaction. */
export async function open({ mysqlUrl, name }, beside = async () => {}) {
  const connection = await mysql.createConnection(mysqlUrl)
  let number = 0
  return {
    reads: 'visits',
    async bring(visits) {
      for (let at = 0; at < visits.length; at += ROWS_A_TRANSACTION) {
        const chunk = visits.slice(at, at + ROWS_A_TRANSACTION)
        await connection.query('START TRANSACTION')
        for (let from = 0; from < chunk.length; from += ROWS_A_STATEMENT) {
          const rows = chunk
            .slice(from, from + ROWS_A_STATEMENT)
            .map(({ time, visitor, page }) => [name, time, ++number, visitor, page])
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
