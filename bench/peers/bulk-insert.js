// The limit: rows that are in memory already go to `activities` in INSERTs of 1,000, forty to a transaction as the
// collector's, and nothing else.
import mysql from 'mysql2/promise'

const ROWS_A_STATEMENT = 1_000
const ROWS_A_TRANSACTION = 40_000

export async function open({ mysqlUrl, name }) {
  const connection = await mysql.createConnection(mysqlUrl)
  return {
    reads: 'visits',
    async bring(visits) {
      for (let at = 0; at < visits.length; at += ROWS_A_TRANSACTION) {
        await connection.query('START TRANSACTION')
        for (let from = at; from < Math.min(at + ROWS_A_TRANSACTION, visits.length); from += ROWS_A_STATEMENT) {
          const rows = visits.slice(from, from + ROWS_A_STATEMENT).map(({ time, visitor, page }) => [name, time, visitor, page])
          await connection.query('INSERT INTO activities (name, created_at, visitor, page) VALUES ?', [rows])
        }
        await connection.query('COMMIT')
      }
    },
    close: () => connection.end(),
  }
}
