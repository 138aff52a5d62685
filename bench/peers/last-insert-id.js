// The next number from one row of one table, as the MySQL manual simulates sequences:
// LAST_INSERT_ID(expr).
import { openRow } from './update-one-row.js'

export async function start({ mysqlUrl, connections, table }) {
  const pool = await openRow(mysqlUrl, connections, table)
  return {
    async next() {
      const [{ insertId }] = await pool.query(
        `UPDATE ${table} SET n = LAST_INSERT_ID(n + 1) WHERE id = 1`,
      )
      return insertId
    },
    close: () => pool.end(),
  }
}
