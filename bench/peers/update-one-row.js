// A counter as one row of one table, raised by an UPDATE per increment.
import { numberOf, openPool } from './pool.js'

/** A table with one row, whose number is 0 at first. */
export const openRow = (mysqlUrl, connections, table) =>
  openPool(
    mysqlUrl,
    connections,
    `CREATE TABLE IF NOT EXISTS ${table} (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ` +
      'ENGINE=InnoDB',
    `INSERT IGNORE INTO ${table} VALUES (1, 0)`,
  )

/** `table`: one counter each. */
export async function start({ mysqlUrl, connections, table = 'bench_counter' }) {
  const pool = await openRow(mysqlUrl, connections, table)
  return {
    increment: (by = 1) => pool.query(`UPDATE ${table} SET n = n + ? WHERE id = 1`, [by]),
    total: () => numberOf(pool, `SELECT n FROM ${table}`),
    close: () => pool.end(),
  }
}
