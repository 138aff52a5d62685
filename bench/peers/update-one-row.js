// A counter as one row of one table, raised by an UPDATE per increment.
import mysql from 'mysql2/promise'

export async function start({ mysqlUrl, connections }) {
  const pool = mysql.createPool({ uri: mysqlUrl, connectionLimit: connections })
  await pool.query(
    'CREATE TABLE bench_counter (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB',
  )
  await pool.query('INSERT INTO bench_counter VALUES (1, 0)')
  return {
    increment: () => pool.query('UPDATE bench_counter SET n = n + 1 WHERE id = 1'),
    async total() {
      const [[row]] = await pool.query('SELECT n FROM bench_counter')
      return Number(row.n)
    },
    close: () => pool.end(),
  }
}
