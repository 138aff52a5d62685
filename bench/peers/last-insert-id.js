// The next number from one row of one table, as the MySQL manual simulates sequences:
// LAST_INSERT_ID(expr).
import { openPool } from './pool.js'

export async function start({ mysqlUrl, connections, table }) {
  const pool = await openPool(
    mysqlUrl,
    connections,
    `CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB`,
    `INSERT INTO ${table} VALUES (1, 0)`,
  )
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
