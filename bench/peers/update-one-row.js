// A counter as one row of one table, raised by an UPDATE per increment.
import mysql from 'mysql2/promise'

/** `table`: one counter each. */
export async function start({ mysqlUrl, connections, table = 'bench_counter' }) {
  const pool = mysql.createPool({ uri: mysqlUrl, connectionLimit: connections })
  await pool.query(
    `CREATE TABLE IF NOT EXISTS ${table} (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ` +
      'ENGINE=InnoDB',
  )
  await pool.query(`INSERT IGNORE INTO ${table} VALUES (1, 0)`)
  return {
    increment: (by = 1) => pool.query(`UPDATE ${table} SET n = n + ? WHERE id = 1`, [by]),
    async total() {
      const [[row]] = await pool.query(`SELECT n FROM ${table}`)
      return Number(row.n)
    },
    close: () => pool.end(),
  }
}
